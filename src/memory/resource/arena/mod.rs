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
use crate::op::capture::{keep, position};
use crate::op::node::Hold;
use crate::stream::Stream;
use parking_lot::Mutex;
use plan::Part;
use plans::Plans;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// Bytes to which pieces are aligned.
const ALIGNMENT: usize = 512;

pub(super) struct Arena {
    context: Context,
    /// `None` for an arena that measures.
    block: Option<Arc<ArenaBlock>>,
    /// What an arena that measures has given out, which its graph keeps, and the buffer.
    pieces: Mutex<Pieces>,
    plans: Mutex<Plans>,
}

/// Memory of an arena, which graphs keep: the block, or, of an arena that measures, what was given out at one time.
pub(crate) struct ArenaBlock {
    context: Context,
    memory: DeviceMemory,
}

impl Arena {
    /// With a block of so many bytes; with none, one that measures.
    pub(super) fn new(context: &Context, bytes: usize) -> Result<Self, Error> {
        let block = match bytes {
            0 => None,
            _ => Some(Arc::new(ArenaBlock::of(context, whole(bytes).unwrap_or(bytes))?)),
        };
        let (context, pieces) = (context.clone(), Mutex::default());
        Ok(Self { context, block, pieces, plans: Mutex::default() })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// What keeps the memory at this address, which was given out just before.
    pub(super) fn keeper(&self, pointer: DevicePointer) -> Option<Arc<ArenaBlock>> {
        self.block.clone().or_else(|| self.pieces.lock().find(pointer))
    }

    /// The most bytes that one capture needed by now.
    pub(super) fn needed(&self) -> u64 {
        self.plans.lock().needed
    }

    pub(super) fn allocate(&self, bytes: usize, stream: &Stream) -> Result<DevicePointer, Error> {
        let Some((under, at)) = position(stream)? else { return Err(not_captured(stream)) };
        if bytes == 0 {
            return Ok(DevicePointer::NULL);
        }
        let Some(rounded) = whole(bytes) else { return Err(self.too_small(u64::MAX)) };
        let mut plans = self.plans.lock();
        let plan = plans.of(&under, stream);
        let Some(room) = plan.find(rounded as u64, &at) else { return Err(self.too_small(u64::MAX)) };
        let pointer = match &self.block {
            None => self.piece(room.part, stream)?,
            Some(block) => block.at(room.part).ok_or_else(|| self.too_small(room.part.end()))?,
        };
        plan.take(room, pointer, &at);
        let end = plan.end();
        plans.needed = plans.needed.max(end);
        Ok(pointer)
    }

    /// Gives a part back, to be given out again in the same capture. When that is over, nothing is to be done.
    pub(super) fn free(&self, pointer: DevicePointer, stream: &Stream) -> Result<(), Error> {
        let Some((under, at)) = position(stream)? else { return Ok(()) };
        if let Some(plan) = self.plans.lock().known(&under) {
            plan.free(pointer, &at);
        }
        Ok(())
    }

    /// Memory for a part alone, which the graph keeps as a whole: uses may name its address alone.
    fn piece(&self, part: Part, stream: &Stream) -> Result<DevicePointer, Error> {
        let piece = Arc::new(ArenaBlock::of(&self.context, part.bytes as usize)?);
        if !keep(stream, Arc::clone(&piece) as Hold)? {
            return Err(not_captured(stream));
        }
        let pointer = piece.memory.pointer();
        self.pieces.lock().list(pointer, &piece);
        Ok(pointer)
    }

    #[cold]
    fn too_small(&self, needed: u64) -> Error {
        let has = self.block.as_ref().map_or(0, |block| block.memory.bytes());
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
    fn of(context: &Context, bytes: usize) -> Result<Self, Error> {
        Ok(Self { context: context.clone(), memory: DeviceMemory::allocate(context, bytes)? })
    }

    /// Where a part is; `None` if it reaches past the end.
    fn at(&self, part: Part) -> Option<DevicePointer> {
        let is_inside = part.end() <= self.memory.bytes() as u64;
        is_inside.then(|| DevicePointer(self.memory.pointer().0 + part.offset))
    }
}

/// What an arena that measures has given out, by address, as long as somebody keeps it.
#[derive(Default)]
struct Pieces {
    all: BTreeMap<u64, Weak<ArenaBlock>>,
    /// How many there can be before those are looked for that are gone.
    room: usize,
}

impl Pieces {
    fn list(&mut self, pointer: DevicePointer, piece: &Arc<ArenaBlock>) {
        if self.all.len() >= self.room {
            self.all.retain(|_, piece| piece.strong_count() > 0);
            self.room = 2 * self.all.len() + 16;
        }
        self.all.insert(pointer.0, Arc::downgrade(piece));
    }

    fn find(&self, pointer: DevicePointer) -> Option<Arc<ArenaBlock>> {
        self.all.get(&pointer.0)?.upgrade()
    }
}

impl Operand for ArenaBlock {
    fn driver(&self) -> &Driver {
        self.context.driver()
    }

    fn context(&self) -> Option<&Context> {
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
