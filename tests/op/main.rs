//! Operations: what they refuse before the driver is asked, what they keep alive, and until when.
//!
//! The tests run on softcuda; with `CUSHIM_DRIVER` in the environment, on the driver that it names.

#[path = "../common/mod.rs"]
mod common;

mod capture;
mod launches;
mod operands;
mod owners;
mod versions;

use common::{alone, context, driver, stream};
use cushim::kernel::{Image, Kernel, Library, LoadOptions};
use cushim::memory::{DeviceMemory, DevicePointer};
use cushim::op::{
    Argument, Arguments, Copy, Copy3d, CopyBatch, Endpoint, Extent, Launch, Memset, Region, Value,
};
use cushim::{Context, Error, Owner, Stream, flush_callbacks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// A kernel of these parameters and this body.
fn kernel(context: &Context, parameters: &str, body: &str) -> Kernel {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry test({parameters}) {{ {body} ret; }}\n"
    );
    let image = Image::new(text).expect("an image");
    let library = Library::load(context, &image, &LoadOptions::default()).expect("a library");
    library.kernel("test").expect("it is there")
}

/// A kernel that takes a pointer and does nothing with it.
fn taking_a_pointer(context: &Context) -> Kernel {
    kernel(context, ".param .u64 at", "")
}

/// An owner, and how often it was released.
struct Counted(Arc<AtomicU32>);

impl Counted {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn owner(&self) -> Owner {
        let count = Arc::clone(&self.0);
        Owner::new(move || _ = count.fetch_add(1, SeqCst))
    }

    /// How often by now, with what the worker has yet to do.
    fn released(&self) -> u32 {
        assert!(flush_callbacks(Duration::from_secs(20)).expect("not inside"), "the worker is stuck");
        self.0.load(SeqCst)
    }
}
