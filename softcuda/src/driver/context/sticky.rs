//! Sticky errors: after one, a context answers nothing else, what it had still to do is dropped, and its device gives no
//! context that works to this process any more. If it is a kernel's or a copy's, no device does (measured).

use super::Activation;
use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_SUCCESS, CUresult};
use crate::driver::device::{self, Device};
use crate::executor;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// The first sticky error of each device, 0 for none.
static LOST: LazyLock<Vec<AtomicI32>> =
    LazyLock::new(|| (0..device::count()).map(|_| AtomicI32::new(CUDA_SUCCESS.0)).collect());

impl Activation {
    /// Makes `code` the answer of every call on this context from now on. The first error stays.
    pub(crate) fn poison(&self, code: CUresult) {
        set(&LOST[self.device.ordinal()], code);
        if set(&self.fault, code) {
            executor::abandon(&self.queues);
        }
    }

    /// The sticky error, if there is one.
    pub(crate) fn fault(&self) -> Answer {
        get(&self.fault)
    }

    /// Whether calls on it can be answered.
    pub(crate) fn health(&self) -> Answer {
        if self.has_ended() {
            return Err(CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
        self.fault()
    }
}

/// No device gives a context that works any more.
pub(super) fn lose_devices(code: CUresult) {
    for device in &*LOST {
        set(device, code);
    }
}

/// Whether the device still gives contexts that work.
pub(super) fn device_health(device: Device) -> Answer {
    get(&LOST[device.ordinal()])
}

fn get(place: &AtomicI32) -> Answer {
    match CUresult(place.load(Ordering::Acquire)) {
        CUDA_SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// False if there was an error already.
fn set(place: &AtomicI32, code: CUresult) -> bool {
    place.compare_exchange(CUDA_SUCCESS.0, code.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
}
