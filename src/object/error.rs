//! What went wrong, as a number for programs and a sentence for people.

use crate::driver::{CallError, Driver, OpenError};
use std::ffi::CStr;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// A status of the C ABI: 0 is success, a positive number is the driver's own `CUresult`, a negative one is cushim's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub i32);

macro_rules! statuses {
    ($($(#[doc = $doc:literal])* $constant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        impl Status {
            $($(#[doc = $doc])* pub const $constant: Self = Self($number);)*
        }

        /// The names and descriptions of cushim's own statuses.
        const OWN: &[(i32, &std::ffi::CStr, &std::ffi::CStr)] = &[$(($number, $name, $text)),*];
    };
}

// Numbers are never reused; a retired one stays here as a comment.
statuses! {
    /// The call did what it says.
    SUCCESS = 0, c"CUSHIM_SUCCESS", c"success";
    /// An argument is outside what the function accepts.
    INVALID_ARGUMENT = -1, c"CUSHIM_ERROR_INVALID_ARGUMENT", c"an argument is not acceptable";
    /// The handle is not one of this library, of another kind, or of an object that is gone.
    INVALID_HANDLE = -2, c"CUSHIM_ERROR_INVALID_HANDLE", c"the handle does not name a living object of the kind that is needed";
    /// The handle was destroyed before.
    ALREADY_DESTROYED = -3, c"CUSHIM_ERROR_ALREADY_DESTROYED", c"the handle was destroyed before";
    /// This driver cannot do what was asked.
    UNSUPPORTED = -4, c"CUSHIM_ERROR_UNSUPPORTED", c"this driver does not offer what was asked for";
    /// No CUDA driver was found on this machine.
    DRIVER_NOT_FOUND = -5, c"CUSHIM_ERROR_DRIVER_NOT_FOUND", c"no CUDA driver was found";
    /// The library that was named, or the only one found, cannot be used.
    DRIVER_UNUSABLE = -6, c"CUSHIM_ERROR_DRIVER_UNUSABLE", c"the CUDA driver library cannot be used";
    /// A bug in cushim; nothing of the call took effect that is not undone.
    INTERNAL = -7, c"CUSHIM_ERROR_INTERNAL", c"an internal error of cushim";
    /// The process was forked after the library was used; the child must start afresh.
    FORKED = -8, c"CUSHIM_ERROR_FORKED", c"the process was forked after cushim was used";
    /// An event does not measure time.
    TIMING_DISABLED = -9, c"CUSHIM_ERROR_TIMING_DISABLED", c"the event does not measure time";
    /// An event was never recorded.
    NOT_RECORDED = -10, c"CUSHIM_ERROR_NOT_RECORDED", c"the event was never recorded";
    /// No stream was named, and none is ever chosen by default.
    STREAM_REQUIRED = -11, c"CUSHIM_ERROR_STREAM_REQUIRED", c"a stream must be named";
    /// The call is not allowed inside a function that the driver, or the library, called.
    IN_CALLBACK = -12, c"CUSHIM_ERROR_IN_CALLBACK", c"not allowed inside a callback";
    /// 16,777,216 handles are in use; only the C ABI has such.
    TOO_MANY_HANDLES = -13, c"CUSHIM_ERROR_TOO_MANY_HANDLES", c"too many handles are in use";
    /// The process has no memory left for what the library has to keep.
    OUT_OF_MEMORY = -14, c"CUSHIM_ERROR_OUT_OF_MEMORY", c"the process has no memory left";
}

impl Status {
    /// The name of the status, if cushim knows it: `CUSHIM_ERROR_UNSUPPORTED`, `CUDA_ERROR_INVALID_VALUE`.
    #[must_use]
    pub fn name(self) -> Option<&'static std::ffi::CStr> {
        self.own().map(|(name, _)| name).or_else(|| crate::driver::sys::result_name(self.0))
    }

    /// A few words on what the status means, if cushim knows it.
    #[must_use]
    pub fn text(self) -> Option<&'static std::ffi::CStr> {
        self.own().map(|(_, text)| text).or_else(|| crate::driver::sys::result_text(self.0))
    }

    fn own(self) -> Option<(&'static std::ffi::CStr, &'static std::ffi::CStr)> {
        OWN.iter().find(|(number, ..)| *number == self.0).map(|(_, name, text)| (*name, *text))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name().and_then(|name| name.to_str().ok()) {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "status {}", self.0),
        }
    }
}

/// A failure: the status, a sentence that says what to do, and what it is about.
// One word, so that success costs no more than a status: a box of its own, or what the process keeps (`FORKED`).
pub struct Error(NonNull<Failure>);

// SAFETY: a failure that it owns is nobody else's, and the one that it does not own is never written.
unsafe impl Send for Error {}
// SAFETY: as above; a shared reference to it only reads.
unsafe impl Sync for Error {}

/// What an [`Error`] says. Reached through it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The number for programs.
    pub status: Status,
    /// The sentence for people.
    pub message: String,
    /// The driver function that failed or is missing, by its base name; empty where none is concerned.
    pub function: String,
    /// The number of that function's ABI; 0 where none is concerned.
    pub abi: u32,
    /// What the driver answered, a `CUresult`; 0 where it was not asked or is not to blame.
    pub driver_code: i32,
    /// The name of that: `CUDA_ERROR_INVALID_VALUE`; empty where there is none.
    pub driver_code_name: String,
    /// What the driver logged about the call, a line per entry; empty before driver 12.9, or if it logged nothing.
    pub driver_log: String,
    /// The object that the call was about: `stream "copy"`; empty where none is concerned.
    pub object: String,
    /// That object's label; empty where it has none.
    pub label: String,
    /// Which of several items failed, where the call took several.
    pub item: Option<usize>,
}

impl std::ops::Deref for Error {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        // SAFETY: it is there as long as the error is, or the process.
        unsafe { self.0.as_ref() }
    }
}

impl std::ops::DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Failure {
        if self.is_kept() {
            *self = Self::boxed(Failure::clone(self));
        }
        // SAFETY: it is this error's own.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Error {
    #[inline]
    fn drop(&mut self) {
        if !self.is_kept() {
            // SAFETY: it was made of a box, and nobody else has it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl Clone for Error {
    fn clone(&self) -> Self {
        if self.is_kept() { Self(self.0) } else { Self::boxed(Failure::clone(self)) }
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Error {}

/// The sentence, and what the driver said if that is not in it: what `main` and `unwrap` print. All that is known of it stands in the
/// [`Failure`], which `{:#?}` prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.debug_tuple("Error").field(&**self).finish();
        }
        f.write_str(&self.message)?;
        let said = self.driver_log.trim_end();
        if said.is_empty() || self.message.contains(said) { Ok(()) } else { write!(f, "\n{said}") }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// What every call answers in the child of a fork, made before there is any: there a lock of the allocator may be held for ever.
static FORKED: OnceLock<Failure> = OnceLock::new();

/// Its sentence.
pub(crate) const FORKED_TEXT: &CStr = c"this process was forked after the library was used, and CUDA does not work in such a child; fork before \
    the first call, or start the child with exec";

impl Failure {
    fn new(status: Status, message: String) -> Self {
        Self {
            status,
            message,
            function: String::new(),
            abi: 0,
            driver_code: 0,
            driver_code_name: String::new(),
            driver_log: String::new(),
            object: String::new(),
            label: String::new(),
            item: None,
        }
    }

    fn forked() -> Self {
        Self::new(Status::FORKED, FORKED_TEXT.to_string_lossy().into_owned())
    }
}

impl Error {
    /// A failure with a sentence, in which no driver function is concerned.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self::boxed(Failure::new(status, message.into()))
    }

    fn boxed(failure: Failure) -> Self {
        Self(NonNull::from(Box::leak(Box::new(failure))))
    }

    /// That this process is the child of a fork: without an allocation, after [`prepare_for_forks`](Self::prepare_for_forks).
    pub(crate) fn forked() -> Self {
        match FORKED.get() {
            Some(kept) => Self(NonNull::from(kept)),
            None => Self::boxed(Failure::forked()),
        }
    }

    /// Makes what children of later forks are told.
    #[cfg(all(unix, not(loom)))]
    pub(crate) fn prepare_for_forks() {
        FORKED.get_or_init(Failure::forked);
    }

    /// Whether the process keeps it, and it is neither written nor freed.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        FORKED.get().is_some_and(|kept| std::ptr::eq(kept, self.0.as_ptr()))
    }

    /// The same failure, with the driver function that it is about.
    #[must_use]
    pub fn with_function(mut self, base: &str, abi: u32) -> Self {
        base.clone_into(&mut self.function);
        self.abi = abi;
        self
    }

    /// The same failure, with the object that it is about, in words.
    #[must_use]
    pub fn with_object(mut self, object: impl Into<String>) -> Self {
        self.object = object.into();
        self
    }

    /// The same failure, of one of several items.
    #[must_use]
    pub(crate) fn at_item(mut self, index: usize) -> Self {
        self.item = Some(index);
        self
    }

    /// The same, with the item in the sentence: `argument 2: …`.
    #[cold]
    #[must_use]
    pub(crate) fn of_item(mut self, what: &str, index: usize) -> Self {
        if self.is_kept() {
            return self;
        }
        self.message = format!("{what} {index}: {}", self.message);
        self.at_item(index)
    }

    /// The same failure, where it is known what is wrong with the arguments: as when that is found out before the driver is asked, whose answer
    /// says less. It stays beside the sentence.
    #[cold]
    #[must_use]
    pub(crate) fn of_arguments(mut self, why: &str) -> Self {
        self.status = Status::INVALID_ARGUMENT;
        let object = if self.object.is_empty() { String::new() } else { format!("{}: ", self.object) };
        self.message = format!("{object}{} refused the arguments. {why}", self.function);
        self
    }

    /// The same failure, with the object that it is about, and its label. A driver's answer does not name the object, so the
    /// sentence does.
    #[must_use]
    pub(crate) fn about(mut self, object: &dyn Subject) -> Self {
        if self.is_kept() {
            return self;
        }
        self.object = object.to_string();
        if !self.function.is_empty() && !self.message.contains(&self.object) {
            self.message = format!("{}: {}", self.object, self.message);
        }
        self.label = object.label().map(|label| label.to_string()).unwrap_or_default();
        self
    }

    /// A call of the driver that failed, or could not be made.
    pub(crate) fn of_call(driver: &Driver, error: CallError) -> Self {
        let (base, abi) = (error.base(), error.abi());
        let failure = match error.result() {
            Some(result) => Self::of_result(driver, base, result.0),
            None => match driver.symbol(base, abi) {
                Some(symbol) => Self::new(Status::UNSUPPORTED, driver.explain(symbol).to_string()),
                None => Self::new(Status::INTERNAL, format!("the catalogue has no {base} (ABI {abi})")),
            },
        };
        failure.with_function(base, abi)
    }

    fn of_result(driver: &Driver, base: &str, result: i32) -> Self {
        let status = Status(result);
        let name = status.name().or_else(|| driver.result_name(result)).map(std::ffi::CStr::to_string_lossy);
        let answer = match (&name, status.text()) {
            (Some(name), Some(text)) => format!("{name} ({result}): {}", text.to_string_lossy()),
            (Some(name), None) => format!("{name} ({result})"),
            _ => format!("{result}, which this version of cushim has no name for"),
        };
        let mut failure = Self::new(status, format!("{base} answered {answer}"));
        failure.driver_code = result;
        failure.driver_code_name = name.map(String::from).unwrap_or_default();
        failure.driver_log = crate::object::log_lines::about(base);
        failure
    }
}

/// What an error can be about: an object, in words and by its label.
pub(crate) trait Subject: fmt::Display {
    /// The object's label.
    fn label(&self) -> Option<Arc<str>>;

    /// Where the object is, by which it is told from others.
    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let status = match &error {
            OpenError::NotFound(_) | OpenError::SoftwareNotFound(_) => Status::DRIVER_NOT_FOUND,
            OpenError::Stub(_) | OpenError::Refused(_) | OpenError::Unusable(_) => Status::DRIVER_UNUSABLE,
            OpenError::InvalidOption(_) => Status::INVALID_ARGUMENT,
        };
        Self::new(status, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_numbers_are_unique() {
        for (i, (number, ..)) in OWN.iter().enumerate() {
            assert!(OWN[i + 1..].iter().all(|(other, ..)| other != number), "{number} is used twice");
        }
    }

    #[test]
    fn names_cover_both_ranges() {
        assert_eq!(Status::UNSUPPORTED.to_string(), "CUSHIM_ERROR_UNSUPPORTED (-4)");
        assert_eq!(Status(1).to_string(), "CUDA_ERROR_INVALID_VALUE (1)");
        assert_eq!(Status(12345).to_string(), "status 12345");
    }
}
