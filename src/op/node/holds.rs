//! What has to live as long as a node of a graph.

use crate::object::callback::Owner;
use std::any::Any;
use std::sync::Arc;

/// Something that is kept alive: an object, or what a caller lent.
pub(crate) type Hold = Arc<dyn Any + Send + Sync>;

/// How many owner slots a node has at most.
const SLOTS: usize = 2;

/// What a node keeps alive.
///
/// | node | slot 0 | slot 1 |
/// |---|---|---|
/// | kernel | the kernel | the arguments: every object and owner among them |
/// | copy | the destination | the source |
/// | memset, memory operations | the destination | |
/// | event record, event wait | the event | |
/// | host function | the function | its data |
#[derive(Clone, Default)]
pub(crate) struct Holds {
    pub(crate) slots: [Slot; SLOTS],
    /// What the node uses of the library's own, and nobody replaces.
    pub(crate) inner: Option<Hold>,
}

/// What stands in a slot.
#[derive(Clone, Default)]
pub(crate) struct Slot {
    /// What the node itself names; no owner takes its place.
    pub(crate) object: Option<Hold>,
    /// What a caller lent.
    pub(crate) owner: Option<Arc<Owner>>,
}

impl Slot {
    pub(crate) fn object(object: Hold) -> Self {
        Self { object: Some(object), owner: None }
    }

    pub(crate) fn owner(owner: Owner) -> Self {
        Self { object: None, owner: Some(Arc::new(owner)) }
    }

    fn is_empty(&self) -> bool {
        self.object.is_none() && self.owner.is_none()
    }

    fn is_same(&self, other: &Self) -> bool {
        is_same(&self.object, &other.object) && is_same(&self.owner, &other.owner)
    }
}

impl Holds {
    /// Whether nothing is kept alive.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.is_none() && self.slots.iter().all(Slot::is_empty)
    }

    /// What is kept besides the slots, if that is all.
    pub(crate) fn into_only_inner(mut self) -> Result<Hold, Self> {
        match self.inner.take() {
            Some(inner) if self.slots.iter().all(Slot::is_empty) => Ok(inner),
            inner => Err(Self { inner, ..self }),
        }
    }

    /// Whether both keep the very same, so that nothing goes with one of them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let slots = self.slots.iter().zip(&other.slots);
        is_same(&self.inner, &other.inner) && slots.into_iter().all(|(slot, other)| slot.is_same(other))
    }
}

fn is_same<T: ?Sized>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
        (one, other) => one.is_none() && other.is_none(),
    }
}
