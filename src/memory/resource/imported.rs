//! Pools of other processes, as far as they are imported here: one native pool for each, however often it is imported, and one import of
//! each memory. The driver counts neither: a pool that is destroyed, or memory that is freed, is gone for all who imported it (driver
//! branch 580, measured). So both are counted here.

use crate::driver::calls::memory::pool::RawPool;
use crate::driver::{CallError, Driver, sys};
use crate::event::{Event, EventOptions};
use crate::memory::DevicePointer;
use crate::object::callback::ask_until;
use crate::object::descriptor::NATIVE;
use crate::object::error::Error;
use crate::op::Free;
use crate::stream::Stream;
use parking_lot::Mutex;
use std::sync::Arc;

/// A pool of another process's.
struct Shared {
    driver: Driver,
    /// The number that its process has given it.
    id: [u8; 16],
    raw: RawPool,
    memory: Mutex<Vec<Memory>>,
}

/// Memory of it that was imported.
struct Memory {
    pointer: DevicePointer,
    native: [u8; NATIVE],
    /// How many buffers have it.
    buffers: usize,
    /// What those have recorded that are gone: work in the order of their streams may still use the memory.
    after: Vec<Event>,
}

/// The pools, with how many resources each has. A pool without one is to be destroyed.
static POOLS: Mutex<Vec<(Arc<Shared>, usize)>> = Mutex::new(Vec::new());

/// One resource's part in a pool of another process's.
pub(super) struct Imported(Arc<Shared>);

impl Imported {
    /// Imports a pool, or takes part in what is imported already; `None` if the file is of a pool that is imported by another number.
    pub(super) fn new(driver: &Driver, id: [u8; 16], file: i32) -> Result<Option<Self>, CallError> {
        let mut pools = POOLS.lock();
        let known = pools.iter_mut().find(|(pool, _)| pool.driver == *driver && pool.id == id);
        if let Some((pool, resources)) = known {
            *resources += 1;
            return Ok(Some(Self(Arc::clone(pool))));
        }
        let raw = RawPool::import(driver.object_table(), file)?;
        // The driver gives the same pool again, which is not to be destroyed twice.
        let is_it = |pool: &Shared| pool.driver == *driver && pool.raw.handle() == raw.handle();
        if pools.iter().any(|(pool, _)| is_it(pool)) {
            return Ok(None);
        }
        let pool = Arc::new(Shared { driver: driver.clone(), id, raw, memory: Mutex::default() });
        pools.push((Arc::clone(&pool), 1));
        Ok(Some(Self(pool)))
    }

    pub(super) fn id(&self) -> [u8; 16] {
        self.0.id
    }

    /// The same native pool, for a resource that does not destroy it.
    pub(super) fn raw(&self) -> RawPool {
        // SAFETY: the pool lives until this is dropped, which the resource holds as long.
        unsafe { RawPool::adopt(self.0.driver.object_table(), self.0.raw.handle()) }
    }

    /// Imports memory of the pool, or takes part in what is imported already.
    ///
    /// # Safety
    /// The bytes are what the pool's process exported.
    pub(super) unsafe fn import(&self, native: &[u8; NATIVE]) -> Result<DevicePointer, CallError> {
        let mut memory = self.0.memory.lock();
        if let Some(known) = memory.iter_mut().find(|known| known.native == *native) {
            known.buffers += 1;
            return Ok(known.pointer);
        }
        // SAFETY: as the caller vouches.
        let pointer = DevicePointer(unsafe { self.0.raw.import_pointer(native) }?);
        memory.push(Memory { pointer, native: *native, buffers: 1, after: Vec::new() });
        Ok(pointer)
    }

    /// Ends one buffer's part in memory; the last one frees it, in the stream's order and behind what the others did.
    ///
    /// # Safety
    /// The memory was imported here, and the buffer gives it up.
    pub(super) unsafe fn free(&self, pointer: DevicePointer, stream: &Stream) -> Result<(), Error> {
        let mut memory = self.0.memory.lock();
        let Some(at) = memory.iter().position(|known| known.pointer == pointer) else {
            // SAFETY: as the caller vouches.
            return unsafe { stream.enqueue(&mut Free::new(pointer)) };
        };
        if memory[at].buffers > 1 {
            let mark = Event::create(stream.context(), &EventOptions::default())?;
            mark.record(stream)?;
            memory[at].buffers -= 1;
            memory[at].after.push(mark);
            return Ok(());
        }
        for mark in &memory[at].after {
            match stream.wait_event(mark) {
                // The work went with its context.
                Err(_) if mark.context().is_gone() => {}
                waits => waits?,
            }
        }
        // SAFETY: as the caller vouches; nobody else has the memory.
        unsafe { stream.enqueue(&mut Free::new(pointer)) }?;
        memory.swap_remove(at);
        Ok(())
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        let mut pools = POOLS.lock();
        let Some(at) = pools.iter().position(|(pool, _)| Arc::ptr_eq(pool, &self.0)) else { return };
        pools[at].1 -= 1;
        if pools[at].1 == 0 && !end(&mut pools, at) {
            let pool = Arc::clone(&self.0);
            drop(pools);
            ask_until(move || {
                let mut pools = POOLS.lock();
                let at = pools.iter().position(|(known, _)| Arc::ptr_eq(known, &pool));
                // Somebody may have imported it again.
                at.is_none_or(|at| pools[at].1 > 0 || end(&mut pools, at))
            });
        }
    }
}

/// Destroys a pool that nobody has; false while the driver still knows memory of it, whose free it has not come to.
fn end(pools: &mut Vec<(Arc<Shared>, usize)>, at: usize) -> bool {
    let destroyed = pools[at].0.raw.destroy_imported();
    let is_in_use = destroyed.is_err_and(|error| error.result() == Some(sys::CUDA_ERROR_INVALID_VALUE));
    if !is_in_use {
        pools.swap_remove(at);
    }
    !is_in_use
}
