//! Slices, parts of them, and copies.

use crate::{alone, context, is_softcuda, refused, stream};
use cushim::typed::{
    DeviceCopy, DeviceSlice, ManagedSlice, Order, PinnedSlice, SafeKernel, TypedKernel, View, ViewMut,
};
use cushim::{Status, Stream};

/// A type of a program's own.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

// SAFETY: four numbers without a gap.
unsafe impl DeviceCopy for Particle {}

#[test]
fn elements_come_back_as_they_were() {
    let stream = stream(&context());
    let particles: Vec<Particle> =
        (0..1000).map(|i| Particle { position: [i as f32; 3], mass: 0.5 }).collect();
    let slice = DeviceSlice::from_slice(&stream, &particles).expect("copied");
    assert_eq!(slice.to_vec(&stream).expect("copied"), particles);
    assert_eq!(slice.range(10..=11).expect("inside").to_vec(&stream).expect("copied"), particles[10..=11]);
    let mut some = [particles[0]; 3];
    slice.range(997..).expect("inside").copy_to_slice(&stream, &mut some).expect("copied");
    assert_eq!(some, particles[997..]);
    assert_eq!((slice.len(), slice.is_empty(), slice.home() == &stream), (1000, false, true));
}

#[test]
fn parts_are_written_apart() {
    let stream = stream(&context());
    let mut slice = DeviceSlice::<i16>::zeroed(&stream, 10).expect("memory");
    let (mut one, mut other) = slice.view_mut().split_at_mut(4).expect("inside");
    one.fill(&stream, -3).expect("filled");
    other.reborrow().range(..2).expect("inside").copy_from_slice(&stream, &[7, 8]).expect("copied");
    other
        .range(3..)
        .expect("inside")
        .copy_from(&stream, &one.reborrow().range(1..).expect("inside"))
        .expect("copied");
    assert_eq!(slice.to_vec(&stream).expect("copied"), [-3, -3, -3, -3, 7, 8, 0, -3, -3, -3]);
    let (one, other) = slice.view().split_at(7).expect("inside");
    assert_eq!((one.len(), other.to_vec(&stream).expect("copied")), (7, vec![-3; 3]));
}

#[test]
fn slices_of_nothing_are_slices() {
    let stream = stream(&context());
    let mut slice = DeviceSlice::<u64>::from_slice(&stream, &[]).expect("nothing to copy");
    assert!(slice.is_empty() && slice.to_vec(&stream).expect("nothing to copy").is_empty());
    slice.copy_from(&stream, &DeviceSlice::zeroed(&stream, 0).expect("memory")).expect("nothing to copy");
    assert!(PinnedSlice::<u8>::zeroed(&stream, 0).expect("memory").as_slice().expect("there").is_empty());
}

#[test]
fn what_does_not_fit_is_refused() {
    let stream = stream(&context());
    let mut slice = DeviceSlice::<u32>::zeroed(&stream, 4).expect("memory");
    refused(slice.copy_from_slice(&stream, &[1; 5]), "5 elements do not fit a destination of 4");
    refused(slice.copy_to_slice(&stream, &mut [1; 3]), "4 elements do not fit a destination of 3");
    let other = DeviceSlice::zeroed(&stream, 5).expect("memory");
    refused(slice.copy_from(&stream, &other), "5 elements do not fit a destination of 4");
    refused(slice.range(3..5), "3..5 is not inside of a slice of 4 elements");
    refused(slice.range(..=usize::MAX), "is not inside of a slice of 4 elements");
    #[allow(clippy::reversed_empty_ranges)] // as a computed range may be
    let reversed = slice.range_mut(3..2);
    refused(reversed, "3..2 is not inside of a slice of 4 elements");
    refused(slice.view_mut().split_at_mut(5), "5..4 is not inside");
    refused(DeviceSlice::<u32>::allocate(&stream, usize::MAX), "larger than any memory");
    let own = Stream::per_thread(stream.context());
    refused(DeviceSlice::<u32>::allocate(&own, 4), "another stream on each thread");
    refused(slice.fill(&own, 0), "another stream on each thread");
    assert_eq!(slice.to_vec(&stream).expect("copied"), [0; 4], "nothing was done");
}

#[test]
fn every_kind_is_copied_to_every_kind() {
    let stream = stream(&context());
    let (mut device, mut pinned, mut managed) = (
        DeviceSlice::<u8>::zeroed(&stream, 4).expect("memory"),
        PinnedSlice::<u8>::zeroed(&stream, 4).expect("memory"),
        ManagedSlice::<u8>::zeroed(&stream, 4).expect("memory"),
    );
    pinned.as_mut_slice().expect("nobody uses it").copy_from_slice(&[1, 2, 3, 4]);
    device.copy_from(&stream, &pinned).expect("enqueued");
    managed.copy_from(&stream, &device).expect("enqueued");
    assert_eq!(managed.as_slice().expect("done"), [1, 2, 3, 4]);
    managed.as_mut_slice().expect("done")[0] = 9;
    managed.range_mut(1..3).expect("inside").fill(&stream, 8).expect("enqueued");
    pinned.copy_from(&stream, managed.view()).expect("enqueued");
    assert_eq!(pinned.as_slice().expect("done"), [9, 8, 8, 4]);
    pinned.copy_from_slice(&stream, &[5; 4]).expect("copied");
    device
        .range_mut(..2)
        .expect("inside")
        .copy_from(&stream, pinned.range(2..).expect("inside"))
        .expect("enqueued");
    assert_eq!(device.to_vec(&stream).expect("copied"), [5, 5, 3, 4]);
}

#[test]
fn slices_are_made_of_slices() {
    let stream = stream(&context());
    let pinned = PinnedSlice::from_slice(&stream, &[1_u16, 2, 3, 4]).expect("memory");
    let device = DeviceSlice::copied_from(&stream, &pinned).expect("enqueued");
    let managed = ManagedSlice::copied_from(&stream, device.range(1..3).expect("inside")).expect("enqueued");
    assert_eq!(managed.as_slice().expect("done"), [2, 3]);
    let back = PinnedSlice::copied_from(&stream, &managed).expect("enqueued");
    assert_eq!(back.as_slice().expect("done"), [2, 3]);
    assert_eq!(ManagedSlice::from_slice(&stream, &[9_u8]).expect("memory").as_slice().expect("done"), [9]);
}

/// Where work runs only when somebody waits for it, whoever reads too early reads old values.
#[test]
fn the_host_waits_for_what_it_reads() {
    alone("slices::the_host_waits_for_what_it_reads", &[("SOFTCUDA_SCHEDULE", "lazy")], || {
        let (one, other) = (stream(&context()), stream(&context()));
        let (mut pinned, mut device) = (
            PinnedSlice::<u32>::zeroed(&one, 100).expect("memory"),
            DeviceSlice::<u32>::zeroed(&one, 100).expect("memory"),
        );
        for (value, stream) in [(1, &one), (2, &other), (3, &one)] {
            pinned.as_mut_slice().expect("done").fill(value);
            device.copy_from(stream, &pinned).expect("enqueued");
            pinned.as_mut_slice().expect("the copy has read it").fill(0);
            pinned.copy_from(stream, &device).expect("enqueued");
            assert_eq!(pinned.as_slice().expect("done"), [value; 100]);
        }
    });
}

/// Managed memory that the host must not touch while kernels run is no slice.
#[test]
fn managed_slices_need_a_device_that_shares() {
    const NAME: &str = "slices::managed_slices_need_a_device_that_shares";
    if !is_softcuda() {
        return;
    }
    alone(NAME, &[("SOFTCUDA_CONCURRENT_MANAGED", "0")], || {
        let error = ManagedSlice::<u8>::zeroed(&stream(&context()), 4).expect_err("not here");
        assert_eq!(error.status, Status::UNSUPPORTED);
        assert!(
            error.message.contains("concurrent-managed-access") && error.message.contains("PinnedSlice"),
            "{error}"
        );
    });
}

#[test]
fn memory_goes_to_buffers_and_comes_from_them() {
    let stream = stream(&context());
    let slice = DeviceSlice::from_slice(&stream, &[1_u32, 2, 3]).expect("copied");
    let buffer = slice.into_buffer().expect("given up");
    assert_eq!((buffer.bytes(), buffer.stream()), (12, Some(stream.clone())));
    // SAFETY: the buffer is nobody else's.
    let refuses = unsafe { DeviceSlice::<u32>::from_buffer(buffer.clone(), 4, &stream) };
    refused(refuses, "4 elements take 16 bytes, and");
    // SAFETY: as above.
    let slice = unsafe { DeviceSlice::<u16>::from_buffer(buffer, 6, &stream) }.expect("it fits");
    assert_eq!(slice.to_vec(&stream).expect("copied"), [1, 0, 2, 0, 3, 0]);
    assert_eq!(slice.order(), Order::Recorded);
}

/// What threads may have and share.
#[test]
fn slices_go_to_other_threads() {
    fn both<T: Send + Sync>() {}
    both::<DeviceSlice<f32>>();
    both::<PinnedSlice<f32>>();
    both::<ManagedSlice<f32>>();
    both::<View<'_, f32>>();
    both::<ViewMut<'_, f32>>();
    both::<TypedKernel<(f32,)>>();
    both::<SafeKernel<(f32,)>>();
    both::<cushim::typed::RecordedGraph>();
    let stream = stream(&context());
    let slice = DeviceSlice::from_slice(&stream, &[1_u32, 2, 3]).expect("copied");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(slice.to_vec(&stream).expect("copied"), [1, 2, 3]));
        }
    });
    std::thread::spawn(move || drop(slice)).join().expect("no panic");
}
