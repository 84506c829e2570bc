//! y = a x + y on a device: loads a kernel from PTX, launches it in a stream, and checks what comes back. It prints the same
//! with every driver; `CUSHIM_DRIVER=software` needs no GPU. `saxpy.c` is the same in C.

#![allow(clippy::print_stdout)] // a program

use cushim::driver::Driver;
use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
use cushim::typed::{DeviceSlice, Read, TypedKernel, Write};
use cushim::{Device, Error, Stream, StreamOptions};

const N: u32 = 100_000;

fn main() -> Result<(), Error> {
    let context = Device::get(&Driver::open()?, 0)?.primary_context()?;
    let stream = Stream::create(&context, &StreamOptions::default())?;
    // What the compiler says of PTX that it refuses stands in the error.
    let library = Library::load(&context, &Image::new(PTX)?, &LoadOptions::default())?;
    let saxpy = TypedKernel::<(u32, f32, Read<f32>, Write<f32>)>::new(&library.kernel("saxpy")?)?;
    // SAFETY: it reads `n` numbers of the first slice, and reads and writes as many of the second, in any grid.
    let saxpy = unsafe { saxpy.vouch(|_, &(n, _, x, y)| n as usize <= x.min(y)) };

    let (a, numbers) = (2.0, (0..N).map(|i| i as f32).collect::<Vec<_>>());
    let x = DeviceSlice::from_slice(&stream, &numbers)?;
    let mut y = DeviceSlice::from_slice(&stream, &[1.0; N as usize])?;
    saxpy.launch(&stream, &LaunchConfig::covering(N, 256), (N, a, &x, &mut y))?;

    let y = y.to_vec(&stream)?; // waits for the stream
    let wrong = y.iter().zip(&numbers).filter(|(y, x)| **y != a * **x + 1.0).count();
    println!("{N} numbers, {wrong} wrong; the last is {:.1}", y[y.len() - 1]);
    Ok(())
}

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
