//! An operation on its way through the executor.

use super::Operation;
use super::checked::Checked;
use super::event::{Record, Wait};
use crate::abi::sys::{CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUresult};
use crate::check::Stamp;
use crate::check::access::Misuse;
use crate::driver::context::{self, Activation};
use crate::driver::memory::pool;
use crate::driver::memory::span::{Access, Span};
use crate::executor::{self, Outcome, Queue, Task, Turn, Work, WorkKind};
use crate::instruments::complain::complain;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Puts an operation into a queue of a context, behind the tasks `after` too.
pub(crate) fn submit(
    mut operation: Operation,
    context: &Arc<Activation>,
    queue: &Arc<Queue>,
    after: &[Arc<Task>],
) -> Arc<Task> {
    // These two are about the order itself.
    let (recorded, awaited) = match &mut operation {
        Operation::Record(Record { event, number }) => {
            *number = event.next_number();
            (Some((Arc::clone(event), *number)), None)
        }
        Operation::Wait(Wait { event }) => (None, event.recorded()),
        _ => (None, None),
    };
    let work = work(&Arc::new(operation), context, queue);
    let task = match awaited {
        Some(record) => {
            let wait = executor::submit(queue, work, &[after, &[Arc::clone(&record)]].concat());
            pool::note_wait(&record, &wait);
            wait
        }
        None => executor::submit(queue, work, after),
    };
    if let Some((event, number)) = recorded {
        event.set_recorded(&task, number);
    }
    task
}

/// An operation as a piece of work of a context, for a queue. Its place in the order, and what events have to know of it, are
/// the caller's affair.
pub(crate) fn work(operation: &Arc<Operation>, context: &Arc<Activation>, queue: &Queue) -> Box<dyn Work> {
    let lent = lent(operation, context);
    let (operation, context) = (Arc::clone(operation), Arc::clone(context));
    Box::new(Submission { operation, context, queue: queue.id(), lent, checked: None })
}

/// The addresses of another device's memory to which the context has access now, if the operation needs it until it is
/// done.
fn lent(operation: &Operation, context: &Activation) -> Vec<usize> {
    let (action, mut lent) = (operation.action(), Vec::new());
    if action.needs_lasting_access() {
        let address = |span: &Span| span.is_lent(context).then(|| span.address());
        action.accesses(&mut |access| lent.extend(address(access.span)));
    }
    lent
}

/// One submission of an operation.
struct Submission {
    operation: Arc<Operation>,
    context: Arc<Activation>,
    /// The number of the queue, which is that of its stream.
    queue: u64,
    /// Other devices' memory to which it had access when it was submitted.
    lent: Vec<usize>,
    /// Its place in the order, where somebody checks.
    checked: Option<Checked>,
}

impl Work for Submission {
    fn kind(&self) -> WorkKind {
        self.operation.action().kind()
    }

    fn awaits(&self) -> Vec<u64> {
        let mut addresses = Vec::new();
        self.operation.action().awaits(&mut addresses);
        addresses
    }

    fn placed(&mut self, stamp: &Arc<Stamp>, piece: Option<u32>) {
        let device = self.context.device().ordinal();
        self.checked = Some(Checked::new(self.operation.action(), stamp, self.queue, piece, device));
    }

    fn run(self: Box<Self>, turn: &Turn<'_>) -> Outcome {
        let action = self.operation.action();
        let checked = self.context.fault().map_err(|fault| (fault, None)).and_then(|()| self.check());
        match checked {
            Ok(()) => {
                let device = self.context.device();
                action.accesses(&mut |access| access.span.arrive(device, access.writes));
                let run = AssertUnwindSafe(|| match &self.checked {
                    Some(checked) => checked.run(action, &self.context, turn),
                    None => action.run(&self.context, turn),
                });
                if catch_unwind(run).is_err() {
                    self.has_broken(action.name());
                }
            }
            Err((fault, misuse)) => {
                action.give_up(fault);
                self.checked.iter().for_each(|checked| checked.give_up(misuse.as_deref()));
            }
        }
        Outcome::Finished
    }
}

impl Submission {
    /// Softcuda itself has failed: what the operation was to do is not done.
    #[cold]
    fn has_broken(&self, name: &str) {
        complain(&format!("{name} has met a defect of softcuda, as is said above"));
        context::lose_all(&self.context, CUDA_ERROR_LAUNCH_FAILED);
    }

    /// Refuses memory that is not allocated at this point of the order, or not for this stream: that is the sticky error
    /// of an illegal access.
    fn check(&self) -> Result<(), (CUresult, Option<Box<Misuse>>)> {
        let name = self.operation.action().name();
        let unallocated = self.find(|access| !access.span.is_allocated());
        let elsewhere = || self.find(|access| !access.span.is_attached_to(self.queue));
        let forbidden = || {
            let device = self.context.device();
            self.find(|access| !access.span.admits(device, access.writes))
        };
        let closed = || {
            let is_lent = |span: &Span| span.is_lent(&self.context);
            self.find(|access| self.lent.contains(&access.span.address()) && !is_lent(access.span))
        };
        let unreachable = || self.find(|access| !access.span.is_reachable(access.writes));
        let illegal = CUDA_ERROR_ILLEGAL_ADDRESS;
        let (what, text, span, fault) = if let Some(span) = unallocated {
            ("memory that is not allocated", self.illegal(name, span), span, illegal)
        } else if let Some(span) = elsewhere() {
            ("memory that is attached elsewhere", self.detached(name, span), span, illegal)
        } else if let Some(span) = forbidden() {
            (
                "memory without access to it",
                self.forbidden(name, span),
                span,
                self.operation.action().forbidden(),
            )
        } else if let Some(span) = closed() {
            ("memory without access to it any more", self.closed(name, span), span, CUDA_ERROR_LAUNCH_FAILED)
        } else if let Some(span) = unreachable() {
            ("memory that the host has unmapped", self.unreachable(name, span), span, illegal)
        } else {
            return Ok(());
        };
        complain(&text);
        context::lose_all(&self.context, fault);
        let address = Some(span.address() as u64);
        Err((fault, Some(Box::new(Misuse { what: what.to_owned(), text, address, site: None }))))
    }

    /// The first memory of which something is true.
    fn find(&self, condition: impl Fn(&Access<'_>) -> bool) -> Option<&Span> {
        let mut found = None;
        self.operation.action().accesses(&mut |access| {
            if found.is_none() && condition(&access) {
                found = Some(access.span);
            }
        });
        found
    }

    fn unreachable(&self, name: &str, span: &Span) -> String {
        format!(
            "illegal address: {name} on stream {} ran where host memory at {:#x} was unmapped, or could not be read or \
             written; keep it until the stream has passed",
            self.queue,
            span.address(),
        )
    }

    fn detached(&self, name: &str, span: &Span) -> String {
        format!(
            "illegal address: {name} on stream {} used managed memory at {:#x} that is attached to the host or to \
             another stream; attach it to this one with cuStreamAttachMemAsync",
            self.queue,
            span.address(),
        )
    }

    fn forbidden(&self, name: &str, span: &Span) -> String {
        let what = match self.operation.action().forbidden() {
            CUDA_ERROR_LAUNCH_FAILED => "launch failed",
            _ => "illegal address",
        };
        format!(
            "{what}: {name} on stream {} used the memory at {:#x} in a way that device {} may not; allow it with \
             cuMemSetAccess",
            self.queue,
            span.address(),
            self.context.device().ordinal(),
        )
    }

    fn closed(&self, name: &str, span: &Span) -> String {
        format!(
            "launch failed: {name} on stream {} used another device's memory at {:#x} after cuCtxDisablePeerAccess; wait \
             for the work that needs access before it ends",
            self.queue,
            span.address(),
        )
    }

    fn illegal(&self, name: &str, span: &Span) -> String {
        format!(
            "illegal address: {name} on stream {} ran where the memory at {:#x} was not allocated; order it after the \
             allocation and before the free",
            self.queue,
            span.address(),
        )
    }
}
