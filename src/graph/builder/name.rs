//! What a builder is called, apart from it: its capture names it in messages while the definition is locked, and must not become the last to
//! have the builder then, whose end takes that lock.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The name of a builder, which is there as long as somebody may say it.
pub(super) struct Name {
    kind: &'static str,
    label: Mutex<Option<Arc<str>>>,
    /// Whether it was closed or destroyed. Asked of forks only, whose close does not fail.
    is_closed: AtomicBool,
}

impl Name {
    pub(super) fn new(kind: &'static str) -> Arc<Self> {
        Arc::new(Self { kind, label: Mutex::default(), is_closed: AtomicBool::new(false) })
    }

    pub(super) fn set_label(&self, label: Option<&str>) {
        *self.label.lock() = label.map(Arc::from);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    pub(super) fn closes(&self) {
        self.is_closed.store(true, Relaxed);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, label) = (self.kind, self.label.lock().clone());
        match label {
            Some(label) => write!(f, "{kind} \"{label}\""),
            None => f.write_str(kind),
        }
    }
}
