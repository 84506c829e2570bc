//! Typed memory and kernels, safe without `unsafe`.
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions};
//! use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
//! use cushim::typed::{DeviceSlice, Read, TypedKernel, Write};
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # const PTX: &str = "\
//! # .version 7.0\n.target sm_70\n.address_size 64
//! # .visible .entry add(.param .u32 n, .param .u64 x, .param .u64 y) {
//! #   .reg .pred %beyond; .reg .u32 %n, %block, %threads, %thread, %i; .reg .f32 %xi, %yi; .reg .u64 %x, %y, %offset;
//! #   ld.param.u32 %n, [n]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
//! #   mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x; mov.u32 %thread, %tid.x;
//! #   mad.lo.u32 %i, %block, %threads, %thread; setp.ge.u32 %beyond, %i, %n; @%beyond ret;
//! #   mul.wide.u32 %offset, %i, 4; add.u64 %x, %x, %offset; add.u64 %y, %y, %offset;
//! #   ld.global.f32 %xi, [%x]; ld.global.f32 %yi, [%y]; add.f32 %yi, %xi, %yi; st.global.f32 [%y], %yi; ret;
//! # }";
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let library = Library::load(&context, &Image::new(PTX)?, &LoadOptions::default())?;
//! let add = TypedKernel::<(u32, Read<f32>, Write<f32>)>::new(&library.kernel("add")?)?;
//! // SAFETY: it reads `n` numbers of the first slice, and reads and writes as many of the second.
//! let add = unsafe { add.vouch(|_, &(n, x, y)| n as usize <= x.min(y)) };
//!
//! let x = DeviceSlice::from_slice(&stream, &[1.0, 2.0, 3.0])?;
//! let mut y = DeviceSlice::from_slice(&stream, &[0.5; 3])?;
//! add.launch(&stream, &LaunchConfig::covering(3, 256), (3, &x, &mut y))?;
//! assert_eq!(y.to_vec(&stream)?, [1.5, 2.5, 3.5]);
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! # What is safe, and why
//!
//! - **Memory.** A slice owns its memory; what is enqueued borrows it for the call only. The memory is freed in the order of the slice's
//!   home stream, after all that was enqueued with it in any stream, so a slice may be dropped, or forgotten, while work uses it. In a
//!   graph the graph keeps it.
//! - **The host's memory.** Copies of borrowed `&[T]` return when they are done. Asynchronous copies take a [`PinnedSlice`], whose elements
//!   the host gets only after waiting for them; so it is with a [`ManagedSlice`].
//! - **Order.** Work in the home stream is ordered by that. Work in another stream waits for the home stream, and what is done next, in any
//!   stream, for that: [`Order::Recorded`], the default. It costs nothing while a slice is used in one stream; a use in another one
//!   costs an event, its record and a wait. [`Order::Explicit`] leaves it to the program; it is `unsafe` to ask for.
//! - **Kernels.** What a kernel does nobody but its author knows, who vouches for it once ([`TypedKernel::vouch`]), with a check of each
//!   launch; or each caller does ([`TypedKernel::launch`], which is `unsafe`).
//! - **Elements** are types whose bytes are all there is to them ([`DeviceCopy`]).
//!
//! The rest of the library is there as well: a [`View`] has an address, and a slice becomes a [`Buffer`](crate::memory::Buffer) or is made
//! of one.

mod element;
mod fill;
mod graph;
mod host_use;
mod kernel;
mod memory;
mod slice;
mod transfer;
mod view;

pub use element::DeviceCopy;
pub use fill::Fill;
pub use graph::RecordedGraph;
pub use kernel::{Argument, Arguments, Parameter, Parameters, Read, SafeKernel, TypedKernel, Write};
pub use memory::Order;
pub use slice::{DeviceSlice, ManagedSlice, PinnedSlice};
pub use view::{View, ViewMut};
