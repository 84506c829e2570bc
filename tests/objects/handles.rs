//! Handles in Rust: clones are of one object, which lives as long as any of them.

use super::{Softcuda, context, device, stream};
use crate::common::alone;
use cushim::memory::{Allocation, Buffer, Reservation, Resource, VirtualOptions};
use cushim::{Context, Event, EventOptions, Stream};
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

fn are_of_one_object<H: Clone + Debug + Eq + Hash + Send + Sync>(one: &H, other: &H) {
    assert_eq!(*one, one.clone());
    assert_ne!(one, other);
    assert_eq!(HashSet::from([one.clone(), other.clone(), one.clone()]).len(), 2);
}

#[test]
fn clones_are_equal_and_have_one_hash() {
    let here = context();
    let there = Context::create(&device(), 0).expect("a context");
    are_of_one_object(&here, &there);
    are_of_one_object(&Stream::legacy(&here), &Stream::legacy(&there));
    are_of_one_object(&stream(&here), &stream(&here));
    let event = || Event::create(&here, &EventOptions::default()).expect("an event");
    are_of_one_object(&event(), &event());
    let resource = || Resource::device(&here);
    are_of_one_object(&resource(), &resource());
    let buffer = || Buffer::create(&resource(), 64, None).expect("a buffer");
    are_of_one_object(&buffer(), &buffer());
    let virtual_memory = VirtualOptions::default();
    let allocation = || Allocation::create(&device(), 1, &virtual_memory).expect("an allocation");
    are_of_one_object(&allocation(), &allocation());
    let reservation = || Reservation::create(&device(), 1, &virtual_memory).expect("a reservation");
    are_of_one_object(&reservation(), &reservation());
    assert_eq!(HashSet::from([device(), device(), here.device().clone()]).len(), 1);
}

#[test]
fn the_last_clone_takes_the_object_along() {
    alone("handles::the_last_clone_takes_the_object_along", &[], || {
        let softcuda = Softcuda::open();
        let stream = stream(&context());
        let live = softcuda.live("stream");
        let clone = stream.clone();
        drop(stream);
        clone.synchronize().expect("it is there");
        assert_eq!(softcuda.live("stream"), live);
        drop(clone);
        assert_eq!(softcuda.live("stream"), live - 1);
    });
}
