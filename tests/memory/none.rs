//! With the driver `none`, memory is refused, and the sentence says why.

use cushim::driver::{Choice, OpenOptions};
use cushim::memory::{
    DeviceMemory, DevicePointer, PinnedMemory, PinnedOptions, PointerAttributes, Registration,
    RegistrationOptions,
};
use cushim::op::{Copy, Copy3d, CopyBatch, Endpoint, Extent, Memset, Region, Value};
use cushim::{Context, Device, Error, Status, Stream, StreamOptions};

fn context() -> Context {
    let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    Device::get(&driver, 0).expect("none has one device").primary_context().expect("none has a context")
}

#[test]
fn memory_is_refused_with_the_reason() {
    let context = context();
    let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let mut bytes = [0u8; 64];
    let (address, at) = (bytes.as_mut_ptr(), DevicePointer(0x1000));
    let (host, device) = (|| Endpoint::host(address), || Endpoint::device(at));
    let auto = || Endpoint::auto(address.expose_provenance() as u64);
    let box_in = || Copy3d::new(Region::new(device(), 4), Region::new(host(), 4), Extent::rectangle(4, 4));
    // SAFETY: everything is refused.
    let refused: Vec<(Result<(), Error>, &str)> = unsafe {
        let options = RegistrationOptions::default();
        vec![
            (DeviceMemory::allocate(&context, 64).map(drop), "cuMemAlloc"),
            (DeviceMemory::allocate_on(&stream, 64).map(drop), "cuMemAllocAsync"),
            (PinnedMemory::allocate(&context, 64, PinnedOptions::default()).map(drop), "cuMemHostAlloc"),
            (Registration::register(&context, address.cast(), 64, options).map(drop), "cuMemHostRegister"),
            (context.run(&mut Copy::new(device(), host(), 64)), "cuMemcpyHtoD"),
            (context.run(&mut Copy::new(host(), host(), 64)), "cuMemcpy"),
            (stream.enqueue(&mut Copy::new(host(), device(), 64)), "cuMemcpyDtoHAsync"),
            (stream.enqueue(&mut Copy::new(device(), device(), 64)), "cuMemcpyDtoDAsync"),
            (stream.enqueue(&mut Copy::new(host(), host(), 64)), "cuMemcpyAsync"),
            (stream.enqueue(&mut Copy::new(device(), auto(), 64)), "cuPointerGetAttributes"),
            (stream.enqueue(&mut CopyBatch::new(&mut [Copy::new(host(), host(), 64)], &[])), "cuMemcpyAsync"),
            (context.run(&mut box_in()), "cuMemcpy3D"),
            (stream.enqueue(&mut box_in()), "cuMemcpy3DAsync"),
            (context.run(&mut Memset::new(device(), Value::U16(1), 8)), "cuMemsetD16"),
            (stream.enqueue(&mut Memset::rectangle(device(), 64, Value::U32(1), 8, 2)), "cuMemsetD2D32Async"),
            (context.address_range(at).map(drop), "cuMemGetAddressRange"),
            (context.memory_info().map(drop), "cuMemGetInfo"),
            (PointerAttributes::of(context.driver(), 64).map(drop), "cuPointerGetAttributes"),
        ]
    };
    for (result, function) in refused {
        let error = result.expect_err(function);
        assert_eq!((error.status, error.function.as_str()), (Status::UNSUPPORTED, function));
        assert!(error.message.contains("none is open"), "{error}");
        assert!(error.message.contains("CUSHIM_DRIVER or the options say \"none\""), "{error}");
    }
}

/// Nothing is asked of the driver for no bytes; `none` refuses that, too, so that programs find out early.
#[test]
fn no_bytes_are_refused_too() {
    let context = context();
    let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let nowhere = || Endpoint::auto(0);
    let nothing = || Copy::new(nowhere(), nowhere(), 0);
    // SAFETY: nothing is copied or set.
    let refused = unsafe {
        [
            DeviceMemory::allocate(&context, 0).map(drop),
            DeviceMemory::allocate_on(&stream, 0).map(drop),
            PinnedMemory::allocate(&context, 0, PinnedOptions::default()).map(drop),
            context.run(&mut nothing()),
            stream.enqueue(&mut nothing()),
            context.run(&mut Memset::new(nowhere(), Value::U8(0), 0)),
            stream.enqueue(&mut Memset::rectangle(nowhere(), 0, Value::U32(0), 0, 7)),
        ]
    };
    for result in refused {
        assert_eq!(result.expect_err("refused").status, Status::UNSUPPORTED);
    }
}
