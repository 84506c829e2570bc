//! Typed slices and kernels: what they do, what they refuse, and who waits for whom.
//!
//! What does not compile stands in the documentation of the types, as tests. These run on softcuda; with `CUSHIM_DRIVER` in the
//! environment, on the driver that it names.

#[path = "../common/mod.rs"]
mod common;

mod graphs;
mod kernels;
mod order;
mod slices;
mod versions;

use common::{alone, context, driver, stream};
use cushim::driver::Kind;
use cushim::kernel::{Image, Kernel, Library, LoadOptions};
use cushim::{Context, Error, Status};

/// `x[i] *= by; y[i] += x[i]` for the first `n`, of the sizes that real kernels have.
const PTX: &str = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale_and_add(.param .u32 n, .param .f32 by, .param .u64 x, .param .u64 y) {
  .reg .pred %beyond; .reg .u32 %n, %block, %threads, %thread, %i; .reg .f32 %by, %xi, %yi; .reg .u64 %x, %y, %offset;
  ld.param.u32 %n, [n]; ld.param.f32 %by, [by]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x; mov.u32 %thread, %tid.x;
  mad.lo.u32 %i, %block, %threads, %thread; setp.ge.u32 %beyond, %i, %n; @%beyond ret;
  mul.wide.u32 %offset, %i, 4; add.u64 %x, %x, %offset; add.u64 %y, %y, %offset;
  ld.global.f32 %xi, [%x]; ld.global.f32 %yi, [%y]; fma.rn.f32 %yi, %by, %xi, %yi; st.global.f32 [%y], %yi; ret;
}
";

fn kernel(context: &Context) -> Kernel {
    let library = Library::load(context, &Image::new(PTX).expect("text"), &LoadOptions::default());
    library.expect("it compiles").kernel("scale_and_add").expect("it is there")
}

/// Whether the driver does as its variables say, as a GPU's does not.
fn is_softcuda() -> bool {
    driver().kind() == Kind::Software
}

/// It is refused as an argument that is not acceptable, and the sentence says this.
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, says: &str) {
    let error = result.expect_err(says);
    assert_eq!(error.status, Status::INVALID_ARGUMENT, "{error}");
    assert!(error.message.contains(says), "{error}");
}
