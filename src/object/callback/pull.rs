//! Pull mode: what is queued for programs that want to be asked instead of called, because their language must not run
//! on foreign threads.
//!
//! There is one queue per process (strictly, per copy of the library), since what it holds belongs to no driver.

use super::event_fd::EventFd;
use crate::object::error::Error;
use crate::object::handle::forked;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ffi::c_void;

/// A pointer of a C caller's. It is the caller's business that other threads may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Data(pub(crate) *mut c_void);

// SAFETY: the library never dereferences it; whoever lends it to be used from other threads vouches for that.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

impl Data {
    pub(crate) fn get(self) -> *mut c_void {
        self.0
    }
}

/// Something for the program to do.
pub(crate) enum Item {
    /// A stream reached this host function.
    HostFunction(Data),
    /// The library does not use this any more.
    Release(Data),
    /// A line of the log.
    Line(Line),
}

/// A line of the log.
pub(crate) struct Line {
    pub(crate) level: log::Level,
    pub(crate) target: String,
    pub(crate) text: String,
}

/// What a program is told that did not keep up.
pub(crate) fn lost_lines(count: u64) -> String {
    format!("{count} lines of the log were lost, because too many waited")
}

/// How many lines wait for a program that does not drain; further ones are counted and lost.
pub(crate) const MOST_LINES: usize = 1024;

struct Queue {
    items: VecDeque<Item>,
    lines: usize,
    lost_lines: u64,
    event_fd: Option<EventFd>,
}

static QUEUE: Mutex<Queue> =
    Mutex::new(Queue { items: VecDeque::new(), lines: 0, lost_lines: 0, event_fd: None });

/// Queues an item. In the child of a fork nothing is queued.
pub(crate) fn push(item: Item) {
    if forked() {
        return;
    }
    let mut queue = QUEUE.lock();
    if matches!(item, Item::Line(_)) {
        if queue.lines == MOST_LINES {
            queue.lost_lines += 1;
            return;
        }
        queue.lines += 1;
    }
    queue.items.push_back(item);
    if queue.items.len() == 1
        && let Some(event_fd) = &queue.event_fd
    {
        event_fd.set();
    }
}

/// Takes the oldest items, at most this many.
pub(crate) fn take(most: usize) -> Vec<Item> {
    let mut queue = QUEUE.lock();
    let count = most.min(queue.items.len());
    let items: Vec<_> = queue.items.drain(..count).collect();
    queue.lines -= items.iter().filter(|item| matches!(item, Item::Line(_))).count();
    if queue.lost_lines > 0 && queue.lines < MOST_LINES {
        queue.tell_of_lost_lines();
    }
    if queue.items.is_empty()
        && let Some(event_fd) = &queue.event_fd
    {
        event_fd.clear();
    }
    items
}

impl Queue {
    fn tell_of_lost_lines(&mut self) {
        let lost = std::mem::take(&mut self.lost_lines);
        self.lines += 1;
        self.items.push_back(Item::Line(Line {
            level: log::Level::Warn,
            target: "cushim".to_owned(),
            text: lost_lines(lost),
        }));
    }
}

/// The descriptor that is readable while items wait; the same one each time.
pub(crate) fn event_fd() -> Result<i32, Error> {
    let mut queue = QUEUE.lock();
    if let Some(event_fd) = &queue.event_fd {
        return Ok(event_fd.number());
    }
    let event_fd = EventFd::new()?;
    if !queue.items.is_empty() {
        event_fd.set();
    }
    Ok(queue.event_fd.insert(event_fd).number())
}
