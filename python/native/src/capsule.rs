//! What becomes of a DLPack tensor that nobody has taken out of its capsule. A consumer that refuses a tensor lets go of the capsule while
//! its exception is already raised, and code in Python must not run then: so this is none.

use crate::python::{Object, PyCapsule_GetPointer, PyCapsule_IsValid};
use std::ffi::{CStr, c_void};

type Deleter = unsafe extern "C" fn(*mut c_void);

/// The names of capsules whose tensor is still there, and where the tensor has its deleter: behind version and `manager_ctx`, or
/// behind the tensor itself (48 bytes) and `manager_ctx`.
const TENSORS: [(&CStr, usize); 2] = [(c"dltensor_versioned", 16), (c"dltensor", 56)];

/// Called by Python when a capsule goes.
pub(crate) unsafe extern "C" fn unused(capsule: *mut Object) {
    for (name, deleter) in TENSORS {
        // SAFETY: Python calls it with a capsule, whose name says what it has.
        unsafe {
            if PyCapsule_IsValid(capsule, name.as_ptr()) == 0 {
                continue;
            }
            let tensor = PyCapsule_GetPointer(capsule, name.as_ptr());
            if let Some(delete) = *tensor.byte_add(deleter).cast::<Option<Deleter>>() {
                delete(tensor);
            }
        }
    }
}
