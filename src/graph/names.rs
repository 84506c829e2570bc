//! What the nodes of a definition are called, and the numbers by which programs tell them apart: most have neither.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Labels and identities of nodes, by the numbers of these. Under a lock of its own, so that messages name nodes while a definition is
/// locked.
#[derive(Default)]
pub(super) struct Names {
    /// Whether a node ever had one, to be asked without the lock.
    any: AtomicBool,
    all: Mutex<HashMap<u32, Name>>,
}

#[derive(Default)]
struct Name {
    label: Option<Arc<str>>,
    /// 0 until somebody asks for it.
    #[cfg(feature = "capi")]
    identity: u64,
}

impl Names {
    /// Whether a node ever had one.
    #[inline]
    pub(super) fn are_any(&self) -> bool {
        self.any.load(Relaxed)
    }

    #[inline]
    pub(super) fn label(&self, number: u32) -> Option<Arc<str>> {
        if self.are_any() { self.all.lock().get(&number)?.label.clone() } else { None }
    }

    pub(super) fn set_label(&self, number: u32, label: Option<Arc<str>>) {
        let mut all = self.all.lock();
        self.any.store(true, Relaxed);
        all.entry(number).or_default().label = label;
    }

    /// A number that no other object of the process has.
    #[cfg(feature = "capi")]
    pub(super) fn identity(&self, number: u32) -> u64 {
        let mut all = self.all.lock();
        self.any.store(true, Relaxed);
        let known = &mut all.entry(number).or_default().identity;
        if *known == 0 {
            *known = crate::object::handle::new_identity();
        }
        *known
    }

    /// Nobody names the node any more.
    pub(super) fn forget(&self, number: u32) {
        if self.are_any() {
            self.all.lock().remove(&number);
        }
    }
}
