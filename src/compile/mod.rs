//! CUDA C++, compiled when the program runs.
//!
//! ```no_run
//! use cushim::compile::Source;
//! use cushim::kernel::{Library, LoadOptions};
//! # let context = cushim::Device::get(&cushim::testing::driver(), 0)?.primary_context()?;
//!
//! let source = Source::new("template<class T> __global__ void set(T *to, T value) { to[threadIdx.x] = value; }")
//!     .name("set.cu")
//!     .option("--std=c++17")
//!     .name_expression("set<float>");
//! let compiled = source.compile(context.device())?;
//! let library = Library::load(&context, compiled.image()?, &LoadOptions::default())?;
//! let kernel = library.kernel("set<float>")?;
//! # drop(kernel);
//! # Ok::<(), cushim::Error>(())
//! ```
//!
//! NVRTC is looked for when a [`Compiler`] is, and never before. Nothing else of the CUDA toolkit is needed; CUDA's headers
//! (`cuda_fp16.h`) are found where they are beside it, as in toolkits, and in the packages `nvidia-cuda-runtime-cu12` and
//! `nvidia-cuda-runtime`.
//!
//! [`Link`] makes one program of several, with nvJitLink, which is looked for in the same way.
//!
//! What was compiled is kept on disk, in `~/.cache/cushim` or where `XDG_CACHE_HOME` or `CUSHIM_CACHE` say (`off` keeps nothing): by the
//! source with its name, its headers, options and name expressions, the architecture, and the compiler with its version and file. What
//! includes other files is compiled each time. The folder is kept below 256 MiB, or what `CUSHIM_CACHE_SIZE` says: what was not used for the
//! longest time is removed.

mod cache;
mod compiled;
mod compiler;
mod find;
mod found;
mod input;
mod library;
mod link;
mod linker;
mod nvjitlink;
mod nvrtc;
mod source;
mod trim;

pub use compiled::{CodeKind, Compiled};
pub use compiler::Compiler;
pub use link::Link;
pub use linker::Linker;
pub use source::Source;
