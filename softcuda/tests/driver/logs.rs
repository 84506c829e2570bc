//! The driver's log: the lines were measured on driver 580; how they are kept is documented, or chosen.

use crate::common::{INVALID_VALUE, Library, NOT_SUPPORTED, OUT_OF_MEMORY, alone, at, with_context};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;
use std::thread::{ThreadId, current};

const NOT_PERMITTED: i32 = 800;

/// Data, level, text and thread of each message.
static HEARD: Mutex<Vec<(usize, c_int, String, ThreadId)>> = Mutex::new(Vec::new());

extern "C" fn hear(data: *mut c_void, level: c_int, text: *const c_char, length: usize) {
    let text = crate::common::text(text);
    assert_eq!(text.len(), length);
    HEARD.lock().unwrap().push((data as usize, level, text, current().id()));
}

fn heard() -> Vec<(usize, c_int, String, ThreadId)> {
    std::mem::take(&mut HEARD.lock().unwrap())
}

fn messages() -> Vec<String> {
    heard().into_iter().map(|message| message.2).collect()
}

fn register(cu: &Library, function: *const c_void, data: u64) -> u64 {
    let mut handle = 0u64;
    assert_eq!(cu.call("cuLogsRegisterCallback", &[function as u64, data, at(&mut handle)]), 0);
    assert_ne!(handle, 0);
    handle
}

fn bad_context_flags(cu: &Library) {
    assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut 0u64), 256, 0]), INVALID_VALUE);
}

const ABOUT_FLAGS: &str = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuCtxCreate_v2";

#[test]
fn lines_arrive_on_the_calling_thread_before_the_call_returns() {
    alone("lines_arrive_on_the_calling_thread_before_the_call_returns", &[], || {
        let cu = with_context();
        let (_, pointer) = cu.allocate(64);
        let handle = register(&cu, hear as *const c_void, 7);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0);
        assert!(heard().is_empty(), "success says nothing");
        assert_eq!(cu.call("cuMemcpyDtoD_v2", &[0, pointer, 64]), INVALID_VALUE);
        let here = current().id();
        let expected =
            ["Null address specified", "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemcpyDtoD_v2"];
        let expected: Vec<_> = expected.iter().map(|text| (7, 0, (*text).to_owned(), here)).collect();
        assert_eq!(heard(), expected);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bad_context_flags(&cu);
                assert_eq!(heard(), [(7, 0, ABOUT_FLAGS.to_owned(), current().id())]);
            });
        });
        assert_eq!(cu.allocate(1 << 50).0, OUT_OF_MEMORY);
        assert_eq!(messages(), ["Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2"]);
        // Chosen: a fault is a failure like another.
        assert_eq!(cu.fault_set("cuMemAlloc#1=12345"), 0);
        assert_eq!(cu.allocate(64).0, 12345);
        assert_eq!(messages(), ["Returning 12345 (unknown) from cuMemAlloc_v2"]);
        assert_eq!(cu.call("cuLogsUnregisterCallback", &[handle]), 0);
        bad_context_flags(&cu);
        assert!(heard().is_empty());
    });
}

/// Chosen.
#[test]
fn several_callbacks() {
    alone("several_callbacks", &[], || {
        let cu = with_context();
        let first = register(&cu, hear as *const c_void, 1);
        register(&cu, hear as *const c_void, 2);
        bad_context_flags(&cu);
        assert_eq!(heard().iter().map(|message| message.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(cu.call("cuLogsUnregisterCallback", &[first]), 0);
        bad_context_flags(&cu);
        assert_eq!(heard().iter().map(|message| message.0).collect::<Vec<_>>(), [2]);
        assert_eq!(cu.call("cuLogsUnregisterCallback", &[first]), INVALID_VALUE);
        assert_eq!(cu.call("cuLogsRegisterCallback", &[0, 0, at(&mut 0u64)]), INVALID_VALUE);
        assert_eq!(
            cu.call("cuLogsRegisterCallback", &[hear as *const c_void as u64, 3, 0]),
            0,
            "no handle wanted"
        );
        heard();
        bad_context_flags(&cu);
        assert_eq!(heard().iter().map(|message| message.0).collect::<Vec<_>>(), [2, 3]);
    });
}

static CORE: Mutex<Option<Library>> = Mutex::new(None);

/// Fails in the driver itself, and tries what would wait for itself.
extern "C" fn meddle(_: *mut c_void, _: c_int, text: *const c_char, length: usize) {
    hear(std::ptr::null_mut(), 0, text, length);
    let core = CORE.lock().unwrap();
    let cu = core.as_ref().expect("the test has opened it");
    bad_context_flags(cu);
    assert_eq!(cu.call("cuLogsRegisterCallback", &[hear as *const c_void as u64, 0, 0]), NOT_PERMITTED);
    assert_eq!(cu.call("cuLogsUnregisterCallback", &[1]), NOT_PERMITTED);
    assert_eq!(cu.call("cuLogsCurrent", &[at(&mut 0u32), 0]), 0);
}

/// Chosen: what a callback does wrong is kept, but told to nobody.
#[test]
fn a_callback_may_call_the_driver() {
    alone("a_callback_may_call_the_driver", &[], || {
        let cu = with_context();
        *CORE.lock().unwrap() = Some(Library::core());
        register(&cu, meddle as *const c_void, 0);
        assert_eq!(cu.allocate(1 << 50).0, OUT_OF_MEMORY);
        assert_eq!(messages(), ["Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2"]);
        assert_eq!(dump(&cu, 0, 25600).1.lines().count(), 4);
    });
}

/// What `cuLogsDumpToMemory` answers: result, text, and the size that it wrote.
fn dump(cu: &Library, iterator: u64, room: u64) -> (i32, String, u64) {
    let mut buffer = vec![0x7fu8; room as usize + 1];
    let mut size = room;
    let result = cu.call("cuLogsDumpToMemory", &[iterator, buffer.as_mut_ptr() as u64, at(&mut size), 0]);
    assert_eq!(buffer[room as usize], 0x7f, "nothing behind the buffer is written");
    if result != 0 {
        return (result, String::new(), size);
    }
    let text = crate::common::text(buffer.as_ptr().cast());
    assert_eq!(text.len() as u64, size);
    (result, text, size)
}

/// `[22:21:32.099][25642][CUDA][E] message`.
fn message_of(line: &str) -> &str {
    let (head, message) = line.split_once(" ").expect("a line has a head");
    let parts: Vec<&str> = head.trim_start_matches('[').trim_end_matches(']').split("][").collect();
    let [time, thread, "CUDA", "E"] = parts[..] else { panic!("{line}") };
    assert!(time.len() == 12 && time.split([':', '.']).all(|part| part.parse::<u32>().is_ok()), "{line}");
    assert!(thread.parse::<u32>().is_ok(), "{line}");
    message
}

#[test]
fn lines_are_kept() {
    alone("lines_are_kept", &[], || {
        let cu = with_context();
        let mut iterator = 9u32;
        assert_eq!(dump(&cu, 0, 100), (0, String::new(), 0), "nothing to tell");
        bad_context_flags(&cu);
        assert_eq!(cu.call("cuLogsCurrent", &[at(&mut iterator), 0]), 0);
        assert_eq!(cu.allocate(0).0, INVALID_VALUE);
        let (result, text, _) = dump(&cu, at(&mut iterator), 25600);
        let about_size = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2";
        assert_eq!((result, text.lines().map(message_of).collect::<Vec<_>>()), (0, vec![about_size]));
        assert_eq!(dump(&cu, at(&mut iterator), 25600), (0, String::new(), 0), "the iterator has moved on");
        let (_, all, _) = dump(&cu, 0, 25600);
        assert_eq!(all.lines().map(message_of).collect::<Vec<_>>(), [ABOUT_FLAGS, about_size]);

        let file = std::env::temp_dir().join(format!("softcuda-logs-{}", std::process::id()));
        let path = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
        iterator -= 1;
        assert_eq!(cu.call("cuLogsDumpToFile", &[at(&mut iterator), path.as_ptr() as u64, 0]), 0);
        let written = std::fs::read_to_string(&file).expect("it was written");
        std::fs::remove_file(&file).expect("it can be removed");
        assert_eq!(written, text);
    });
}

#[test]
fn little_room() {
    alone("little_room", &[], || {
        let cu = with_context();
        for _ in 0..5 {
            bad_context_flags(&cu);
        }
        let (_, all, size) = dump(&cu, 0, 25600);
        assert_eq!(dump(&cu, 0, size + 1), (0, all, size));
        let (result, some, _) = dump(&cu, 0, size);
        assert_eq!((result, some.lines().next()), (0, Some("older messages are missing")));
        assert_eq!(some.lines().last().map(message_of), Some(ABOUT_FLAGS));
        for room in [0, 1, 40] {
            assert_eq!(dump(&cu, 0, room), (INVALID_VALUE, String::new(), 0));
        }
    });
}

#[test]
fn what_is_refused() {
    alone("what_is_refused", &[], || {
        let cu = with_context();
        let mut out = [0u64; 4];
        let place = at(&mut out);
        let missing = c"/nonexistent/log".as_ptr() as u64;
        let refused: &[(&str, &[u64], &str)] = &[
            ("cuLogsCurrent", &[0, 0], ""),
            ("cuLogsCurrent", &[place, 1], ""),
            ("cuLogsDumpToMemory", &[0, 0, place, 0], "buffer cannot be NULL"),
            ("cuLogsDumpToMemory", &[0, place, 0, 0], ""),
            ("cuLogsDumpToMemory", &[0, place, place, 1], ""),
            ("cuLogsDumpToFile", &[0, 0, 0], ""),
            ("cuLogsDumpToFile", &[0, missing, 1], ""),
        ];
        register(&cu, hear as *const c_void, 0);
        for (name, arguments, detail) in refused {
            assert_eq!(cu.call(name, arguments), INVALID_VALUE, "{name} {arguments:?}");
            let mut expected = vec![format!("Returning 1 (CUDA_ERROR_INVALID_VALUE) from {name}")];
            if !detail.is_empty() {
                expected.insert(0, (*detail).to_owned());
            }
            assert_eq!(messages(), expected);
        }
        assert_eq!(cu.call("cuLogsDumpToFile", &[0, missing, 0]), 304);
    });
    alone("what_is_refused", &[("SOFTCUDA_VERSION", "12.8")], || {
        let cu = with_context();
        assert_eq!(cu.call("cuLogsCurrent", &[at(&mut 0u32), 0]), NOT_SUPPORTED);
    });
}

/// Nobody is in a callback when it has been taken away.
#[test]
fn unregistering_waits() {
    static INSIDE: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    use std::sync::atomic::Ordering::SeqCst;
    extern "C" fn slow(_: *mut c_void, _: c_int, _: *const c_char, _: usize) {
        INSIDE.fetch_add(1, SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(20));
        INSIDE.fetch_sub(1, SeqCst);
    }
    alone("unregistering_waits", &[], || {
        let cu = with_context();
        let handle = register(&cu, slow as *const c_void, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| bad_context_flags(&cu)));
            }
            while INSIDE.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert_eq!(cu.call("cuLogsUnregisterCallback", &[handle]), 0);
            assert_eq!(INSIDE.load(SeqCst), 0);
        });
    });
}
