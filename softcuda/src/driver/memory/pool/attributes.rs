//! What a pool tells and lets be set: when freed memory is used again, how much is kept, how much there is.

use super::created::FILES;
use super::{Block, Content, Pool};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEMPOOL_ATTR_ALLOCATION_TYPE,
    CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES, CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED, CU_MEMPOOL_ATTR_LOCATION_ID,
    CU_MEMPOOL_ATTR_LOCATION_TYPE, CU_MEMPOOL_ATTR_MAX_POOL_SIZE, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
    CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
    CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
    CU_MEMPOOL_ATTR_USED_MEM_HIGH, CUDA_ERROR_INVALID_VALUE, CUmemPool_attribute, CUmemoryPool,
};
use crate::driver::capture;
use crate::executor::Queue;
use crate::instruments::settings::version;
use std::ffi::c_void;

/// When freed memory may be used again, beside in the stream that freed it.
#[derive(Clone, Copy)]
pub(super) struct Reuse {
    /// Where events have ordered the allocation behind the free.
    follow_events: i32,
    /// Where the free happens to have been reached.
    opportunistic: i32,
    /// Anywhere: the allocation is made to wait for the free.
    internal_dependencies: i32,
}

/// Why a block can be used again, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    Finished,
    SameStream,
    Events,
    Waiting,
}

impl Order {
    /// Whether the allocation must be made to follow the free.
    pub(super) fn must_wait(self) -> bool {
        self == Self::Waiting
    }
}

impl Default for Reuse {
    fn default() -> Self {
        Self { follow_events: 1, opportunistic: 1, internal_dependencies: 1 }
    }
}

impl Reuse {
    /// Whether a queue may use the block, and why.
    pub(super) fn rate(&self, block: &Block, queue: &Queue) -> Option<Order> {
        let allowed = |attribute: i32| attribute != 0;
        if block.freed.is_none() || (allowed(self.opportunistic) && block.is_idle()) {
            Some(Order::Finished)
        } else if block.was_freed_on(queue) {
            Some(Order::SameStream)
        } else if allowed(self.follow_events) && block.is_followed_by(queue) {
            Some(Order::Events)
        } else if allowed(self.internal_dependencies) {
            Some(Order::Waiting)
        } else {
            None
        }
    }
}

/// The version whose pools tell what they are.
const TOLD_SINCE: u32 = 13020;

impl Pool {
    /// What a pool is, which never changes (documented).
    fn told(&self, attribute: CUmemPool_attribute) -> Option<i32> {
        let (kind, id) = self.home.place();
        match attribute {
            CU_MEMPOOL_ATTR_ALLOCATION_TYPE if self.home.is_managed() => {
                Some(CU_MEM_ALLOCATION_TYPE_MANAGED.0)
            }
            CU_MEMPOOL_ATTR_ALLOCATION_TYPE => Some(CU_MEM_ALLOCATION_TYPE_PINNED.0),
            CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES => Some(self.exporting().map_or(0, |_| FILES)),
            CU_MEMPOOL_ATTR_LOCATION_ID => Some(id),
            CU_MEMPOOL_ATTR_LOCATION_TYPE => Some(kind.0),
            CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED => Some(0),
            _ => None,
        }
    }

    /// Bytes; 0 for no limit.
    fn greatest_size(&self) -> u64 {
        if self.most == self.home.most() { 0 } else { self.most as u64 }
    }
}

impl Content {
    fn switch(&mut self, attribute: CUmemPool_attribute) -> Option<&mut i32> {
        match attribute {
            CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => Some(&mut self.reuse.follow_events),
            CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => Some(&mut self.reuse.opportunistic),
            CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => Some(&mut self.reuse.internal_dependencies),
            _ => None,
        }
    }
}

pub(crate) fn cuMemPoolGetAttribute(
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: *mut c_void,
) -> Answer {
    let pool = Pool::of(pool)?;
    pool.check_not_imported()?;
    capture::check_unsafe()?;
    if version() >= TOLD_SINCE {
        if let Some(told) = pool.told(attr) {
            return Out::untyped(value).set(told);
        }
        if attr == CU_MEMPOOL_ATTR_MAX_POOL_SIZE {
            return Out::untyped(value).set(pool.greatest_size());
        }
    }
    let mut content = pool.content.lock();
    if let Some(switch) = content.switch(attr) {
        return Out::untyped(value).set(*switch);
    }
    let bytes = match attr {
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => content.threshold,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => content.reserved.now,
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => content.reserved.most,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT => content.used.now,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH => content.used.most,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    Out::untyped(value).set(bytes)
}

/// The largest numbers can be set to 0, which begins them anew from what there is.
pub(crate) fn cuMemPoolSetAttribute(
    pool: CUmemoryPool,
    attr: CUmemPool_attribute,
    value: *mut c_void,
) -> Answer {
    let pool = Pool::of(pool)?;
    pool.check_not_imported()?;
    capture::check_unsafe()?;
    let mut content = pool.content.lock();
    if let Some(switch) = content.switch(attr) {
        *switch = Out::untyped(value).item(0)?;
        return Ok(());
    }
    let bytes: u64 = Out::untyped(value).item(0)?;
    if attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD {
        content.threshold = bytes;
        return Ok(());
    }
    let meter = match attr {
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => &mut content.reserved,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH => &mut content.used,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    if bytes != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    meter.most = meter.now;
    Ok(())
}

/// Gives memory that is at rest to the device.
pub(crate) fn cuMemPoolTrimTo(pool: CUmemoryPool, minBytesToKeep: usize) -> Answer {
    let pool = Pool::of(pool)?;
    pool.check_not_imported()?;
    capture::check_unsafe()?;
    pool.content.lock().release_settled(minBytesToKeep as u64);
    Ok(())
}
