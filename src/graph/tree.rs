//! A definition: a graph with all graphs below it, under one lock.

use super::definition::{Definition, GraphObject, GraphState, State, Tree};
use super::derived::Derived;
use super::ids::GraphId;
#[cfg(feature = "capi")]
use super::ids::NodeId;
use super::kind::GraphKind;
use super::names::Names;
use super::relations;
use crate::context::Context;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::CUgraph;
use crate::driver::{CallError, Driver, Table};
use crate::object::callback::ask_until;
use crate::object::error::{Error, Status, Subject};
#[cfg(feature = "capi")]
use crate::object::handle::{Exhausted, Token};
use crate::object::native;
use crate::object::owning::{Ownership, Owning, Taking, twice};
use crate::object::registry::Registry;
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

/// How many numbers a thread takes at a time, so that threads which make definitions write nothing that others read.
const AT_A_TIME: u64 = 256;

/// Up to where numbers of definitions, and recaptures of definitions, were given to threads.
static GIVEN: AtomicU64 = AtomicU64::new(AT_A_TIME);

/// Definitions by their native graphs, so that one graph is one definition, however often it is wrapped.
static KNOWN: Registry<Arc<Tree>> = Registry::new();

impl Tree {
    /// The definition around this graph of the driver's, if there is one.
    pub(super) fn known(driver: &Driver, native: CUgraph) -> Option<Arc<Self>> {
        KNOWN.find(driver, native.addr())
    }

    /// A definition around a graph of the driver's that was just made.
    pub(super) fn around(
        context: &Context,
        native: RawGraph,
        ownership: Ownership,
    ) -> (Arc<Definition>, Arc<GraphObject>) {
        let address = native.handle().addr();
        let (definition, object) = Self::unlisted(context, native, ownership);
        KNOWN.add(context.driver(), address, &definition.tree);
        (definition, object)
    }

    /// A definition around a graph of somebody else's, which is shared and owns nothing yet. `None` if another thread has made one since
    /// `stale` was found.
    pub(super) fn around_foreign(
        context: &Context,
        native: RawGraph,
        stale: Option<&Arc<Self>>,
    ) -> Option<(Arc<Definition>, Arc<GraphObject>)> {
        let address = native.handle().addr();
        let (definition, object) = Self::unlisted(context, native, Ownership::Borrowed);
        definition.tree.lock().is_shared = true;
        let listed = KNOWN.add_unless_known(context.driver(), address, &definition.tree, stale);
        listed.is_ok().then_some((definition, object))
    }

    fn unlisted(
        context: &Context,
        native: RawGraph,
        ownership: Ownership,
    ) -> (Arc<Definition>, Arc<GraphObject>) {
        let names = Arc::new(Names::default());
        let tree = Arc::new_cyclic(|this| Self {
            context: context.clone(),
            number: Self::new_number(),
            owning: Owning::new(ownership),
            state: Mutex::new(State::new(&names)),
            definition: OnceLock::new(),
            root: OnceLock::new(),
            names,
            this: Weak::clone(this),
        });
        let definition = Arc::new(Definition { tree: Arc::clone(&tree) });
        let known = tree.definition.get_or_init(|| Arc::downgrade(&definition));
        let object = GraphObject::new(known, GraphId::ROOT, GraphKind::Root);
        let _ = tree.root.set(Arc::clone(&object));
        let root = GraphState {
            native,
            parent: None,
            object: Arc::clone(&object),
            nodes: Vec::new(),
            depth: 0,
            is_in_body: false,
            is_ordered: ownership == Ownership::Owned,
            edges_edited: 0,
            is_cut: false,
            captured_by: None,
            derived: Derived::default(),
        };
        tree.lock().list_graph(root);
        (definition, object)
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// A number that no definition had before, and no recapture of one.
    pub(super) fn new_number() -> u64 {
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(0) });
        let number = match NEXT.get() {
            next if next % AT_A_TIME != 0 => next,
            _ => GIVEN.fetch_add(AT_A_TIME, Relaxed),
        };
        NEXT.set(number + 1);
        number
    }

    /// A number that no other definition of the process has, and no recapture of one.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn driver(&self) -> &Driver {
        self.context.driver()
    }

    pub(super) fn table(&self) -> &'static Table {
        self.driver().object_table()
    }

    /// Keeps others from editing meanwhile. No code of a caller's runs while it is held.
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.asked(self.state.lock())
    }

    #[inline]
    fn asked<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.has_unasked() {
            state.ask(self.table());
        }
        state
    }

    /// The same for whoever needs no native handle of a node: while it is captured, or when the driver's graph is gone.
    #[inline]
    pub(super) fn lock_unasked(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The same for whoever would rather do without than wait.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock()
    }

    /// The same for whoever changes something; refused while the definition is recaptured.
    #[inline(always)]
    pub(super) fn lock_to_edit(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.lock();
        self.root().check_usable()?;
        Ok(state)
    }

    /// Locks two definitions, the second only if it is another one: always in the same order, so that two threads which do so do not wait
    /// for each other for ever.
    pub(super) fn lock_two<'a, 'b>(
        first: &'a Arc<Self>,
        second: &'b Arc<Self>,
    ) -> (MutexGuard<'a, State>, Option<MutexGuard<'b, State>>) {
        if Arc::ptr_eq(first, second) {
            return (first.lock(), None);
        }
        if Arc::as_ptr(first) < Arc::as_ptr(second) {
            let state = first.lock();
            return (state, Some(second.lock()));
        }
        let other = second.lock();
        (first.lock(), Some(other))
    }

    /// Who holds the definition; `None` if nobody does any more.
    pub(super) fn definition(&self) -> Option<Arc<Definition>> {
        self.definition.get()?.upgrade()
    }

    pub(super) fn known_definition(&self) -> &Weak<Definition> {
        self.definition.get().expect("a tree is made with its definition")
    }

    /// The error of a call of the driver about an object of the definition.
    #[cold]
    pub(super) fn failed(&self, error: CallError, object: &dyn Subject) -> Error {
        self.context.failed(error, object)
    }

    /// Refuses what driver 580 crashes on once a context was reset in which nodes run (measured): copies of the graph, instances,
    /// pictures, and what others' nodes do. Nodes and edges can be edited all the same.
    pub(super) fn check_contexts(&self, state: &State, object: &dyn Subject) -> Result<(), Error> {
        self.context.check_still_there(object)?;
        state.contexts().iter().try_for_each(|context| context.check_still_there(object))
    }

    /// Refuses to hand the driver nodes that use something of a context that is gone: at some it fails without a reason, and at the launch of
    /// others 580 crashes (measured).
    pub(super) fn check_used(&self, state: &State, object: &dyn Subject) -> Result<(), Error> {
        let mut gone = None;
        for (_, record) in state.contents.iter() {
            record.parameters.each_context(|context| {
                if gone.is_none() && context.is_gone() {
                    gone = Some(context.clone());
                }
            });
        }
        gone.map_or(Ok(()), |context| Err(context.used_and_gone(object)))
    }

    /// Holds the definition for whoever edits it; refused if nobody holds it any more: what its nodes use is gone. It is taken before the
    /// lock and let go of after it, since its end takes the lock.
    pub(super) fn hold(&self, object: &dyn Subject) -> Result<Arc<Definition>, Error> {
        self.definition().ok_or_else(|| {
            let refusal = format!(
                "the graph of {object} was destroyed; only what was instantiated from it can be updated"
            );
            Error::new(Status::INVALID_HANDLE, refusal).about(object)
        })
    }

    /// What the whole is called.
    pub(super) fn root(&self) -> &Arc<GraphObject> {
        self.root.get().expect("a tree is made with its root")
    }

    /// The native graph is another's from now on: what is known of it is taken out.
    pub(super) fn give_away(&self, state: &mut State) -> State {
        self.owning.set(Ownership::Borrowed);
        self.is_known_no_more(state);
        let empty = state.emptied();
        std::mem::replace(state, empty)
    }

    /// What was captured is complete: the driver's graph is destroyed with this.
    pub(super) fn own(&self, mut state: MutexGuard<'_, State>) {
        state.is_new = false;
        if state.has_unasked() {
            state.ask(self.table());
        }
        drop(state);
        self.owning.set(Ownership::Owned);
    }

    /// The driver's graph is gone, or must not be touched any more: whatever names a part of it says so.
    pub(super) fn abandon(&self, mut state: MutexGuard<'_, State>) {
        self.owning.set(Ownership::Borrowed);
        self.is_known_no_more(&state);
        let empty = state.emptied();
        let known = std::mem::replace(&mut *state, empty);
        known.graphs().for_each(|graph| graph.object.was_abandoned());
        known.nodes().for_each(|(id, node)| state.remember_node(id, node, &known.record(id).parameters));
        known.conditions.iter().for_each(|condition| condition.end());
        drop(state);
        // Outside of the lock: what the nodes ran in may end with them, and what they keep goes.
        drop(known);
    }

    /// A recapture ended without the graph. The driver's is gone, or good for nothing but to be destroyed, if it `is_there`: whatever names
    /// a part of it says so. What was instantiated from it still asks what its nodes were.
    pub(super) fn spoil(&self, state: &mut State, is_there: bool) {
        self.is_known_no_more(state);
        state.lose();
        if !is_there {
            self.owning.set(Ownership::Borrowed);
        }
        self.root().was_abandoned();
        self.root().set_captured(false);
        // The references go with the driver's graph.
        state.contents.keep_nothing();
        for (id, node) in state.nodes.iter().filter(|(_, node)| node.has_handle) {
            state.pages.was_removed(id, node.number, state.node_type(id));
        }
    }

    /// Others can have the driver's graph from now on; refused if that cannot keep what nodes use.
    pub(super) fn share(&self, state: &mut State) -> Result<(), Error> {
        if state.has_unasked() {
            state.ask(self.table());
        }
        if !state.is_shared {
            state.share().map_err(|error| self.failed(error, self.root().as_ref()))?;
            self.share_inner(state);
        }
        Ok(())
    }

    fn is_known_no_more(&self, state: &State) {
        self.forget_inner(state);
        if let Some(root) = state.root() {
            KNOWN.remove(self.driver(), root.native.handle().addr(), self);
        }
    }

    /// The definition once more, for whoever wraps the native graph again: taken over, if it was borrowed and is to be owned, and shared
    /// with others. Refuses a second owner. `None` if nobody holds the definition any more, or the graph was moved, or lost.
    pub(super) fn wrap_again(self: &Arc<Self>, taking: Taking<'_>) -> Result<Option<Arc<Definition>>, Error> {
        let Some(definition) = self.definition() else {
            let is_owned = taking.is_to_own() && !self.owning.is_free();
            return if is_owned { Err(twice(self.root().as_ref())) } else { Ok(None) };
        };
        let mut state = self.lock();
        if self.root().is_gone() {
            return Ok(None);
        }
        self.share(&mut state)?;
        taking.take(self, |tree| &tree.owning, self.root().as_ref())?;
        drop(state);
        Ok(Some(definition))
    }

    /// Whether it is destroyed with this.
    pub(super) fn is_owned(&self) -> bool {
        self.owning.is_owned()
    }

    /// The handle of a node, which is issued if it has none.
    #[cfg(feature = "capi")]
    #[inline]
    pub(super) fn handle_of(&self, state: &mut State, id: NodeId) -> Result<Token, Exhausted> {
        let node = state.nodes.get_mut(id).expect("a node is listed until it is removed");
        state.pages.handle(&self.this, id, node, &state.contents)
    }

    /// Nobody uses the definition any more. What was instantiated from it needs the driver's graph all the same; the driver's
    /// graph lets go of everything that it keeps alive. Whoever gave up the last hold may have this definition locked, or another one,
    /// so nothing is waited for: where somebody has it, the worker comes back.
    fn end_use(tree: Arc<Self>) {
        if !tree.try_end_use() {
            ask_until(move || tree.try_end_use());
        }
    }

    fn try_end_use(&self) -> bool {
        let Some(mut state) = self.try_lock().map(|state| self.asked(state)) else { return false };
        state.let_go();
        self.release_attached(&mut state, |_| true);
        true
    }

    /// The driver's graphs among these let go of what their nodes use.
    pub(super) fn release_attached(&self, state: &mut State, is_of: impl Fn(GraphId) -> bool) {
        for (graph, attachment) in state.contents.take_attached(is_of) {
            let graph = state.graph(graph);
            let result = attachment.release(&graph.native);
            crate::object::release::report(
                self.driver(),
                result.map_err(|error| self.failed(error, graph.object.as_ref())),
            );
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let state = std::mem::replace(self.state.get_mut(), State::new(&self.names));
        self.is_known_no_more(&state);
        if !self.owning.is_owned() {
            return;
        }
        let object = Arc::clone(&state.graph(GraphId::ROOT).object);
        let context = self.context.clone();
        native::release(self.context.driver(), object.as_ref(), move |object| {
            // The contexts of the nodes stay until it is destroyed.
            let relatives = state.has_relatives.then(relations::changed);
            // SAFETY: nobody has the definition any more.
            let destroyed = unsafe { state.graph(GraphId::ROOT).native.destroy() };
            drop(relatives);
            drop(state);
            context.released(destroyed, object)
        });
    }
}

impl Drop for Definition {
    fn drop(&mut self) {
        // Otherwise it ends with this.
        if Arc::strong_count(&self.tree) > 1 {
            Tree::end_use(Arc::clone(&self.tree));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{AT_A_TIME, Tree};
    use std::collections::HashSet;

    #[test]
    fn no_two_threads_have_a_number() {
        let many = || (0..3 * AT_A_TIME).map(|_| Tree::new_number()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(many)).collect();
        let all = threads.into_iter().flat_map(|thread| thread.join().expect("it only counts"));
        let (numbers, known): (Vec<_>, HashSet<_>) = all.map(|number| (number, number)).unzip();
        assert_eq!(numbers.len(), 4 * 3 * AT_A_TIME as usize);
        assert_eq!(known.len(), numbers.len());
    }
}
