//! By what is told when the launches of an instance are done that were made until now.
//!
//! Launches of one instance run one after the other, so the last is done last. Where it was made in a stream that nobody else reaches, that is
//! remembered, and an event is recorded there when somebody has to know. Anywhere else the launch is followed by an event at once: the
//! stream may be gone later, or stand for another one, or have endless work of others. If that fails twice in a stream of the library's own, one
//! is recorded later all the same; what was launched in any other one then is leaked with the exec, unless a later launch tells.

use super::leaving::Leaving;
use super::retired::{Retired, Wait, note, nothing_runs};
use crate::context::{Context, OwnEvent};
use crate::driver::CallError;
use crate::driver::calls::capture_mode::Relaxed;
use crate::object::callback::later;
use crate::object::error::Subject;
use crate::object::release::leaked;
use crate::object::thread::ThreadId;
use crate::stream::{Stream, StreamKind};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// What tells when they are done, and what is kept for them.
#[derive(Default)]
pub(super) struct Launches {
    /// All of these: of the last launch, and of what may run beside it.
    marks: Marks,
    /// Whether others can launch it, of which nobody here knows.
    by_others: bool,
    /// What was retired since the last launch.
    retired: Option<Arc<Retired>>,
}

/// Few have more than one.
type Marks = SmallVec<[Mark; 1]>;

/// What tells when one launch is done.
enum Mark {
    /// In this stream, which nobody else reaches: an event that is recorded when somebody has to know. Also in one that others reach, where
    /// the event right after the launch failed: it is the library's own, and stays while it is held here.
    InStream(Stream),
    /// An event that was recorded right after it.
    Recorded(Recorded),
    /// It was done when this went.
    Earlier(Arc<Retired>),
    /// Nothing: the driver did not record an event in the context, or recorded it in a capture.
    Unknown(Context),
}

/// What was launched before, to be dropped when no lock is held.
pub(super) struct Before(#[allow(dead_code, reason = "dropped")] Marks);

struct Recorded {
    event: OwnEvent,
    /// Where: what the driver calls the stream, and for whom, if each thread has its own.
    stream: usize,
    thread: Option<ThreadId>,
}

impl Recorded {
    /// Records an event in a stream that others may reach, whose context is current if it is a default stream. If the driver refuses that, a
    /// second one is tried: without any, nobody may ever be able to tell.
    #[cold]
    fn first(stream: &Stream) -> Mark {
        let again = |error| {
            failed(stream, error);
            Self::new(stream)
        };
        Self::new(stream).or_else(again).map_or_else(|error| unrecorded(stream, error), Mark::Recorded)
    }

    fn new(stream: &Stream) -> Result<Self, CallError> {
        let mut recorded = Self { event: OwnEvent::of(stream.context())?, stream: 0, thread: None };
        recorded.again(stream)?;
        Ok(recorded)
    }

    /// Records the event again, for whom nobody waits. Somebody may have begun to capture the stream since it was asked: then the event tells
    /// of nothing, which is found out when somebody has to know.
    #[inline]
    fn again(&mut self, stream: &Stream) -> Result<(), CallError> {
        self.stream = stream.raw().handle().addr();
        self.thread = (stream.kind() == StreamKind::PerThread).then(ThreadId::current);
        self.event.record(stream.raw())
    }

    fn is_in(&self, stream: &Stream) -> bool {
        let is_thread = self.thread.is_none_or(|thread| thread == ThreadId::current());
        self.stream == stream.raw().handle().addr() && is_thread && self.event.context() == stream.context()
    }
}

/// What tells where the driver recorded no event. A stream of others may be gone before it is asked again, and a default one is another on each
/// thread, or cannot be asked beside captures.
#[cold]
fn unrecorded(stream: &Stream, error: CallError) -> Mark {
    failed(stream, error);
    match stream.kind() {
        StreamKind::Created => Mark::InStream(stream.clone()),
        _ => Mark::Unknown(stream.context().clone()),
    }
}

#[cold]
fn failed(stream: &Stream, error: CallError) {
    log::debug!(target: "cushim", "an event after a launch in {stream} failed: {error:?}; what the exec keeps is released after a later one");
    note(stream.context(), error);
}

impl Launches {
    /// Of an instance that others can launch, too, or not.
    pub(super) fn new(by_others: bool) -> Self {
        Self { by_others, ..Self::default() }
    }

    /// Whether others can launch it: then only the driver knows when it is not used.
    #[inline]
    pub(super) fn are_by_others(&self) -> bool {
        self.by_others
    }

    /// It was launched in this stream, and `keeps` something that it uses. What was to be told before comes back, to go outside of the lock.
    #[inline]
    pub(super) fn was_launched(&mut self, stream: &Stream, keeps: bool) -> Option<Before> {
        if self.by_others {
            return None;
        }
        self.retired = None;
        match self.marks.as_mut_slice() {
            [Mark::InStream(last)] if keeps && last == stream && stream.is_ours_alone() => None,
            [Mark::Recorded(last)]
                if keeps && last.event.context() == stream.context() && !stream.is_ours_alone() =>
            {
                match last.again(stream) {
                    Ok(()) => None,
                    Err(error) => {
                        failed(stream, error);
                        self.follow(smallvec![Recorded::first(stream)])
                    }
                }
            }
            _ => self.follow(if keeps { smallvec![Mark::of(stream)] } else { Marks::new() }),
        }
    }

    #[cold]
    fn follow(&mut self, marks: Marks) -> Option<Before> {
        Some(Before(std::mem::replace(&mut self.marks, marks)))
    }

    /// Something may run in this stream beside what was launched before: an upload, or what came of a launch that failed.
    #[cold]
    pub(super) fn may_run_in(&mut self, stream: &Stream, keeps: bool) {
        if self.by_others || !keeps {
            return;
        }
        self.retired = None;
        let is_known = |mark: &Mark| matches!(mark, Mark::InStream(known) if known == stream);
        if stream.is_ours_alone() && self.marks.iter().any(is_known) {
            return;
        }
        self.marks.retain(|mark| match mark {
            // A later event there tells of it, too.
            Mark::Recorded(recorded) => !recorded.is_in(stream),
            Mark::Earlier(retired) => !retired.is_gone(),
            Mark::InStream(_) | Mark::Unknown(_) => true,
        });
        self.marks.push(Mark::of(stream));
    }

    /// Lets go of what only the launches until now use, when they are done: one event and one question serve all that is retired between
    /// two launches. If nobody can tell when they are done it comes back.
    pub(super) fn retire(&mut self, leaving: Leaving, contexts: &[Context]) -> Leaving {
        if leaving.is_empty() || self.by_others {
            return leaving;
        }
        let (is_over, leaving) = match &self.retired {
            Some(retired) => match retired.add(leaving) {
                Some(leaving) => (true, leaving),
                None => return Leaving::default(),
            },
            None => (false, leaving),
        };
        if !is_over && self.is_any_unknown() {
            return leaving;
        }
        let (waits, has_gone) = if is_over { Default::default() } else { self.take_waits() };
        let retired = if waits.is_empty() {
            Retired::soon(leaving)
        } else {
            let several = if contexts.len() > 1 { contexts.to_vec() } else { Vec::new() };
            Retired::after(waits, several, leaving)
        };
        if has_gone {
            self.marks.push(Mark::Earlier(Arc::clone(&retired)));
        }
        self.retired = Some(retired);
        Leaving::default()
    }

    /// Whether nothing tells when one of the launches is done.
    fn is_any_unknown(&mut self) -> bool {
        self.marks.iter_mut().for_each(Mark::find_out);
        self.marks.iter().any(|mark| matches!(mark, Mark::Unknown(context) if !nothing_runs(context)))
    }

    /// What has to be waited for, where something tells of each launch, and whether some of it is known by nothing else from now on: events go
    /// with what waits for them, for what is recorded again tells of later work.
    fn take_waits(&mut self) -> (SmallVec<[Wait; 1]>, bool) {
        let (mut waits, mut has_gone) = (SmallVec::new(), false);
        for mark in std::mem::take(&mut self.marks) {
            match mark {
                Mark::InStream(stream) => {
                    waits.extend(Wait::in_stream(&stream));
                    self.marks.push(Mark::InStream(stream));
                }
                Mark::Recorded(recorded) => {
                    has_gone = true;
                    waits.push(Wait::Event(recorded.event));
                }
                Mark::Earlier(retired) if retired.is_gone() => {}
                Mark::Earlier(retired) => {
                    has_gone = true;
                    waits.push(Wait::Earlier(retired));
                }
                // Nothing runs there any more.
                Mark::Unknown(_) => {}
            }
        }
        (waits, has_gone)
    }

    /// What is waited for until the launches until now are done; nothing if they are, or nobody can tell. To be asked once.
    pub(super) fn take_pending(&mut self, contexts: &[Context]) -> SmallVec<[Wait; 1]> {
        let _relaxed = contexts.first().and_then(|context| Relaxed::enter(context.driver().table()));
        if self.is_any_unknown() {
            return SmallVec::new();
        }
        let (mut waits, _) = self.take_waits();
        waits.retain(|wait| !wait.is_over(contexts));
        waits
    }

    /// The instance is gone: lets go of all that it kept, when its launches are done. What nobody can tell of is leaked, counted and logged;
    /// of what others launch it is the caller's duty.
    pub(super) fn end(mut self, leaving: Leaving, contexts: &[Context], exec: &dyn Subject) {
        let driver = contexts.first().map(|context| context.driver().clone());
        let left = self.retire(leaving, contexts);
        if left.is_empty() {
            return;
        }
        if self.by_others {
            return later(left);
        }
        std::mem::forget(left);
        if let Some(driver) = driver {
            leaked(&driver, &format!("what {exec} kept, since no event tells when its last launch is done"));
        }
    }
}

impl Mark {
    /// For what was just enqueued in a stream.
    fn of(stream: &Stream) -> Self {
        if stream.is_ours_alone() { Self::InStream(stream.clone()) } else { Recorded::first(stream) }
    }

    /// Finds out whether its event tells of nothing, because it was recorded in a capture.
    fn find_out(&mut self) {
        let Self::Recorded(Recorded { event, .. }) = self else { return };
        let context = event.context();
        // Of a context that is gone nothing is asked.
        if !nothing_runs(context) && !event.tells_of_work() {
            *self = Self::Unknown(context.clone());
        }
    }
}
