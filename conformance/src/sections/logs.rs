//! What the driver says besides its result, since 12.9.

use super::Section;
use crate::driver::call;
use crate::driver::{Answer, Cu, Outcome, yes};
use crate::transcript::Lines;
use cushim::driver::sys::CUlogLevel;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::thread::ThreadId;

pub(super) const SECTION: Section = Section { name: "logs", parts: 2, devices: 1, run };

struct Message {
    level: i32,
    thread: ThreadId,
    text: String,
}

static MESSAGES: Mutex<Vec<Message>> = Mutex::new(Vec::new());

extern "C" fn hear(_: *mut c_void, level: CUlogLevel, text: *mut c_char, length: usize) {
    // SAFETY: the driver says how long its text is, which lives during the call.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    let text = String::from_utf8_lossy(bytes).trim_end_matches(['\0', '\n']).replace('\n', " / ");
    let message = Message { level: level.0, thread: std::thread::current().id(), text };
    MESSAGES.lock().expect("nothing panics with the lock").push(message);
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    cu.start()?;
    let (mut registration, mut stream, mut address) = (null_mut(), null_mut(), 0);
    if part == 1 {
        t.line("register NULL", || {
            call!(cu, cuLogsRegisterCallback_12090(None, null_mut(), &raw mut registration))
        });
        return Ok(());
    }
    let memory = cu.memory(4096)?;
    t.line("register", || {
        call!(cu, cuLogsRegisterCallback_12090(Some(hear), null_mut(), &raw mut registration))
    });
    t.line("success", || call!(cu, cuCtxSynchronize_2000()));
    heard(t, cu);
    t.line("bad stream flags", || call!(cu, cuStreamCreate_2000(&raw mut stream, 2)));
    heard(t, cu);
    t.line("NULL pointer copy", || call!(cu, cuMemcpyDtoD_3020(0, memory, 64)));
    heard(t, cu);
    t.line("huge allocation", || call!(cu, cuMemAlloc_3020(&raw mut address, crate::driver::HUGE)));
    heard(t, cu);
    t.line("query of event NULL", || call!(cu, cuEventQuery_2000(null_mut())));
    heard(t, cu);
    t.line("elapsed never-recorded", || match cu.event(0) {
        Ok(event) => {
            let mut milliseconds = 0.0;
            call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, event, event))
        }
        Err(stop) => stop.0.into(),
    });
    heard(t, cu);
    t.line("unregister", || call!(cu, cuLogsUnregisterCallback_12090(registration)));
    t.line("bad stream flags after it", || call!(cu, cuStreamCreate_2000(&raw mut stream, 2)));
    heard(t, cu);
    Ok(())
}

/// What was said since the last time: always one line, so that drivers that say different things can be compared.
fn heard(t: &mut Lines, cu: &Cu) {
    let here = std::thread::current().id();
    t.line("  log", || {
        said(cu, |m| format!("level {}, same thread {}: {}", m.level, yes(m.thread == here), m.text))
    });
}

/// What was said since the last time, in one line.
fn said(cu: &Cu, show: impl Fn(&Message) -> String) -> Answer {
    if cu.table.cuLogsRegisterCallback_12090.is_none() {
        return Answer::Absent("cuLogsRegisterCallback_12090");
    }
    let messages = std::mem::take(&mut *MESSAGES.lock().expect("nothing panics with the lock"));
    if messages.is_empty() {
        return "nothing".into();
    }
    messages.iter().map(show).collect::<Vec<_>>().join(" | ").into()
}

/// Starts to listen; a driver without a log is not listened to.
pub(super) fn listen(cu: &Cu) {
    let mut registration = null_mut();
    // What comes of it is asked above.
    let _ = call!(cu, cuLogsRegisterCallback_12090(Some(hear), null_mut(), &raw mut registration));
}

/// The sentences that were said since the last time, without the numbers in them that differ from run to run.
pub(super) fn sentences(cu: &Cu) -> Answer {
    said(cu, |message| without_addresses(&message.text))
}

fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "0x...";
        out += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out
}
