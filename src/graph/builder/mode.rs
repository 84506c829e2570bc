//! Which calls of the process the driver refuses while something is captured.

use crate::driver::sys;

/// Which calls of the process the driver refuses while a builder captures, because they might wait for what does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CaptureMode {
    /// Those of every thread.
    Global,
    /// Those of the thread that began the capture, and that has to end it.
    ThreadLocal,
    /// None. Any thread may end the capture.
    #[default]
    Relaxed,
}

impl CaptureMode {
    pub(super) fn raw(self) -> sys::CUstreamCaptureMode {
        match self {
            Self::Global => sys::CU_STREAM_CAPTURE_MODE_GLOBAL,
            Self::ThreadLocal => sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            Self::Relaxed => sys::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}
