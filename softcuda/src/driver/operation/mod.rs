//! Operations: what a stream can be asked to do, and a node of a graph, as values.
//!
//! An operation is made of parameters, and checked when it is made. It keeps what it uses; its parameters can be read, and
//! an operation with others is made and checked in the same way. It, or a clone of it, can be submitted any number of times
//! (`submit`), to any queue of a context: nothing of a submission stays in it.

pub(crate) mod allocation;
mod checked;
pub(crate) mod copy;
pub(crate) mod event;
pub(crate) mod fill;
pub(crate) mod host_function;
mod inside;
pub(crate) mod launch;
pub(crate) mod managed;
mod sites;
mod submission;
pub(crate) mod value;

use crate::abi::sys::{CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_INVALID_VALUE, CUresult};
use crate::check::Used;
use crate::check::access::{Kind, Touch};
use crate::driver::context::Activation;
use crate::driver::memory::span::{Access, Span};
use crate::driver::memory::table::Allocation;
use crate::executor::{Turn, WorkKind};
use allocation::{Allocate, Free};
use copy::Copy;
use event::{Record, Wait, WaitDistant};
use fill::Fill;
use host_function::{Callback, HostFunction};
use launch::Launch;
use managed::{Attach, Discard, Prefetch};
use std::sync::Arc;
pub(crate) use submission::{submit, work};
use value::{Values, WaitValue, WriteValue};

/// An operation.
#[derive(Clone)]
pub(crate) enum Operation {
    /// Larger than the others.
    Copy(Box<Copy>),
    Fill(Fill),
    Launch(Launch),
    HostFunction(HostFunction),
    Callback(Callback),
    Record(Record),
    Wait(Wait),
    WaitDistant(WaitDistant),
    Allocate(Allocate),
    Free(Free),
    WriteValue(WriteValue),
    WaitValue(WaitValue),
    Values(Values),
    Attach(Attach),
    Prefetch(Prefetch),
    Discard(Discard),
    /// Many, without order among themselves.
    Batch(Vec<Operation>),
}

/// What the kinds of operations have in common.
trait Action {
    /// What a message calls it.
    fn name(&self) -> &'static str;

    fn kind(&self) -> WorkKind;

    /// Shows the memory that it reads and writes.
    fn accesses<'a>(&'a self, _look: &mut dyn FnMut(Access<'a>)) {}

    /// Adds what it reads and writes to what is checked.
    fn uses(&self, used: &mut Used) {
        self.accesses(&mut |access| {
            let kind = if access.writes { Kind::Write } else { Kind::Read };
            use_span(used, access.span, access.span.address(), access.span.size(), kind);
        });
    }

    /// The addresses of values that it waits for.
    fn awaits(&self, _addresses: &mut Vec<u64>) {}

    /// The addresses of values that it writes, for which others may wait.
    fn gives(&self, _addresses: &mut Vec<u64>) {}

    /// The name of the kernel whose memory is known when it has run; "" for what is none.
    fn kernel(&self) -> &str {
        ""
    }

    /// Does it, and answers what of its memory was not known before.
    fn run_checked(&self, context: &Arc<Activation>, turn: &Turn<'_>) -> Used {
        self.run(context, turn);
        Used::default()
    }

    /// The sticky error where the device may not do that with virtual memory.
    fn forbidden(&self) -> CUresult {
        CUDA_ERROR_ILLEGAL_ADDRESS
    }

    /// Whether it needs access to another device's memory, which it had when it was submitted, until it is done.
    fn needs_lasting_access(&self) -> bool {
        false
    }

    /// Does it, as work of a context.
    fn run(&self, context: &Arc<Activation>, turn: &Turn<'_>);

    /// Called instead of `run` where the context has a sticky error.
    fn give_up(&self, _fault: CUresult) {}
}

/// Adds some bytes of a span to what is checked.
fn use_span(used: &mut Used, span: &Span, start: usize, size: usize, kind: Kind) {
    if let Some(memory) = span.checked() {
        used.ranges.push(Touch::new(start, size, kind));
        used.memory.push(memory);
    }
}

/// Adds all of an allocation.
fn use_all(used: &mut Used, allocation: &Allocation, kind: Kind) {
    used.ranges.push(Touch::new(allocation.address, allocation.size, kind));
    used.memory.push(allocation.checked());
}

impl Operation {
    /// Refuses memory that was freed since the operation was made.
    pub(crate) fn check_not_freed(&self) -> Result<(), CUresult> {
        let mut is_freed = false;
        self.action().accesses(&mut |access| is_freed |= access.span.is_freed());
        if is_freed { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
    }

    /// Refuses a graph's memory that no launch has allocated: only nodes can use it before that.
    pub(crate) fn check_memory(&self) -> Result<(), CUresult> {
        let mut is_there = true;
        self.action().accesses(&mut |access| is_there &= access.span.is_there());
        if is_there { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }

    fn action(&self) -> &dyn Action {
        match self {
            Self::Copy(it) => &**it,
            Self::Fill(it) => it,
            Self::Launch(it) => it,
            Self::HostFunction(it) => it,
            Self::Callback(it) => it,
            Self::Record(it) => it,
            Self::Wait(it) => it,
            Self::WaitDistant(it) => it,
            Self::Allocate(it) => it,
            Self::Free(it) => it,
            Self::WriteValue(it) => it,
            Self::WaitValue(it) => it,
            Self::Values(it) => it,
            Self::Attach(it) => it,
            Self::Prefetch(it) => it,
            Self::Discard(it) => it,
            Self::Batch(it) => it,
        }
    }
}

impl Action for Vec<Operation> {
    fn name(&self) -> &'static str {
        self.first().map_or("an empty batch", |part| part.action().name())
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn accesses<'a>(&'a self, look: &mut dyn FnMut(Access<'a>)) {
        self.iter().for_each(|part| part.action().accesses(look));
    }

    fn uses(&self, used: &mut Used) {
        self.iter().for_each(|part| part.action().uses(used));
    }

    /// From the last to the first: a program that counts on the other order is found out.
    fn run(&self, context: &Arc<Activation>, turn: &Turn<'_>) {
        self.iter().rev().for_each(|part| part.action().run(context, turn));
    }
}

impl From<Copy> for Operation {
    fn from(operation: Copy) -> Self {
        Self::Copy(Box::new(operation))
    }
}

macro_rules! operations { ($($kind:ident)*) => { $(
    impl From<$kind> for Operation {
        fn from(operation: $kind) -> Self {
            Self::$kind(operation)
        }
    }
)* } }
operations!(Fill Launch HostFunction Callback Record Wait WaitDistant Allocate Free WriteValue WaitValue Values Attach Prefetch Discard);

#[cfg(test)]
mod tests;
