//! What a node keeps alive, and who lets go of it when.
//!
//! As long as nobody else can have the driver's graph, its definition keeps what its nodes use, and the driver knows nothing of it. What
//! is instantiated from the graph keeps all that the nodes use by then, for itself: the driver would make launches slower, and would hold
//! those who launch as soon as a few dozen launches are queued, for a user object (measured on driver 580). Where others can launch an
//! instance, only the driver knows when its launches are done: there all that the nodes use is one user object, to which the graph refers
//! while it is copied ([`Lent`]). What a node of an instance does not use any more is taken out of either again.
//!
//! Of a graph that others may copy, too, each node's version of what it keeps is a user object, to which the node's graph has a reference.
//! Such a user object never changes: another version is another user object, which is retained *before* the node is changed and filled
//! when that has succeeded, so that a failure leaves nothing behind. The driver counts: clones of the graph, and what is instantiated from
//! it, take references of their own. So a clone, an instance, and a launch in flight keep what they use, whatever becomes of the node.
//!
//! When the last reference goes, the driver calls us on whatever thread that is, inside whatever call, where hardly any call of
//! the driver is allowed: what was kept goes to the worker, which lets go of it.

use super::bundle::Bundle;
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

/// What is kept for a copy that the driver made: by its objects that refer to it, or by whoever has this.
pub(crate) struct Version(KeptBy);

enum KeptBy {
    Driver(Weak<Content>),
    Owner(Arc<Content>),
}

impl Version {
    /// What the driver keeps; `None` once it does not any more.
    fn content(&self) -> Option<Arc<Content>> {
        match &self.0 {
            KeptBy::Driver(content) => content.upgrade(),
            KeptBy::Owner(content) => Some(Arc::clone(content)),
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut Bundle) -> R) -> Option<R> {
        self.content().map(|content| change(&mut content.lock()))
    }

    /// Whether it is still kept.
    pub(crate) fn is_there(&self) -> bool {
        match &self.0 {
            KeptBy::Driver(content) => content.strong_count() > 0,
            KeptBy::Owner(_) => true,
        }
    }

    /// What whoever has this keeps; nothing if the driver does.
    pub(crate) fn into_own(self) -> Option<Bundle> {
        match self.0 {
            KeptBy::Driver(_) => None,
            KeptBy::Owner(content) => Some(std::mem::take(&mut *content.lock())),
        }
    }

    /// Whether whoever has this keeps it.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.0, KeptBy::Owner(_))
    }

    /// Whether whoever has this keeps something by it.
    pub(crate) fn keeps(&self) -> bool {
        matches!(&self.0, KeptBy::Owner(content) if !content.lock().is_empty())
    }

    /// What of the things that are kept answers something, if one does.
    pub(crate) fn find<T>(&self, ask: impl Fn(&Hold) -> Option<T>) -> Option<T> {
        self.with(|bundle| bundle.find(ask)).flatten()
    }

    /// Has the driver keep something more, as long as it keeps this; gives it back if it does not.
    pub(crate) fn add(&self, more: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        let KeptBy::Driver(content) = &self.0 else { return Err(more) };
        let Some(content) = content.upgrade() else { return Err(more) };
        content.lock().add(more);
        Ok(())
    }

    /// What was added last, taken out again.
    pub(crate) fn take_added(&self) -> Option<Box<dyn Any + Send>> {
        self.with(Bundle::take_added).flatten()
    }

    /// Lets go of what is kept, although the driver's objects still refer to it: they are never used again.
    pub(crate) fn abandon(self) {
        if let Some(gone) = self.with(std::mem::take) {
            leave(gone);
        }
    }

    /// What is kept for a node of the copy, once more.
    pub(crate) fn of_node(&self, node: u32) -> Option<Holds> {
        self.with(|bundle| bundle.of(node).cloned()).flatten()
    }

    /// Takes what a node of the copy has no more, which keeps this `now`.
    pub(crate) fn exchange(&self, node: u32, now: &Holds) -> Option<Holds> {
        self.with(|bundle| bundle.exchange(node, now)).flatten()
    }

    /// The node is not told apart any more.
    pub(crate) fn forget_node(&self, node: u32) {
        self.with(|bundle| bundle.forget(node));
    }

    /// No node is told apart any more.
    pub(crate) fn forget_nodes(&self) {
        self.with(Bundle::forget_all);
    }

    /// The nodes have these numbers from now on; those that have none are not told apart any more.
    pub(crate) fn rename_nodes(&self, number: impl Fn(u32) -> Option<u32>) {
        self.with(|bundle| bundle.rename(number));
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
            By::Graph(object) => Some(Version(KeptBy::Driver(Weak::clone(&object.content)))),
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

/// Who keeps what a copy uses that the driver makes of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// Whoever asked for it, by what [`Lent::end`] gives.
    Owner,
    /// The copy itself.
    Driver,
}

/// What definitions keep for nodes, once more, for a copy that the driver makes: referred to by the driver's graph meanwhile, if the copy is to
/// keep it.
#[must_use = "it is taken back otherwise"]
pub(crate) struct Lent<'a> {
    /// `None` if the driver is to keep nothing.
    prepared: Option<Prepared<'a>>,
    bundle: Bundle,
}

impl<'a> Lent<'a> {
    /// Lends what is kept by their definition for the nodes of these numbers, and what for none.
    pub(crate) fn to(
        graph: &'a RawGraph,
        keeper: Keeper,
        nodes: impl Iterator<Item = (u32, &'a Attachment)>,
        rest: impl Iterator<Item = &'a Attachment>,
    ) -> Result<Self, CallError> {
        let nodes = nodes.filter_map(|(node, attachment)| Some((node, attachment.own()?)));
        let bundle = Bundle::of_nodes(nodes, rest.filter_map(Attachment::own));
        let prepared = match keeper {
            Keeper::Owner => None,
            Keeper::Driver => Some(Prepared::on(graph)?),
        };
        Ok(Self { prepared, bundle })
    }

    /// The driver is done. Answers with what the copy keeps, or is to be kept for it, and what came of taking back the graph's reference.
    pub(crate) fn end(self, was_copied: bool) -> (Option<Version>, Result<(), CallError>) {
        let Self { prepared, bundle } = self;
        let Some(mut prepared) = prepared else {
            let content = || Version(KeptBy::Owner(Arc::new(Content::new(bundle))));
            return (was_copied.then(content), Ok(()));
        };
        let Some(object) = prepared.object.take_if(|_| was_copied) else { return (None, Ok(())) };
        object.fill(bundle);
        let content = Weak::clone(&object.content);
        let taken_back = object.release(prepared.graph);
        (Some(Version(KeptBy::Driver(content))), taken_back)
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
