//! The capture mode of a thread: in the relaxed mode, no call of it disturbs a capture of somebody else's (measured on 580: for all
//! but waiting for a whole context).

use crate::driver::sys::{CU_STREAM_CAPTURE_MODE_RELAXED, CUstreamCaptureMode};
use crate::driver::{CallError, Driver, Table, call};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed as Loosely};

/// How many captures of this library's are under way in the process.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);

/// One more capture of this library's is under way.
pub(crate) fn capture_began() {
    CAPTURES.fetch_add(1, Loosely);
}

/// One is over.
pub(crate) fn capture_ended() {
    CAPTURES.fetch_sub(1, Loosely);
}

/// Sets the calling thread's capture mode; answers with what it was.
#[inline]
fn exchange_mode(table: &Table, mode: CUstreamCaptureMode) -> Result<CUstreamCaptureMode, CallError> {
    let mut mode = mode;
    // SAFETY: reads and writes one number.
    unsafe { call!(table, cuThreadExchangeStreamCaptureMode_10010(&raw mut mode)) }?;
    Ok(mode)
}

/// The thread is in the relaxed mode until this is dropped.
pub(crate) struct Relaxed<'a> {
    table: &'a Table,
    before: CUstreamCaptureMode,
}

impl<'a> Relaxed<'a> {
    /// `None` where the driver knows no such modes.
    #[inline]
    pub(crate) fn enter(table: &'a Table) -> Option<Self> {
        let before = exchange_mode(table, CU_STREAM_CAPTURE_MODE_RELAXED).ok()?;
        Some(Self { table, before })
    }

    /// The same while this library captures something: for calls that are too cheap for more.
    #[inline]
    pub(crate) fn enter_if_capturing(table: &'a Table) -> Option<Self> {
        if CAPTURES.load(Loosely) > 0 { Self::enter(table) } else { None }
    }
}

impl Drop for Relaxed<'_> {
    #[inline]
    fn drop(&mut self) {
        let _ = exchange_mode(self.table, self.before);
    }
}

/// A thread that is in the relaxed mode for good, in all drivers that are open.
#[derive(Default)]
pub(crate) struct RelaxedThread {
    /// In how many drivers it was looked at.
    known: usize,
    /// Those that did not take it, for they are not initialised.
    left: Vec<&'static Table>,
}

impl RelaxedThread {
    /// Has this thread be in it, in drivers that were opened or initialised since, too.
    pub(crate) fn relax(&mut self) {
        let opened = Driver::opened_after(self.known);
        self.known += opened.len();
        self.left.extend(
            opened.into_iter().filter(|table| table.cuThreadExchangeStreamCaptureMode_10010.is_some()),
        );
        self.left.retain(|table| exchange_mode(table, CU_STREAM_CAPTURE_MODE_RELAXED).is_err());
    }
}

/// As `call!`, with the thread in the relaxed mode: for calls that would invalidate captures of others.
macro_rules! relaxed {
    ($table:expr, $($call:tt)*) => {{
        let _mode = $crate::driver::calls::capture_mode::Relaxed::enter($table);
        $crate::driver::call!($table, $($call)*)
    }};
}
pub(crate) use relaxed;

/// The same while this library captures something.
macro_rules! relaxed_if_capturing {
    ($table:expr, $($call:tt)*) => {{
        let _mode = $crate::driver::calls::capture_mode::Relaxed::enter_if_capturing($table);
        $crate::driver::call!($table, $($call)*)
    }};
}
pub(crate) use relaxed_if_capturing;
