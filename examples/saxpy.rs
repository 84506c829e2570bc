//! y = a x + y on a device: loads a kernel from PTX, launches it in a stream, and checks what comes back. It prints the same
//! with every driver; `CUSHIM_DRIVER=software` needs no GPU. `saxpy.c` is the same in C.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program

use cushim::driver::Driver;
use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
use cushim::memory::{DeviceMemory, PinnedMemory, PinnedOptions};
use cushim::op::{Arguments, Copy, Launch};
use cushim::{Device, Error, Stream, StreamOptions};

const PTX: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {
  .reg .pred %beyond;
  .reg .u32 %n, %block, %threads, %thread, %i;
  .reg .f32 %a, %xi, %yi;
  .reg .u64 %x, %y, %offset;
  ld.param.u32 %n, [n];
  ld.param.f32 %a, [a];
  ld.param.u64 %x, [x];
  ld.param.u64 %y, [y];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  setp.ge.u32 %beyond, %i, %n;
  @%beyond bra done;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %x, %x, %offset;
  add.u64 %y, %y, %offset;
  ld.global.f32 %xi, [%x];
  ld.global.f32 %yi, [%y];
  fma.rn.f32 %yi, %a, %xi, %yi;
  st.global.f32 [%y], %yi;
done:
  ret;
}
";

const N: u32 = 100_000;
const BYTES: usize = N as usize * 4;
const THREADS: u32 = 256;

/// The numbers that the memory has room for.
fn numbers(memory: &mut PinnedMemory) -> &mut [f32] {
    // SAFETY: it has so many bytes, which are numbers whatever they hold; the stream's work on it is waited for.
    unsafe { std::slice::from_raw_parts_mut(memory.address().cast(), N as usize) }
}

fn run() -> Result<(), Error> {
    let driver = Driver::open()?;
    let context = Device::get(&driver, 0)?.primary_context()?;
    let stream = Stream::create(&context, &StreamOptions::default())?;
    // What the compiler says of PTX that it refuses stands in the error.
    let library = Library::load(&context, &Image::new(PTX)?, &LoadOptions::default())?;
    let saxpy = library.kernel("saxpy")?; // keeps the library

    let a = 2.0_f32;
    let pinned = || PinnedMemory::allocate(&context, BYTES, PinnedOptions::default());
    let (mut host_x, mut host_y) = (pinned()?, pinned()?);
    let (x, y) = (DeviceMemory::allocate(&context, BYTES)?, DeviceMemory::allocate(&context, BYTES)?);
    numbers(&mut host_x).iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
    numbers(&mut host_y).fill(1.0);

    let mut arguments = Arguments::new();
    arguments.push(N).push(a).push(x.pointer()).push(y.pointer());
    // SAFETY: the memory is as large as that, and outlives the stream's work, which is waited for below; the kernel takes
    // these arguments.
    unsafe {
        stream.enqueue(&mut Copy::new(x.at(0), host_x.at(0), BYTES))?;
        stream.enqueue(&mut Copy::new(y.at(0), host_y.at(0), BYTES))?;
        let config = LaunchConfig::covering(N, THREADS);
        stream.enqueue(&mut Launch::new(&saxpy, &config, &mut arguments))?;
        stream.enqueue(&mut Copy::new(host_y.at(0), y.at(0), BYTES))?;
    }
    stream.synchronize()?;

    let y = numbers(&mut host_y);
    let wrong = y.iter().enumerate().filter(|(i, y)| **y != a * *i as f32 + 1.0).count();
    println!("{N} numbers, {wrong} wrong; the last is {:.1}", y[y.len() - 1]);
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
