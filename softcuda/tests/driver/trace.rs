//! The trace.

use crate::common::streams::{stream, synchronize};
use crate::common::{INVALID_VALUE, Library, OUT_OF_MEMORY, alone, at, shell_path, with_context};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A file of this test process, which is gone afterwards. The parent of `alone` names it to the child.
struct TraceFile(PathBuf);

impl TraceFile {
    fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("softcuda-{test}-{}.json", std::process::id())))
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("a temporary folder has a plain name")
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the trace is there");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn functions(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["function"].as_str().expect("a function has a name")).collect()
}

fn hexadecimal(number: u64) -> Value {
    format!("{number:#x}").into()
}

#[test]
fn a_line_for_every_call() {
    alone("a_line_for_every_call", &[], || {
        let file = TraceFile::new("every-call");
        let cu = with_context();
        assert_eq!(cu.trace_start(file.name()), 0);
        let (_, pointer) = cu.allocate(4096);
        let host = [1u8; 8];
        assert_eq!(cu.call("cuMemcpyHtoD_v2", &[pointer, host.as_ptr() as u64, 8]), 0);
        assert_eq!(cu.call("cuMemcpy_ptds", &[pointer, pointer, 8]), 0);
        assert_eq!(cu.fault_set("cuMemFree#1=2"), 0);
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), OUT_OF_MEMORY);
        let name = c"a \"name\"\n";
        let mut found = 0u64;
        assert_eq!(cu.call("cuGetProcAddress_v2", &[name.as_ptr() as u64, at(&mut found), 12000, 0, 0]), 0);
        cu.call("cuTexRefCreate", &[0]);
        cu.call("softcuda_trace_stop", &[]);
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);

        let lines = read(&file.0);
        let expected = [
            "cuMemAlloc_v2",
            "cuMemcpyHtoD_v2",
            "cuMemcpy_ptds",
            "cuMemFree_v2",
            "cuGetProcAddress_v2",
            "cuTexRefCreate",
        ];
        assert_eq!(functions(&lines), expected);
        for (line, number) in lines.iter().zip(1..) {
            assert_eq!(line["n"], number);
            assert_eq!((&line["process"], &line["thread"]), (&std::process::id().into(), &1.into()));
            assert!(line["ns"].is_u64(), "{line}");
        }
        let [alloc, copy, per_thread, free, getter, refused] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(alloc["arguments"]["bytesize"], 4096);
        assert_eq!((&alloc["made"], &alloc["result"]), (&hexadecimal(pointer), &0.into()));
        assert_eq!(copy["arguments"]["dstDevice"], hexadecimal(pointer));
        assert_eq!(copy["arguments"]["srcHost"], hexadecimal(host.as_ptr() as u64));
        assert_eq!(copy["arguments"]["ByteCount"], 8);
        assert_eq!(per_thread["arguments"]["src"], hexadecimal(pointer));
        assert!(copy.get("made").is_none() && copy.get("fault").is_none());
        assert_eq!((&free["result"], &free["fault"]), (&2.into(), &true.into()));
        assert_eq!(getter["arguments"]["symbol"], "a \"name\"\n");
        assert_eq!((&refused["result"], &refused["arguments"]), (&801.into(), &serde_json::json!({})));
    });
}

#[test]
fn from_the_environment_and_through_a_shell() {
    // The child is told by its parent.
    let file = std::env::var("SOFTCUDA_TRACE")
        .map_or_else(|_| TraceFile::new("environment"), |p| TraceFile(p.into()));
    let variables = [("SOFTCUDA_TRACE", file.name())];
    alone("from_the_environment_and_through_a_shell", &variables, || {
        let cu = Library::open(&shell_path("12.4"));
        let mut pointer = 0usize;
        let get = [c"cuInit".as_ptr() as u64, at(&mut pointer), 12000, 0, 0];
        assert_eq!(cu.call("cuGetProcAddress_v2", &get), 0);
        assert_eq!(crate::common::call_address(pointer, &[0]), 0);
        let lines = read(&file.0);
        assert_eq!(functions(&lines), ["cuGetProcAddress_v2", "cuInit"]);
        assert_eq!(lines[0]["arguments"]["symbol"], "cuInit");
        assert_eq!(lines[0]["arguments"]["driverVersion"], 12000);
    });
}

#[test]
fn another_file_and_the_standard_error_stream() {
    let said = alone("another_file_and_the_standard_error_stream", &[("SOFTCUDA_TRACE", "-")], || {
        let (first, second) = (TraceFile::new("first"), TraceFile::new("second"));
        let cu = with_context();
        for file in [&first, &second, &first] {
            assert_eq!(cu.trace_start(file.name()), 0);
            cu.allocate(64);
        }
        assert_eq!(functions(&read(&first.0)), ["cuMemAlloc_v2", "cuMemAlloc_v2"], "lines are added");
        assert_eq!(functions(&read(&second.0)), ["cuMemAlloc_v2"]);
        assert_eq!(cu.trace_start("/nonexistent/trace"), 301);
        assert!(
            cu.message().contains("/nonexistent/trace cannot be written: No such file"),
            "{}",
            cu.message()
        );
        assert_eq!(cu.call("softcuda_trace_start", &[0]), INVALID_VALUE);
        cu.allocate(64);
        assert_eq!(read(&first.0).len(), 3, "the trace went on");
    });
    if !said.is_empty() {
        let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(functions(&lines), ["cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"], "{said}");
    }
    let variables = [("SOFTCUDA_TRACE", "/nonexistent/trace")];
    let said = alone("another_file_and_the_standard_error_stream", &variables, || {
        assert_eq!(Library::core().call("cuInit", &[0]), crate::common::SYSTEM_NOT_READY);
    });
    if !said.is_empty() {
        assert!(said.contains("is not a file that a trace can be written to: No such file"), "{said}");
    }
}

/// Lines stay whole, and each thread has a number of its own.
#[test]
fn threads() {
    alone("threads", &[], || {
        let file = TraceFile::new("threads");
        let cu = with_context();
        assert_eq!(cu.trace_start(file.name()), 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..500).for_each(|_| assert_eq!(cu.call("cuDeviceGetCount", &[at(&mut 0)]), 0))
                });
            }
        });
        let lines = read(&file.0);
        let mut numbers: Vec<u64> = lines.iter().map(|line| line["n"].as_u64().expect("a number")).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=2000));
        let mut threads: Vec<u64> =
            lines.iter().map(|line| line["thread"].as_u64().expect("a number")).collect();
        threads.sort_unstable();
        threads.dedup();
        assert_eq!(threads.len(), 4);
    });
}

unsafe extern "C" {
    fn pthread_cancel(thread: libc::pthread_t) -> i32;
    fn pthread_setcancelstate(state: i32, before: *mut i32) -> i32;
}

/// Cancels the calling thread, as soon as that can take effect, and calls the body; then nobody is cancelled any more.
fn cancelled(body: impl FnOnce()) {
    let mut before = -1;
    // SAFETY: ends the calling thread if a cancellation point comes before the third call. The state, 1, is that of being out of reach.
    unsafe {
        assert_eq!(pthread_cancel(libc::pthread_self()), 0);
        body();
        assert_eq!(pthread_setcancelstate(1, &raw mut before), 0);
    }
    assert_eq!(before, 0, "the call has left the state as it was");
}

extern "C" fn cancels_its_thread(_: u64) {
    // SAFETY: the driver's own thread.
    unsafe { pthread_cancel(libc::pthread_self()) };
}

/// Where a thread is cancelled that is inside a call, the call comes back first, whatever it writes.
#[test]
fn threads_that_are_cancelled() {
    alone("threads_that_are_cancelled", &[("SOFTCUDA_TRACE", "-")], || {
        let cu = Library::core();
        cancelled(|| assert_eq!(cu.call("cuInit", &[0]), 0));
        let cu = with_context();
        let s = stream(&cu);
        let host: extern "C" fn(u64) = cancels_its_thread;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                cancelled(|| {
                    let (mut device, mut found) = (0u64, 0u64);
                    assert_eq!(cu.call("cuDeviceGet", &[at(&mut device), 0]), 0);
                    assert_eq!(cu.call("softcuda_dump", &[2]), 0);
                    assert_eq!(cu.call("softcuda_trace_start", &[c"/dev/null".as_ptr() as u64]), 0);
                    // A failed load writes a line on the standard error stream.
                    assert_ne!(
                        cu.call("cuModuleLoadData", &[at(&mut found), c"nonsense".as_ptr() as u64]),
                        0
                    );
                });
            });
        });
        for _ in 0..2 {
            assert_eq!(cu.call("cuLaunchHostFunc", &[s, host as usize as u64, 0]), 0);
            assert_eq!(synchronize(&cu, s), 0);
        }
    });
}
