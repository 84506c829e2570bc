//! The driver under examination, and what nearly every section needs first.

use cushim::driver::Table;
use cushim::driver::sys::{
    CUDA_SUCCESS, CUcontext, CUdeviceptr, CUevent, CUmemoryPool, CUresult, CUstream, result_name,
};
use std::fmt;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// The stream that all blocking streams synchronise with, by its token.
pub(crate) const LEGACY: CUstream = std::ptr::without_provenance_mut(1);
/// The calling thread's default stream, by its token.
pub(crate) const PER_THREAD: CUstream = std::ptr::without_provenance_mut(2);
/// What `cuStreamCreate` calls non-blocking.
pub(crate) const NON_BLOCKING: u32 = 1;
/// A size that no device has.
pub(crate) const HUGE: usize = 1 << 50;
/// An address that is nobody's.
pub(crate) const BOGUS: CUdeviceptr = 0x1234_5678_9000;

/// What a line answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// What the driver's function returned.
    Result(CUresult),
    /// The driver does not have the function: its base name and the number of its ABI.
    Absent(&'static str),
    /// Something else that was observed.
    Value(String),
}

impl Answer {
    /// The value, if the call before it succeeded; otherwise what that call answered.
    #[must_use]
    pub(crate) fn then<T: fmt::Display>(self, value: impl FnOnce() -> T) -> Self {
        match self {
            Self::Result(CUDA_SUCCESS) => Self::Value(value().to_string()),
            other => other,
        }
    }

    /// What the next call answers, if this one succeeded; otherwise what this one answered.
    #[must_use]
    pub(crate) fn and(self, next: impl FnOnce() -> Self) -> Self {
        if self.succeeded() { next() } else { self }
    }

    /// The number of a result, for tables that have a row of them.
    pub(crate) fn number(&self) -> String {
        match self {
            Self::Result(CUresult(code)) => code.to_string(),
            Self::Absent(_) => "absent".to_owned(),
            Self::Value(text) => text.clone(),
        }
    }

    /// What a section says if it cannot go on with anything but success.
    pub(crate) fn must(self, call: &str) -> Outcome {
        if self.succeeded() { Ok(()) } else { Err(Stop(format!("{call} {self}"))) }
    }

    /// What a question says that needs this call to succeed, if it did not.
    pub(crate) fn given(self, call: &str) -> Given {
        match self {
            Self::Result(CUDA_SUCCESS) => Ok(()),
            Self::Result(_) | Self::Value(_) => Err(Self::Value(format!("cannot ask: {call} {self}"))),
            Self::Absent(_) => Err(self),
        }
    }

    /// The answer with the name of the call, unless that succeeded.
    pub(crate) fn named(self, call: &str) -> Self {
        if let Self::Result(CUDA_SUCCESS) | Self::Absent(_) = self {
            self
        } else {
            Self::Value(format!("{call}: {self}"))
        }
    }

    /// Several answers as one; without a function that the driver does not have there is none.
    pub(crate) fn all<const N: usize>(answers: [Self; N]) -> Self {
        let absent = answers.iter().find(|answer| matches!(answer, Self::Absent(_)));
        absent.cloned().unwrap_or_else(|| Self::Value(answers.map(|answer| answer.to_string()).join(", ")))
    }

    /// Whether it is a call that succeeded.
    #[must_use]
    pub(crate) fn succeeded(&self) -> bool {
        *self == Self::Result(CUDA_SUCCESS)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(CUresult(code)) => match result_name(*code) {
                Some(name) => f.write_str(&name.to_string_lossy()),
                None => write!(f, "CUresult {code}"),
            },
            Self::Absent(entry) => write!(f, "absent: {entry}"),
            Self::Value(text) => f.write_str(text),
        }
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self::Value(text)
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::Value(text.to_owned())
    }
}

impl From<Given<Self>> for Answer {
    fn from(asked: Given<Self>) -> Self {
        asked.unwrap_or_else(|obstacle| obstacle)
    }
}

impl From<Stop> for Answer {
    fn from(Stop(reason): Stop) -> Self {
        Self::Value(format!("cannot ask: {reason}"))
    }
}

/// What a question needs, or the answer that it gets without.
pub(crate) type Given<T = ()> = Result<T, Answer>;

/// A part of a section cannot go on, because something that it needs did not work.
#[derive(Debug)]
pub(crate) struct Stop(pub(crate) String);

/// How a part of a section ends.
pub(crate) type Outcome<T = ()> = Result<T, Stop>;

/// Calls an entry of the driver's table: `call!(cu, cuStreamQuery_2000(stream))` is an [`Answer`].
macro_rules! call {
    ($cu:expr, $entry:ident($($argument:expr),* $(,)?)) => {
        match $cu.table.$entry {
            // SAFETY: out-pointers are of living variables. What else is passed may be wrong on purpose: that is the
            // question, and a driver that cannot bear it ends this process, which has no other purpose.
            Some(function) => $crate::driver::Answer::Result(unsafe { function($($argument),*) }),
            None => $crate::driver::Answer::Absent(stringify!($entry)),
        }
    };
}

/// Calls an entry that must succeed for the section to go on.
macro_rules! need {
    ($cu:expr, $entry:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::call!($cu, $entry($($argument),*)).must(stringify!($entry))
    };
}

/// Calls an entry that must succeed for a question to be one.
macro_rules! given {
    ($cu:expr, $entry:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::call!($cu, $entry($($argument),*)).given(stringify!($entry))
    };
}

pub(crate) use {call, given, need};

/// The driver under examination.
#[derive(Clone, Copy)]
pub(crate) struct Cu {
    /// Its functions.
    pub(crate) table: &'static Table,
    /// The CUDA version that it reports: 13000 for 13.0.
    pub(crate) version: u32,
}

impl Cu {
    /// Initialises the driver and makes the primary context of device 0 current.
    pub(crate) fn start(&self) -> Outcome<CUcontext> {
        need!(self, cuInit_2000(0))?;
        let mut context = null_mut();
        need!(self, cuDevicePrimaryCtxRetain_7000(&raw mut context, 0))?;
        need!(self, cuCtxSetCurrent_4000(context))?;
        Ok(context)
    }

    /// Creates a context of device 0, through the newest ABI that the driver has, and makes it current.
    pub(crate) fn create_context(&self, out: &mut CUcontext, flags: u32, device: i32) -> Answer {
        if self.table.cuCtxCreate_12050.is_some() {
            call!(self, cuCtxCreate_12050(out, null_mut(), flags, device))
        } else {
            call!(self, cuCtxCreate_3020(out, flags, device))
        }
    }

    /// As [`create_context`](Self::create_context), for a section that cannot do without.
    pub(crate) fn context(&self) -> Outcome<CUcontext> {
        let mut context = null_mut();
        self.create_context(&mut context, 0, 0).must("cuCtxCreate")?;
        Ok(context)
    }

    /// A stream with these flags.
    pub(crate) fn stream(&self, flags: u32) -> Outcome<CUstream> {
        let mut stream = null_mut();
        need!(self, cuStreamCreate_2000(&raw mut stream, flags))?;
        Ok(stream)
    }

    /// An event with these flags.
    pub(crate) fn event(&self, flags: u32) -> Outcome<CUevent> {
        let mut event = null_mut();
        need!(self, cuEventCreate_2000(&raw mut event, flags))?;
        Ok(event)
    }

    /// Device memory.
    pub(crate) fn memory(&self, bytes: usize) -> Outcome<CUdeviceptr> {
        let mut address = 0;
        need!(self, cuMemAlloc_3020(&raw mut address, bytes))?;
        Ok(address)
    }

    /// The pool that device 0 began with.
    pub(crate) fn default_pool(&self) -> Outcome<CUmemoryPool> {
        let mut pool = null_mut();
        need!(self, cuDeviceGetDefaultMemPool_11020(&raw mut pool, 0))?;
        Ok(pool)
    }

    /// What a query answers in the end: asks until it is no longer "not ready", for a while.
    pub(crate) fn settled(&self, query: impl Fn() -> Answer) -> Answer {
        const NOT_READY: CUresult = CUresult(600);
        let start = Instant::now();
        loop {
            match query() {
                Answer::Result(NOT_READY) if start.elapsed() < Duration::from_millis(300) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                answer => return answer,
            }
        }
    }
}

/// `yes` or `no`.
#[must_use]
pub(crate) fn yes(condition: bool) -> &'static str {
    if condition { "yes" } else { "no" }
}
