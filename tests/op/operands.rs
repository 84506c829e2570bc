//! Objects that an operation uses: those of another driver, and those that went with their context, are refused before the
//! driver is asked, also in streams of other contexts.

use crate::{alone, context, driver, kernel, stream, taking_a_pointer};
use cushim::driver::{Choice, OpenOptions, Version, sys};
use cushim::kernel::{Kernel, LaunchConfig};
use cushim::managed::{Discard, Range};
use cushim::memory::{
    Allocator, Buffer, DeviceMemory, DevicePointer, DevicePoolOptions, Home, ManagedResourceOptions,
    PinnedForm, PinnedResourceOptions, PoolChoice, Properties, Resource,
};
use cushim::op::batch::BatchOptions;
use cushim::op::{
    Arguments, Copy, Copy3d, CopyBatch, Endpoint, Extent, Launch, Memset, Record, Region, Value, Wait,
};
use cushim::{
    Context, Device, Error, Event, EventOptions, Location, Status, Stream, unreported_release_errors,
};

const DESTROYED: Status = Status(709);
const BYTES: usize = 4096;

/// Memory of the caller's own, in the order of streams. What it frees went with the context.
struct Custom(Context);

// SAFETY: the memory is the driver's.
unsafe impl Allocator for Custom {
    fn properties(&self) -> Properties {
        Properties::device(0).in_stream_order()
    }

    fn allocate(&self, bytes: usize, _: Option<&Stream>) -> Result<DevicePointer, Error> {
        DeviceMemory::allocate(&self.0, bytes).map(DeviceMemory::into_pointer)
    }

    fn free(&self, _: DevicePointer, _: usize, _: Option<&Stream>) -> Result<(), Error> {
        Ok(())
    }
}

/// A buffer of each kind of resource, and one of lent memory, in the context.
fn buffers(context: &Context) -> Vec<Buffer> {
    let is_new = driver().version() >= Some(Version::from_number(13000));
    let mut own = DevicePoolOptions::default();
    own.choice = PoolChoice::Own;
    let mut page_locked = PinnedResourceOptions::default();
    page_locked.form = PinnedForm::Synchronous;
    let mut managed_pool = ManagedResourceOptions::default();
    managed_pool.pool = Some(Location::device(0));
    let mut resources = vec![
        Resource::device_pool(context.device(), &DevicePoolOptions::default()),
        Resource::device_pool(context.device(), &own),
        Resource::pinned(context, &page_locked),
        Resource::managed(context, &ManagedResourceOptions::default()),
        Ok(Resource::device(context)),
        Resource::custom(context.driver(), Box::new(Custom(context.clone()))),
    ];
    if is_new {
        resources.push(Resource::pinned(context, &PinnedResourceOptions::default()));
        resources.push(Resource::managed(context, &managed_pool));
    }
    let stream = stream(context);
    let mut buffers: Vec<_> = resources
        .into_iter()
        .map(|resource| {
            let resource = resource.expect("a resource");
            let buffer = Buffer::create(&resource, BYTES, Some(&stream)).expect("a buffer");
            buffer.set_label(Some(&resource.to_string()));
            buffer
        })
        .collect();
    stream.synchronize().expect("they are there");
    let memory = DeviceMemory::allocate(context, BYTES).expect("memory").into_pointer();
    // SAFETY: nobody frees the memory.
    let lent = unsafe { Buffer::wrap(context.driver(), memory, BYTES, Home::Lender, None) };
    let lent = lent.unwrap_or_else(|(error, _)| panic!("{error}"));
    lent.set_label(Some("lent"));
    buffers.push(lent);
    buffers
}

/// Where operations go, and what they need there.
struct Sink {
    stream: Stream,
    /// Takes a pointer.
    kernel: Option<Kernel>,
}

impl Sink {
    fn new(context: &Context) -> Self {
        let kernel = (context.driver() == &driver()).then(|| taking_a_pointer(context));
        Self { stream: stream(context), kernel }
    }

    /// Does everything that can be done with a buffer, and answers what became of each.
    fn all(&self, buffer: &Buffer) -> Vec<(&'static str, Result<(), Error>)> {
        let (stream, context) = (&self.stream, self.stream.context());
        let mut host = vec![0u8; BYTES];
        let address = host.as_mut_ptr();
        let there = || buffer.at(64);
        let here = || Endpoint::host(address);
        let rows = |at| Region::new(at, 64);
        let extent = Extent::rectangle(32, 8);
        let set = || Memset::new(there(), Value::U32(1), 16);
        // SAFETY: the buffer holds as much as is used, and all of it is done when this returns.
        let mut all = unsafe {
            vec![
                ("copy to", stream.enqueue(&mut Copy::new(there(), here(), 64))),
                ("copy from", stream.enqueue(&mut Copy::new(here(), there(), 64))),
                ("copy within", stream.enqueue(&mut Copy::new(buffer.at(1024), there(), 64))),
                ("copy to, at once", context.run(&mut Copy::new(there(), here(), 64))),
                ("copy a box to", stream.enqueue(&mut Copy3d::new(rows(there()), rows(here()), extent))),
                ("copy a box from", stream.enqueue(&mut Copy3d::new(rows(here()), rows(there()), extent))),
                ("copy a box, at once", context.run(&mut Copy3d::new(rows(here()), rows(there()), extent))),
                ("batch", stream.enqueue(&mut CopyBatch::new(&mut [Copy::new(there(), here(), 64)], &[]))),
                ("memset", stream.enqueue(&mut set())),
                ("memset of rows", stream.enqueue(&mut Memset::rectangle(there(), 64, Value::U8(1), 32, 8))),
                ("memset, at once", context.run(&mut set())),
            ]
        };
        all.extend(self.kernel.as_ref().map(|kernel| ("launch", launch(stream, kernel, there()))));
        if buffer.resource().is_some_and(|resource| resource.properties().managed) {
            all.extend(self.managed(buffer));
        }
        stream.synchronize().expect("done");
        all
    }

    fn managed(&self, buffer: &Buffer) -> [(&'static str, Result<(), Error>); 3] {
        let (range, stream) = ([Range::from(buffer)], &self.stream);
        let prefetches = stream.prefetch_batch(&range, &[Location::HOST], BatchOptions::default());
        // SAFETY: nobody reads the memory.
        let discarded = unsafe { stream.enqueue(&mut Discard::new(&range)) };
        let discarded = match driver().version() {
            // There the driver has no such call, and is asked for none.
            Some(version) if version < Version::from_number(13000) => discarded
                .or_else(|error| if error.status == Status::UNSUPPORTED { Ok(()) } else { Err(error) }),
            _ => discarded,
        };
        [
            ("prefetch", stream.prefetch(&range[0], Location::device(0))),
            ("prefetches", prefetches),
            ("discard", discarded),
        ]
    }
}

fn launch(stream: &Stream, kernel: &Kernel, at: Endpoint) -> Result<(), Error> {
    let (config, mut arguments) = (LaunchConfig::new(1, 1), Arguments::new());
    arguments.push(at);
    // SAFETY: the kernel takes a pointer, and does nothing with it.
    unsafe { stream.enqueue(&mut Launch::new(kernel, &config, &mut arguments)) }
}

/// Everything that the sink does with the buffers is refused so, without a word of the driver's.
fn refused(sink: &Sink, buffers: &[Buffer], status: Status, why: &str) {
    for buffer in buffers {
        for (what, result) in sink.all(buffer) {
            let error = result.expect_err(what);
            assert_eq!((error.status, error.driver_code), (status, 0), "{what} of {buffer}: {error}");
            assert!(error.message.contains(&buffer.to_string()), "{what}: {error}");
            assert!(error.message.contains(why), "{what} of {buffer}: {error}");
        }
    }
}

/// Buffers in the primary context, and a sink in another, where all of it works; then the first is destroyed.
fn after_a_reset(reset: impl FnOnce(&Device)) {
    let (gone, stays) = (context(), Context::create(context().device(), 0).expect("a context"));
    let (buffers, sink) = (buffers(&gone), Sink::new(&stays));
    for buffer in &buffers {
        for (what, result) in sink.all(buffer) {
            // Nothing else is in the way of it: a managed pool's memory, for one, may be of no other context.
            assert_eq!(result, Ok(()), "{what} of {buffer}");
        }
    }
    reset(gone.device());
    refused(&sink, &buffers, DESTROYED, "which was destroyed or reset");
    // The other context is well.
    let well = Buffer::create(&Resource::device(&stays), BYTES, None).expect("a buffer");
    for (what, result) in sink.all(&well) {
        assert_eq!(result, Ok(()), "{what}");
    }
    buffers.into_iter().for_each(|buffer| assert_eq!(Buffer::destroy(buffer), Ok(())));
    assert_eq!(unreported_release_errors(&driver()), 0);
}

fn reset_here(device: &Device) {
    device.reset_primary_context().expect("reset");
}

/// Behind the library's back.
fn reset_behind(device: &Device) {
    let reset = driver().table().cuDevicePrimaryCtxReset_11000.expect("always there");
    // SAFETY: what is in the context is what these tests are about.
    assert_eq!(unsafe { reset(device.native()) }, sys::CUDA_SUCCESS);
}

#[test]
fn a_buffer_whose_context_was_reset_is_refused() {
    alone("operands::a_buffer_whose_context_was_reset_is_refused", &[], || after_a_reset(reset_here));
}

#[test]
fn a_buffer_whose_context_was_reset_is_refused_on_an_old_driver() {
    let name = "operands::a_buffer_whose_context_was_reset_is_refused_on_an_old_driver";
    alone(name, &[("SOFTCUDA_VERSION", "11.4")], || after_a_reset(reset_here));
}

/// Since driver 12.0 contexts have numbers, which show it.
#[test]
fn a_buffer_whose_context_others_reset_is_refused() {
    let name = "operands::a_buffer_whose_context_others_reset_is_refused";
    alone(name, &[("SOFTCUDA_VERSION", "12.0")], || {
        after_a_reset(reset_behind);
    });
}

/// So are events and kernels, and contexts that an endpoint names.
fn whatever_went(reset: impl FnOnce(&Device)) {
    let (gone, stays) = (context(), Context::create(context().device(), 0).expect("a context"));
    gone.set_label(Some("the old one"));
    let event = Event::create(&gone, &EventOptions::default()).expect("an event");
    let (kernel, sink) = (kernel(&gone, "", ""), Sink::new(&stays));
    let memory = DeviceMemory::allocate(&stays, 64).expect("memory");
    reset(gone.device());
    let stream = &sink.stream;
    let named = || Copy::new(memory.at(0).in_context(&gone), memory.at(32), 8);
    let rows = || Region::new(memory.at(0).in_context(&gone), 8);
    let (config, mut arguments) = (LaunchConfig::new(1, 1), Arguments::new());
    // SAFETY: everything is refused.
    let results = unsafe {
        [
            stream.enqueue(&mut Record::new(&event)),
            stream.enqueue(&mut Wait::new(&event)),
            stream.enqueue(&mut Launch::new(&kernel, &config, &mut arguments)),
            stream.enqueue(&mut Launch::packed(&kernel, &config, &[])),
            stream.enqueue(&mut named()),
            stays.run(&mut named()),
            stream.enqueue(&mut Copy3d::new(rows(), rows(), Extent::rectangle(4, 2))),
            stream.enqueue(&mut CopyBatch::new(&mut [named()], &[])),
            stream.enqueue(&mut Memset::new(memory.at(0).in_context(&gone), Value::U8(0), 8)),
        ]
    };
    for result in results {
        let error = result.expect_err("its context was reset");
        assert_eq!((error.status, error.driver_code), (DESTROYED, 0), "{error}");
        assert!(error.message.contains("\"the old one\""), "{error}");
    }
    stream.synchronize().expect("the stream is well");
}

#[test]
fn whatever_went_with_its_context_is_refused() {
    alone("operands::whatever_went_with_its_context_is_refused", &[], || whatever_went(reset_here));
}

#[test]
fn whatever_went_with_a_context_that_others_reset_is_refused() {
    let name = "operands::whatever_went_with_a_context_that_others_reset_is_refused";
    alone(name, &[("SOFTCUDA_VERSION", "12.0")], || whatever_went(reset_behind));
}

#[test]
fn a_buffer_of_another_driver_is_refused() {
    let buffers = buffers(&context());
    let none = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    let elsewhere = Device::get(&none, 0).expect("a device").primary_context().expect("a context");
    refused(&Sink::new(&elsewhere), &buffers, Status::INVALID_HANDLE, "belongs to another driver than");
}

/// The other way round, with what the driver `none` has.
#[test]
fn events_and_kernels_of_another_driver_are_refused() {
    let none = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    let elsewhere = Device::get(&none, 0).expect("a device").primary_context().expect("a context");
    let event = Event::create(&elsewhere, &EventOptions::default()).expect("an event");
    let stream = stream(&context());
    let lent = stream.context();
    // SAFETY: everything is refused; the buffer is of memory that nobody uses.
    unsafe {
        let buffer = Buffer::wrap(&none, DevicePointer(4096), 64, Home::Lender, None);
        let buffer = buffer.unwrap_or_else(|(error, _)| panic!("{error}"));
        for result in [
            stream.enqueue(&mut Record::new(&event)),
            stream.enqueue(&mut Wait::new(&event)),
            launch(&stream, &taking_a_pointer(lent), buffer.at(0)),
            launch(&crate::stream(&elsewhere), &taking_a_pointer(lent), Endpoint::device(DevicePointer(8))),
        ] {
            let error = result.expect_err("another driver's");
            assert_eq!((error.status, error.driver_code), (Status::INVALID_HANDLE, 0), "{error}");
            assert!(error.message.contains("belongs to another driver than"), "{error}");
        }
    }
}

/// The error says which argument it is about.
#[test]
fn the_argument_that_is_refused_is_named() {
    alone("operands::the_argument_that_is_refused_is_named", &[], || {
        let (gone, stays) = (context(), Context::create(context().device(), 0).expect("a context"));
        let buffer = buffers(&gone).remove(0);
        let kernel = kernel(&stays, ".param .u32 n, .param .u64 at, .param .u64 other", "");
        let well = Buffer::create(&Resource::device(&stays), BYTES, None).expect("a buffer");
        reset_here(gone.device());
        let (config, mut arguments) = (LaunchConfig::new(1, 1), Arguments::new());
        arguments.push(7_u32).push(well.at(0)).push(buffer.at(0));
        // SAFETY: it is refused.
        let result = unsafe { stream(&stays).enqueue(&mut Launch::new(&kernel, &config, &mut arguments)) };
        let error = result.expect_err("its context was reset");
        assert_eq!((error.status, error.item), (DESTROYED, Some(2)));
        assert!(error.message.starts_with(&format!("argument 2: {buffer} is in ")), "{error}");
    });
}
