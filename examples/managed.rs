//! Managed memory: moved to the device before work there needs it, and back before the host does. It prints the same with
//! every driver that lets host and device use such memory at the same time; `CUSHIM_DRIVER=software` needs no GPU.
//! `managed.c` is the same in C.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program

use cushim::driver::{Driver, sys};
use cushim::managed::{Advice, Range};
use cushim::memory::{Buffer, ManagedResourceOptions, Resource};
use cushim::op::batch::BatchOptions;
use cushim::op::{Memset, Value};
use cushim::{Context, Device, Error, Feature, Location, Stream, StreamOptions};

const BLOCKS: usize = 4;
const BYTES: usize = 1 << 20;

/// How many bytes of the block have this value, as the host sees it.
fn count(block: &Range, value: u8) -> usize {
    let start = std::ptr::with_exposed_provenance::<u8>(block.pointer().0 as usize);
    // SAFETY: the block is alive, and what the device did with it has been waited for.
    let bytes = unsafe { std::slice::from_raw_parts(start, block.bytes()) };
    bytes.iter().filter(|byte| **byte == value).count()
}

/// What the driver says: where the block was moved to last.
fn whereabouts(context: &Context, block: &Range) -> Result<&'static str, Error> {
    Ok(match context.range_attributes(block)?.last_prefetch_location.kind() {
        sys::CU_MEM_LOCATION_TYPE_DEVICE => "to the device",
        sys::CU_MEM_LOCATION_TYPE_HOST => "to the host",
        _ => "nowhere",
    })
}

fn run() -> Result<(), Error> {
    let driver = Driver::open()?;
    let device = Device::get(&driver, 0)?;
    if !device.supports(Feature::ConcurrentManagedAccess)? {
        println!("this device moves managed memory as it likes");
        return Ok(());
    }
    let context = device.primary_context()?;
    let stream = Stream::create(&context, &StreamOptions::default())?; // no stream is ever chosen by default

    let resource = Resource::managed(&context, &ManagedResourceOptions::default())?;
    let buffer = Buffer::create(&resource, BLOCKS * BYTES, None)?;
    let first = Location::device(0);
    // Parts of a buffer; `Range::new` is for memory of any other allocator.
    let block = |i: usize| Range::of_part(&buffer, i * BYTES, BYTES);
    let blocks = [block(0)?, block(1)?, block(2)?, block(3)?];

    // The last block is a table that everybody reads; the others stay on the device, where the host reaches them.
    context.advise(&blocks[BLOCKS - 1], Advice::SetReadMostly)?;
    context.advise_batch(&blocks[..BLOCKS - 1], &[Advice::SetPreferredLocation(first)])?;
    context.set_accessed_by(&blocks[0], &[Location::HOST])?;

    // One call on a driver of CUDA 13, a loop on older ones.
    stream.prefetch_batch(&blocks, &[first], BatchOptions::default())?;
    for i in 0..BLOCKS {
        let mut memset = Memset::new(buffer.at((i * BYTES) as u64), Value::U8(10 + i as u8), BYTES);
        // SAFETY: the buffer has the block, and is freed after the stream's work, which is waited for below.
        unsafe { stream.enqueue(&mut memset) }?;
    }
    stream.synchronize()?;
    println!("block 0 was moved {}", whereabouts(&context, &blocks[0])?);
    stream.prefetch(&blocks[0], Location::HOST)?;
    stream.synchronize()?;
    println!("block 0 was moved {}", whereabouts(&context, &blocks[0])?);
    for (i, block) in blocks.iter().enumerate() {
        println!("{} bytes of block {i} are {}", count(block, 10 + i as u8), 10 + i);
    }

    // A mistake is an error with a sentence.
    if Range::of_part(&buffer, BLOCKS * BYTES, BYTES).is_err() {
        let others = whereabouts(&context, &blocks[2])?;
        println!("block 1 past the end: refused, the others stay where they were moved: {others}");
    }
    Buffer::destroy(buffer)
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
