//! Streams that became part of a capture, because they waited for an event of it.

use super::branches::tail;
use super::name::Name;
use crate::driver::calls::graph::query::{self, Toward};
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use crate::stream::Stream;
use std::collections::{BTreeSet, HashSet};
use std::iter::once;
use std::sync::Arc;
use std::thread::ThreadId;

/// A stream that became part of a capture. It stays until the capture ends, whoever else holds it.
pub(super) struct Member {
    pub(super) stream: Stream,
    /// What came last in it when it did.
    from: Vec<CUgraphNode>,
    /// The thread on which it did, if it stands for another stream on each.
    thread: Option<ThreadId>,
    /// Whether it waits for the legacy default stream.
    is_blocking: bool,
    /// The builder that was forked to capture it; `None` of a stream that waited for an event.
    pub(super) fork: Option<Arc<Name>>,
}

/// Work of members that is not joined.
#[derive(Default)]
pub(super) struct Unjoined {
    /// Whom to join.
    pub(super) names: Vec<String>,
    /// Whose work cannot be joined any more.
    pub(super) lost: Option<String>,
}

impl Unjoined {
    pub(super) fn of(table: &Table, members: &[Member], joined: &Joined) -> Result<Self, CallError> {
        let tails: Result<Vec<_>, _> = members.iter().map(|member| member.tail(table)).collect();
        let (tails, mut named, mut lost) = (tails?, BTreeSet::new(), None);
        for (index, member) in members.iter().enumerate().filter(|(index, it)| tails[*index] != it.from) {
            for node in &tails[index] {
                if joined.has(table, *node)? {
                    continue;
                }
                // What a closed one has captured comes with whoever it was joined into, or was forked from it.
                let brings = |other: &usize| members[*other].can_be_joined() && tails[*other].contains(node);
                match once(index).chain(0..members.len()).find(brings) {
                    Some(other) => drop(named.insert(other)),
                    None => lost = lost.or_else(|| Some(member.name())),
                }
            }
        }
        Ok(Self { names: named.into_iter().map(|index| members[index].name()).collect(), lost })
    }
}

// SAFETY: the nodes are only compared.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

impl Member {
    /// A stream that the driver has made part of the capture, whatever fails from here on: where it does not tell what the stream goes
    /// on after, all that is in it has to be joined. Its context was told before that the capture has it.
    pub(super) fn new(stream: Stream, is_blocking: bool) -> Self {
        let current = stream.enter_if_default().ok();
        let from = tail(stream.context().table(), &stream).unwrap_or_default();
        drop(current);
        let thread = stream.is_default().then(|| std::thread::current().id());
        Self { stream, from, thread, is_blocking, fork: None }
    }

    /// What came last in it. Of another thread's stream the driver tells no other one: it is taken for joined.
    fn tail(&self, table: &Table) -> Result<Vec<CUgraphNode>, CallError> {
        if self.is_elsewhere() {
            return Ok(self.from.clone());
        }
        let _current = self.stream.enter_if_default().ok();
        tail(table, &self.stream)
    }

    /// Whether it is another thread's, and stands for another stream here.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.thread.is_some_and(|thread| thread != std::thread::current().id())
    }

    fn can_be_joined(&self) -> bool {
        self.fork.as_ref().is_none_or(|fork| !fork.is_closed())
    }

    pub(super) fn name(&self) -> String {
        self.fork.as_ref().map_or_else(|| self.stream.to_string(), |fork| fork.to_string())
    }
}

/// The nodes whose streams are joined.
pub(super) enum Joined {
    /// These at the end of the capture's own stream, and whatever comes before another node: that was captured, too.
    Followed(Vec<CUgraphNode>),
    /// These, by their addresses.
    Listed(HashSet<usize>),
}

impl Joined {
    /// The nodes at the end, and all that come before them.
    pub(super) fn before(table: &Table, end: Vec<CUgraphNode>) -> Result<Self, CallError> {
        let (mut listed, mut rest) = (HashSet::new(), end);
        while let Some(node) = rest.pop() {
            if listed.insert(node.addr()) {
                // SAFETY: the driver has just named the node.
                let edges = unsafe { query::edges(table, node, Toward::Predecessors) }?;
                rest.extend(edges.into_iter().map(|edge| edge.from));
            }
        }
        Ok(Self::Listed(listed))
    }

    fn has(&self, table: &Table, node: CUgraphNode) -> Result<bool, CallError> {
        match self {
            Self::Listed(nodes) => Ok(nodes.contains(&node.addr())),
            Self::Followed(end) if end.contains(&node) => Ok(true),
            // SAFETY: the driver has just named the node.
            Self::Followed(_) => Ok(unsafe { query::degree(table, node, Toward::Successors) }? > 0),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.stream.capture_ends();
        self.stream.context().capture_ended(self.is_blocking);
    }
}
