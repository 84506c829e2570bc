//! Fills device memory in one stream, and copies it to the host in another as soon as it is full. It prints the same with
//! every driver; `CUSHIM_DRIVER=software` needs no GPU. `ordered.c` is the same in C.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program

use cushim::driver::Driver;
use cushim::memory::{DeviceMemory, PinnedMemory, PinnedOptions};
use cushim::op::{Copy, Memset, Value};
use cushim::{Context, Device, Error, Event, EventOptions, Stream, StreamOptions};

const COUNT: usize = 1 << 20;
const BYTES: usize = COUNT * 4;
const VALUE: u32 = 42;

fn new_stream(context: &Context, label: &str) -> Result<Stream, Error> {
    let stream = Stream::create(context, &StreamOptions::default())?;
    stream.set_label(Some(label)); // messages say it
    Ok(stream)
}

fn new_event(context: &Context) -> Result<Event, Error> {
    Event::create(context, &EventOptions::default().timing(true))
}

/// The values that are as they should be.
fn right(host: &PinnedMemory) -> usize {
    // SAFETY: the memory holds so many values, and the copy to it is done.
    let values = unsafe { std::slice::from_raw_parts(host.address().cast::<u32>(), COUNT) };
    values.iter().filter(|value| **value == VALUE).count()
}

fn run() -> Result<(), Error> {
    let driver = Driver::open()?;
    let context = Device::get(&driver, 0)?.primary_context()?;
    let memory = DeviceMemory::allocate(&context, BYTES)?;
    let host = PinnedMemory::allocate(&context, BYTES, PinnedOptions::default())?;
    let (filling, copying) = (new_stream(&context, "filling")?, new_stream(&context, "copying")?);
    let (begun, filled, copied) = (new_event(&context)?, new_event(&context)?, new_event(&context)?);

    // Nothing here waits; the second stream does, for the first.
    begun.record(&filling)?;
    // SAFETY: the memory is as large as that, and outlives the streams' work, which is waited for below.
    unsafe { filling.enqueue(&mut Memset::new(memory.at(0), Value::U32(VALUE), COUNT)) }?;
    filled.record(&filling)?;
    copying.wait_event(&filled)?;
    // SAFETY: as above.
    unsafe { copying.enqueue(&mut Copy::new(host.at(0), memory.at(0), BYTES)) }?;
    copied.record(&copying)?;

    copied.synchronize()?;
    println!("{} of {COUNT} values are {VALUE}", right(&host));

    let (filling_took, copying_took) = (filled.elapsed_since(&begun)?, copied.elapsed_since(&filled)?);
    let in_order = filling_took >= 0.0 && copying_took >= 0.0;
    println!("filled, then copied: {}", if in_order { "yes" } else { "no" });
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
