//! Nodes that were captured, and whose native handles the driver was not asked for yet.
//!
//! No call that captures tells the node. To ask after each takes as long as all the rest; so the driver is asked for the nodes once somebody
//! wants them, at the end of the capture if nobody does before. It lists them in the order in which they were captured (measured on driver
//! 580). That is held against those that it was asked for one by one; where it does not fit, they are nodes of which only the driver
//! knows what they do, and what they keep the graph keeps as a whole.

use super::definition::{State, Unasked};
use super::ids::GraphId;
use super::record::Record;
use crate::context::Context;
use crate::driver::Table;
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::{CUgraphNode, CUstream};
use crate::op::attachment::Attachment;
use crate::op::capture::is_valid;
use std::ptr::null_mut;

impl State {
    /// Whether the node that is captured next need not be asked for.
    #[inline]
    pub(super) fn may_ask_later(&self) -> bool {
        self.is_new && !self.is_shared && !self.unasked.is_over
    }

    /// Whether nodes were not asked for yet.
    #[inline]
    pub(super) fn has_unasked(&self) -> bool {
        self.unasked.count > 0
    }

    /// Lists a node that was captured in the stream of the capture, or one that is part of it.
    #[inline]
    pub(super) fn list_unasked(
        &mut self,
        beside: (Option<Context>, Option<Attachment>),
        make: impl FnOnce() -> Record,
        stream: CUstream,
    ) {
        self.unasked.count += 1;
        self.unasked.stream = stream;
        self.list_made(GraphId::ROOT, null_mut(), beside, make);
    }

    /// Asks for them.
    #[cold]
    pub(super) fn ask(&mut self, table: &Table) {
        let Unasked { count, stream, .. } = self.unasked;
        self.unasked.count = 0;
        // Each answer names all nodes: who asks often had better ask for each.
        self.unasked.is_over = self.graph(GraphId::ROOT).nodes.len() > 8 * count;
        // Of a capture that was invalidated the graph must not be touched.
        let is_there = self.is_captured_no_more() || calls::info(table, stream).as_ref().is_ok_and(is_valid);
        let natives = if is_there { self.graph(GraphId::ROOT).native.nodes().ok() } else { None };
        match natives.filter(|natives| self.fits(natives)) {
            Some(natives) => self.take_natives(&natives),
            None => self.give_up_unasked(),
        }
    }

    fn is_captured_no_more(&self) -> bool {
        !self.is_new
    }

    /// Whether these are the nodes, in their order.
    fn fits(&self, natives: &[CUgraphNode]) -> bool {
        let own = &self.graph(GraphId::ROOT).nodes;
        let is_same = |native: CUgraphNode, other: CUgraphNode| native.is_null() || native == other;
        own.len() == natives.len()
            && own.iter().zip(natives).all(|(id, native)| is_same(self.node(*id).native, *native))
    }

    fn take_natives(&mut self, natives: &[CUgraphNode]) {
        for (position, native) in natives.iter().enumerate() {
            let id = self.graph(GraphId::ROOT).nodes[position];
            self.set_native(id, *native);
        }
    }

    /// Nobody can tell which nodes they are.
    fn give_up_unasked(&mut self) {
        let own = self.graph(GraphId::ROOT).nodes.clone();
        for id in own.into_iter().filter(|id| self.node(*id).native.is_null()).collect::<Vec<_>>() {
            let kept = self.unlist_node(id).1.attachment;
            self.contents.unplaced.extend(kept.map(|kept| (GraphId::ROOT, kept)));
        }
    }
}
