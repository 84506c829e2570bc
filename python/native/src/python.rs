//! What is used of Python's C interface: functions and data that its limited form (`Py_LIMITED_API` 3.9) promises, which the
//! interpreter that loads the module has.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};

/// Any object. Every release of Python with a global lock has this head.
#[repr(C)]
pub(crate) struct Object {
    references: isize,
    pub(crate) kind: *mut Type,
}

/// A class; opaque.
#[repr(C)]
pub(crate) struct Type {
    head: Object,
}

/// A function that takes its arguments in an array; those by name are behind the others, and `names` is a tuple.
pub(crate) type Function =
    unsafe extern "C" fn(*mut Object, *const *mut Object, isize, *mut Object) -> *mut Object;

/// `PyMethodDef`.
#[repr(C)]
pub(crate) struct Method {
    pub(crate) name: *const c_char,
    pub(crate) function: Option<Function>,
    pub(crate) flags: c_int,
    pub(crate) doc: *const c_char,
}

// SAFETY: names, texts and functions are constants.
unsafe impl Sync for Method {}

/// `METH_FASTCALL | METH_KEYWORDS`.
pub(crate) const FAST: c_int = 0x80 | 0x02;

/// `PyModuleDef`.
#[repr(C)]
pub(crate) struct Module {
    pub(crate) head: Object,
    pub(crate) init: *mut c_void,
    pub(crate) index: isize,
    pub(crate) copy: *mut Object,
    pub(crate) name: *const c_char,
    pub(crate) doc: *const c_char,
    pub(crate) size: isize,
    pub(crate) methods: *const Method,
    pub(crate) slots: *mut c_void,
    pub(crate) traverse: *mut c_void,
    pub(crate) clear: *mut c_void,
    pub(crate) free: *mut c_void,
}

impl Object {
    /// The head of an object that is a constant.
    pub(crate) const fn constant() -> Self {
        Self { references: 1, kind: std::ptr::null_mut() }
    }
}

/// `PyMemberDef`.
#[repr(C)]
pub(crate) struct Member {
    pub(crate) name: *const c_char,
    pub(crate) kind: c_int,
    pub(crate) offset: isize,
    pub(crate) flags: c_int,
    pub(crate) doc: *const c_char,
}

// SAFETY: names and texts are constants.
unsafe impl Sync for Member {}

/// A member that is a `uint64_t`: `T_ULONGLONG`.
pub(crate) const UNSIGNED: c_int = 18;

/// `PyType_Slot`.
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) slot: c_int,
    pub(crate) function: *mut c_void,
}

pub(crate) const SLOT_DOC: c_int = 56;
pub(crate) const SLOT_MEMBERS: c_int = 72;

/// `PyType_Spec`.
#[repr(C)]
pub(crate) struct Spec {
    pub(crate) name: *const c_char,
    pub(crate) size: c_int,
    pub(crate) item_size: c_int,
    pub(crate) flags: c_uint,
    pub(crate) slots: *mut Slot,
}

/// `Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE`.
pub(crate) const BASE: c_uint = (1 << 18) | (1 << 10);

/// The number of the interface that `PyModule_Create2` asks for: that of the limited one.
pub(crate) const INTERFACE: c_int = 3;

unsafe extern "C" {
    pub(crate) static mut PyLong_Type: Type;
    pub(crate) static mut PyFloat_Type: Type;
    pub(crate) static mut PyTuple_Type: Type;
    pub(crate) static mut PyExc_ValueError: *mut Object;
    #[link_name = "_Py_NoneStruct"]
    static mut NONE: Object;

    pub(crate) fn PyModule_Create2(module: *mut Module, interface: c_int) -> *mut Object;
    pub(crate) fn PyModule_AddObject(module: *mut Object, name: *const c_char, value: *mut Object) -> c_int;
    pub(crate) fn PyType_FromSpec(spec: *mut Spec) -> *mut Object;
    pub(crate) fn PyType_IsSubtype(kind: *mut Type, of: *mut Type) -> c_int;
    pub(crate) fn PyDescr_NewMethod(kind: *mut Type, method: *const Method) -> *mut Object;
    pub(crate) fn PyCFunction_NewEx(
        method: *const Method,
        of: *mut Object,
        module: *mut Object,
    ) -> *mut Object;
    pub(crate) fn PyObject_Call(
        function: *mut Object,
        arguments: *mut Object,
        named: *mut Object,
    ) -> *mut Object;
    pub(crate) fn PyTuple_New(length: isize) -> *mut Object;
    pub(crate) fn PyTuple_SetItem(tuple: *mut Object, index: isize, value: *mut Object) -> c_int;
    pub(crate) fn PyTuple_GetItem(tuple: *mut Object, index: isize) -> *mut Object;
    pub(crate) fn PyTuple_Size(tuple: *mut Object) -> isize;
    pub(crate) fn PyDict_New() -> *mut Object;
    pub(crate) fn PyDict_SetItem(dict: *mut Object, key: *mut Object, value: *mut Object) -> c_int;
    pub(crate) fn PyLong_AsLongLongAndOverflow(number: *mut Object, overflow: *mut c_int) -> c_longlong;
    pub(crate) fn PyLong_AsUnsignedLongLong(number: *mut Object) -> c_ulonglong;
    pub(crate) fn PyLong_FromLongLong(number: c_longlong) -> *mut Object;
    pub(crate) fn PyUnicode_CompareWithASCIIString(text: *mut Object, other: *const c_char) -> c_int;
    pub(crate) fn PyCapsule_IsValid(capsule: *mut Object, name: *const c_char) -> c_int;
    pub(crate) fn PyCapsule_GetPointer(capsule: *mut Object, name: *const c_char) -> *mut c_void;
    pub(crate) fn PyFloat_AsDouble(number: *mut Object) -> f64;
    pub(crate) fn PyBool_FromLong(value: std::ffi::c_long) -> *mut Object;
    pub(crate) fn PyErr_Occurred() -> *mut Object;
    pub(crate) fn PyErr_SetString(kind: *mut Object, text: *const c_char);
    pub(crate) fn PyEval_SaveThread() -> *mut c_void;
    pub(crate) fn PyEval_RestoreThread(thread: *mut c_void);
    pub(crate) fn Py_IncRef(object: *mut Object);
    pub(crate) fn Py_DecRef(object: *mut Object);
}

/// A new reference to None.
///
/// # Safety
/// The calling thread has Python's lock.
pub(crate) unsafe fn none() -> *mut Object {
    let none = &raw mut NONE;
    // SAFETY: as the caller says.
    unsafe { Py_IncRef(none) };
    none
}

/// Whether an object is of a class, or of one derived from it.
///
/// # Safety
/// Both live, and the calling thread has Python's lock.
pub(crate) unsafe fn is_a(object: *mut Object, kind: *mut Type) -> bool {
    // SAFETY: as the caller says.
    unsafe { (*object).kind == kind || PyType_IsSubtype((*object).kind, kind) != 0 }
}

/// Calls without Python's lock, so that other threads run while the driver waits.
///
/// # Safety
/// The calling thread has Python's lock; what is called uses nothing of Python's.
pub(crate) unsafe fn unlocked<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: as the caller says; the thread has the lock again before anything of Python is used.
    unsafe {
        let thread = PyEval_SaveThread();
        let result = call();
        PyEval_RestoreThread(thread);
        result
    }
}
