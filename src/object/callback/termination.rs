//! A process whose main thread has ended by `pthread_exit` goes on as long as any other thread does. Those of this library, and of
//! drivers, never end and take no signals; so when the program's own are gone, one of ours sees to it that the process can be ended.

use super::signals;
use crate::object::handle::forked;
use crate::object::thread;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How often it looks: a signal that is there twice is one that nobody takes.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks, as a thread of the program's ends, whether the main thread has ended, and begins to wait for signals then.
pub(super) fn look() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if forked() || BEGUN.load(Relaxed) || !has_main_ended() || BEGUN.swap(true, Relaxed) {
        return;
    }
    let _blocked = signals::Blocked::new();
    if !thread::start(wait) {
        BEGUN.store(false, Relaxed);
    }
}

fn wait() -> ! {
    let mut before = signals::Waiting::none();
    loop {
        std::thread::sleep(PAUSE);
        let now = signals::Waiting::to_end();
        now.both(&before).take();
        before = now;
    }
}

/// Whether the main thread ends, if this is it, or has ended: it is a zombie then, as long as other threads live.
fn has_main_ended() -> bool {
    // SAFETY: both only answer. glibc has a function for the first since 2.30.
    let is_main = unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
    is_main || state_of_main() == Some(b'Z')
}

/// The letter behind the name in `/proc/self/stat`, which is the main thread's.
fn state_of_main() -> Option<u8> {
    let mut text = [0_u8; 256];
    // SAFETY: opens, reads and closes a file; the place has so many bytes.
    let length = unsafe {
        let file = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(length).ok()?
    };
    let name_end = text[..length].iter().rposition(|byte| *byte == b')')?;
    text.get(name_end + 2).copied()
}
