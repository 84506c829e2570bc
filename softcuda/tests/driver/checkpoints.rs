//! Checkpoints of a process: the answers of driver 580 to one that asks of itself, and of others.

use crate::common::{INVALID_VALUE, Library, NOT_INITIALIZED, NOT_SUPPORTED, alone, at, first, with_context};
use std::time::Duration;

const ILLEGAL_STATE: i32 = 401;
const OPERATING_SYSTEM: i32 = 304;
const RUNNING: i32 = 0;
const LOCKED: i32 = 1;
const CHECKPOINTED: i32 = 2;

fn own() -> u64 {
    std::process::id().into()
}

fn state(cu: &Library) -> i32 {
    let mut state = -1;
    assert_eq!(cu.call("cuCheckpointProcessGetState", &[own(), at(&mut state)]), 0);
    state
}

fn call(cu: &Library, what: &str) -> i32 {
    cu.call(&format!("cuCheckpointProcess{what}"), &[own(), 0])
}

#[test]
fn each_call_has_its_state() {
    alone("each_call_has_its_state", &[("SOFTCUDA_VERSION", "13.0")], || {
        let cu = with_context();
        let in_order = [
            ("Unlock", ILLEGAL_STATE, RUNNING),
            ("Checkpoint", ILLEGAL_STATE, RUNNING),
            ("Restore", ILLEGAL_STATE, RUNNING),
            ("Lock", 0, LOCKED),
            ("Lock", ILLEGAL_STATE, LOCKED),
            ("Restore", ILLEGAL_STATE, LOCKED),
            ("Unlock", 0, RUNNING),
            ("Lock", 0, LOCKED),
            ("Checkpoint", 0, CHECKPOINTED),
            ("Checkpoint", ILLEGAL_STATE, CHECKPOINTED),
            ("Lock", ILLEGAL_STATE, CHECKPOINTED),
            ("Unlock", ILLEGAL_STATE, CHECKPOINTED),
            ("Restore", 0, LOCKED),
            ("Checkpoint", 0, CHECKPOINTED),
            ("Restore", 0, LOCKED),
            ("Unlock", 0, RUNNING),
        ];
        for (at, (what, answer, after)) in in_order.into_iter().enumerate() {
            assert_eq!((call(&cu, what), state(&cu)), (answer, after), "{what}, the call number {at}");
        }
        let mut thread = 0;
        assert_eq!(cu.call("cuCheckpointProcessGetRestoreThreadId", &[own(), at(&mut thread)]), 0);
        assert!(thread > 0);
        // Nothing is lost meanwhile.
        let (mut memory, mut value) = (0u64, 0u8);
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut memory), 1024]), 0);
        assert_eq!(cu.call("cuMemsetD8_v2", &[memory, 7, 1024]), 0);
        for what in ["Lock", "Checkpoint", "Restore", "Unlock"] {
            assert_eq!(call(&cu, what), 0, "{what}");
        }
        assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut value), memory, 1]), 0);
        assert_eq!(value, 7);
    });
}

#[test]
fn calls_wait_for_the_end_of_the_lock() {
    alone("calls_wait_for_the_end_of_the_lock", &[("SOFTCUDA_VERSION", "13.0")], || {
        let cu = with_context();
        assert_eq!(call(&cu, "Lock"), 0);
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let cu = &cu;
            scope.spawn(move || {
                let mut count = 0;
                let answer = cu.call("cuDeviceGetCount", &[at(&mut count)]);
                told.send(answer).unwrap();
            });
            assert!(heard.recv_timeout(Duration::from_millis(200)).is_err(), "the call did not wait");
            // What only tells about the driver does not wait.
            assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut 0)]), 0);
            assert_eq!(call(cu, "Unlock"), 0);
            assert_eq!(heard.recv().unwrap(), 0);
        });
    });
}

#[test]
fn what_is_refused() {
    let said = alone("what_is_refused", &[("SOFTCUDA_VERSION", "13.0")], || {
        let cu = Library::core();
        assert_eq!(cu.call("cuCheckpointProcessGetState", &[own(), at(&mut 0)]), NOT_INITIALIZED);
        let cu = with_context();
        for question in ["GetState", "GetRestoreThreadId"] {
            let name = format!("cuCheckpointProcess{question}");
            assert_eq!(cu.call(&name, &[own(), 0]), INVALID_VALUE);
        }
        let odd = [!0u64; 8];
        for what in ["Lock", "Checkpoint", "Restore", "Unlock"] {
            let name = format!("cuCheckpointProcess{what}");
            assert_eq!(cu.call(&name, &[own(), first(&odd)]), INVALID_VALUE, "{what}");
            for nobody in [0, u64::from(u32::MAX), 999_999_999] {
                assert_eq!(cu.call(&name, &[nobody, 0]), OPERATING_SYSTEM, "{what}");
            }
        }
        let mut one = [0u64; 8];
        one[0] = 4096;
        assert_eq!(cu.call("cuCheckpointProcessRestore", &[own(), first(&one)]), NOT_SUPPORTED);
        // How long a lock may take.
        one[0] = 1000;
        assert_eq!(cu.call("cuCheckpointProcessLock", &[own(), first(&one)]), 0);
        assert_eq!(call(&cu, "Unlock"), 0);
        let mut plain = std::process::Command::new("sleep").arg("60").spawn().expect("there is a sleep");
        // Until it has become that program.
        std::thread::sleep(Duration::from_millis(200));
        let answer = cu.call("cuCheckpointProcessGetState", &[plain.id().into(), at(&mut 0)]);
        plain.kill().expect("it is ours");
        plain.wait().expect("it is ours");
        assert_eq!(answer, NOT_INITIALIZED);
        // A copy of this process has the driver, and is another process.
        // SAFETY: the copy only waits.
        let copy = unsafe { libc::fork() };
        if copy == 0 {
            // SAFETY: as above; the parent ends it.
            unsafe { libc::sleep(60) };
            std::process::exit(0);
        }
        let answer = cu.call("cuCheckpointProcessLock", &[copy as u64, 0]);
        // SAFETY: a child of this process, which nobody has waited for.
        unsafe {
            libc::kill(copy, libc::SIGKILL);
            libc::waitpid(copy, std::ptr::null_mut(), 0);
        }
        assert_eq!(answer, NOT_SUPPORTED);
        assert_eq!(cu.call("cuCheckpointOperationComplete", &[0]), NOT_SUPPORTED);
    });
    if !said.is_empty() {
        assert!(said.contains("another process cannot be checkpointed"), "{said}");
        assert!(said.contains("no pairs of GPUs can be given"), "{said}");
    }
}
