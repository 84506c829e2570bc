//! What has to live as long as a node of a graph.

use crate::event::Event;
use crate::object::callback::Owner;
use crate::op::Arguments;
use smallvec::SmallVec;
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
/// | kernel | the kernel | an owner, beside what the arguments keep |
/// | copy | the destination | the source |
/// | memset, memory operations | the destination | |
/// | event record, event wait | the event | |
/// | host function | the function | its data |
#[derive(Clone, Default)]
pub(crate) struct Holds {
    pub(crate) slots: [Slot; SLOTS],
    /// What the arguments of a kernel keep.
    pub(super) arguments: ArgumentHolds,
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
        self.inner.is_none() && self.has_only_inner()
    }

    fn has_only_inner(&self) -> bool {
        self.slots.iter().all(Slot::is_empty) && self.arguments.is_empty()
    }

    /// What stands in no slot.
    pub(crate) fn of_inner(inner: Hold) -> Self {
        Self { inner: Some(inner), ..Self::default() }
    }

    /// Takes what is kept besides the slots, if that is all.
    pub(crate) fn take_only_inner(&mut self) -> Option<Hold> {
        if self.has_only_inner() { self.inner.take() } else { None }
    }

    /// Whether both keep the very same, so that nothing goes with one of them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let slots = self.slots.iter().zip(&other.slots);
        is_same(&self.inner, &other.inner)
            && slots.into_iter().all(|(slot, other)| slot.is_same(other))
            && self.arguments.is_same(&other.arguments)
    }
}

/// What the arguments of a kernel keep alive: every object and owner among them, and which argument it is of; and the event that the
/// kernel's blocks trigger.
#[derive(Clone, Default)]
pub(super) struct ArgumentHolds {
    each: SmallVec<[(u32, Hold); 2]>,
    event: Option<Arc<Event>>,
}

impl ArgumentHolds {
    /// What is kept for arguments, taken out of them.
    pub(super) fn of(arguments: &mut Arguments<'_>) -> Self {
        let mut each: SmallVec<[(u32, Hold); 2]> = SmallVec::new();
        for (index, held) in arguments.objects() {
            each.push((*index, held.share()));
        }
        if arguments.has_owners() {
            each.extend(arguments.take_owned().map(|(index, owner)| (index, Arc::new(owner) as Hold)));
        }
        Self { each, event: None }
    }

    /// Whether anything is kept for an argument.
    pub(super) fn are_for(&self, index: u32) -> bool {
        self.each.iter().any(|(of, _)| *of == index)
    }

    /// The same with another event.
    pub(super) fn with_event(self, event: Option<Arc<Event>>) -> Self {
        Self { event, ..self }
    }

    /// The event.
    pub(super) fn event(&self) -> Option<Arc<Event>> {
        self.event.clone()
    }

    /// Keeps for one argument what others keep, and no more what was kept for it.
    pub(super) fn replace(&mut self, index: u32, mut others: Self) {
        self.each.retain(|(of, _)| *of != index);
        self.each.extend(others.each.drain(..).map(|(_, hold)| (index, hold)));
    }

    /// Holds one object in place of another for these arguments. What held the other may not be known here: the driver's instance has it.
    pub(super) fn rebind(&mut self, to: &Hold, changed: &[u32]) {
        for index in changed {
            let mut known = self.each.iter_mut().filter(|(of, _)| of == index).peekable();
            if known.peek().is_some() {
                known.for_each(|(_, hold)| *hold = Arc::clone(to));
            } else {
                drop(known);
                self.each.push((*index, Arc::clone(to)));
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty() && self.event.is_none()
    }

    fn is_same(&self, other: &Self) -> bool {
        let pairs = self.each.iter().zip(&other.each);
        let is_same_hold = |((index, hold), (of, other)): (&(u32, Hold), &(u32, Hold))| {
            index == of && std::ptr::addr_eq(Arc::as_ptr(hold), Arc::as_ptr(other))
        };
        is_same(&self.event, &other.event)
            && self.each.len() == other.each.len()
            && pairs.into_iter().all(is_same_hold)
    }
}

fn is_same<T: ?Sized>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
        (one, other) => one.is_none() && other.is_none(),
    }
}
