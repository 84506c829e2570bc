//! What is known of a buffer's memory once and for all, so that no operation has to ask.

use crate::context::Context;
use crate::driver::{Driver, sys};
use crate::memory::resource::ArenaBlock;
use crate::memory::{DevicePointer, PointerAttributes, Resource, ResourceKind};
use crate::object::error::{Error, Status};
use crate::op::capture::under;
use crate::stream::Stream;
use std::sync::Arc;

const NOT_INITIALISED: Status = Status(sys::CUDA_ERROR_NOT_INITIALIZED.0);

/// Where the memory is.
pub(super) struct Known {
    /// Whether operations are told that it is host memory, not device memory.
    pub(super) on_host: bool,
    /// The device whose memory it is, if it is one's alone.
    pub(super) device: Option<i32>,
    /// The context in which it was allocated, with which it is destroyed.
    pub(super) origin: Option<Context>,
    /// Whether it was allocated elsewhere, perhaps in another context than what is taken for its origin.
    pub(super) is_taken_in: bool,
    /// What operations keep for it.
    pub(super) keeper: Keeper,
}

/// What keeps a buffer's memory for an operation.
pub(super) enum Keeper {
    /// The buffer.
    Buffer,
    /// The graph that has allocated it.
    Graph,
    /// The block that it is a part of, for this capture.
    Arena(Arc<ArenaBlock>, u64),
}

impl Keeper {
    /// The capture for which the memory is a part of an arena, if it is one.
    pub(super) fn capture(&self) -> Option<u64> {
        match self {
            Self::Arena(_, capture) => Some(*capture),
            Self::Buffer | Self::Graph => None,
        }
    }
}

/// The number of the capture in which the stream is; 0 if it is not known to be in one.
pub(super) fn capture_of(stream: Option<&Stream>) -> u64 {
    let under = stream.and_then(|stream| under(stream).ok().flatten());
    under.map_or(0, |under| under.capture)
}

impl Known {
    /// Memory of a resource, allocated in the order of the stream if there is one.
    pub(super) fn of_resource(resource: &Resource, pointer: DevicePointer, stream: Option<&Stream>) -> Self {
        let properties = resource.properties();
        let of_stream = || stream.filter(|_| properties.stream_ordered).map(|stream| stream.context());
        Self {
            on_host: properties.host_accessible && !properties.managed,
            device: properties.device.filter(|_| !properties.host_accessible),
            origin: resource.context().or_else(of_stream).cloned(),
            is_taken_in: false,
            keeper: match resource.arena_block(pointer) {
                Some(block) => Keeper::Arena(block, capture_of(stream)),
                None if resource.kind() == ResourceKind::Graph => Keeper::Graph,
                None => Keeper::Buffer,
            },
        }
    }

    /// Memory of others': as the driver says. What it does not know is host memory, and so is all memory while there is no
    /// driver, or it is not initialised.
    pub(super) fn of_others(driver: &Driver, pointer: DevicePointer) -> Result<Self, Error> {
        let unknown =
            Self { on_host: true, device: None, origin: None, is_taken_in: true, keeper: Keeper::Buffer };
        if pointer.is_null() {
            return Ok(unknown);
        }
        let found = match PointerAttributes::of(driver, pointer.0) {
            Ok(found) => found,
            Err(failure) if [Status::UNSUPPORTED, NOT_INITIALISED].contains(&failure.status) => {
                return Ok(unknown);
            }
            // Not a guess: a device address that is taken for one of the host's is followed by the host.
            Err(failure) => return Err(failure),
        };
        let origin = Context::of_native(driver, found.context);
        Ok(Self { on_host: found.memory_type != Some(sys::CU_MEMORYTYPE_DEVICE), origin, ..unknown })
    }
}
