//! The log's lines, the newest of which are kept.

use crate::abi::sys::CUlogIterator;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// So many messages are kept, and so many bytes of them handed out.
const MOST_MESSAGES: usize = 100;
const MOST_BYTES: usize = 25600;

/// The first line of a text in which older ones are missing.
const SHORTENED: &str = "older messages are missing\n";

pub(crate) static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

pub(crate) struct Kept {
    lines: VecDeque<String>,
    /// How many there were before the first of them.
    forgotten: CUlogIterator,
}

impl Kept {
    const fn new() -> Self {
        Self { lines: VecDeque::new(), forgotten: 0 }
    }

    pub(crate) fn add(&mut self, message: &str) {
        self.lines.push_back(line(message));
        if self.lines.len() > MOST_MESSAGES {
            self.lines.pop_front();
            self.forgotten = self.forgotten.wrapping_add(1);
        }
    }

    /// Where the next message will be.
    pub(crate) fn end(&self) -> CUlogIterator {
        self.forgotten.wrapping_add(self.lines.len() as CUlogIterator)
    }

    /// The lines from `start` on, all of them without one; and where the next message will be.
    pub(crate) fn since(&self, start: Option<CUlogIterator>) -> (String, CUlogIterator) {
        let wanted = start.map_or(self.lines.len(), |start| self.end().wrapping_sub(start) as usize);
        let lost = wanted > self.lines.len();
        let mut text = String::from(if lost { SHORTENED } else { "" });
        self.lines.iter().skip(self.lines.len().saturating_sub(wanted)).for_each(|line| text.push_str(line));
        (text, self.end())
    }
}

/// The text, or as many of its last lines as fit into `room` bytes with a terminating zero. `None` if none fits.
pub(crate) fn newest_that_fit(text: &str, room: usize) -> Option<Cow<'_, str>> {
    let room = room.min(MOST_BYTES);
    if text.len() < room || (text.is_empty() && room > 0) {
        return Some(Cow::Borrowed(text));
    }
    let room = room.checked_sub(SHORTENED.len() + 1)?;
    let starts = text.match_indices('\n').map(|(end, _)| end + 1);
    let first = starts.into_iter().find(|start| text.len() - start <= room && *start < text.len())?;
    Some(Cow::Owned(format!("{SHORTENED}{}", &text[first..])))
}

/// `[22:21:32.099][25642][CUDA][E] message`: time, thread, source, severity.
fn line(message: &str) -> String {
    let mut text = clock();
    // SAFETY: asks for the number of the calling thread. glibc has a function for that since 2.30.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    writeln!(text, "[{thread}][CUDA][E] {message}").expect("a String takes text");
    text
}

/// The time of day, `[22:21:32.099]`.
fn clock() -> String {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    // SAFETY: all of it are integers and a pointer to a name, for which zero is a value.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: reads the one and writes the other.
    unsafe { libc::localtime_r(&raw const now.tv_sec, &raw mut local) };
    let milliseconds = now.tv_nsec / 1_000_000;
    format!("[{:02}:{:02}:{:02}.{milliseconds:03}]", local.tm_hour, local.tm_min, local.tm_sec)
}

#[cfg(test)]
mod tests {
    use super::{Kept, MOST_MESSAGES, SHORTENED, newest_that_fit};

    fn messages(text: &str) -> Vec<&str> {
        text.lines().map(|line| line.split_once("[CUDA][E] ").map_or(line, |(_, message)| message)).collect()
    }

    #[test]
    fn from_an_iterator_on() {
        let mut kept = Kept::new();
        kept.add("one");
        let start = kept.end();
        kept.add("two");
        kept.add("three");
        let (text, end) = kept.since(Some(start));
        assert_eq!(messages(&text), ["two", "three"]);
        assert_eq!(messages(&kept.since(None).0), ["one", "two", "three"]);
        assert_eq!(kept.since(Some(end)), (String::new(), end));
    }

    #[test]
    fn what_was_forgotten_is_said() {
        let mut kept = Kept::new();
        let start = kept.end();
        (0..=MOST_MESSAGES).for_each(|i| kept.add(&i.to_string()));
        let (text, _) = kept.since(Some(start));
        assert_eq!(messages(&text)[..2], [SHORTENED.trim(), "1"]);
        assert_eq!(messages(&kept.since(None).0).len(), MOST_MESSAGES);
    }

    #[test]
    fn little_room() {
        let text = "first\nsecond\nthird\n";
        assert_eq!(newest_that_fit(text, 20).unwrap(), text);
        assert_eq!(newest_that_fit("", 1).unwrap(), "");
        assert!(newest_that_fit("", 0).is_none());
        assert!(newest_that_fit(text, 19).is_none());
        let ten: String = (0..10).map(|i| format!("message {i}\n")).collect();
        let shortened = newest_that_fit(&ten, 60).unwrap();
        assert_eq!(shortened, format!("{SHORTENED}message 7\nmessage 8\nmessage 9\n"));
        let line = "x".repeat(1000) + "\n";
        assert!(newest_that_fit(&line.repeat(40), 1 << 20).unwrap().len() <= 25600);
    }
}
