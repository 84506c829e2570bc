//! When the memory of an instance's nodes is asked for, and asked for again.

use super::watched::{Watch, Watched};
use super::{Exec, State};
use crate::check::{self, Deeds, LookedUp};
use crate::driver::calls::graph::exec::RawExec;
use crate::graph::definition::{self};
use crate::graph::ids::NodeId;
use crate::object::error::{Error, Status};
use crate::stream::Stream;
use parking_lot::MutexGuard;
use std::sync::Arc;

impl Exec {
    /// Asks for the memory of these nodes, if anybody wants to know.
    #[inline]
    pub(super) fn watch(
        &self,
        state: &mut State,
        tree: &definition::State,
        nodes: impl Iterator<Item = NodeId>,
    ) {
        if state.watched.is_some() {
            self.watch_each(state, tree, nodes);
        }
    }

    #[cold]
    fn watch_each(&self, state: &mut State, tree: &definition::State, nodes: impl Iterator<Item = NodeId>) {
        let Some(mut watched) = state.watched.take() else { return };
        let is_refusing = watched.is_refusing;
        for id in nodes.filter(|_| is_refusing) {
            let context = self.context_of(state, id);
            let at = context.unwrap_or_else(|| self.0.tree.context().clone());
            let noted = self.now(state, tree, id, |now| watched.note(&self.0.tree, tree, id, now, at));
            if noted.is_err() {
                watched.nodes.remove(id);
            }
        }
        state.watched = Some(watched);
    }

    /// The same for all nodes.
    pub(super) fn watch_all(&self, state: &mut State) {
        let Some(mut watched) = state.watched.take() else { return };
        if !watched.is_refusing {
            state.watched = Some(watched);
            return;
        }
        let tree = self.0.tree.lock();
        // Nobody can tell any more what its nodes use.
        if tree.root().is_none() {
            state.watched = Some(Watched { is_refusing: true, ..Watched::default() });
            return;
        }
        // Nor what those do that the definition has no more, where another graph was taken over.
        watched.nodes.retain(|id| state.contents.get(id).is_some_and(|record| record.is_known));
        state.watched = Some(watched);
        let nodes = tree.nodes().filter(|(_, node)| node.number < self.0.instance.born);
        let nodes: Vec<_> = nodes.map(|(id, _)| id).collect();
        self.watch(state, &tree, nodes.into_iter());
    }

    /// Launches it, unless that would use memory which is not there any more, or out of the kernel's reach; says what the launch did, if somebody
    /// wants to know what nothing orders.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    #[cold]
    pub(super) unsafe fn launch_watched(
        &self,
        state: MutexGuard<'_, State>,
        stream: &Stream,
    ) -> Result<(), Error> {
        if let Some(watched) = state.watched.as_ref().filter(|watched| watched.is_refusing) {
            self.check_there(&state, watched)?;
        }
        // The stream is asked before the launch: others may capture it afterwards, and asking would invalidate that.
        let told = self.driver().checks_order().then(|| (stream.who(), self.deeds(&state)));
        // SAFETY: as the caller vouches.
        unsafe { self.launch_locked(state, stream) }?;
        if let Some((who, deeds)) = told {
            check::launched(who, Arc::as_ptr(&self.0).addr(), deeds);
        }
        Ok(())
    }

    fn check_there(&self, state: &State, watched: &Watched) -> Result<(), Error> {
        let mut all: Vec<_> = watched.nodes.iter().collect();
        all.sort_unstable_by_key(|(_, watch)| watch.number);
        for (id, watch) in all {
            let Some((usage, complaint)) = watch.complaint() else { continue };
            // A node that is passed over uses nothing.
            if !self.is_watch_enabled(state, watch) {
                continue;
            }
            let name = self.name_of_watched(id, watch);
            let refusal = format!("{name} of {self}: {complaint}; set the node to memory that is there");
            let mut failure = Error::new(Status::INVALID_ARGUMENT, refusal).about(self);
            failure.item = usage.number();
            return Err(failure);
        }
        Ok(())
    }

    /// What all nodes do that take part in launches, as far as it is known.
    #[cold]
    fn deeds(&self, state: &State) -> LookedUp {
        let (tree, mut deeds) = (self.0.tree.lock(), Deeds::new(self.to_string()));
        let raw = state.raw.as_ref().filter(|_| tree.root().is_some());
        for (id, record) in state.contents.iter() {
            let native = tree.find_number(id, record.number).map(|_| tree.node(id).native);
            // SAFETY: the instance has the node, which the lock keeps.
            let is_enabled =
                |raw: &RawExec| native.is_none_or(|native| unsafe { raw.is_enabled(native) }.unwrap_or(true));
            if raw.is_some_and(is_enabled) {
                let told = self.now_of(id, record, &tree, |parameters| parameters.deeds(&mut deeds));
                drop(told);
            }
        }
        deeds.look_up(self.driver())
    }

    /// Whether the node takes part in launches, as far as the driver can be asked: not if the definition has no nodes any more.
    fn is_watch_enabled(&self, state: &State, watch: &Watch) -> bool {
        let tree = self.0.tree.lock();
        let raw = state.raw.as_ref().filter(|_| tree.root().is_some());
        // SAFETY: the instance has the node, which the lock keeps.
        raw.is_none_or(|raw| unsafe { raw.is_enabled(watch.native) }.unwrap_or(true))
    }

    /// What the node is called by now, if the definition still has it.
    fn name_of_watched(&self, id: NodeId, watch: &Watch) -> String {
        let tree = self.0.tree.lock();
        let is_there = tree.nodes().any(|(other, node)| other == id && node.number == watch.number);
        if is_there { tree.name_of(id) } else { watch.name.clone() }
    }
}
