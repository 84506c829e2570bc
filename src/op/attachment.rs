//! What a node keeps alive, and who lets go of it when.
//!
//! As long as nobody else can have the driver's graph, its definition keeps what its nodes use, and the driver knows nothing of it. What
//! is instantiated from the graph shares what the nodes do and use by then, and keeps it by that: the driver would make launches slower,
//! and would hold those who launch as soon as a few dozen launches are queued, for a user object (measured on driver 580). Where others
//! can launch an instance, only the driver knows when its launches are done: there all that the nodes use is one user object, to which the
//! graph refers while it is copied ([`Lent`]).
//!
//! Of a graph that others may copy, too, each node's version of what it keeps is a user object, to which the node's graph has a reference.
//! Such a user object never changes: another version is another user object, which is retained *before* the node is changed and filled
//! when that has succeeded, so that a failure leaves nothing behind. The driver counts: clones of the graph, and what is instantiated from
//! it, take references of their own. So a clone, an instance, and a launch in flight keep what they use, whatever becomes of the node.
//!
//! When the last reference goes, the driver calls us on whatever thread that is, inside whatever call, where hardly any call of
//! the driver is allowed: what was kept goes to the worker, which lets go of it.

use crate::driver::CallError;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::calls::graph::user_object::RawUserObject;
use crate::object::callback::{hand_over, is_worker};
use crate::object::handle::forked;
use crate::op::node::{Hold, Holds};
use parking_lot::Mutex;
use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, Weak};

/// What a user object keeps alive, once it was filled.
type Content = Mutex<Kept>;

#[derive(Default)]
struct Kept {
    /// What one node uses.
    holds: Holds,
    /// What an exec uses, and what was added to that.
    more: Vec<Box<dyn Any + Send>>,
}

impl Kept {
    fn of_node(holds: Holds) -> Self {
        Self { holds, more: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.holds.is_empty() && self.more.is_empty()
    }
}

/// What a node keeps alive. A copy is for the node of a copy of its graph: that has a reference of its own to what the driver keeps.
#[derive(Clone)]
pub(crate) struct Attachment(By);

/// Who keeps it.
#[derive(Clone)]
enum By {
    /// The definition.
    Definition(Own),
    /// The driver's graph; the definition holds nothing.
    Graph(Box<UserObject>),
}

/// What the definition keeps for a node. Dropping it leaves it to the worker.
#[derive(Clone)]
struct Own(Option<Holds>);

/// A user object of the driver's, to which a graph has a reference.
#[derive(Clone)]
struct UserObject {
    object: RawUserObject,
    content: Weak<Content>,
}

/// What the driver keeps for a copy that it made, as long as its objects refer to it.
pub(crate) struct Version(Weak<Content>);

impl Version {
    fn with<R>(&self, look: impl FnOnce(&mut Kept) -> R) -> Option<R> {
        self.0.upgrade().map(|content| look(&mut content.lock()))
    }

    /// Whether it is still kept.
    pub(crate) fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// What of the things that are kept for a node answers something, if one does.
    pub(crate) fn find<T>(&self, ask: impl Fn(&Hold) -> Option<T>) -> Option<T> {
        self.with(|kept| kept.holds.find(ask)).flatten()
    }

    /// Has the driver keep something more, as long as it keeps this; gives it back if it does not.
    pub(crate) fn add(&self, more: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        let Some(content) = self.0.upgrade() else { return Err(more) };
        content.lock().more.push(more);
        Ok(())
    }

    /// What was added last, taken out again.
    pub(crate) fn take_added(&self) -> Option<Box<dyn Any + Send>> {
        self.with(|kept| kept.more.pop()).flatten()
    }

    /// Lets go of what is kept, although the driver's objects still refer to it: they are never used again.
    pub(crate) fn abandon(self) {
        if let Some(gone) = self.with(std::mem::take) {
            leave(gone);
        }
    }
}

/// An attachment that is empty yet. Dropping it takes the reference back.
#[must_use = "it is taken back otherwise"]
pub(crate) struct Prepared<'a> {
    graph: &'a RawGraph,
    /// `None` once it is somebody's.
    object: Option<UserObject>,
}

impl<'a> Prepared<'a> {
    /// Has the graph refer to a user object that keeps nothing yet.
    pub(crate) fn on(graph: &'a RawGraph) -> Result<Self, CallError> {
        let content = Arc::new(Content::default());
        let kept = Arc::downgrade(&content);
        let data = Arc::into_raw(content).cast_mut().cast::<c_void>();
        // SAFETY: the function takes exactly this.
        let object =
            unsafe { RawUserObject::create(graph.table(), data, Some(let_go)) }.inspect_err(|_| {
                // SAFETY: nobody else has it.
                drop(unsafe { Arc::from_raw(data.cast::<Content>()) });
            })?;
        object.retain_on(graph)?;
        Ok(Self { graph, object: Some(UserObject { object, content: kept }) })
    }

    /// Leaves it to its graph, which cannot be asked to let go any more.
    pub(crate) fn leave(mut self) {
        self.object = None;
    }

    /// From now on it keeps this.
    pub(crate) fn commit(mut self, holds: Holds) -> Attachment {
        let object = self.object.take().expect("it is committed once");
        object.fill(Kept::of_node(holds));
        Attachment(By::Graph(Box::new(object)))
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            // An error leaves an empty object with the graph.
            let _ = object.release(self.graph);
        }
    }
}

impl UserObject {
    fn fill(&self, kept: Kept) {
        if let Some(content) = self.content.upgrade() {
            *content.lock() = kept;
        }
    }

    /// Has the graph let go.
    fn release(self, graph: &RawGraph) -> Result<(), CallError> {
        // SAFETY: the graph is alive, and has the reference: each of these stands for one.
        unsafe { self.object.release_from(graph) }
    }
}

impl Attachment {
    /// What the definition keeps by itself.
    #[inline]
    pub(crate) fn of_definition(holds: impl FnOnce() -> Holds) -> Self {
        Self(By::Definition(Own(Some(holds()))))
    }

    /// Whether the definition keeps it by itself.
    pub(crate) fn is_of_definition(&self) -> bool {
        matches!(self.0, By::Definition(_))
    }

    /// Has whoever keeps it let go.
    pub(crate) fn release(self, graph: &RawGraph) -> Result<(), CallError> {
        match self.0 {
            By::Definition(own) => {
                drop(own);
                Ok(())
            }
            By::Graph(object) => object.release(graph),
        }
    }

    /// Has the driver's graph keep it in place of the definition.
    pub(crate) fn give(&mut self, prepared: Prepared<'_>) {
        if let Some(holds) = self.take_own() {
            *self = prepared.commit(holds);
        }
    }

    /// What the definition keeps.
    #[inline]
    pub(crate) fn own(&self) -> Option<&Holds> {
        match &self.0 {
            By::Definition(own) => own.0.as_ref(),
            By::Graph(_) => None,
        }
    }

    /// The same, taken out.
    pub(crate) fn take_own(&mut self) -> Option<Holds> {
        match &mut self.0 {
            By::Definition(own) => own.0.take(),
            By::Graph(_) => None,
        }
    }

    /// What is kept, for those who may have to let go of it in place of the driver.
    pub(crate) fn version(&self) -> Option<Version> {
        match &self.0 {
            By::Definition(_) => None,
            By::Graph(object) => Some(Version(Weak::clone(&object.content))),
        }
    }

    /// The same once more: what is kept, to be kept by another version.
    pub(crate) fn holds(&self) -> Holds {
        let object = match &self.0 {
            By::Definition(own) => return own.0.clone().unwrap_or_default(),
            By::Graph(object) => object,
        };
        object.content.upgrade().map(|content| content.lock().holds.clone()).unwrap_or_default()
    }
}

/// Who keeps what an exec uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// The exec, which is launched by its owner only.
    Owner,
    /// The driver: others launch it, too.
    Driver,
}

/// Where the driver is to keep something for an exec that it makes or updates: a user object, to which the graph refers meanwhile.
#[must_use = "it is taken back otherwise"]
pub(crate) struct Lent<'a>(Option<Prepared<'a>>);

impl<'a> Lent<'a> {
    pub(crate) fn on(graph: &'a RawGraph, keeper: Keeper) -> Result<Self, CallError> {
        match keeper {
            Keeper::Owner => Ok(Self(None)),
            Keeper::Driver => Prepared::on(graph).map(|prepared| Self(Some(prepared))),
        }
    }

    /// The driver is done, and keeps this if it made its copy. Answers with what came of taking back the graph's reference, too.
    pub(crate) fn end<C: Any + Send>(
        self,
        was_copied: bool,
        kept: impl FnOnce() -> C,
    ) -> (Option<Version>, Result<(), CallError>) {
        let Some(mut prepared) = self.0 else { return (None, Ok(())) };
        let Some(object) = prepared.object.take_if(|_| was_copied) else { return (None, Ok(())) };
        object.fill(Kept { holds: Holds::default(), more: vec![Box::new(kept())] });
        let content = Weak::clone(&object.content);
        let taken_back = object.release(prepared.graph);
        (Some(Version(content)), taken_back)
    }
}

/// Lets go of what definitions keep: all at once.
pub(crate) fn let_go_of(all: impl Iterator<Item = Hold>) {
    leave(Kept::of_node(Holds::of_all(all)));
}

impl Drop for Own {
    #[inline]
    fn drop(&mut self) {
        if let Some(holds) = self.0.take() {
            leave(Kept::of_node(holds));
        }
    }
}

/// What the driver calls when the last reference is gone.
extern "C" fn let_go(content: *mut c_void) {
    // SAFETY: the pointer is what `Prepared::on` made of an `Arc`, and this is called once.
    let content = unsafe { Arc::from_raw(content.cast::<Content>()) };
    let gone = std::mem::take(&mut *content.lock());
    leave(gone);
    // With this it is known to be gone, after the worker has it.
    drop(content);
}

/// What was let go of, and the worker has not yet.
static LEAVING: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Has the worker let go: one task serves all that comes before the worker looks.
fn leave(gone: Kept) {
    if gone.is_empty() {
        return;
    }
    if forked() {
        // It belongs to the parent.
        return std::mem::forget(gone);
    }
    let mut leaving = LEAVING.lock();
    let was_empty = leaving.is_empty();
    leaving.push(gone);
    // Who waits for the worker waits for what the worker hands over, too.
    if was_empty || is_worker() {
        hand_over(Box::new(|| {
            let gone = std::mem::take(&mut *LEAVING.lock());
            drop(gone); // outside of the lock: objects may end with it
        }));
    }
}
