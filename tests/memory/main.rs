//! Device memory, host memory that devices reach, copies and memsets.
//!
//! The tests run on softcuda; with `CUSHIM_DRIVER` in the environment, on the driver that it names.

#[path = "../common/mod.rs"]
mod common;

mod allocation;
mod attributes;
mod copies;
mod current;
mod devices;
mod host;
mod memsets;
mod needed;
mod none;
mod peers;
mod pools;
mod releases;
mod versions;

use common::{alone, context, driver, stream};
use cushim::memory::{DeviceMemory, DevicePointer, PointerAttributes};
use cushim::op::{Copy, Endpoint, Memset, Operation, Synchronous, Value};
use cushim::{Context, Error, Stream};

/// Where an operation runs.
#[derive(Clone, Copy)]
enum Order<'a> {
    Now(&'a Context),
    In(&'a Stream),
}

impl Order<'_> {
    /// Does an operation, and waits until it is done.
    ///
    /// # Safety
    /// The operation stays within its memory, or is refused.
    unsafe fn finish<O: Synchronous<Output = ()>>(self, mut operation: O) -> Result<(), Error> {
        match self {
            // SAFETY: as the caller vouches.
            Self::Now(context) => unsafe { context.run(&mut operation) },
            // SAFETY: as the caller vouches.
            Self::In(stream) => unsafe { finish_in(stream, operation) },
        }
    }
}

/// Does an operation in a stream, and waits until it is done.
///
/// # Safety
/// As for [`Order::finish`].
unsafe fn finish_in<O: Operation>(stream: &Stream, mut operation: O) -> Result<O::Output, Error> {
    // SAFETY: as the caller vouches.
    let output = unsafe { stream.enqueue(&mut operation) }?;
    stream.synchronize().map(|()| output)
}

/// Runs the test at once, in a created stream, and in both default streams.
fn in_every_order(test: impl Fn(&Context, Order)) {
    let context = context();
    test(&context, Order::Now(&context));
    for stream in [stream(&context), Stream::legacy(&context), Stream::per_thread(&context)] {
        test(&context, Order::In(&stream));
    }
}

/// Sets so many bytes in the order of the stream.
///
/// # Safety
/// The memory has so many, and lasts until the stream is done.
unsafe fn set_bytes(stream: &Stream, at: DevicePointer, value: u8, bytes: usize) -> Result<(), Error> {
    // SAFETY: as the caller vouches.
    unsafe { stream.enqueue(&mut Memset::new(Endpoint::device(at), Value::U8(value), bytes)) }
}

/// Copies so many bytes to the host in the order of the stream.
///
/// # Safety
/// The array has room for what the memory has, and lasts until the stream is done.
unsafe fn copy_out(stream: &Stream, to: &mut [u8], memory: &DeviceMemory) -> Result<(), Error> {
    let bytes = to.len();
    // SAFETY: as the caller vouches.
    unsafe { stream.enqueue(&mut Copy::new(Endpoint::host(to), memory.at(0), bytes)) }
}

/// Bytes of which no two neighbours, rows or slices are the same.
fn numbered(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 7 + i / 251 + i / 63_001) as u8).collect()
}

/// Device memory that holds these bytes.
fn holding(context: &Context, bytes: &[u8]) -> DeviceMemory {
    let memory = DeviceMemory::allocate(context, bytes.len()).expect("memory");
    // SAFETY: both ends hold so many bytes.
    unsafe { context.run(&mut Copy::new(memory.at(0), Endpoint::host_source(bytes), bytes.len())) }
        .expect("copied");
    memory
}

/// What the bytes from there on are.
fn read(context: &Context, from: Endpoint, count: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; count];
    // SAFETY: the callers read within their memory; the vector holds so many bytes.
    unsafe { context.run(&mut Copy::new(Endpoint::host(bytes.as_mut_slice()), from, count)) }
        .expect("copied");
    bytes
}

/// The allocation that an address lies in, if it lies in one.
struct Allocation {
    address: u64,
    id: u64,
}

impl Allocation {
    fn at(address: u64) -> Option<Self> {
        let known = PointerAttributes::of(&driver(), address).expect("attributes");
        known.buffer_id.map(|id| Self { address, id })
    }

    /// Whether it is still there. The address may be another one's by now: other tests run beside.
    fn is_there(&self) -> bool {
        Self::at(self.address).is_some_and(|now| now.id == self.id)
    }
}

/// A pointer that is neither NULL nor anything of the driver's.
const NOWHERE: u64 = 0x1230;

const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;
