//! What becomes of memory when things go wrong, and inside callbacks.

use crate::{Allocation, NOWHERE, alone, context, driver, holding, read, stream};
use cushim::memory::{
    DeviceMemory, DevicePointer, PinnedMemory, PinnedOptions, Registration, RegistrationOptions,
};
use cushim::{Status, flush_callbacks, unreported_release_errors};
use std::sync::mpsc;
use std::time::Duration;

/// Nobody can be told of a free that fails in a drop, so it is counted.
#[test]
fn a_drop_that_fails_is_counted() {
    alone("releases::a_drop_that_fails_is_counted", &[], || {
        let context = context();
        let before = unreported_release_errors(&driver());
        let nowhere = std::ptr::without_provenance_mut(NOWHERE as usize);
        // SAFETY: there is nothing there; the driver refuses.
        unsafe {
            drop(DeviceMemory::from_pointer(&context, DevicePointer(NOWHERE), 8));
            drop(PinnedMemory::from_address(&context, nowhere, 8));
            drop(Registration::from_address(&context, nowhere, 8));
        }
        assert_eq!(unreported_release_errors(&driver()), before + 3);
        drop(DeviceMemory::allocate(&context, 8).expect("memory"));
        assert_eq!(unreported_release_errors(&driver()), before + 3);
    });
}

/// A reset takes the memory with it, and its addresses may come again: dropping what is left must free nothing.
#[test]
fn memory_goes_with_a_reset() {
    alone("releases::memory_goes_with_a_reset", &[], || {
        let old = context();
        let device = old.device();
        let mut bytes = vec![0u8; 1 << 16];
        let memories: Vec<_> = (0..16).map(|_| DeviceMemory::allocate(&old, 4096).expect("memory")).collect();
        let pinned = PinnedMemory::allocate(&old, 4096, PinnedOptions::default()).expect("memory");
        let (address, options) = (bytes.as_mut_ptr().cast(), RegistrationOptions::default());
        // SAFETY: the vector outlives the registration.
        let registration =
            unsafe { Registration::register(&old, address, bytes.len(), options) }.expect("registered");
        device.reset_primary_context().expect("reset");
        let new = device.primary_context().expect("a new context");
        let again: Vec<_> = (0..16).map(|_| holding(&new, &[5; 4096])).collect();
        // SAFETY: as above.
        let registered =
            unsafe { Registration::register(&new, address, bytes.len(), options) }.expect("registered");
        for memory in memories {
            assert_eq!(memory.free(), Ok(()));
        }
        assert_eq!((pinned.free(), registration.unregister()), (Ok(()), Ok(())));
        for memory in &again {
            assert_eq!(read(&new, memory.at(0), 4096), [5; 4096], "the new memory is untouched");
        }
        registered.unregister().expect("the new registration is untouched");
        assert_eq!(DeviceMemory::allocate(&old, 64).expect_err("it is gone").status, Status(709));
        assert_eq!(unreported_release_errors(&driver()), 0);
    });
}

/// Inside a function that the driver called nothing can be freed: a free says so, and the memory goes soon.
#[test]
fn memory_that_is_let_go_inside_a_host_function_goes_later() {
    let context = context();
    let stream = stream(&context);
    let (dropped, freed) = (
        DeviceMemory::allocate(&context, 4096).expect("memory"),
        DeviceMemory::allocate(&context, 4096).expect("memory"),
    );
    let pinned = PinnedMemory::allocate(&context, 4096, PinnedOptions::default()).expect("memory");
    let addresses = [dropped.pointer().0, freed.pointer().0, pinned.address().expose_provenance() as u64];
    let known = addresses.map(|address| Allocation::at(address).expect("there is memory"));
    let (sender, receiver) = mpsc::channel();
    let inside = move || {
        drop((dropped, pinned));
        sender.send(freed.free()).expect("somebody listens");
    };
    stream.launch_host_function(inside).expect("launched");
    stream.synchronize().expect("done");
    let answer = receiver.recv_timeout(Duration::from_secs(10)).expect("it was called");
    assert_eq!(answer.expect_err("inside").status, Status::IN_CALLBACK);
    assert!(flush_callbacks(Duration::from_secs(10)).expect("not inside"), "flushed");
    for allocation in known {
        assert!(!allocation.is_there(), "{:#x} was freed", allocation.address);
    }
}
