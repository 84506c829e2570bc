//! What native kernels say that they do to memory: nobody sees it.

use crate::check::Used;
use crate::check::access::{Kind, Touch};
use crate::driver::memory::table::{self, Allocation};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// What the native kernel that the thread runs has said, where somebody checks.
    static DECLARED: RefCell<Option<Declared>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Declared {
    used: Used,
    has_any: bool,
}

/// Runs a native kernel; answers what it has said. One that says nothing may have written anywhere.
pub(crate) fn collect(run: impl FnOnce()) -> Used {
    DECLARED.set(Some(Declared::default()));
    run();
    let Declared { mut used, has_any } = DECLARED.take().unwrap_or_default();
    used.is_unseen = !has_any;
    used
}

/// Where these bytes are, which the native kernel that the thread runs reads or writes; `None` if they are not wholly inside of one
/// allocation.
pub(crate) fn declare(address: u64, size: usize, kind: Kind) -> Option<*mut u8> {
    let allocation = table::find(address as usize)?;
    let bytes = allocation.locate(address as usize, size).ok()?;
    DECLARED.with_borrow_mut(|declared| {
        if let Some(declared) = declared {
            declared.add(&allocation, address, size, kind);
        }
    });
    Some(bytes)
}

impl Declared {
    fn add(&mut self, allocation: &Arc<Allocation>, address: u64, size: usize, kind: Kind) {
        self.has_any = true;
        self.used.ranges.push(Touch { start: address, size: size as u64, kind });
        if self.used.memory.iter().all(|known| known.start != allocation.address as u64) {
            self.used.memory.push(allocation.checked());
        }
    }
}
