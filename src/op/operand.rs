//! The objects that an operation uses.

use crate::context::Context;
use crate::driver::Driver;
use crate::object::error::{Error, Status, Subject};
use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// An object that an operation can use, and that has to live until the operation is done.
pub(crate) trait Operand: Subject + Any + Send + Sync {
    /// The driver that it belongs to.
    fn driver(&self) -> &Driver;

    /// The context with which it ends; `None` if it ends with none.
    fn context(&self) -> Option<&Context>;

    /// Refuses an object whose memory was given back for a while.
    fn check_awake(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Objects without their memory, in the process: nearly always none, so that nobody has to ask which.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn one_sleeps() {
    ASLEEP.fetch_add(1, Relaxed);
}

pub(crate) fn one_awoke() {
    ASLEEP.fetch_sub(1, Relaxed);
}

/// Whether any object is without its memory.
#[inline]
pub(crate) fn any_asleep() -> bool {
    ASLEEP.load(Relaxed) > 0
}

/// Refuses an object of another driver than the operation's, and one that was destroyed with its context: driver 580 crashes
/// on memory of a context that was reset (measured).
#[inline]
pub(crate) fn check_operand(operand: &dyn Operand, at: &Context) -> Result<(), Error> {
    if any_asleep() {
        operand.check_awake()?;
    }
    if let Some(context) = operand.context() {
        if context.driver() == at.driver() {
            return check_of_call(context, at, operand);
        }
    } else if operand.driver() == at.driver() {
        return Ok(());
    }
    Err(foreign(operand, at))
}

/// Refuses an object of another context than the call's, if that context is gone; the sink asks for its own.
#[inline]
pub(super) fn check_of_call(context: &Context, at: &Context, object: &dyn Subject) -> Result<(), Error> {
    if context == at { Ok(()) } else { context.check_still_there(object) }
}

#[cold]
fn foreign(operand: &dyn Operand, at: &Context) -> Error {
    let refusal = format!("{operand} belongs to another driver than {at}");
    Error::new(Status::INVALID_HANDLE, refusal).about(operand)
}

/// A condition of a graph: kernels get its number, and set its value by that.
pub(crate) trait ConditionOperand: Subject + Send + Sync {
    /// The driver's number, which the condition has from its first use on.
    fn native(&self) -> Result<u64, Error>;

    /// The same, if the condition was used before.
    fn known(&self) -> Option<u64>;

    /// Refuses a condition whose graph is gone. Asked under the lock of its definition.
    fn check_there(&self) -> Result<(), Error>;

    /// Whether it is one of the definition at this address.
    fn is_of(&self, definition: *const ()) -> bool;
}

/// An object that has the memory of an endpoint, of whatever type it is: lent by the caller.
pub(crate) struct Held<'a>(pub(crate) &'a dyn Share);

/// A shared object, borrowed.
pub(crate) trait Share: Send + Sync {
    fn operand(&self) -> &dyn Operand;

    fn share(&self) -> Arc<dyn Any + Send + Sync>;

    fn downgrade(&self) -> Weak<dyn Operand>;
}

impl<T: Operand> Share for Arc<T> {
    fn operand(&self) -> &dyn Operand {
        self.as_ref()
    }

    fn share(&self) -> Arc<dyn Any + Send + Sync> {
        Self::clone(self)
    }

    fn downgrade(&self) -> Weak<dyn Operand> {
        let weak: Weak<T> = Arc::downgrade(self);
        weak
    }
}

impl Held<'_> {
    #[inline]
    pub(crate) fn operand(&self) -> &dyn Operand {
        self.0.operand()
    }

    /// A hold of its own.
    pub(crate) fn share(&self) -> Arc<dyn Any + Send + Sync> {
        self.0.share()
    }

    /// Knows the object without keeping it.
    pub(crate) fn downgrade(&self) -> Weak<dyn Operand> {
        self.0.downgrade()
    }
}
