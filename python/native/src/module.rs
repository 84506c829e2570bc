//! The module: its class, and the functions by which the package gives it what it needs and gets its methods.

use crate::bound::{BUFFER, EVENT, FAIL, Held, KERNEL, STREAM};
use crate::calls::{Call, EVENT_QUERY, EXEC_LAUNCH, RECORD, STREAM_QUERY, WAIT};
use crate::capsule;
use crate::launch::{CONFIG, FUNCTION, METHOD, fits};
use crate::object;
use crate::python::{
    FAST, INTERFACE, Method, Module, Object, Py_DecRef, Py_IncRef, PyCFunction_NewEx, PyDescr_NewMethod,
    PyErr_Occurred, PyErr_SetString, PyExc_ValueError, PyLong_AsUnsignedLongLong, PyLong_FromLongLong,
    PyModule_AddObject, PyModule_Create2, PyUnicode_CompareWithASCIIString, none,
};
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// The methods, by the names that `attach` has for them.
static CALLS: [(&CStr, &Call); 7] = [
    (c"Event.record", &RECORD),
    (c"Event.query", &EVENT_QUERY),
    (c"Stream.query", &STREAM_QUERY),
    (c"Stream.wait", &WAIT),
    (c"Exec.launch", &EXEC_LAUNCH),
    (c"Kernel.launch", &METHOD),
    (c"launch", &FUNCTION),
];

static HELD: [(&CStr, &Held); 5] =
    [(c"stream", &STREAM), (c"event", &EVENT), (c"buffer", &BUFFER), (c"kernel", &KERNEL), (c"fail", &FAIL)];

const fn function(name: &'static CStr, function: crate::python::Function, doc: &'static CStr) -> Method {
    Method { name: name.as_ptr(), function: Some(function), flags: FAST, doc: doc.as_ptr() }
}

static FUNCTIONS: [Method; 4] = [
    function(
        c"attach",
        attach,
        c"attach($module, name, kind, python, address)\n--\n\nThe method of a class that stands for one in Python, or the function.",
    ),
    function(c"give", give, c"give($module, name, what)\n--\n\nTells of a class, or of the function that raises."),
    function(
        c"configure",
        configure,
        c"configure($module, size, grid, block)\n--\n\nTells of the form of cushim_launch_config.",
    ),
    Method { name: null(), function: None, flags: 0, doc: null() },
];

/// Makes the module; NULL if Python has raised something.
///
/// # Safety
/// The calling thread has Python's lock.
pub(crate) unsafe fn create() -> *mut Object {
    let module = Box::new(Module {
        head: Object::constant(),
        init: null_mut(),
        index: 0,
        copy: null_mut(),
        name: c"cushim._native".as_ptr(),
        doc: c"The calls of the package that are made most often.".as_ptr(),
        size: -1,
        methods: FUNCTIONS.as_ptr(),
        slots: null_mut(),
        traverse: null_mut(),
        clear: null_mut(),
        free: null_mut(),
    });
    // SAFETY: as the caller says. Python keeps the definition for as long as the process runs.
    unsafe {
        let made = PyModule_Create2(Box::into_raw(module), INTERFACE);
        let class = object::create();
        if made.is_null() || class.is_null() || PyModule_AddObject(made, c"Base".as_ptr(), class) != 0 {
            return null_mut();
        }
        let unused = PyLong_FromLongLong(capsule::unused as *const () as i64);
        if unused.is_null() || PyModule_AddObject(made, c"unused_capsule".as_ptr(), unused) != 0 {
            return null_mut();
        }
        made
    }
}

unsafe extern "C" fn attach(
    _: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python calls it so, with objects that live; the class is kept by what is made of it.
    unsafe {
        let Some([name, class, python, address]) = given::<4>(arguments, count, names) else {
            return null_mut();
        };
        let Some(call) = named(&CALLS, name) else { return null_mut() };
        let Some(address) = number(address) else { return null_mut() };
        Py_IncRef(python);
        let before = call.python.set(python);
        if !before.is_null() {
            Py_DecRef(before);
        }
        call.address.set(address);
        if std::ptr::eq(call, &raw const FUNCTION) {
            return PyCFunction_NewEx(&raw const call.method, null_mut(), null_mut());
        }
        PyDescr_NewMethod(class.cast(), &raw const call.method)
    }
}

unsafe extern "C" fn give(
    _: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as for `attach`; the reference is kept until another takes its place.
    unsafe {
        let Some([name, what]) = given::<2>(arguments, count, names) else { return null_mut() };
        let Some(held) = named(&HELD, name) else { return null_mut() };
        Py_IncRef(what);
        let before = held.set(what);
        if !before.is_null() {
            Py_DecRef(before);
        }
        none()
    }
}

unsafe extern "C" fn configure(
    _: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as for `attach`.
    unsafe {
        let Some(numbers) = given::<3>(arguments, count, names) else { return null_mut() };
        let mut form = [0; 3];
        for (place, object) in form.iter_mut().zip(numbers) {
            let Some(number) = number(object) else { return null_mut() };
            *place = number;
        }
        if !fits(form) {
            return refuse(c"cushim_launch_config has another form than this module knows");
        }
        for (place, number) in CONFIG.iter().zip(form) {
            place.set(number);
        }
        none()
    }
}

/// The arguments, if there are so many.
unsafe fn given<const N: usize>(
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> Option<[*mut Object; N]> {
    if count.cast_unsigned() == N && names.is_null() {
        // SAFETY: there are `count`.
        return Some(unsafe { *arguments.cast::<[*mut Object; N]>() });
    }
    // SAFETY: Python's lock is held.
    unsafe { refuse(c"another number of arguments") };
    None
}

/// What has a name in a list.
unsafe fn named<T>(list: &'static [(&CStr, &'static T)], name: *mut Object) -> Option<&'static T> {
    // SAFETY: the name is a text, which lives.
    let found =
        list.iter().find(|(text, _)| unsafe { PyUnicode_CompareWithASCIIString(name, text.as_ptr()) == 0 });
    if found.is_none() {
        // SAFETY: Python's lock is held.
        unsafe { refuse(c"there is nothing of that name") };
    }
    found.map(|(_, it)| *it)
}

/// A number that is not negative.
unsafe fn number(object: *mut Object) -> Option<usize> {
    // SAFETY: the object lives, and Python's lock is held.
    let (number, failed) = unsafe { (PyLong_AsUnsignedLongLong(object), !PyErr_Occurred().is_null()) };
    if failed { None } else { usize::try_from(number).ok() }
}

/// Raises a ValueError.
unsafe fn refuse(text: &CStr) -> *mut Object {
    // SAFETY: Python's lock is held.
    unsafe { PyErr_SetString(PyExc_ValueError, text.as_ptr()) };
    null_mut()
}
