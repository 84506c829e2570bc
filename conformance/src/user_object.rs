//! User objects that tell whether their destructor was called, and on which thread.

use crate::driver::{Answer, Cu, Given, call, given, yes};
use cushim::driver::sys::{
    CU_GRAPH_USER_OBJECT_MOVE, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CUgraph, CUstream, CUuserObject,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The flag that gives a graph the caller's reference.
pub(crate) const MOVE: u32 = CU_GRAPH_USER_OBJECT_MOVE.0 as u32;

/// How long a destructor may take that the driver calls on a thread of its own.
const SOON: Duration = Duration::from_millis(30);
/// The same where a question has few such moments.
const LATER: Duration = Duration::from_millis(300);
/// How long it may take where that is what the question is about.
const IN_THE_END: Duration = Duration::from_secs(2);

/// A user object.
pub(crate) struct UserObject {
    cu: Cu,
    /// NULL if the driver has made none.
    pub(crate) handle: CUuserObject,
    story: &'static Story,
}

/// What the destructor finds, and what it has left.
struct Story {
    cu: Cu,
    asks: Option<CUstream>,
    calls: Mutex<Vec<(ThreadId, Answer)>>,
}

extern "C" fn gone(story: *mut c_void) {
    // SAFETY: stories live for ever.
    let story = unsafe { &*story.cast::<Story>() };
    let answer = match story.asks {
        Some(stream) => call!(story.cu, cuStreamQuery_2000(stream)),
        None => "nothing asked".into(),
    };
    story.calls.lock().unwrap_or_else(PoisonError::into_inner).push((std::thread::current().id(), answer));
}

impl UserObject {
    /// One with so many references, all of them the caller's, and what the driver answered. Its destructor queries the
    /// stream, if there is one.
    pub(crate) fn create(cu: &Cu, references: u32, asks: Option<CUstream>) -> (Self, Answer) {
        let story = Box::leak(Box::new(Story { cu: *cu, asks, calls: Mutex::default() }));
        let (mut handle, data) = (null_mut(), std::ptr::from_mut(story).cast());
        let flags = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 as u32;
        let made = call!(cu, cuUserObjectCreate_11030(&raw mut handle, data, Some(gone), references, flags));
        let handle = if made.succeeded() { handle } else { null_mut() };
        (Self { cu: *cu, handle, story }, made)
    }

    /// Gives a graph so many references, with [`MOVE`] the caller's.
    pub(crate) fn retain(&self, graph: CUgraph, count: u32, flags: u32) -> Answer {
        call!(self.cu, cuGraphRetainUserObject_11030(graph, self.handle, count, flags))
    }

    /// Takes so many references from a graph.
    pub(crate) fn release_from(&self, graph: CUgraph, count: u32) -> Answer {
        call!(self.cu, cuGraphReleaseUserObject_11030(graph, self.handle, count))
    }

    /// Gives the caller's references up.
    pub(crate) fn release(&self, count: u32) -> Given {
        given!(self.cu, cuUserObjectRelease_11030(self.handle, count))
    }

    /// How often the destructor was called.
    pub(crate) fn fired(&self) -> Answer {
        Answer::Value(self.calls(SOON).len().to_string())
    }

    /// The same, and whether on this thread.
    pub(crate) fn fired_where(&self) -> String {
        let calls = self.calls(LATER);
        match calls.first() {
            None => "0".to_owned(),
            Some((thread, _)) if *thread == std::thread::current().id() => {
                format!("{}, on this thread", calls.len())
            }
            Some(_) => format!("{}, on another thread", calls.len()),
        }
    }

    /// How often it was called in the end, whether by the caller's thread, and what a call in it was answered.
    pub(crate) fn report(&self) -> Answer {
        let calls = self.calls(IN_THE_END);
        let here = std::thread::current().id();
        let Some((thread, answer)) = calls.first() else { return "not fired".into() };
        format!("{}, {}, {answer}", calls.len(), yes(*thread == here)).into()
    }

    /// The calls until now, or as soon as there is one.
    fn calls(&self, patience: Duration) -> Vec<(ThreadId, Answer)> {
        let start = Instant::now();
        loop {
            let calls = self.story.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if !calls.is_empty() || start.elapsed() > patience {
                return calls;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
