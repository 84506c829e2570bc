//! Sentences on the standard error stream: the driver API has no place for them.

/// Says what nobody else will.
#[allow(clippy::print_stderr)]
pub(crate) fn complain(message: &str) {
    eprintln!("softcuda: {message}");
}
