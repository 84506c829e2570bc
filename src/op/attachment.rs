//! What a node keeps alive, and who lets go of it when.
//!
//! The driver counts for us. What a node keeps stands in a user object of the driver's, to which the node's graph has a
//! reference; clones of the graph, and what is instantiated from it, take references of their own. So a clone, an instance, and
//! a launch in flight keep what they use, whatever becomes of the node meanwhile. A user object never changes: another version
//! of what the node keeps is another user object, which is retained *before* the node is changed and filled when that has
//! succeeded, so that a failure leaves nothing behind.
//!
//! When the last reference goes, the driver calls us on whatever thread that is, inside whatever call, where hardly any call of
//! the driver is allowed: what was kept goes to the worker, which lets go of it.

use crate::driver::CallError;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::calls::graph::user_object::RawUserObject;
use crate::object::callback::{hand_over, is_worker, later};
use crate::object::handle::forked;
use crate::op::node::Holds;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::{Arc, Weak};

/// What one version of a node keeps alive, once the node has it.
type Content = Mutex<Option<Holds>>;

/// What a node keeps alive, as the definition knows it: it holds nothing itself.
#[derive(Clone)]
pub(crate) struct Attachment {
    object: RawUserObject,
    version: Weak<Content>,
}

/// One version of a node, which is kept by the driver's objects that refer to it.
pub(crate) struct Version(Weak<Content>);

impl Version {
    /// Whether the driver still has it.
    pub(crate) fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Lets go of what is kept, although the driver's objects still refer to it: they are never used again.
    pub(crate) fn abandon(self) {
        if let Some(content) = self.0.upgrade()
            && let Some(holds) = content.lock().take()
        {
            later(holds);
        }
    }
}

/// An attachment that is empty yet. Dropping it takes the reference back.
#[must_use = "it is taken back otherwise"]
pub(crate) struct Prepared<'a> {
    graph: &'a RawGraph,
    attachment: Option<Attachment>,
}

impl<'a> Prepared<'a> {
    /// Has the graph refer to a user object that keeps nothing yet.
    pub(crate) fn on(graph: &'a RawGraph) -> Result<Self, CallError> {
        let version = Arc::new(Content::default());
        let kept = Arc::downgrade(&version);
        let data = Arc::into_raw(version).cast_mut().cast::<c_void>();
        // SAFETY: the function takes exactly this.
        let object =
            unsafe { RawUserObject::create(graph.table(), data, Some(let_go)) }.inspect_err(|_| {
                // SAFETY: nobody else has it.
                drop(unsafe { Arc::from_raw(data.cast::<Content>()) });
            })?;
        object.retain_on(graph)?;
        Ok(Self { graph, attachment: Some(Attachment { object, version: kept }) })
    }

    /// Leaves it to its graph, which cannot be asked to let go any more.
    pub(crate) fn leave(mut self) {
        self.attachment = None;
    }

    /// From now on it keeps this.
    pub(crate) fn commit(mut self, holds: Holds) -> Attachment {
        let attachment = self.attachment.take().expect("it is committed once");
        if let Some(version) = attachment.version.upgrade() {
            // SAFETY: nobody else knows the version yet but the driver, which leaves it alone as long as there is this count of it.
            unsafe { *version.data_ptr() = Some(holds) };
        }
        attachment
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(attachment) = self.attachment.take() {
            // An error leaves an empty object with the graph.
            let _ = attachment.release(self.graph);
        }
    }
}

impl Attachment {
    /// Has the graph let go.
    pub(crate) fn release(self, graph: &RawGraph) -> Result<(), CallError> {
        // SAFETY: the graph is alive, and has the reference: each attachment stands for one.
        unsafe { self.object.release_from(graph) }
    }

    /// Shows what is kept; `None` if it is kept no more.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Holds) -> R) -> Option<R> {
        let version = self.version.upgrade()?;
        let result = version.lock().as_ref().map(look);
        // Only if others made the driver let go meanwhile.
        if let Some(last) = Arc::into_inner(version) {
            later(last);
        }
        result
    }

    /// What is kept, for those who may have to let go of it.
    pub(crate) fn version(&self) -> Version {
        Version(Weak::clone(&self.version))
    }

    /// The same once more: what is kept, to be kept by another version.
    pub(crate) fn holds(&self) -> Holds {
        self.with(Holds::clone).unwrap_or_default()
    }
}

/// What the driver calls when the last reference is gone.
extern "C" fn let_go(version: *mut c_void) {
    // SAFETY: the pointer is what `Prepared::on` made of an `Arc`, and this is called once.
    let version = unsafe { Arc::from_raw(version.cast::<Content>()) };
    if let Some(holds) = Arc::into_inner(version).and_then(Mutex::into_inner) {
        leave(holds);
    }
}

/// What the driver let go of, and the worker has not yet.
static LEAVING: Mutex<Vec<Holds>> = Mutex::new(Vec::new());

/// Has the worker let go. A graph that ends leaves as much as it has nodes: one task serves all that comes before the worker looks.
fn leave(holds: Holds) {
    if forked() {
        // It belongs to the parent.
        return std::mem::forget(holds);
    }
    let mut leaving = LEAVING.lock();
    leaving.push(holds);
    // Who waits for the worker waits for what the worker hands over, too.
    if leaving.len() == 1 || is_worker() {
        hand_over(Box::new(|| {
            let gone = std::mem::take(&mut *LEAVING.lock());
            drop(gone); // outside of the lock: objects may end with it
        }));
    }
}
