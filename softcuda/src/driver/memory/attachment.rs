//! Which streams may use managed memory. That matters only where host and devices may not use it at the same time.

use crate::abi::sys::{
    CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE, CUDA_ERROR_INVALID_VALUE, CUresult,
};
use crate::instruments::settings::concurrent_managed;
use parking_lot::Mutex;

/// Whose work may use an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    Everywhere,
    /// No work.
    HostOnly,
    /// That of the stream with this number.
    OneStream(u64),
}

/// What an allocation began with, and what it is now.
pub(crate) struct Attachment {
    first: Visibility,
    now: Mutex<Visibility>,
}

impl Visibility {
    /// What a caller's flags mean.
    pub(crate) fn of(flags: u32) -> Result<Self, CUresult> {
        const GLOBAL: u32 = CU_MEM_ATTACH_GLOBAL.0 as u32;
        const HOST: u32 = CU_MEM_ATTACH_HOST.0 as u32;
        match flags {
            GLOBAL => Ok(Self::Everywhere),
            HOST => Ok(Self::HostOnly),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// As `of`, where the stream of that number may be meant.
    pub(crate) fn with_stream(flags: u32, stream: u64) -> Result<Self, CUresult> {
        const SINGLE: u32 = CU_MEM_ATTACH_SINGLE.0 as u32;
        match flags {
            SINGLE => Ok(Self::OneStream(stream)),
            _ => Self::of(flags),
        }
    }
}

impl Attachment {
    pub(crate) fn new(first: Visibility) -> Self {
        Self { first, now: Mutex::new(first) }
    }

    /// Changes who may use the memory.
    pub(crate) fn set(&self, visibility: Visibility) {
        *self.now.lock() = visibility;
    }

    /// Whether work of a stream may use the memory.
    pub(crate) fn admits(&self, stream: u64) -> bool {
        concurrent_managed()
            || match *self.now.lock() {
                Visibility::Everywhere => true,
                Visibility::HostOnly => false,
                Visibility::OneStream(own) => own == stream,
            }
    }

    /// A stream is no more: what only it could use is as it was at first.
    pub(crate) fn forget(&self, stream: u64) {
        let mut now = self.now.lock();
        if *now == Visibility::OneStream(stream) {
            *now = self.first;
        }
    }
}
