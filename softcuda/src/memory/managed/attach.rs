//! Which streams may use managed memory. That matters only where host and devices may not use it at the same time.

use super::{Part, is_concurrent};
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::memory::table::{self, Allocation};
use crate::stream::Stream;
use crate::sys::{
    CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE, CUDA_ERROR_INVALID_VALUE, CUdeviceptr_v2,
    CUresult, CUstream,
};
use parking_lot::Mutex;
use std::sync::Arc;

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
    pub(super) fn of(flags: u32) -> Result<Self, CUresult> {
        const GLOBAL: u32 = CU_MEM_ATTACH_GLOBAL.0 as u32;
        const HOST: u32 = CU_MEM_ATTACH_HOST.0 as u32;
        match flags {
            GLOBAL => Ok(Self::Everywhere),
            HOST => Ok(Self::HostOnly),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn with_stream(flags: u32, stream: &Stream) -> Result<Self, CUresult> {
        const SINGLE: u32 = CU_MEM_ATTACH_SINGLE.0 as u32;
        match flags {
            SINGLE => Ok(Self::OneStream(stream.id)),
            _ => Self::of(flags),
        }
    }
}

impl Attachment {
    pub(crate) fn new(first: Visibility) -> Self {
        Self { first, now: Mutex::new(first) }
    }

    /// Whether work of a stream may use the memory.
    pub(crate) fn admits(&self, stream: u64) -> bool {
        is_concurrent()
            || match *self.now.lock() {
                Visibility::Everywhere => true,
                Visibility::HostOnly => false,
                Visibility::OneStream(own) => own == stream,
            }
    }

    /// A stream is no more: what only it could use is as it was at first.
    fn forget(&self, stream: u64) {
        let mut now = self.now.lock();
        if *now == Visibility::OneStream(stream) {
            *now = self.first;
        }
    }
}

/// Changes who may use an allocation, at a place in a stream.
struct Attach(Arc<Allocation>, Visibility);

impl Work for Attach {
    fn name(&self) -> &'static str {
        "an attachment"
    }

    fn duty(&self) -> Duty {
        Duty::Instant
    }

    fn run(&self) {
        if let Some(pages) = &self.0.pages {
            *pages.attachment.now.lock() = self.1;
        }
    }
}

/// A stream is destroyed.
pub(crate) fn forget(stream: &Stream) {
    if !is_concurrent() {
        table::each(|allocation| {
            allocation.pages.iter().for_each(|pages| pages.attachment.forget(stream.id));
        });
    }
}

/// Only whole allocations; a length of 0 means that too.
pub(crate) fn cuStreamAttachMemAsync(
    hStream: CUstream,
    dptr: CUdeviceptr_v2,
    length: usize,
    flags: u32,
) -> Answer {
    let stream = Stream::of(hStream)?;
    let visibility = Visibility::with_stream(flags, &stream)?;
    let part = Part::of(dptr, length.max(1))?;
    let allocation = &part.allocation;
    if dptr as usize != allocation.address || !(length == 0 || length == allocation.size) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if part.is_pooled() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    stream.submit(Attach(Arc::clone(allocation), visibility)).map(drop)
}
