//! One block of device memory at fixed addresses, from which graphs that do not run at the same time have all that they allocate.
//!
//! Graphs with allocation nodes can be neither cloned nor embedded, and have one instance at a time; graphs that use an arena have no
//! such nodes. How large the block has to be, an arena without one measures: the same calls are captured with it first.
//!
//! Each capture has the whole block. Within a capture, what was freed in a stream is given out again in that stream only: there it is
//! in order.

use super::graph::not_captured;
use crate::context::Context;
use crate::driver::Driver;
use crate::memory::{DeviceMemory, DevicePointer};
use crate::object::error::{Error, Status, Subject};
use crate::op::Operand;
use crate::op::capture::{Under, under};
use crate::stream::Stream;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// Bytes to which pieces are aligned.
const ALIGNMENT: u64 = 512;

/// How many captures are planned at the same time.
const MOST_PLANS: usize = 64;

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

#[derive(Default)]
struct Plans {
    /// What each capture has, by the number of its graph.
    of: BTreeMap<u64, Plan>,
    /// The most that one capture needed.
    needed: u64,
}

/// Which parts of the block a capture uses.
#[derive(Default)]
struct Plan {
    /// Where the parts end that were ever given out.
    end: u64,
    used: BTreeMap<u64, Part>,
    free: Vec<(Part, Weak<Stream>)>,
}

/// A part of the block.
#[derive(Clone, Copy)]
struct Part {
    offset: u64,
    bytes: u64,
}

impl Plan {
    /// The part for so many bytes: one that was freed in this stream, or else a new one.
    fn take(&mut self, bytes: u64, stream: &Arc<Stream>) -> Part {
        let fits = |(part, of): &(Part, Weak<Stream>)| {
            part.bytes >= bytes && std::ptr::eq(of.as_ptr(), Arc::as_ptr(stream))
        };
        let Some(index) = self.free.iter().position(fits) else {
            let part = Part { offset: self.end, bytes };
            self.end += bytes;
            return part;
        };
        let (whole, of) = self.free.swap_remove(index);
        if whole.bytes > bytes {
            let rest = Part { offset: whole.offset + bytes, bytes: whole.bytes - bytes };
            self.free.push((rest, of));
        }
        Part { offset: whole.offset, bytes }
    }

    /// Gives a part back, in the order of the stream.
    fn give_back(&mut self, mut part: Part, stream: &Arc<Stream>) {
        // Parts of the same stream that touch are one.
        self.free.retain(|(other, of)| {
            let touches =
                other.offset + other.bytes == part.offset || part.offset + part.bytes == other.offset;
            if !touches || !std::ptr::eq(of.as_ptr(), Arc::as_ptr(stream)) {
                return true;
            }
            part = Part { offset: part.offset.min(other.offset), bytes: part.bytes + other.bytes };
            false
        });
        self.free.push((part, Arc::downgrade(stream)));
    }
}

impl Arena {
    /// With a block of so many bytes; with none, one that measures.
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        let memory = if bytes == 0 { None } else { Some(DeviceMemory::allocate(context, bytes)?) };
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
        let Some(Under { graph, .. }) = under(stream)? else { return Err(not_captured(stream)) };
        let Some(rounded) = (bytes as u64).checked_next_multiple_of(ALIGNMENT).filter(|bytes| *bytes > 0)
        else {
            return if bytes == 0 { Ok(DevicePointer::NULL) } else { Err(self.too_small(u64::MAX)) };
        };
        let mut plans = self.plans.lock();
        while plans.of.len() >= MOST_PLANS && !plans.of.contains_key(&graph) {
            plans.of.pop_first();
        }
        let plan = plans.of.entry(graph).or_default();
        let part = plan.take(rounded, stream);
        let pointer = match self.block.piece(part) {
            Ok(pointer) => pointer,
            Err(failure) => {
                plan.give_back(part, stream);
                return Err(failure);
            }
        };
        let Some(pointer) = pointer else {
            plan.give_back(part, stream);
            return Err(self.too_small(plan.end));
        };
        plan.used.insert(pointer.0, part);
        let end = plan.end;
        plans.needed = plans.needed.max(end);
        Ok(pointer)
    }

    /// Gives a part back, to be given out again in the same capture. When that is over, nothing is to be done.
    pub(super) fn free(&self, pointer: DevicePointer, stream: &Arc<Stream>) -> Result<(), Error> {
        let Some(Under { graph, .. }) = under(stream)? else { return Ok(()) };
        if let Some(plan) = self.plans.lock().of.get_mut(&graph)
            && let Some(part) = plan.used.remove(&pointer.0)
        {
            plan.give_back(part, stream);
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

impl ArenaBlock {
    /// Where a part is; `None` if it reaches past the end.
    fn piece(&self, part: Part) -> Result<Option<DevicePointer>, Error> {
        let Some(memory) = &self.memory else {
            let piece = DeviceMemory::allocate(&self.context, part.bytes as usize)?;
            let pointer = piece.pointer();
            self.pieces.lock().push(piece);
            return Ok(Some(pointer));
        };
        let is_inside = part.offset + part.bytes <= (memory.bytes() as u64).next_multiple_of(ALIGNMENT);
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
