//! Graphs that are recorded from typed work.

use crate::{context, kernel, refused, stream};
use cushim::kernel::LaunchConfig;
use cushim::typed::{DeviceSlice, PinnedSlice, Read, RecordedGraph, TypedKernel, Write};
use cushim::{Error, Status};

#[test]
fn a_graph_keeps_what_it_uses() {
    let context = context();
    let (stream, kernel) = (stream(&context), kernel(&context));
    let kernel =
        TypedKernel::<(u32, f32, Read<f32>, Write<f32>)>::new(&kernel).expect("these are its parameters");
    // SAFETY: as many numbers as `n` are read and written.
    let kernel = unsafe { kernel.vouch(|_, &(n, _, x, y)| n as usize <= x.min(y)) };
    let x = DeviceSlice::from_slice(&stream, &[1.0; 8]).expect("copied");
    let mut y = DeviceSlice::from_slice(&stream, &[0.0; 8]).expect("copied");
    let mut copy = DeviceSlice::<f32>::zeroed(&stream, 8).expect("memory");
    let graph = RecordedGraph::record(&context, |recording| {
        kernel.launch(recording, &LaunchConfig::new(1, 8), (8, 2.0, &x, &mut y))?;
        copy.copy_from(recording, &y)
    })
    .expect("recorded");
    assert_eq!(copy.to_vec(&stream).expect("copied"), [0.0; 8], "nothing of it was done");
    drop((x, y, kernel));
    for round in 1..4 {
        let mut taken = DeviceSlice::<f32>::allocate(&stream, 8).expect("memory");
        taken.fill(&stream, -1.0).expect("what was dropped is not handed out again");
        graph.launch(&stream).expect("launched");
        assert_eq!(copy.to_vec(&stream).expect("copied"), [2.0 * round as f32; 8]);
    }
    assert_eq!(graph.graph().nodes().expect("there").len(), 2);
}

#[test]
fn what_a_graph_cannot_keep_is_refused() {
    let context = context();
    let stream = stream(&context);
    let mut device = DeviceSlice::<u32>::zeroed(&stream, 4).expect("memory");
    let mut pinned = PinnedSlice::<u32>::zeroed(&stream, 4).expect("memory");
    let graph = RecordedGraph::record(&context, |recording| {
        refused(device.copy_from(recording, &pinned), "memory that the host reaches, too");
        refused(pinned.fill(recording, 1), "memory that the host reaches, too");
        refused(device.copy_from_slice(recording, &[1; 4]), "a copy of the host's own memory");
        refused(device.to_vec(recording), "a copy of the host's own memory");
        device.fill(recording, 5)
    })
    .expect("the capture stays valid");
    graph.launch(&stream).expect("launched");
    assert_eq!(device.to_vec(&stream).expect("copied"), [5; 4]);
    assert_eq!(pinned.as_slice().expect("there"), [0; 4]);
}

#[test]
fn a_recording_that_fails_is_no_graph() {
    let context = context();
    let failure = RecordedGraph::record(&context, |_| Err(Error::new(Status::INVALID_ARGUMENT, "mine")));
    refused(failure, "mine");
    let panics = || RecordedGraph::record(&context, |_| panic!("for a test"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    let stream = stream(&context);
    assert_eq!(DeviceSlice::<u8>::zeroed(&stream, 4).and_then(|slice| slice.to_vec(&stream)), Ok(vec![0; 4]));
}
