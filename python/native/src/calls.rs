//! Calls that take an object, and perhaps one more: event record and query, stream wait and query, exec launch.

use crate::bound::{Address, EVENT, FAIL, Held, STREAM};
use crate::object::handle;
use crate::python::{
    FAST, Function, Method, Object, Py_DecRef, Py_IncRef, PyBool_FromLong, PyDict_New, PyDict_SetItem,
    PyLong_AsLongLongAndOverflow, PyLong_FromLongLong, PyObject_Call, PyTuple_GetItem, PyTuple_New,
    PyTuple_SetItem, PyTuple_Size, is_a, none, unlocked,
};
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

/// A method in Rust, and what it stands for.
pub(crate) struct Call {
    /// As Python calls it.
    pub(crate) method: Method,
    /// Of libcushim.
    pub(crate) address: Address,
    /// The method in Python: it takes whatever this one does not.
    pub(crate) python: Held,
}

impl Call {
    pub(crate) const fn new(name: &'static CStr, doc: &'static CStr, function: Function) -> Self {
        let method = Method { name: name.as_ptr(), function: Some(function), flags: FAST, doc: doc.as_ptr() };
        Self { method, address: Address::nothing(), python: Held::nothing() }
    }
}

pub(crate) static RECORD: Call = Call::new(c"record", c"record($self, stream)\n--\n\nRecords the event: it is complete when the work that is in the stream now is done.", record);
pub(crate) static EVENT_QUERY: Call = Call::new(
    c"query",
    c"query($self)\n--\n\nTells whether what the event last recorded is done.",
    event_query,
);
pub(crate) static STREAM_QUERY: Call =
    Call::new(c"query", c"query($self)\n--\n\nTells whether all work in the stream is done.", stream_query);
pub(crate) static WAIT: Call = Call::new(c"wait", c"wait($self, event)\n--\n\nHas work that is enqueued later wait for an event, or for what is in another stream now.", wait);
pub(crate) static EXEC_LAUNCH: Call =
    Call::new(c"launch", c"launch($self, stream)\n--\n\nEnqueues the graph in a stream.", exec_launch);

type OfTwo = unsafe extern "C" fn(u64, u64) -> i32;
type Asks = unsafe extern "C" fn(u64, *mut i32) -> i32;

unsafe extern "C" fn record(
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python calls it so, with an object of the class that the method is of.
    unsafe { with_one(&RECORD, &STREAM, of, arguments, count, names) }
}

unsafe extern "C" fn exec_launch(
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as for `record`.
    unsafe { with_one(&EXEC_LAUNCH, &STREAM, of, arguments, count, names) }
}

unsafe extern "C" fn wait(
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as for `record`.
    unsafe { with_one(&WAIT, &EVENT, of, arguments, count, names) }
}

unsafe extern "C" fn event_query(
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as for `record`.
    unsafe { asks(&EVENT_QUERY, of, arguments, count, names) }
}

unsafe extern "C" fn stream_query(
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as for `record`.
    unsafe { asks(&STREAM_QUERY, of, arguments, count, names) }
}

/// Calls with an object and one more of a class.
///
/// # Safety
/// As Python calls a method; `of` is derived from [`crate::object::Base`], and so is the class.
unsafe fn with_one(
    call: &Call,
    class: &Held,
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python's conventions, and the address is that of a function of this type.
    unsafe {
        if count != 1 || !names.is_null() || !is_a(*arguments, class.class()) {
            return in_python(call, of, arguments, count, names);
        }
        let (first, second) = (handle(of), handle(*arguments));
        let function = std::mem::transmute::<usize, OfTwo>(call.address.get());
        answer(unlocked(|| function(first, second)))
    }
}

/// Calls what answers yes or no of an object.
///
/// # Safety
/// As for [`with_one`].
unsafe fn asks(
    call: &Call,
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python's conventions, and the address is that of a function of this type.
    unsafe {
        if count != 0 || !names.is_null() {
            return in_python(call, of, arguments, count, names);
        }
        let function = std::mem::transmute::<usize, Asks>(call.address.get());
        let (first, mut yes) = (handle(of), 0);
        let status = unlocked(|| function(first, &raw mut yes));
        if status == 0 { PyBool_FromLong(yes.into()) } else { fail(status) }
    }
}

/// None, or the exception that says what failed.
///
/// # Safety
/// The calling thread has Python's lock.
pub(crate) unsafe fn answer(status: i32) -> *mut Object {
    // SAFETY: as the caller says.
    unsafe { if status == 0 { none() } else { fail(status) } }
}

/// Raises the calling thread's last error.
unsafe fn fail(status: i32) -> *mut Object {
    // SAFETY: the lock is held; the tuple takes over the number.
    unsafe {
        let given = PyTuple_New(1);
        if given.is_null() {
            return null_mut();
        }
        PyTuple_SetItem(given, 0, PyLong_FromLongLong(status.into()));
        let result = PyObject_Call(FAIL.get(), given, null_mut());
        Py_DecRef(given);
        result
    }
}

/// Calls the method in Python, with the same arguments.
///
/// # Safety
/// As Python calls a method; `of` may be NULL, for a function.
pub(crate) unsafe fn in_python(
    call: &Call,
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python's conventions: there are `count` arguments, and behind them one for each name. A tuple and a dictionary have
    // references of their own.
    unsafe {
        let first = isize::from(!of.is_null());
        let (given, named) =
            (PyTuple_New(first + count), if names.is_null() { null_mut() } else { PyDict_New() });
        if given.is_null() {
            return null_mut();
        }
        for index in 0..first + count {
            let value = if index < first { of } else { *arguments.offset(index - first) };
            Py_IncRef(value);
            PyTuple_SetItem(given, index, value);
        }
        if !named.is_null() {
            for index in 0..PyTuple_Size(names) {
                PyDict_SetItem(named, PyTuple_GetItem(names, index), *arguments.offset(count + index));
            }
        }
        let result = PyObject_Call(call.python.get(), given, named);
        Py_DecRef(given);
        if !named.is_null() {
            Py_DecRef(named);
        }
        result
    }
}

/// A number of Python that fits.
///
/// # Safety
/// It is an `int`, and the calling thread has Python's lock.
pub(crate) unsafe fn integer(number: *mut Object) -> Option<i64> {
    let mut overflow: c_int = 0;
    // SAFETY: as the caller says: then nothing is raised.
    let value = unsafe { PyLong_AsLongLongAndOverflow(number, &raw mut overflow) };
    (overflow == 0).then_some(value)
}
