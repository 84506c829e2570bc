//! What a node keeps alive, and who lets go of it when.
//!
//! As long as nobody else can have the driver's graph, its definition keeps what its nodes use, and the driver knows nothing of it. What
//! the driver makes of the graph, it copies: each instance gets all that the nodes use by then, as one user object of the driver's, which
//! the graph refers to while it is copied ([`Lent`]). What a node of that instance does not use any more is taken out of it again.
//!
//! Of a graph that others may copy, too, each node's version of what it keeps is a user object, to which the node's graph has a reference.
//! Such a user object never changes: another version is another user object, which is retained *before* the node is changed and filled
//! when that has succeeded, so that a failure leaves nothing behind.
//!
//! In both cases the driver counts: clones of the graph, and what is instantiated from it, take references of their own. So a clone, an
//! instance, and a launch in flight keep what they use, whatever becomes of the node meanwhile.
//!
//! When the last reference goes, the driver calls us on whatever thread that is, inside whatever call, where hardly any call of
//! the driver is allowed: what was kept goes to the worker, which lets go of it.

use super::bundle::Bundle;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::calls::graph::user_object::RawUserObject;
use crate::driver::{CallError, Table};
use crate::object::callback::{hand_over, is_worker};
use crate::object::handle::forked;
use crate::op::node::Holds;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Weak};

/// What a user object keeps alive, once it was filled.
type Content = Mutex<Bundle>;

/// What a node keeps alive.
pub(crate) struct Attachment(By);

/// Who keeps it.
enum By {
    /// The definition.
    Definition(Own),
    /// The driver's graph; the definition holds nothing.
    Graph(Box<UserObject>),
}

/// What the definition keeps for a node. Dropping it leaves it to the worker.
struct Own(Option<Holds>);

/// A user object of the driver's, to which a graph has a reference.
#[derive(Clone)]
struct UserObject {
    object: RawUserObject,
    content: Weak<Content>,
}

/// What is kept by the driver's objects that refer to it.
pub(crate) struct Version {
    content: Weak<Content>,
    is_only: bool,
}

impl Version {
    /// Whether the driver still has it.
    pub(crate) fn is_there(&self) -> bool {
        self.content.strong_count() > 0
    }

    /// Whether nothing refers to it but the driver's copy that it was made for.
    pub(crate) fn is_only(&self) -> bool {
        self.is_only
    }

    /// Lets go of what is kept, although the driver's objects still refer to it: they are never used again.
    pub(crate) fn abandon(self) {
        if let Some(content) = self.content.upgrade() {
            let gone = std::mem::take(&mut *content.lock());
            leave(gone);
        }
    }

    /// What is kept for a node of the copy, once more.
    pub(crate) fn of_node(&self, node: u32) -> Option<Holds> {
        self.content.upgrade()?.lock().of(node).cloned()
    }

    /// Takes what a node of the copy has no more, which keeps this `now`.
    pub(crate) fn exchange(&self, node: u32, now: &Holds) -> Option<Holds> {
        self.content.upgrade()?.lock().exchange(node, now)
    }

    /// The node is not told apart any more.
    pub(crate) fn forget_node(&self, node: u32) {
        if let Some(content) = self.content.upgrade() {
            content.lock().forget(node);
        }
    }

    /// No node is told apart any more.
    pub(crate) fn forget_nodes(&self) {
        if let Some(content) = self.content.upgrade() {
            content.lock().forget_all();
        }
    }

    /// The nodes have these numbers from now on; those that have none are not told apart any more.
    pub(crate) fn rename_nodes(&self, numbers: &HashMap<u32, u32>) {
        if let Some(content) = self.content.upgrade() {
            content.lock().rename(numbers);
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
        object.fill(Bundle::of_one(holds));
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
    fn fill(&self, bundle: Bundle) {
        if let Some(content) = self.content.upgrade() {
            *content.lock() = bundle;
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

    /// Refuses what the definition is to keep, where no instance could keep it.
    #[inline]
    pub(crate) fn check_possible(table: &Table) -> Result<(), CallError> {
        RawUserObject::check_there(table)
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

    /// The same for the node of a copy that the driver made: that has a reference of its own to what the driver keeps.
    pub(crate) fn of_copy(&self) -> Self {
        Self(match &self.0 {
            By::Definition(own) => By::Definition(Own(own.0.clone())),
            By::Graph(object) => By::Graph(object.clone()),
        })
    }

    /// Has the driver's graph keep it in place of the definition.
    pub(crate) fn give(&mut self, prepared: Prepared<'_>) {
        if let Some(holds) = self.take_own() {
            *self = prepared.commit(holds);
        }
    }

    /// What the definition keeps.
    fn own(&self) -> Option<&Holds> {
        match &self.0 {
            By::Definition(own) => own.0.as_ref(),
            By::Graph(_) => None,
        }
    }

    /// The same, taken out.
    fn take_own(&mut self) -> Option<Holds> {
        match &mut self.0 {
            By::Definition(own) => own.0.take(),
            By::Graph(_) => None,
        }
    }

    /// What is kept, for those who may have to let go of it in place of the driver.
    pub(crate) fn version(&self) -> Option<Version> {
        match &self.0 {
            By::Definition(_) => None,
            By::Graph(object) => Some(Version { content: Weak::clone(&object.content), is_only: false }),
        }
    }

    /// The same once more: what is kept, to be kept by another version.
    pub(crate) fn holds(&self) -> Holds {
        let object = match &self.0 {
            By::Definition(own) => return own.0.clone().unwrap_or_default(),
            By::Graph(object) => object,
        };
        object.content.upgrade().map(|content| content.lock().holds()).unwrap_or_default()
    }
}

/// What definitions keep for nodes, referred to by the driver's graph while the driver copies that.
#[must_use = "it is taken back otherwise"]
pub(crate) struct Lent<'a> {
    /// `None` if there is nothing to keep.
    prepared: Option<Prepared<'a>>,
    bundle: Bundle,
}

impl<'a> Lent<'a> {
    /// Lends what is kept by their definition for the nodes of these numbers, and what for none.
    pub(crate) fn to(
        graph: &'a RawGraph,
        nodes: impl Iterator<Item = (u32, &'a Attachment)>,
        rest: impl Iterator<Item = &'a Attachment>,
    ) -> Result<Self, CallError> {
        let nodes = nodes.filter_map(|(node, attachment)| Some((node, attachment.own()?)));
        let bundle = Bundle::of_nodes(nodes, rest.filter_map(Attachment::own));
        let prepared = if bundle.is_empty() { None } else { Some(Prepared::on(graph)?) };
        Ok(Self { prepared, bundle })
    }

    /// The driver is done, and a copy that it made has a reference of its own. Answers with what that keeps, and what came of taking back
    /// the graph's.
    pub(crate) fn end(self, was_copied: bool) -> (Option<Version>, Result<(), CallError>) {
        let Self { prepared: Some(mut prepared), bundle } = self else { return (None, Ok(())) };
        let Some(object) = prepared.object.take_if(|_| was_copied) else { return (None, Ok(())) };
        object.fill(bundle);
        let content = Weak::clone(&object.content);
        let taken_back = object.release(prepared.graph);
        (Some(Version { content, is_only: taken_back.is_ok() }), taken_back)
    }
}

/// Lets go of what definitions keep for these nodes: all at once.
pub(crate) fn let_go_of<'a>(all: impl Iterator<Item = &'a mut Attachment>) {
    leave(Bundle::of_all(all.filter_map(Attachment::take_own)));
}

impl Drop for Own {
    #[inline]
    fn drop(&mut self) {
        if let Some(holds) = self.0.take() {
            leave(Bundle::of_one(holds));
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
static LEAVING: Mutex<Vec<Bundle>> = Mutex::new(Vec::new());

/// Has the worker let go: one task serves all that comes before the worker looks.
fn leave(bundle: Bundle) {
    if bundle.is_empty() {
        return;
    }
    if forked() {
        // It belongs to the parent.
        return std::mem::forget(bundle);
    }
    let mut leaving = LEAVING.lock();
    let was_empty = leaving.is_empty();
    leaving.push(bundle);
    // Who waits for the worker waits for what the worker hands over, too.
    if was_empty || is_worker() {
        hand_over(Box::new(|| {
            let gone = std::mem::take(&mut *LEAVING.lock());
            drop(gone); // outside of the lock: objects may end with it
        }));
    }
}
