//! Functions that a stream calls, and owners that are released when a stream gets there.

#[cfg(feature = "capi")]
use super::node::CFunction;
use super::node::{Repeatable, call_again};
use super::{Captured, Operation, Traits};
use crate::check::{Deed, Deeds};
use crate::context::Context;
use crate::driver::calls::host_function as calls;
#[cfg(feature = "capi")]
use crate::object::callback::Foreign;
use crate::object::callback::{self, Owner, Task, call_waiting, take_back};
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::stream::Stream;
use std::cell::Cell;
use std::sync::Arc;

/// Has a function called by a thread of the driver's when the work enqueued so far is done. Work that is enqueued later waits
/// until it returns.
///
/// Inside it the driver allows to record and query events, to query streams other than the default ones, and nothing else.
/// It must not wait for anything that waits for the stream. If it panics, the log says so and the stream goes on. If the
/// context is corrupted or reset before its turn, it is dropped uncalled.
pub struct HostFunction {
    pub(super) function: Function,
    owner: Cell<Option<Owner>>,
    /// Whether that is a copy of the bytes with which the function is called.
    keeps_bytes: bool,
}

pub(super) enum Function {
    /// It can be called again and again.
    Repeatable(Arc<Repeatable>),
    Once(Cell<Option<Task>>),
}

impl HostFunction {
    /// A function that can be called as often as the operation is done.
    pub fn new(function: impl Fn() + Send + Sync + 'static) -> Self {
        Self::repeatable(Repeatable { call: Box::new(function), given: None })
    }

    /// A C caller's function, and what it is called with.
    ///
    /// # Safety
    /// It may be called with that, as often as the operation is done, from any thread.
    #[cfg(feature = "capi")]
    pub(crate) unsafe fn given(given: CFunction) -> Self {
        // SAFETY: the caller vouches for it. The whole is captured, which may be used on every thread.
        let call = move || unsafe { given.function.call(({ given }.data,)) };
        Self::repeatable(Repeatable { call: Box::new(call), given: Some(given) })
    }

    /// The same with a copy of bytes, which a node keeps by itself.
    ///
    /// # Safety
    /// As for [`given`](Self::given), as long as the copy is kept.
    #[cfg(feature = "capi")]
    pub(crate) unsafe fn on_bytes(given: CFunction, bytes: Owner) -> Self {
        // SAFETY: as the caller vouches.
        let function = unsafe { Self::given(given) }.owned_by(bytes);
        Self { keeps_bytes: true, ..function }
    }

    fn repeatable(function: Repeatable) -> Self {
        Self::of(Function::Repeatable(Arc::new(function)))
    }

    fn of(function: Function) -> Self {
        Self { function, owner: Cell::new(None), keeps_bytes: false }
    }

    /// A function that is called once: the operation goes into a stream, and into it once.
    pub fn once(function: impl FnOnce() + Send + 'static) -> Self {
        Self::of(Function::Once(Cell::new(Some(Box::new(function)))))
    }

    /// The same function with what keeps alive what it needs: released after the last call.
    #[must_use]
    pub fn owned_by(self, owner: Owner) -> Self {
        self.owner.set(Some(owner));
        self
    }

    /// The function for one call.
    fn task(&self) -> Option<Task> {
        match &self.function {
            Function::Repeatable(function) => {
                let function = Arc::clone(function);
                Some(Box::new(move || (function.call)()))
            }
            Function::Once(function) => function.take(),
        }
    }

    /// Whether what keeps alive what the function needs is a copy of bytes.
    pub(crate) fn keeps_bytes(&self) -> bool {
        self.keeps_bytes
    }

    /// What keeps alive what the function needs, as long as the operation was not enqueued.
    pub(crate) fn take_owner(&self) -> Option<Owner> {
        self.owner.take()
    }
}

impl Operation for HostFunction {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        let single_use = matches!(self.function, Function::Once(_));
        Traits { calls_host: true, single_use, ..Traits::default() }
    }

    fn check<'a>(&'a self, _at: &'a Context) -> Result<(), Error> {
        Ok(())
    }

    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let Some(task) = self.task() else {
            let refusal =
                "this function is called once, and was enqueued before; make another operation of it";
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        };
        launch(stream, task, self.take_owner()).map_err(|(error, owner)| {
            self.owner.set(owner);
            error
        })
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new("host function");
        deeds.push(Deed::IsSeen);
        deeds.push(Deed::MayWait);
        deeds
    }

    fn captured(&mut self) -> Captured<'_> {
        match self.function {
            Function::Repeatable(_) => Captured::Node(self),
            Function::Once(_) => {
                Captured::Refused("a function that is called once cannot be part of a graph")
            }
        }
    }

    unsafe fn enqueue_captured(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let Function::Repeatable(function) = &self.function else { return Ok(()) };
        let (table, data) = (stream.driver().object_table(), Arc::as_ptr(function).cast_mut().cast());
        // SAFETY: the function takes exactly this, which the graph keeps as long as the driver may call it.
        unsafe { calls::launch_with(table, stream.raw(), call_again, data) }
            .map_err(|error| stream.context().failed(error, stream))
    }
}

impl Stream {
    /// Has a function called, once, when the work enqueued so far is done: [`HostFunction::once`].
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::{Device, Stream, StreamOptions};
    /// use std::sync::mpsc;
    ///
    /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
    /// let context = Device::get(&driver, 0)?.primary_context()?;
    /// let stream = Stream::create(&context, &StreamOptions::default())?;
    /// let (sender, receiver) = mpsc::channel();
    /// stream.launch_host_function(move || sender.send("the stream got here").unwrap())?;
    /// assert_eq!(receiver.recv().unwrap(), "the stream got here");
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the stream is being captured: a graph may call its functions many times. The
    /// driver's. The function is dropped uncalled.
    pub fn launch_host_function(&self, function: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        // SAFETY: the function owns what it uses.
        unsafe { self.enqueue(&mut HostFunction::once(function)) }
    }
}

/// Enqueues a function, with the owner of what it needs. On failure the owner is given back.
fn launch(stream: &Stream, task: Task, owner: Option<Owner>) -> Result<(), (Error, Option<Owner>)> {
    let table = stream.driver().object_table();
    let number = callback::wait(task, owner, stream.context().object());
    let Err(error) = calls::launch(table, stream.raw(), call_waiting, number) else { return Ok(()) };
    // Before the error is made: that of a corrupted context releases what waits there.
    let taken = take_back(number);
    let failure = stream.context().failed(error, stream);
    match taken {
        Some(owner) => Err((failure, owner)),
        // Another thread had found out that the context is corrupted, and had released it uncalled.
        None => Ok(()),
    }
}

/// Releases what an operation needed when the work enqueued by now is done, by a function that the stream reaches after the operation.
/// It comes back where the stream takes none.
pub(super) fn release_when_done(stream: &Stream, owners: Vec<Owner>) -> Option<Owner> {
    if owners.is_empty() {
        return None;
    }
    let all = Owner::keeping(owners);
    let launched = match stream.enter_if_default() {
        Ok(_current) => launch(stream, Box::new(|| ()), Some(all)),
        Err(error) => Err((error, Some(all))),
    };
    launched.err().and_then(|(_, owner)| owner)
}

/// The same by waiting here.
#[cold]
pub(super) fn release_now(stream: &Stream, owner: Owner) {
    if let Err(error) = stream.synchronize() {
        log::warn!(target: "cushim", "waiting for an operation, to release what it needs, failed: {error}");
    }
    drop(owner);
}
