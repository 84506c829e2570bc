//! Labels for a driver that shows them: softcuda calls streams and memory by them in what its checks report.
//!
//! A GPU's driver has nothing of the kind, and is not asked.

use super::kind::Kind;
use super::library::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::transmute;

/// `softcuda_label_set` of `softcuda.h`.
type Set = unsafe extern "C" fn(object: u64, label: *const c_char) -> c_int;

/// What a driver takes labels by.
#[derive(Clone, Copy)]
pub(super) struct Labels(Set);

impl Labels {
    /// The function that a library takes labels by.
    pub(super) fn of(kind: Kind, library: Option<&Library>) -> Option<Self> {
        let library = library.filter(|_| kind == Kind::Software)?;
        let address = library.symbol(c"softcuda_label_set");
        // SAFETY: a function of this name has this signature, as softcuda's header says.
        (!address.is_null()).then(|| Self(unsafe { transmute::<*const c_void, Set>(address) }))
    }

    /// What the driver answers makes no difference: memory may be a part of something that has a name.
    pub(super) fn set(self, object: usize, label: Option<&str>) {
        let label = label.map(|label| CString::new(label.replace('\0', " ")).unwrap_or_default());
        let label = label.as_ref().map_or(std::ptr::null(), |label| label.as_ptr());
        // SAFETY: the text is terminated, and the driver copies it.
        unsafe { self.0(object as u64, label) };
    }
}
