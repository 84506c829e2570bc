//! Memory of graphs: what is allocated and freed in streams under capture becomes allocation and free nodes.

use crate::memory::DevicePointer;
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::object::handle::Weakly;
use crate::op::capture::{Under, Where, enqueue_in, under};
use crate::op::{Allocate, Free};
use crate::stream::Stream;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Which graph has allocated what.
#[derive(Default)]
pub(super) struct GraphMemory(Mutex<HashMap<u64, Allocation>>);

struct Allocation {
    stream: Weakly<Stream>,
    capture: u64,
}

impl GraphMemory {
    pub(super) fn allocate(&self, bytes: usize, stream: &Stream) -> Result<DevicePointer, Error> {
        let Some(Under { capture, .. }) = under(stream)? else { return Err(not_captured(stream)) };
        // SAFETY: allocating touches no memory.
        let allocated = unsafe { enqueue_in(capture, stream, &mut Allocate::new(bytes), Where::InStream) }?;
        let Some(pointer) = allocated else { return Err(not_captured(stream)) };
        if !pointer.is_null() {
            self.0.lock().insert(pointer.0, Allocation { stream: stream.downgrade(), capture });
        }
        Ok(pointer)
    }

    /// Frees it in the graph that has allocated it, after the present ends of all branches of its capture: each may use it, by its bare
    /// address, too. After the end of the capture it is the graph's, and nothing is freed.
    pub(super) fn free(&self, pointer: DevicePointer, stream: &Stream) -> Result<(), Error> {
        let Some(allocation) = self.0.lock().remove(&pointer.0) else { return Ok(()) };
        let Some(stream) = place_to_free(&allocation, stream)? else { return Ok(()) };
        // SAFETY: the memory came from here, as whoever frees it vouches.
        let freed =
            unsafe { enqueue_in(allocation.capture, &stream, &mut Free::new(pointer), Where::AfterAll) };
        // If the capture has ended meanwhile, the memory is the graph's.
        freed.map(drop).inspect_err(|_| {
            self.0.lock().insert(pointer.0, allocation);
        })
    }
}

/// A stream of the capture: the one named, or, where that captures something else, or a body of the graph, that of the allocation.
fn place_to_free(allocation: &Allocation, named: &Stream) -> Result<Option<Stream>, Error> {
    let captures_it = |stream: &Stream| -> Result<bool, Error> {
        Ok(under(stream)?.is_some_and(|under| under.capture == allocation.capture && !under.is_body))
    };
    if captures_it(named)? {
        return Ok(Some(named.clone()));
    }
    match allocation.stream.upgrade() {
        Some(origin) if captures_it(&origin)? => Ok(Some(origin)),
        _ => Ok(None),
    }
}

#[cold]
pub(super) fn not_captured(stream: &Stream) -> Error {
    let refusal = format!(
        "{stream} is not being captured, and this memory comes and goes in graphs only; use a pool for other streams"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal).about(stream)
}
