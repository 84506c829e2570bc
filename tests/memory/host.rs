//! Host memory that the device reaches: page-locked, and registered.

use crate::{
    Allocation, INVALID_VALUE, NOWHERE, OUT_OF_MEMORY, alone, context, driver, holding, numbered, read,
};
use cushim::driver::sys;
use cushim::memory::{PinnedMemory, PinnedOptions, PointerAttributes, Registration, RegistrationOptions};
use cushim::op::{Copy, Endpoint, Memset, Value};
use cushim::{Context, Error, Status};

const ALREADY_REGISTERED: Status = Status(712);
const NOT_REGISTERED: Status = Status(713);

fn memory_type(address: *mut std::ffi::c_void) -> Option<sys::CUmemorytype> {
    PointerAttributes::of(&driver(), address.expose_provenance() as u64).expect("attributes").memory_type
}

fn pinned_options(bits: u32) -> PinnedOptions {
    let mut options = PinnedOptions::default();
    (options.portable, options.mapped, options.write_combined) =
        (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
    options
}

/// The flags with which the driver says it has allocated the memory.
fn flags(context: &Context, address: *mut std::ffi::c_void) -> u32 {
    context.set_current().expect("current");
    let mut flags = 99;
    let get = driver().table().cuMemHostGetFlags_2030.expect("every driver has it");
    // SAFETY: writes one number; a context is current.
    assert_eq!(unsafe { get(&raw mut flags, address) }, sys::CUDA_SUCCESS);
    flags
}

#[test]
fn pinned_memory_is_the_hosts_and_the_devices() {
    let context = context();
    for bits in 0..8 {
        let memory = PinnedMemory::allocate(&context, 4096, pinned_options(bits)).expect("memory");
        let address = memory.address().cast::<u8>();
        assert_eq!(memory.bytes(), 4096);
        assert_eq!(memory_type(memory.address()), Some(sys::CU_MEMORYTYPE_HOST));
        // The device writes it, and the host reads.
        let pointer = memory.device_pointer().expect("the device reaches it");
        // SAFETY: the memory holds so many values, and nobody else uses it.
        unsafe {
            let at = Endpoint::device(pointer);
            context.run(&mut Memset::new(at, Value::U32(0x0807_0605), 1024)).expect("set");
            assert_eq!(address.add(4094).cast::<u16>().read_unaligned(), 0x0807);
        }
        let known = Allocation::at(address.expose_provenance() as u64).expect("there is memory");
        memory.free().expect("freed");
        assert!(!known.is_there());
    }
}

/// The memory is always mapped. Whether ordinary page-locked memory is portable the driver need not remember.
#[test]
fn options_reach_the_driver() {
    alone("host::options_reach_the_driver", &[], || {
        let context = context();
        for (bits, shown) in [(0, 2), (2, 2), (4, 6), (5, 7), (6, 6), (7, 7)] {
            let memory = PinnedMemory::allocate(&context, 64, pinned_options(bits)).expect("memory");
            assert_eq!(flags(&context, memory.address()), shown, "{bits}");
        }
        let mut bytes = vec![0u8; 8192];
        for (portable, read_only, shown) in [(false, false, 2), (true, false, 3), (false, true, 2)] {
            let mut options = RegistrationOptions::default();
            (options.portable, options.read_only) = (portable, read_only);
            let Ok(registration) = register(&context, &mut bytes, options) else {
                assert!(read_only, "only that may be missing");
                continue;
            };
            assert_eq!(flags(&context, registration.address()), shown, "{options:?}");
        }
    });
}

#[test]
fn pinned_memory_can_be_given_up_and_taken_over() {
    let context = context();
    let address =
        PinnedMemory::allocate(&context, 64, PinnedOptions::default()).expect("memory").into_address();
    assert_eq!(memory_type(address), Some(sys::CU_MEMORYTYPE_HOST));
    // SAFETY: this is what was given up.
    let memory = unsafe { PinnedMemory::from_address(&context, address, 64) };
    assert_eq!((memory.address(), memory.bytes()), (address, 64));
    let known = Allocation::at(address.expose_provenance() as u64).expect("there is memory");
    drop(memory);
    assert!(!known.is_there());
}

#[test]
fn no_bytes_and_too_many() {
    let context = context();
    let nothing = PinnedMemory::allocate(&context, 0, PinnedOptions::default()).expect("nothing");
    assert!(nothing.address().is_null());
    nothing.free().expect("freed");
    let error = PinnedMemory::allocate(&context, 1 << 50, PinnedOptions::default()).expect_err("too many");
    assert_eq!(error.status, Status(OUT_OF_MEMORY));
    assert!(error.message.contains("1125899906842624 bytes of host memory"), "{error}");
    // SAFETY: there is nothing there; the driver refuses.
    let wrong = unsafe {
        PinnedMemory::from_address(&context, std::ptr::without_provenance_mut(NOWHERE as usize), 8)
    };
    let error = wrong.free().expect_err("not memory");
    assert_eq!(error.status, Status(INVALID_VALUE));
    assert_eq!(error.object, "8 bytes of page-locked memory at 0x1230");
}

fn register(
    context: &Context,
    bytes: &mut [u8],
    options: RegistrationOptions,
) -> Result<Registration, Error> {
    // SAFETY: the tests keep their vectors longer than the registrations.
    unsafe { Registration::register(context, bytes.as_mut_ptr().cast(), bytes.len(), options) }
}

#[test]
fn registered_memory_is_reached_until_it_is_unregistered() {
    let context = context();
    let mut bytes = numbered(100_000);
    let address = bytes.as_mut_ptr();
    let registration = register(&context, &mut bytes, RegistrationOptions::default()).expect("registered");
    assert_eq!((registration.address(), registration.bytes()), (address.cast(), 100_000));
    assert_eq!(memory_type(address.cast()), Some(sys::CU_MEMORYTYPE_HOST));
    let memory = holding(&context, &[0; 1000]);
    let pointer = registration.device_pointer().expect("the device reaches it");
    // SAFETY: both ends hold so many bytes.
    unsafe { context.run(&mut Copy::new(memory.at(0), Endpoint::device(pointer), 1000)) }.expect("copied");
    assert_eq!(read(&context, memory.at(0), 1000), bytes[..1000]);
    // By the host's address, from somewhere within.
    // SAFETY: as above.
    unsafe { context.run(&mut Copy::new(memory.at(0), registration.at(99_000), 1000)) }.expect("copied");
    assert_eq!(read(&context, memory.at(0), 1000), bytes[99_000..]);
    registration.unregister().expect("unregistered");
    assert_eq!(memory_type(address.cast()), None);
}

#[test]
fn a_registration_can_be_given_up_and_taken_over() {
    let context = context();
    let mut bytes = vec![0u8; 1 << 16];
    let address =
        register(&context, &mut bytes, RegistrationOptions::default()).expect("registered").into_address();
    // SAFETY: this is what was given up, and the vector lasts longer.
    drop(unsafe { Registration::from_address(&context, address, bytes.len()) });
    // SAFETY: as above.
    let again = unsafe { Registration::from_address(&context, address, bytes.len()) };
    let error = again.unregister().expect_err("it was unregistered");
    assert_eq!(error.status, NOT_REGISTERED);
    assert!(error.object.starts_with("65536 bytes of registered memory at 0x"), "{}", error.object);
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let context = context();
    let mut bytes = vec![0u8; 1 << 16];
    let options = RegistrationOptions::default();
    for (result, why) in [
        (register(&context, &mut bytes[..0], options), "empty"),
        // SAFETY: it is refused.
        (unsafe { Registration::register(&context, std::ptr::null_mut(), 8, options) }, "is NULL"),
    ] {
        let error = result.expect_err(why);
        assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0));
        assert!(error.message.contains(why), "{error}");
    }
    let once = register(&context, &mut bytes, options).expect("registered");
    let error = register(&context, &mut bytes, options).expect_err("twice");
    assert_eq!(error.status, ALREADY_REGISTERED);
    once.unregister().expect("unregistered");
}

#[test]
fn the_device_does_not_reach_ordinary_memory() {
    let mut byte = 0u8;
    let error = context().device_pointer((&raw mut byte).cast()).expect_err("ordinary");
    assert_eq!((error.status, error.function.as_str()), (Status(INVALID_VALUE), "cuMemHostGetDevicePointer"));
}
