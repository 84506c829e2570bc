//! The streams of a capture, and how far each of them has come.

use super::tail::Tail;
use crate::abi::sys::{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUgraphEdgeData, CUgraphNode, CUresult};
use std::ptr::null;

/// The streams of a capture, also those that were destroyed.
pub(super) struct Members(Vec<Member>);

struct Member {
    /// By number.
    stream: u64,
    tail: Tail,
    /// Whether it has recorded anything.
    has_worked: bool,
    /// The tail as a caller was told it.
    nodes: Box<[usize]>,
    data: Box<[CUgraphEdgeData]>,
}

/// Where a caller finds a tail: NULL if nothing is in it.
pub(crate) struct Told {
    pub(crate) nodes: *const CUgraphNode,
    pub(crate) data: *const CUgraphEdgeData,
    pub(crate) count: usize,
}

impl Member {
    fn new(stream: u64, tail: Tail) -> Self {
        Self { stream, tail, has_worked: false, nodes: Box::default(), data: Box::default() }
    }
}

impl Members {
    pub(super) fn with(stream: u64, tail: Tail) -> Self {
        Self(vec![Member::new(stream, tail)])
    }

    pub(super) fn add(&mut self, stream: u64, tail: Tail) {
        self.0.push(Member::new(stream, tail));
    }

    fn find(&mut self, stream: u64) -> Option<&mut Member> {
        self.0.iter_mut().find(|member| member.stream == stream)
    }

    pub(super) fn record<T>(
        &mut self,
        stream: u64,
        add: impl FnOnce(&Tail) -> Result<(usize, T), CUresult>,
    ) -> Result<T, CUresult> {
        let member = self.find(stream).ok_or(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)?;
        let (node, more) = add(&member.tail)?;
        member.tail = Tail::behind(node);
        member.has_worked = true;
        Ok(more)
    }

    pub(super) fn tail(&mut self, stream: u64) -> Tail {
        self.find(stream).map(|member| member.tail.clone()).unwrap_or_default()
    }

    pub(super) fn change_tail(&mut self, stream: u64, change: impl FnOnce(&mut Tail)) {
        if let Some(member) = self.find(stream) {
            change(&mut member.tail);
        }
    }

    pub(super) fn tell(&mut self, stream: u64) -> Told {
        let none = Told { nodes: null(), data: null(), count: 0 };
        let Some(member) = self.find(stream).filter(|member| !member.tail.items().is_empty()) else {
            return none;
        };
        member.nodes = member.tail.nodes().into();
        member.data = member.tail.items().iter().map(|dependency| dependency.data).collect();
        let count = member.nodes.len();
        Told { nodes: member.nodes.as_ptr().cast(), data: member.data.as_ptr(), count }
    }

    /// The ends of all streams that have recorded something, but for one.
    pub(super) fn ends_except(&self, stream: u64) -> Vec<usize> {
        let others = self.0.iter().filter(|member| member.stream != stream && member.has_worked);
        others.flat_map(|member| member.tail.nodes()).collect()
    }
}
