//! The environment's variables, which are read unless whoever set them has fewer rights than the process.

use super::known;

/// Whether the process was started set-uid, set-gid or with file capabilities: whoever set its environment has fewer rights
/// than it has, and must not decide which files it writes.
fn is_privileged() -> bool {
    // SAFETY: reads a value that the kernel gave the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The environment's value, parsed; the default where it is unset or empty, or nobody may set it.
pub(super) fn variable<T>(
    name: &str,
    default: T,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    known::note(name);
    if is_privileged() {
        return Ok(default);
    }
    let text = match std::env::var(name) {
        Ok(text) if !text.is_empty() => text,
        Ok(_) | Err(std::env::VarError::NotPresent) => return Ok(default),
        Err(_) => return Err(format!("{name} is not UTF-8; every call answers an error")),
    };
    parse(&text).map_err(|wanted| format!("{name}={text} is not {wanted}; every call answers an error"))
}

/// The environment's value of a variable that NVIDIA's driver reads, too; `None` where it is unset or nobody may set it.
pub(super) fn of_driver(name: &str) -> Option<String> {
    if is_privileged() {
        return None;
    }
    std::env::var_os(name).map(|text| text.to_string_lossy().into_owned())
}

/// Refuses a variable of softcuda's that nobody has read, apart from those that are `still` to be read: a test must not pass because the
/// name of a fault, say, is misspelt.
pub(super) fn refuse_unknown(still: &[&str]) -> Result<(), String> {
    still.iter().copied().for_each(known::note);
    if is_privileged() { Ok(()) } else { known::refuse_others() }
}
