//! The caller's functions that streams run: on a driver's thread, where few calls into the driver are allowed.

use super::Action;
use crate::abi::sys::{CUDA_SUCCESS, CUresult, CUstream};
use crate::driver::context::Activation;
use crate::executor::{Turn, WorkKind};
use crate::instruments::foreign;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is inside one of the caller's functions that the driver runs.
pub(crate) fn running() -> bool {
    RUNNING.get()
}

/// Runs the caller's code as that of a host function.
fn run(body: impl FnOnce() -> usize) {
    let outer = RUNNING.replace(true);
    body();
    RUNNING.set(outer);
}

/// The caller's data, which the driver only hands on.
#[derive(Clone, Copy)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: never followed here; the API hands it to a function that runs on another thread, as its callers know.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// `cuLaunchHostFunc`: does not run where the context has a sticky error.
#[derive(Clone, Copy)]
pub(crate) struct HostFunction {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) data: UserData,
    /// How the device waits for it, which makes no difference here.
    pub(crate) mode: u32,
}

impl Action for HostFunction {
    fn name(&self) -> &'static str {
        "a host function"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Host
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        // SAFETY: the caller gave the function and its data to be called so, each time that its turn comes.
        run(|| unsafe { foreign::call(self.function as *const c_void, [self.data.0.expose_provenance()]) });
    }
}

/// `cuStreamAddCallback`: is told of a sticky error.
#[derive(Clone)]
pub(crate) struct Callback {
    pub(crate) function: unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
    /// As the caller named it.
    pub(crate) stream: usize,
    pub(crate) data: UserData,
}

impl Callback {
    fn call(&self, status: CUresult) {
        // SAFETY: as in `HostFunction`.
        run(|| unsafe {
            let arguments = [self.stream, status.0 as usize, self.data.0.expose_provenance()];
            foreign::call(self.function as *const c_void, arguments)
        });
    }
}

impl Action for Callback {
    fn name(&self) -> &'static str {
        "a stream callback"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Host
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        self.call(CUDA_SUCCESS);
    }

    fn give_up(&self, fault: CUresult) {
        self.call(fault);
    }
}
