//! With the driver `none`, memory is refused, and the sentence says why.

use cushim::driver::{Choice, OpenOptions};
use cushim::memory::{
    DeviceMemory, DevicePointer, Extent, Fill, PinnedMemory, PinnedOptions, Place, PointerAttributes, Region,
    Registration, RegistrationOptions,
};
use cushim::{Context, Device, Error, Status, Stream, StreamOptions};
use std::sync::Arc;

fn context() -> Arc<Context> {
    let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    Device::get(&driver, 0).expect("none has one device").primary_context().expect("none has a context")
}

#[test]
fn memory_is_refused_with_the_reason() {
    let context = context();
    let stream = Stream::create(&context, &StreamOptions::default()).expect("a stream");
    let mut bytes = [0u8; 64];
    let (host, at) = (Place::host(&mut bytes), DevicePointer(0x1000));
    let (device, extent) = (Place::Device(at), Extent::rectangle(4, 4));
    let (rows, there) = (Region::new(device, 4), Region::new(host, 4));
    // SAFETY: everything is refused.
    let refused: Vec<(Result<(), Error>, &str)> = unsafe {
        vec![
            (DeviceMemory::allocate(&context, 64).map(drop), "cuMemAlloc"),
            (DeviceMemory::allocate_on(&stream, 64).map(drop), "cuMemAllocAsync"),
            (PinnedMemory::allocate(&context, 64, PinnedOptions::default()).map(drop), "cuMemHostAlloc"),
            (
                Registration::register(
                    &context,
                    bytes.as_mut_ptr().cast(),
                    64,
                    RegistrationOptions::default(),
                )
                .map(drop),
                "cuMemHostRegister",
            ),
            (context.copy(device, host, 64), "cuMemcpyHtoD"),
            (stream.copy(host, device, 64), "cuMemcpyDtoHAsync"),
            (stream.copy(device, device, 64), "cuMemcpyDtoDAsync"),
            (stream.copy(host, host, 64), "cuMemcpyAsync"),
            (context.copy_box(&rows, &there, extent), "cuMemcpy3D"),
            (stream.copy_box(&rows, &there, extent), "cuMemcpy3DAsync"),
            (context.copy_peer((&context, at), (&context, at), 8), "cuMemcpyPeer"),
            (stream.copy_box_peer((&context, &rows), (&context, &there), extent), "cuMemcpy3DPeerAsync"),
            (context.fill(at, Fill::U16(1), 8), "cuMemsetD16"),
            (stream.fill_2d(at, 64, Fill::U32(1), 8, 2), "cuMemsetD2D32Async"),
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
    let nowhere = Place::Auto(0);
    // SAFETY: nothing is copied or filled.
    let refused = unsafe {
        [
            DeviceMemory::allocate(&context, 0).map(drop),
            DeviceMemory::allocate_on(&stream, 0).map(drop),
            PinnedMemory::allocate(&context, 0, PinnedOptions::default()).map(drop),
            context.copy(nowhere, nowhere, 0),
            stream.copy(nowhere, nowhere, 0),
            context.fill(DevicePointer::NULL, Fill::U8(0), 0),
            stream.fill_2d(DevicePointer::NULL, 0, Fill::U32(0), 0, 7),
        ]
    };
    for result in refused {
        assert_eq!(result.expect_err("refused").status, Status::UNSUPPORTED);
    }
}
