//! One object takes the place of another in what nodes use: each part keeps its offset.

use super::{For, Hold, NodeType, Parameters};
use crate::context::Context;
use crate::op::operand::Operand;
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// An object that takes the place of another.
pub(crate) struct Rebinding<'a> {
    from: &'a Arc<dyn Operand>,
    /// The new one, as nodes name it, and as they hold it.
    named: Weak<dyn Operand>,
    held: Hold,
    /// Where their memory starts.
    starts: (u64, u64),
    /// Where it ends.
    ends: (u64, u64),
}

impl<'a> Rebinding<'a> {
    /// Each with its memory.
    pub(crate) fn new(
        (from, old): (&'a Arc<dyn Operand>, Range<u64>),
        (to, new): (&'a Arc<dyn Operand>, Range<u64>),
    ) -> Self {
        let (named, held) = (Arc::downgrade(to), Arc::<dyn Operand>::clone(to));
        Self { from, named, held, starts: (old.start, new.start), ends: (old.end, new.end) }
    }

    /// Whether this is the object that goes.
    #[inline]
    pub(crate) fn is_from(&self, object: &Weak<dyn Operand>) -> bool {
        std::ptr::addr_eq(object.as_ptr(), Arc::as_ptr(self.from))
    }

    #[inline]
    pub(super) fn to(&self) -> Weak<dyn Operand> {
        Weak::clone(&self.named)
    }

    pub(super) fn from(&self) -> Weak<dyn Operand> {
        Arc::downgrade(self.from)
    }

    pub(super) fn end(&self) -> u64 {
        self.ends.1
    }

    pub(super) fn old_end(&self) -> u64 {
        self.ends.0
    }

    pub(super) fn moved(&self, address: u64) -> u64 {
        address.wrapping_sub(self.starts.0).wrapping_add(self.starts.1)
    }

    pub(super) fn moved_back(&self, address: u64) -> u64 {
        address.wrapping_sub(self.starts.1).wrapping_add(self.starts.0)
    }

    /// What holds the new one.
    #[inline]
    pub(crate) fn new_hold(&self) -> &Hold {
        &self.held
    }

    /// Whether this held the old one.
    #[inline]
    pub(crate) fn is_old_hold(&self, hold: &Hold) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(hold), Arc::as_ptr(self.from))
    }

    /// What held the old one.
    pub(crate) fn old_hold(&self) -> Hold {
        let hold: Arc<dyn Any + Send + Sync> = Arc::<dyn Operand>::clone(self.from);
        hold
    }
}

/// The address by which an object is told from others.
pub(crate) fn key(object: &Weak<dyn Operand>) -> usize {
    object.as_ptr().addr()
}

impl Parameters {
    /// Calls a function with each object that the node uses and that can be exchanged.
    pub(crate) fn each_object(&self, mut look: impl FnMut(&Weak<dyn Operand>)) {
        match self {
            Self::Kernel(kernel) => kernel.arguments().objects().for_each(look),
            Self::Copy(copy) => {
                [copy.to(), copy.from()].into_iter().filter_map(|end| end.object.as_ref()).for_each(look)
            }
            Self::Memset(memset) => {
                if let Some(object) = &memset.at().object {
                    look(object);
                }
            }
            _ => {}
        }
    }

    /// Calls a function with the context of each object that the node uses and that ends with its context; not with that of its kernel, in
    /// whose context it runs.
    pub(crate) fn each_context(&self, mut look: impl FnMut(&Context)) {
        let mut look_at = |object: &Weak<dyn Operand>| {
            if let Some(object) = object.upgrade()
                && let Some(context) = object.context()
            {
                look(context);
            }
        };
        match self {
            Self::MemoryOperations(operations) => {
                let places = operations.places().iter().flatten();
                places.filter_map(|place| place.object.as_ref()).for_each(look_at);
            }
            Self::EventRecord(event) | Self::EventWait(event) => {
                if let Some(event) = event.event() {
                    look(event.context());
                }
            }
            _ => self.each_object(&mut look_at),
        }
    }

    /// The bytes of an argument of a kernel; 0 if there are not so many.
    pub(crate) fn argument_size(&self, index: u32) -> u32 {
        if let Self::Kernel(kernel) = self { kernel.arguments().size(index) } else { 0 }
    }

    /// Whether nodes of this type use objects that can be exchanged.
    pub(crate) fn can_use_objects(&self) -> bool {
        matches!(self.node_type(), NodeType::Kernel | NodeType::Copy | NodeType::Memset)
    }

    /// Whether an object that the node uses can be exchanged in an instance. Driver 580 refuses that of copies of boxes (measured).
    pub(crate) fn can_rebind(&self) -> bool {
        !matches!(self, Self::Copy(copy) if !copy.is_range())
    }

    /// Puts the new object in place of the old one; appends what it changed: the numbers of arguments, or of ends.
    #[inline]
    pub(crate) fn rebind(&mut self, rebinding: &Rebinding<'_>, changed: &mut Vec<u32>) {
        match self {
            Self::Kernel(kernel) => kernel.arguments_mut().rebind(rebinding, changed),
            Self::Copy(copy) => Arc::make_mut(copy).rebind(rebinding, changed),
            Self::Memset(memset) => Arc::make_mut(memset).rebind(rebinding, changed),
            _ => {}
        }
    }

    /// Undoes that.
    pub(crate) fn unbind(&mut self, rebinding: &Rebinding<'_>, changed: &[u32]) {
        match self {
            Self::Kernel(kernel) => kernel.arguments_mut().unbind(rebinding, changed),
            Self::Copy(copy) => Arc::make_mut(copy).unbind(rebinding, changed),
            Self::Memset(memset) => Arc::make_mut(memset).unbind(rebinding, changed),
            _ => {}
        }
    }
}

/// What an object is kept for that stands in a place: an argument of a kernel, or an end.
#[inline]
pub(crate) fn kept_for(of: &Parameters, place: u32) -> For {
    if matches!(of, Parameters::Kernel(_)) { For::Argument(place) } else { For::Object(place) }
}
