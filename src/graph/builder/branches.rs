//! The branches of a capture: its own stream, and those that became part of it.

use crate::driver::calls::graph::capture::info;
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use crate::object::error::Error;
use crate::op::capture::Clock;
use crate::stream::Stream;

/// The branches of a capture, and how far each is. Whoever has it locked has the definition locked, too: nothing is captured meanwhile.
pub(super) struct Branches(Vec<Branch>);

/// A stream of the capture.
struct Branch {
    stream: Stream,
    /// What came last in it when the driver was asked last.
    end: Vec<CUgraphNode>,
    /// How often that was changed by what was captured there.
    clock: u64,
    /// How far the others were before what is captured next here.
    after: Clock,
}

// SAFETY: the nodes are only compared and given back to the driver, under the lock of the definition.
unsafe impl Send for Branch {}

impl Branch {
    /// A default stream means another one on each thread: of its work nobody can tell.
    fn is_known(&self) -> bool {
        !self.stream.is_default()
    }

    fn asks(&mut self, table: &Table) {
        match self.is_known().then(|| tail(table, &self.stream)) {
            None => {}
            Some(Ok(end)) if end == self.end => {}
            Some(Ok(end)) => {
                self.clock += 1;
                self.end = end;
            }
            // Where the driver does not tell, something may have been captured.
            Some(Err(_)) => self.clock += 1,
        }
    }

    /// Takes what comes last in it now for no work of its own.
    fn has_waited(&mut self, table: &Table) {
        if let Ok(end) = tail(table, &self.stream) {
            self.end = end;
        }
    }

    fn clock(&self) -> u64 {
        if self.is_known() { self.clock } else { Clock::UNKNOWN }
    }
}

impl Branches {
    /// Of a capture that has just begun, with its own stream.
    pub(super) fn of(stream: &Stream) -> Self {
        let stream = stream.clone();
        Self(vec![Branch { stream, end: Vec::new(), clock: 0, after: Clock::default() }])
    }

    /// The number of a stream's branch. One that others, or the driver, have made part of the capture has one from now on.
    fn find(&mut self, stream: &Stream) -> usize {
        let is_it = |branch: &Branch| branch.stream == *stream;
        self.0.iter().position(is_it).unwrap_or_else(|| {
            let stream = stream.clone();
            self.0.push(Branch { stream, end: Vec::new(), clock: 1, after: Clock::default() });
            self.0.len() - 1
        })
    }

    /// A stream has become part of the capture, after this; `None` if nobody can tell after what.
    pub(super) fn was_forked(&mut self, table: &Table, stream: &Stream, after: Option<&Clock>) {
        let clock = u64::from(after.is_none());
        let after = after.cloned().unwrap_or_default();
        let mut branch = Branch { stream: stream.clone(), end: Vec::new(), clock, after };
        branch.has_waited(table);
        self.0.push(branch);
    }

    /// What comes before a place at the end of the stream; `None` if nobody can tell.
    pub(super) fn before_end_of(&mut self, table: &Table, stream: &Stream) -> Option<Clock> {
        let index = self.find(stream);
        let branch = self.0.get_mut(index).filter(|branch| branch.is_known())?;
        branch.asks(table);
        let mut before = branch.after.clone();
        before.set(index, branch.clock);
        Some(before)
    }

    /// The stream waits for a place that comes after this; `None` if nobody can tell.
    pub(super) fn waits<T>(
        &mut self,
        table: &Table,
        stream: &Stream,
        after: Option<&Clock>,
        wait: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let index = self.find(stream);
        let known = self.0.get_mut(index).zip(after);
        let Some((branch, after)) = known.filter(|(branch, _)| branch.is_known()) else { return wait() };
        branch.asks(table);
        let waited = wait()?;
        branch.has_waited(table);
        branch.after.merge(after);
        Ok(waited)
    }

    /// How far all branches are, this one among them.
    pub(super) fn now(&mut self, table: &Table, stream: &Stream) -> Clock {
        self.find(stream);
        let mut now = Clock::default();
        for (index, branch) in self.0.iter_mut().enumerate() {
            branch.asks(table);
            now.set(index, branch.clock());
        }
        now
    }

    /// What was captured by now in the capture's own stream is no work of the stream.
    pub(super) fn own_has_waited(&mut self, table: &Table) {
        self.0[0].has_waited(table);
    }

    /// What comes before what is captured next in the capture's own stream.
    pub(super) fn after_own(&self) -> Clock {
        self.after_in(0)
    }

    /// What comes before what is captured next in the stream, as known since [`now`](Self::now) was asked.
    pub(super) fn after(&mut self, stream: &Stream) -> Clock {
        let index = self.find(stream);
        self.after_in(index)
    }

    fn after_in(&self, index: usize) -> Clock {
        let branch = &self.0[index];
        let mut after = branch.after.clone();
        if branch.is_known() {
            after.set(index, Clock::ANY);
        }
        after
    }

    /// What came last in the branches when they were asked last.
    pub(super) fn ends(&self) -> Vec<CUgraphNode> {
        let mut ends = Vec::new();
        for end in self.0.iter().flat_map(|branch| &branch.end) {
            if !ends.contains(end) {
                ends.push(*end);
            }
        }
        ends
    }

    /// A stream in which what is captured next comes after these ends of all branches: the one named, if nothing was joined with it since its
    /// last work, or else one into which the others were joined.
    pub(super) fn find_last(&self, ends: &Clock, named: &Stream) -> Option<Stream> {
        let is_last = |index: usize| self.after_in(index).covers(ends);
        let lasts: Vec<usize> = (0..self.0.len()).filter(|index| is_last(*index)).collect();
        // Work of one that was joined would not be joined any more.
        let is_joined = |index: usize| lasts.iter().any(|other| *other != index);
        let is_named = |index: &usize| self.0[*index].stream == *named;
        let open = lasts.iter().copied().find(|index| is_named(index) && !is_joined(*index));
        let chosen = open.or_else(|| lasts.iter().copied().find(|index| *index == 0));
        let chosen = chosen.or_else(|| lasts.iter().copied().find(|index| !is_joined(*index)));
        chosen.map(|index| self.0[index].stream.clone())
    }

    /// The capture is over: the streams may end with it.
    pub(super) fn take(&mut self) -> Self {
        Self(std::mem::take(&mut self.0))
    }
}

/// What the next operation in a stream under capture comes after.
pub(super) fn tail(table: &Table, stream: &Stream) -> Result<Vec<CUgraphNode>, CallError> {
    let info = info(table, stream.raw().handle())?;
    // SAFETY: nothing was called on the stream since; whoever captures holds the lock of the definition.
    Ok(unsafe { info.dependencies() })
}
