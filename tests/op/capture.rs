//! Streams that are being captured: what a graph cannot have is refused before the driver, so that the capture stays valid.

use crate::*;
use cushim::Status;
use cushim::driver::sys;
use cushim::op::HostFunction;
use std::ptr::null_mut;

/// A stream that is being captured, begun behind the library's back.
struct Captured(Stream);

impl Captured {
    fn begin() -> Self {
        let stream = stream(&context());
        let begin = driver().table().cuStreamBeginCapture_10010.expect("always there");
        // SAFETY: the stream is alive.
        let result = unsafe { begin(stream.native(), sys::CU_STREAM_CAPTURE_MODE_RELAXED) };
        assert_eq!(result, sys::CUDA_SUCCESS);
        Self(stream)
    }

    fn is_valid(&self) -> bool {
        let mut status = sys::CU_STREAM_CAPTURE_STATUS_NONE;
        let ask = driver().table().cuStreamIsCapturing_10000.expect("always there");
        // SAFETY: the stream is alive; writes a number.
        let result = unsafe { ask(self.0.native(), &raw mut status) };
        (result, status) == (sys::CUDA_SUCCESS, sys::CU_STREAM_CAPTURE_STATUS_ACTIVE)
    }

    /// Ends the capture, which gives a graph.
    fn end(self) -> Stream {
        let (mut graph, table) = (null_mut(), driver().table());
        let end = table.cuStreamEndCapture_10000.expect("always there");
        // SAFETY: the stream is alive; writes a handle, which is destroyed once.
        unsafe {
            assert_eq!(end(self.0.native(), &raw mut graph), sys::CUDA_SUCCESS, "the capture is valid");
            let destroy = table.cuGraphDestroy_10000.expect("always there");
            assert_eq!(destroy(graph), sys::CUDA_SUCCESS);
        }
        self.0
    }
}

/// A function that is called once stays in its operation, and is called once the stream is not captured any more.
#[test]
fn a_function_that_is_called_once_is_refused() {
    let (calls, owner) = (Arc::new(AtomicU32::new(0)), Counted::new());
    let counter = Arc::clone(&calls);
    let function = HostFunction::once(move || _ = counter.fetch_add(1, SeqCst));
    let mut function = function.owned_by(owner.owner());
    let captured = Captured::begin();
    // SAFETY: the function owns what it uses.
    let error = unsafe { captured.0.enqueue(&mut function) }.expect_err("it is called once");
    assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{error}");
    assert!(error.message.contains("cannot be part of a graph. The capture is still valid"), "{error}");
    assert!(captured.is_valid());
    assert_eq!((calls.load(SeqCst), owner.released()), (0, 0));
    let stream = captured.end();
    // SAFETY: as above.
    unsafe { stream.enqueue(&mut function) }.expect("enqueued");
    stream.synchronize().expect("done");
    assert_eq!((calls.load(SeqCst), owner.released()), (1, 1));
    // SAFETY: as above.
    let error = unsafe { stream.enqueue(&mut function) }.expect_err("it was called");
    assert_eq!(error.status, Status::INVALID_ARGUMENT);
    assert!(error.message.contains("was enqueued before"), "{error}");
}

/// Work of many items, and prefetches, which the driver refuses with the capture.
#[test]
fn batches_are_refused() {
    let memory = DeviceMemory::allocate(&context(), 128).expect("memory");
    let captured = Captured::begin();
    let mut copies = [Copy::new(memory.at(0), memory.at(64), 64)];
    // SAFETY: it is refused.
    let error = unsafe { captured.0.enqueue(&mut CopyBatch::new(&mut copies, &[])) }.expect_err("a batch");
    assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{error}");
    assert!(error.message.contains("is being captured"), "{error}");
    assert!(captured.is_valid());
    captured.end();
}
