//! What becomes of objects when their context is corrupted or reset: each call says so, and letting go of them is silent.

use crate::{Softcuda, alone, context, driver, stream};
use cushim::driver::sys;
use cushim::kernel::{Image, Kernel, Library, LoadOptions};
use cushim::memory::{
    Buffer, DeviceMemory, DevicePoolOptions, ManagedResourceOptions, PinnedMemory, PinnedOptions,
    PinnedResourceOptions, PoolChoice, Registration, RegistrationOptions, Resource,
};
use cushim::{
    Context, Error, Event, EventOptions, Status, Stream, flush_callbacks, unreported_release_errors,
};
use std::time::Duration;

const ILLEGAL_ADDRESS: Status = Status(700);
const DESTROYED: Status = Status(709);

/// One of everything that a context has.
struct Everything {
    streams: [Stream; 3],
    event: Event,
    buffers: Vec<Buffer>,
    device: Vec<DeviceMemory>,
    pinned: PinnedMemory,
    registration: Registration,
    /// Lasts longer than its registration.
    _registered: Vec<u8>,
    library: Library,
    kernel: Kernel,
}

impl Everything {
    fn of(context: &Context) -> Self {
        const EMPTY: &str = ".version 7.0 .target sm_70 .address_size 64 .visible .entry nothing() { ret; }";
        let stream = stream(context);
        let image = Image::new(EMPTY).expect("an image");
        let library = Library::load(context, &image, &LoadOptions::default()).expect("a library");
        let mut own = DevicePoolOptions::default();
        own.choice = PoolChoice::Own;
        let resources = [
            Resource::device_pool(context.device(), &own),
            Resource::pinned(context, &PinnedResourceOptions::default()),
            Resource::managed(context, &ManagedResourceOptions::default()),
            Ok(Resource::device(context)),
        ];
        let buffer = |resource: Result<Resource, Error>| {
            Buffer::create(&resource.expect("a resource"), 4096, Some(&stream)).expect("a buffer")
        };
        let buffers = resources.map(buffer).into();
        let device = [DeviceMemory::allocate(context, 64), DeviceMemory::allocate_on(&stream, 64)];
        let mut registered = vec![0u8; 1 << 16];
        let (address, options) = (registered.as_mut_ptr().cast(), RegistrationOptions::default());
        stream.synchronize().expect("it is all there");
        Self {
            event: Event::create(context, &EventOptions::default()).expect("an event"),
            buffers,
            device: device.map(|memory| memory.expect("memory")).into(),
            pinned: PinnedMemory::allocate(context, 64, PinnedOptions::default()).expect("memory"),
            // SAFETY: the vector lasts longer.
            registration: unsafe { Registration::register(context, address, 1 << 16, options) }
                .expect("registered"),
            _registered: registered,
            kernel: library.kernel("nothing").expect("a kernel"),
            library,
            streams: [stream, Stream::legacy(context), Stream::per_thread(context)],
        }
    }

    /// Every call answers this.
    fn answers(&self, status: Status) {
        let [stream, legacy, own] = &self.streams;
        for result in [
            stream.synchronize(),
            legacy.synchronize(),
            own.query().map(drop),
            self.event.query().map(drop),
            self.event.record(stream),
            stream.wait_event(&self.event),
            stream.launch_host_function(|| ()),
            stream.context().synchronize(),
            stream.allocate(64).map(drop),
        ] {
            let error = result.expect_err("nothing works any more");
            assert_eq!(error.status, status, "{error}");
        }
    }

    /// Every release that can be asked for succeeds.
    fn destroyed(self) {
        for buffer in self.buffers {
            assert_eq!(Buffer::destroy(buffer), Ok(()));
        }
        for memory in self.device {
            assert_eq!(memory.free(), Ok(()));
        }
        assert_eq!((self.pinned.free(), self.registration.unregister()), (Ok(()), Ok(())));
        drop((self.kernel, self.library, self.event, self.streams));
    }
}

/// No release is counted as failed, now or by the worker.
fn silent() {
    assert!(flush_callbacks(Duration::from_secs(20)).expect("not inside"));
    assert_eq!(unreported_release_errors(&driver()), 0);
}

/// Every call answers that the context is lost, and everything is let go of in silence: asked for, or dropped.
fn let_go(all: [Everything; 2], status: Status) {
    let [first, second] = all;
    for all in [&first, &second] {
        all.answers(status);
    }
    first.destroyed();
    silent();
    drop(second);
    silent();
}

#[test]
fn after_an_error_that_sticks() {
    alone("lost::after_an_error_that_sticks", &[], || {
        let softcuda = Softcuda::open();
        let context = Context::create(context().device(), 0).expect("a context");
        let all = [Everything::of(&context), Everything::of(&context)];
        context.set_current().expect("current"); // whose error it is
        softcuda.fault("cuStreamQuery#1=700/sticky");
        let error = all[0].streams[0].query().expect_err("a fault");
        assert_eq!(error.status, ILLEGAL_ADDRESS);
        assert!(error.message.contains("The error is sticky"), "{error}");
        Context::clear_current(&driver()).expect("cleared");
        assert_eq!(context.lost(), Some(ILLEGAL_ADDRESS), "the context keeps the state");
        let_go(all, ILLEGAL_ADDRESS);
        assert_eq!(context.lost(), Some(ILLEGAL_ADDRESS));
        drop(context);
        silent();
    });
}

/// The first that meets it may be a release.
#[test]
fn after_an_error_that_sticks_and_that_nobody_met_yet() {
    alone("lost::after_an_error_that_sticks_and_that_nobody_met_yet", &[], || {
        let softcuda = Softcuda::open();
        let context = Context::create(context().device(), 0).expect("a context");
        let all = [Everything::of(&context), Everything::of(&context)];
        context.set_current().expect("current"); // whose error it is
        softcuda.fault("cuDeviceGetName#1=700/sticky");
        context.device().name().expect_err("a fault, of which the context does not hear");
        Context::clear_current(&driver()).expect("cleared");
        assert_eq!(context.lost(), None, "nobody met it");
        let [first, second] = all;
        first.destroyed();
        silent();
        assert_eq!(context.lost(), Some(ILLEGAL_ADDRESS), "a release met it");
        second.answers(ILLEGAL_ADDRESS);
        drop((second, context));
        silent();
    });
}

#[test]
fn after_a_reset() {
    alone("lost::after_a_reset", &[], || {
        let context = context();
        let all = [Everything::of(&context), Everything::of(&context)];
        context.device().reset_primary_context().expect("reset");
        assert_eq!(context.lost(), Some(DESTROYED), "the context keeps the state");
        let_go(all, DESTROYED);
        drop(context);
        silent();
    });
}

/// Others reset it behind the library's back; since driver 12.0 that shows.
#[test]
fn after_a_reset_by_others() {
    alone("lost::after_a_reset_by_others", &[("SOFTCUDA_VERSION", "12.0")], || {
        let context = context();
        let (first, second) = (Everything::of(&context), Everything::of(&context));
        let reset = driver().table().cuDevicePrimaryCtxReset_11000.expect("always there");
        // SAFETY: what the library has in the context is what this test is about.
        assert_eq!(unsafe { reset(context.device().native()) }, sys::CUDA_SUCCESS);
        assert_eq!(context.lost(), None, "nobody met it");
        first.destroyed();
        silent();
        assert_eq!(context.lost(), Some(DESTROYED), "a release met it");
        second.answers(DESTROYED);
        drop((second, context));
        silent();
    });
}
