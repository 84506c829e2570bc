//! Does the driver do the simplest things? Memory, copies both ways, a fill and a context on each device.

use crate::calls::{self, Allocation, Context, Failure};
use crate::devices::Device;
use cushim::driver::Driver;
use std::fmt;

/// One thing that was tried.
#[derive(Debug)]
pub(crate) struct Check {
    /// The device's ordinal.
    pub(crate) device: usize,
    pub(crate) name: &'static str,
    pub(crate) ok: bool,
    /// What was seen, or why it failed.
    pub(crate) detail: String,
    /// The driver's answer, where an error of it is the reason.
    pub(crate) code: Option<i32>,
}

/// How much memory is allocated and copied.
const SIZE: usize = 1 << 20;
/// The byte that the fill writes.
const FILL: u8 = 0xa5;

/// Tries every device of an initialised driver.
pub(crate) fn run(driver: &Driver, devices: &[Device]) -> Vec<Check> {
    let each = devices.iter().enumerate();
    each.flat_map(|(ordinal, device)| Session { driver, ordinal, checks: Vec::new() }.run(device)).collect()
}

/// The checks of one device. Each needs the one before it, so after a failure only what was made is given back.
struct Session<'a> {
    driver: &'a Driver,
    ordinal: usize,
    checks: Vec<Check>,
}

impl Session<'_> {
    fn run(mut self, device: &Device) -> Vec<Check> {
        let created = calls::create_context(self.driver, device.handle);
        let context = self.note("context create", created, |(_, abi)| format!("cuCtxCreate, ABI {abi}"));
        if let Some((context, _)) = context {
            self.use_memory();
            self.destroy(context);
        }
        self.checks
    }

    fn use_memory(&mut self) {
        let allocated = calls::allocate(self.driver, SIZE);
        let detail = |memory: &Allocation| format!("{SIZE} bytes at {:#x}", memory.address());
        let Some(memory) = self.note("allocation", allocated, detail) else { return };
        self.copy_and_fill(&memory);
        let freed = calls::free(self.driver, memory);
        self.note("free", freed, |()| String::new());
    }

    /// Stops at the first failure: the later steps would only repeat it.
    fn copy_and_fill(&mut self, memory: &Allocation) -> Option<()> {
        let driver = self.driver;
        let sent = pattern();
        let copied = calls::copy_to_device(driver, memory, &sent);
        self.note("copy to device", copied, |()| format!("{SIZE} bytes"))?;
        let back = read_back(driver, memory, |i| sent[i]);
        self.note("copy from device", back, |()| "every byte came back".to_owned())?;
        let filled = calls::fill(driver, memory, FILL).map_err(Wrong::Call);
        let seen = filled.and_then(|()| read_back(driver, memory, |_| FILL));
        self.note("fill", seen, |()| format!("{SIZE} bytes are {FILL:#04x}"))
    }

    fn destroy(&mut self, context: Context) {
        let destroyed = calls::destroy_context(self.driver, context);
        self.note("context destroy", destroyed, |()| String::new());
    }

    /// Notes how a step went; hands on what it made.
    fn note<T>(
        &mut self,
        name: &'static str,
        outcome: Result<T, impl Into<Wrong>>,
        detail: impl FnOnce(&T) -> String,
    ) -> Option<T> {
        let outcome = outcome.map_err(Into::into);
        let (detail, code) = match &outcome {
            Ok(made) => (detail(made), None),
            Err(wrong) => (wrong.to_string(), wrong.code()),
        };
        self.checks.push(Check { device: self.ordinal, name, ok: outcome.is_ok(), detail, code });
        outcome.ok()
    }
}

/// Why memory is not as it should be.
enum Wrong {
    Call(Failure),
    Byte { index: usize, is: u8, should_be: u8 },
}

impl Wrong {
    fn code(&self) -> Option<i32> {
        match self {
            Self::Call(failure) => failure.code(),
            Self::Byte { .. } => None,
        }
    }
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self::Call(failure)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(failure) => failure.fmt(f),
            Self::Byte { index, is, should_be } => {
                write!(f, "byte {index} is {is:#04x} and should be {should_be:#04x}")
            }
        }
    }
}

/// Bytes that differ from their neighbours and from those a page further on.
fn pattern() -> Vec<u8> {
    (0..SIZE).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}

/// Copies the memory back and compares it.
fn read_back(driver: &Driver, memory: &Allocation, should_be: impl Fn(usize) -> u8) -> Result<(), Wrong> {
    // What the driver leaves untouched must not look right.
    let mut bytes: Vec<u8> = (0..SIZE).map(|i| !should_be(i)).collect();
    calls::copy_from_device(driver, memory, &mut bytes).map_err(Wrong::Call)?;
    match bytes.iter().enumerate().find(|&(i, &byte)| byte != should_be(i)) {
        Some((index, &is)) => Err(Wrong::Byte { index, is, should_be: should_be(index) }),
        None => Ok(()),
    }
}
