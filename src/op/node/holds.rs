//! What has to live as long as a node of a graph.

use crate::object::callback::Owner;
use crate::op::Arguments;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// Something that is kept alive: an object, or what a caller lent.
pub(crate) type Hold = Arc<dyn Any + Send + Sync>;

/// What of a node something is kept for.
///
/// | node | slot 0 | slot 1 |
/// |---|---|---|
/// | kernel | the kernel | an owner, beside what the arguments keep |
/// | copy | the destination | the source |
/// | memset, memory operations | the destination | |
/// | event record, event wait | the event | |
/// | host function | the function | its data |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// A slot, of which the node itself names the object; no owner takes its place.
    Object(u32),
    /// A slot, for which a caller lent an owner.
    Owner(u32),
    /// An argument of a kernel.
    Argument(u32),
    /// The event that a kernel's blocks trigger.
    Event,
    /// The node, which uses it of the library's own; nobody replaces it.
    Inner,
}

impl For {
    /// In 16 bits.
    #[inline]
    pub(crate) fn packed(self) -> u16 {
        match self {
            Self::Object(slot) => OBJECT | slot as u16,
            Self::Owner(slot) => OWNER | slot as u16,
            Self::Argument(index) => index as u16,
            Self::Event => EVENT,
            Self::Inner => INNER,
        }
    }

    #[inline]
    pub(crate) fn unpacked(word: u16) -> Self {
        let slot = (word & SLOT).into();
        match word & !SLOT {
            _ if word & OBJECT == 0 => Self::Argument(word.into()),
            OBJECT => Self::Object(slot),
            OWNER => Self::Owner(slot),
            EVENT => Self::Event,
            _ => Self::Inner,
        }
    }
}

/// The bit that no number of an argument has: a kernel has 32,764 at most.
const OBJECT: u16 = 1 << 15;
const OWNER: u16 = OBJECT | 1 << 8;
const EVENT: u16 = OBJECT | 2 << 8;
const INNER: u16 = OBJECT | 3 << 8;
/// The number of a slot.
const SLOT: u16 = (1 << 8) - 1;

/// What a node keeps alive: each thing, and what it is kept for.
#[derive(Clone, Default)]
pub(crate) struct Holds(SmallVec<[(For, Hold); FEW]>);

/// How much a node keeps without allocating: a kernel and a buffer.
const FEW: usize = 2;

/// Among how many objects one is looked for that was listed already.
const LATEST: usize = 8;

impl Holds {
    /// Whether nothing is kept alive.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is kept for many nodes, of which none is told apart. Neighbours keep much of the same: that is listed once, and what the others
    /// had of it goes here and now, which ends nothing.
    pub(crate) fn of_all(all: impl Iterator<Item = Hold>) -> Self {
        let (mut listed, mut latest, mut count) = (Self::default(), [0; LATEST], 0);
        all.for_each(|object| {
            let address = Arc::as_ptr(&object).addr();
            if !latest.contains(&address) {
                latest[count % LATEST] = address;
                count += 1;
                listed.keep(For::Inner, object);
            }
        });
        listed
    }

    /// What is kept for the node as a whole.
    pub(crate) fn of_inner(inner: Hold) -> Self {
        Self(SmallVec::from_iter([(For::Inner, inner)]))
    }

    /// What is kept for the arguments of a launch: every object and owner among them, taken out.
    pub(super) fn of_arguments(arguments: &mut Arguments<'_>) -> Self {
        let mut holds = Self::default();
        holds.keep_arguments(arguments);
        holds
    }

    /// Keeps one thing more.
    #[inline]
    pub(crate) fn keep(&mut self, whose: For, hold: Hold) {
        self.0.push((whose, hold));
    }

    /// Keeps this in place of what was kept for the same.
    pub(crate) fn set(&mut self, whose: For, hold: Option<Hold>) {
        self.0.retain(|(of, _)| *of != whose);
        self.0.extend(hold.map(|hold| (whose, hold)));
    }

    /// Keeps nothing any more for a slot.
    pub(super) fn clear_slot(&mut self, slot: u32) {
        self.0.retain(|(of, _)| *of != For::Object(slot) && *of != For::Owner(slot));
    }

    /// Whether the node itself names what a slot keeps.
    pub(crate) fn has_object(&self, slot: u32) -> bool {
        self.0.iter().any(|(of, _)| *of == For::Object(slot))
    }

    /// What of the things that are kept answers something, if one does.
    pub(crate) fn find<T>(&self, ask: impl Fn(&Hold) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|(_, hold)| ask(hold))
    }

    /// What is kept for this.
    pub(crate) fn of(&self, whose: For) -> Option<&Hold> {
        self.0.iter().find(|(of, _)| *of == whose).map(|(_, hold)| hold)
    }

    /// What a caller lent for a slot.
    pub(crate) fn owner(&self, slot: u32) -> Option<&Owner> {
        let (_, owner) = self.0.iter().find(|(of, _)| *of == For::Owner(slot))?;
        owner.downcast_ref()
    }

    /// Keeps every object and owner among the arguments of a launch, which are taken out of these.
    #[inline]
    pub(super) fn keep_arguments(&mut self, arguments: &mut Arguments<'_>) {
        for (index, held) in arguments.objects() {
            self.keep(For::Argument(*index), held.share());
        }
        if arguments.has_owners() {
            let owners = arguments.take_owned();
            self.0.extend(owners.map(|(index, owner)| (For::Argument(index), Arc::new(owner) as Hold)));
        }
    }

    /// Keeps nothing any more for arguments.
    pub(super) fn clear_arguments(&mut self) {
        self.0.retain(|(of, _)| !matches!(of, For::Argument(_)));
    }

    /// Whether anything is kept for an argument.
    pub(super) fn are_for_argument(&self, index: u32) -> bool {
        self.0.iter().any(|(of, _)| *of == For::Argument(index))
    }

    /// Keeps for one argument all that others keep, and no more what was kept for it.
    pub(super) fn replace_argument(&mut self, index: u32, others: Self) {
        self.set(For::Argument(index), None);
        self.0.extend(others.0.into_iter().map(|(_, hold)| (For::Argument(index), hold)));
    }

    /// What is kept, for whatever it is.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Hold> {
        self.0.iter().map(|(_, hold)| hold)
    }

    /// The same, taken out.
    pub(crate) fn into_objects(self) -> impl Iterator<Item = Hold> {
        self.0.into_iter().map(|(_, hold)| hold)
    }

    /// Each thing, and what it is kept for.
    #[inline]
    pub(crate) fn into_each(self) -> impl Iterator<Item = (For, Hold)> {
        self.0.into_iter()
    }

    /// Takes what is kept for the node as a whole, if that is all.
    pub(crate) fn take_only_inner(&mut self) -> Option<Hold> {
        match self.0.as_slice() {
            [(For::Inner, _)] => self.0.pop().map(|(_, hold)| hold),
            _ => None,
        }
    }

    /// Takes out what others do not keep for the same.
    pub(crate) fn split_off_others(&mut self, others: &Self) -> Self {
        let (kept, gone) =
            std::mem::take(&mut self.0).into_iter().partition(|(of, hold)| others.has(*of, hold));
        self.0 = kept;
        Self(gone)
    }

    fn has(&self, whose: For, hold: &Hold) -> bool {
        self.0.iter().any(|(of, held)| *of == whose && is_same(hold, held))
    }
}

impl FromIterator<(For, Hold)> for Holds {
    fn from_iter<I: IntoIterator<Item = (For, Hold)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

fn is_same(one: &Hold, other: &Hold) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_something_is_kept_for_fits_in_16_bits() {
        let slots = [For::Object, For::Owner].map(|of| [0, 1, 255].map(of)).into_iter().flatten();
        let arguments = [0, 1, 255, 256, 32_764].map(For::Argument);
        for whose in slots.chain(arguments).chain([For::Event, For::Inner]) {
            assert_eq!(For::unpacked(whose.packed()), whose);
        }
    }

    #[test]
    fn what_neighbours_keep_is_listed_once() {
        let shared: Hold = Arc::new(1_u8);
        let own: Vec<Hold> = (0..20_u8).map(|number| Arc::new(number) as Hold).collect();
        let nodes = own.iter().map(|own| {
            let mut holds = Holds::of_inner(Arc::clone(&shared));
            holds.keep(For::Argument(0), Arc::clone(own));
            holds
        });
        let listed = Holds::of_all(nodes.flat_map(Holds::into_objects).collect::<Vec<_>>().into_iter());
        let count =
            |object: &Hold| listed.clone().into_objects().filter(|kept| Arc::ptr_eq(kept, object)).count();
        assert!(own.iter().all(|own| count(own) == 1));
        assert_eq!(count(&shared), 3, "it is found among the latest {LATEST}");
        drop(listed);
        assert!(own.iter().chain([&shared]).all(|object| Arc::strong_count(object) == 1));
    }
}
