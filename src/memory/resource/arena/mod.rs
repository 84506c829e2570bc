//! One block of device memory at fixed addresses, from which graphs that do not run at the same time have all that they allocate.
//!
//! Graphs with allocation nodes can be neither cloned nor embedded, and have one instance at a time; graphs that use an arena have no
//! such nodes. How large the block has to be, an arena without one measures: the same calls are captured with it first.
//!
//! Each capture has the whole block. Within a capture, what was freed is given out again where all that may have used it comes before: in the
//! same stream, if no other branch went on meanwhile, or after the branches that did were joined.
//!
//! | file | concept |
//! |---|---|
//! | `plan` | which parts of the block a capture uses |
//! | `plans` | what each capture has |

mod plan;
mod plans;

use super::graph::not_captured;
use crate::context::Context;
use crate::driver::Driver;
use crate::memory::{DeviceMemory, DevicePointer};
use crate::object::error::{Error, Status, Subject};
use crate::op::Operand;
use crate::op::capture::position;
use crate::stream::Stream;
use parking_lot::Mutex;
use plan::Part;
use plans::Plans;
use std::fmt;
use std::sync::Arc;

/// Bytes to which pieces are aligned.
const ALIGNMENT: usize = 512;

pub(super) struct Arena {
    block: Arc<ArenaBlock>,
    plans: Mutex<Plans>,
}

/// The memory of an arena, which graphs keep.
pub(crate) struct ArenaBlock {
    context: Arc<Context>,
    /// `None` for an arena that measures.
    memory: Option<DeviceMemory>,
    /// What an arena that measures has given out.
    pieces: Mutex<Vec<DeviceMemory>>,
}

impl Arena {
    /// With a block of so many bytes; with none, one that measures.
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        let memory = if bytes == 0 {
            None
        } else {
            Some(DeviceMemory::allocate(context, whole(bytes).unwrap_or(bytes))?)
        };
        let block = ArenaBlock { context: Arc::clone(context), memory, pieces: Mutex::default() };
        Ok(Self { block: Arc::new(block), plans: Mutex::default() })
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.block.context
    }

    pub(super) fn block(&self) -> &Arc<ArenaBlock> {
        &self.block
    }

    /// The most bytes that one capture needed by now.
    pub(super) fn needed(&self) -> u64 {
        self.plans.lock().needed
    }

    pub(super) fn allocate(&self, bytes: usize, stream: &Arc<Stream>) -> Result<DevicePointer, Error> {
        let Some((under, at)) = position(stream)? else { return Err(not_captured(stream)) };
        if bytes == 0 {
            return Ok(DevicePointer::NULL);
        }
        let Some(rounded) = whole(bytes) else { return Err(self.too_small(u64::MAX)) };
        let mut plans = self.plans.lock();
        let plan = plans.of(&under, stream);
        let Some(room) = plan.find(rounded as u64, &at) else { return Err(self.too_small(u64::MAX)) };
        let Some(pointer) = self.block.piece(room.part)? else {
            return Err(self.too_small(room.part.end()));
        };
        plan.take(room, pointer, &at);
        let end = plan.end();
        plans.needed = plans.needed.max(end);
        Ok(pointer)
    }

    /// Gives a part back, to be given out again in the same capture. When that is over, nothing is to be done.
    pub(super) fn free(&self, pointer: DevicePointer, stream: &Arc<Stream>) -> Result<(), Error> {
        let Some((under, at)) = position(stream)? else { return Ok(()) };
        if let Some(plan) = self.plans.lock().known(&under) {
            plan.free(pointer, &at);
        }
        Ok(())
    }

    #[cold]
    fn too_small(&self, needed: u64) -> Error {
        let has = self.block.memory.as_ref().map_or(0, DeviceMemory::bytes);
        let refusal = format!(
            "the arena has {has} bytes, and this capture needs at least {needed}: capture with an arena of 0 bytes first, which \
             measures what is needed"
        );
        Error::new(Status::OUT_OF_MEMORY, refusal)
    }
}

/// Whole units of memory in which so many bytes have room; `None` if no driver has as much.
fn whole(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGNMENT)
}

impl ArenaBlock {
    /// Where a part is; `None` if it reaches past the end.
    fn piece(&self, part: Part) -> Result<Option<DevicePointer>, Error> {
        let Some(memory) = &self.memory else {
            let piece = DeviceMemory::allocate(&self.context, part.bytes as usize)?;
            let pointer = piece.pointer();
            self.pieces.lock().push(piece);
            return Ok(Some(pointer));
        };
        let is_inside = part.end() <= memory.bytes() as u64;
        Ok(is_inside.then(|| DevicePointer(memory.pointer().0 + part.offset)))
    }
}

impl Operand for ArenaBlock {
    fn driver(&self) -> &Driver {
        self.context.driver()
    }

    fn context(&self) -> Option<&Arc<Context>> {
        Some(&self.context)
    }
}

impl Subject for ArenaBlock {
    fn label(&self) -> Option<Arc<str>> {
        None
    }
}

impl fmt::Display for ArenaBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arena's memory")
    }
}
