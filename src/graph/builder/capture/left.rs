//! Captures of bodies that somebody has invalidated. The driver destroys a body when such a capture ends, and crashes on what looks at the
//! graph around it from then on, also to destroy that, as the end of a capture that fails does (measured on 580). So it ends once nothing
//! captures around it any more: that graph is given up by then, and stays where it is.

use crate::driver::Table;
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::CU_STREAM_CAPTURE_STATUS_INVALIDATED;
use crate::graph::relations;
use crate::stream::Stream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How often the driver is told to end a capture that is given up.
pub(super) const ATTEMPTS: usize = 3;

/// The capture of a body, which ends when the last capture around it lets go of this.
pub(super) struct Left {
    pub(super) stream: Stream,
    pub(super) table: &'static Table,
    /// Whether the driver has destroyed what is around the body, and with it the body: it crashes on the end.
    pub(super) is_lost: AtomicBool,
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.is_lost.load(Relaxed) || !self.ends() {
            // The driver crashes on a stream that is destroyed while it captures.
            std::mem::forget(self.stream.clone());
        }
    }
}

impl Left {
    /// Ends it, with what joined it. The driver says that it was invalid, and that is no news.
    fn ends(&self) -> bool {
        let raw = self.stream.raw();
        let is_there = || {
            calls::info(self.table, raw.handle())
                .is_ok_and(|info| info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        };
        let _relatives = relations::changed();
        (0..ATTEMPTS).any(|_| {
            let _ = calls::end(self.table, raw);
            !is_there()
        })
    }
}
