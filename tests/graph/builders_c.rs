//! Builders through the C ABI: their handles, and the stream's, which goes stale.
#![cfg(feature = "capi")]

use super::Scene;
use cushim::Status;
use cushim::capi::any::{cushim_describe, cushim_same, cushim_set_label};
use cushim::capi::context::{cushim_context, cushim_context_retain_primary};
use cushim::capi::device::cushim_driver_get_device;
use cushim::capi::driver::{cushim_driver_open, cushim_driver_options};
use cushim::capi::error::cushim_last_error_message;
use cushim::capi::graph::builder::*;
use cushim::capi::graph::definition::{
    cushim_graph, cushim_graph_destroy, cushim_graph_get_nodes, cushim_node,
};
use cushim::capi::graph::exec::{cushim_exec_create, cushim_exec_destroy, cushim_exec_launch};
use cushim::capi::memory::cushim_endpoint;
use cushim::capi::memory::cushim_stream_fill;
use cushim::capi::stream::{
    cushim_stream, cushim_stream_create, cushim_stream_destroy, cushim_stream_synchronize,
};
use cushim::driver::DRIVER_VARIABLE;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

fn message() -> String {
    // SAFETY: the message is the calling thread's until its next call.
    unsafe { CStr::from_ptr(cushim_last_error_message()) }.to_string_lossy().into_owned()
}

fn ok(status: i32) {
    assert_eq!(status, 0, "{}", message());
}

fn refused(status: i32, expected: Status, why: &str) {
    assert_eq!(status, expected.0, "{}", message());
    assert!(message().contains(why), "{}", message());
}

/// The primary context of the driver that the tests run on.
fn context() -> cushim_context {
    let (mut driver, mut device, mut context) = (null_mut(), null_mut(), null_mut());
    let software = std::env::var_os(DRIVER_VARIABLE).is_none();
    let name = CString::new("software").expect("no NUL");
    // SAFETY: all zero is what a caller begins with.
    let mut options: cushim_driver_options = unsafe { std::mem::zeroed() };
    options.struct_size = size_of::<cushim_driver_options>();
    if software {
        options.driver = name.as_ptr();
    }
    // SAFETY: the places are there.
    unsafe {
        ok(cushim_driver_open(&raw const options, &raw mut driver));
        ok(cushim_driver_get_device(driver, 0, &raw mut device));
        ok(cushim_context_retain_primary(device, &raw mut context));
    }
    context
}

fn describe(stream: cushim_stream) -> String {
    let mut line = [0_u8; 256];
    // SAFETY: there is so much room.
    unsafe { ok(cushim_describe(stream.cast(), line.as_mut_ptr().cast(), line.len(), null_mut())) };
    CStr::from_bytes_until_nul(&line).expect("a line").to_string_lossy().into_owned()
}

/// Sets a number in a stream.
fn set(stream: cushim_stream, at: u64, number: u32) -> i32 {
    // SAFETY: all zero is what a caller begins with.
    let mut to: cushim_endpoint = unsafe { std::mem::zeroed() };
    (to.kind, to.address) = (cushim::capi::memory::cushim_endpoint_kind::CUSHIM_ENDPOINT_DEVICE as i32, at);
    // SAFETY: the test has the memory.
    unsafe { cushim_stream_fill(stream, &raw const to, (&raw const number).cast(), 4, 1) }
}

#[test]
fn a_builder_has_handles() {
    let scene = Scene::new();
    let number = scene.buffer(8);
    let context = context();
    let (mut builder, mut graph, mut exec, mut stream) = (null_mut(), null_mut(), null_mut(), null_mut());
    let (mut state, mut kind) = (0, 0);
    // SAFETY: the places are there, and the memory as long as the graph.
    unsafe {
        ok(cushim_stream_create(context, null(), &raw mut stream));
        ok(cushim_builder_create(context, null(), &raw mut builder));
        let label = CString::new("b").expect("no NUL");
        ok(cushim_set_label(builder.cast(), label.as_ptr()));
        assert!(cushim_builder_stream(builder).is_null());
        assert!(message().contains("builder \"b\" was not begun"), "{}", message());
        ok(cushim_builder_begin(builder));
        let captured = cushim_builder_stream(builder);
        assert!(!captured.is_null());
        assert_eq!(captured, cushim_builder_stream(builder), "the same each time");
        assert!(describe(captured).starts_with("stream"), "{}", describe(captured));
        let mut same = -1;
        ok(cushim_same(captured.cast(), builder.cast(), &raw mut same));
        assert_eq!(same, 0);
        ok(cushim_same(captured.cast(), captured.cast(), &raw mut same));
        assert_eq!(same, 1);
        refused(cushim_stream_destroy(captured), Status::INVALID_HANDLE, "");
        ok(set(captured, number.pointer().0, 7));
        refused(cushim_stream_synchronize(captured), Status::INVALID_ARGUMENT, "is being captured");
        let mut forks = [null_mut(); 2];
        refused(cushim_builder_fork(builder, forks.as_mut_ptr(), 0), Status::INVALID_ARGUMENT, "fewer");
        ok(cushim_builder_fork(builder, forks.as_mut_ptr(), 2));
        ok(cushim_builder_get_state(forks[0], &raw mut state, &raw mut kind));
        assert_eq!((state, kind), (2, 2));
        ok(set(cushim_builder_stream(forks[0]), number.pointer().0 + 4, 8));
        refused(cushim_builder_end(builder, &raw mut graph), Status::INVALID_ARGUMENT, "joined");
        ok(cushim_builder_join(builder, forks.as_ptr(), 2));
        let mut tail = [null_mut::<_>() as cushim_node; 4];
        let mut count = 0;
        ok(cushim_builder_get_tail(builder, tail.as_mut_ptr(), 4, &raw mut count));
        assert_eq!((count, tail[1].is_null()), (2, false));
        ok(cushim_builder_end(builder, &raw mut graph));
        refused(set(captured, number.pointer().0, 9), Status::INVALID_HANDLE, "has ended");
        assert!(describe(captured).contains("does not capture"), "{}", describe(captured));
        let mut borrowed: cushim_graph = null_mut();
        ok(cushim_builder_get_graph(builder, &raw mut borrowed));
        ok(cushim_same(graph.cast(), borrowed.cast(), &raw mut same));
        assert_eq!(same, 1);
        forks.iter().for_each(|fork| ok(cushim_builder_destroy(*fork)));
        ok(cushim_builder_destroy(builder));
        refused(set(captured, number.pointer().0, 9), Status::INVALID_HANDLE, "");
        ok(cushim_graph_get_nodes(graph, null_mut(), 0, &raw mut count));
        assert_eq!(count, 2);
        ok(cushim_exec_create(graph, null(), &raw mut exec, null_mut()));
        ok(cushim_exec_launch(exec, stream));
        ok(cushim_stream_synchronize(stream));
        ok(cushim_exec_destroy(exec));
        ok(cushim_graph_destroy(graph));
        ok(cushim_stream_destroy(stream));
    }
    assert_eq!((scene.read(&number), scene.read_at(&number, 4)), (7, 8));
}
