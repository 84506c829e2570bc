//! A process whose main thread has ended by `pthread_exit` goes on as long as the driver's threads do, which never end and take no
//! signals: when nobody else is left to take them, one of these sees to it that the process can be ended.

use super::workers::spawn;
use std::ffi::c_void;
use std::mem::zeroed;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

const KINDS: usize = 4;

/// Something of each of them.
type Kinds = [bool; KINDS];

/// Signals that ask a process to end.
static TO_END: [i32; KINDS] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// A signal that waits as long as this is one that nobody takes.
const PAUSE: Duration = Duration::from_millis(100);

/// The process whose threads the driver's are: a child has none of them, and ends by itself.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Looks, when this thread ends, whether the main thread has ended. Where the system refuses, nobody does.
pub(crate) fn watch_this_thread() {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        let mut key = 0;
        // SAFETY: the place is valid and the library stays loaded; the value only has to be something.
        unsafe {
            if libc::pthread_key_create(&raw mut key, Some(look)) == 0 {
                libc::pthread_setspecific(key, (&raw const TO_END).cast());
            }
        }
    });
}

extern "C" fn look(_: *mut c_void) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let is_child = std::process::id() != PROCESS.load(Ordering::Relaxed);
    if !is_child && has_main_ended() && !BEGUN.swap(true, Ordering::Relaxed) {
        spawn("softcuda-signals", wait);
    }
}

/// Whether the main thread ends, if this is it, or has ended: it is a zombie then, as long as other threads live.
fn has_main_ended() -> bool {
    // SAFETY: both only answer. glibc has a function for the first since 2.30.
    let is_main = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
    let state =
        || std::fs::read_to_string("/proc/self/stat").ok()?.rsplit_once(')')?.1.trim_start().chars().next();
    is_main || state() == Some('Z')
}

fn wait() {
    let mut before = Kinds::default();
    loop {
        std::thread::sleep(PAUSE);
        let now = waiting();
        let left: Kinds = std::array::from_fn(|index| before[index] && now[index]);
        if left.contains(&true) {
            take(left);
        }
        before = now;
    }
}

/// Which of them wait.
fn waiting() -> Kinds {
    // SAFETY: a signal set is plain data, and the calls write or read one that is ours.
    unsafe {
        let mut set = zeroed();
        libc::sigpending(&raw mut set);
        TO_END.map(|signal| libc::sigismember(&raw const set, signal) == 1)
    }
}

/// Takes those: what the program wants done of each is done here, if the process still goes on.
fn take(signals: Kinds) {
    // SAFETY: as above; the mask is then what it was.
    unsafe {
        let (mut set, mut before) = (zeroed(), zeroed());
        libc::sigemptyset(&raw mut set);
        for (signal, _) in TO_END.iter().zip(signals).filter(|(_, waits)| *waits) {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, &raw mut before);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}
