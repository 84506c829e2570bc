//! Contexts: what is common to primary and created ones.
//!
//! A context is a handle that lasts for the process; what it stands for is an *activation*, which begins when it is
//! created or first retained and ends when it is destroyed, reset or released. Every object of a context belongs to the
//! activation that was alive when it was made: a primary context that is retained again after a reset has the same
//! handle and none of the old objects.

pub(crate) mod config;
pub(crate) mod created;
pub(crate) mod current;
pub(crate) mod limits;
pub(crate) mod primary;
mod sticky;

use crate::abi::Answer;
use crate::abi::sys::{
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_OPERATING_SYSTEM, CUDA_SUCCESS,
    CUcontext, CUfunc_cache, CUresult,
};
use crate::driver::device::{self, Device};
use crate::driver::handle::{Object, Table};
use crate::driver::signal::Signal;
use crate::driver::space::heap::Heap;
use crate::driver::waiting::wait_for;
use crate::executor::{self, Coupling, Group, Queue};
use crate::instruments::live;
use limits::Limits;
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The contexts that were not destroyed.
static CONTEXTS: Table<Context> = Table::new();

/// Contexts there ever were. Their handles are numbered, and say the device: a destroyed one is still known as such, and
/// takes no room.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The handle of the first one, far from those of other objects.
const FIRST: usize = 0x51f7_c0da_0000;
/// From one handle to the next.
const STEP: usize = 16;
/// More devices than there can be.
const DEVICES: usize = 64;

/// A context's life has ended, and its work is done: what belongs to it goes.
pub(crate) static ENDED: Signal<Arc<Activation>> = Signal::new();

/// A context, alive or not.
pub(crate) struct Context {
    handle: usize,
    device: Device,
    primary: bool,
    activation: RwLock<Option<Arc<Activation>>>,
}

impl Object for Context {
    fn report(&self) -> Option<live::Object> {
        let (kind, name, device) = (live::CONTEXT, self.handle, Some(self.device.ordinal()));
        self.is_alive().then_some(live::Object { kind, name, bytes: 0, device, context: None, label: None })
    }
}

/// A context's life, and its configuration.
pub(crate) struct Activation {
    /// Everything that its streams do, to the executor.
    queues: Arc<Group>,
    context: usize,
    device: Device,
    /// `CU_CTX_*`, as `cuCtxGetFlags` answers.
    flags: AtomicU32,
    /// Claims by creation and `cuCtxAttach`.
    attached: AtomicU32,
    cache: AtomicI32,
    limits: Mutex<Limits>,
    heap: Heap,
    legacy_stream: Arc<Queue>,
    ended: AtomicBool,
    /// See `sticky`.
    fault: AtomicI32,
}

impl Context {
    fn new(device: Device, primary: bool) -> Arc<Self> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let handle = FIRST + (number * DEVICES + device.ordinal()) * STEP;
        let context = Arc::new(Self { handle, device, primary, activation: RwLock::new(None) });
        CONTEXTS.insert([(handle, Arc::clone(&context))]);
        context
    }

    /// The context that a caller's handle means, alive or not.
    pub(crate) fn of(handle: CUcontext) -> Result<Arc<Self>, CUresult> {
        let handle = handle as usize;
        CONTEXTS.get(handle).or_else(|| Self::destroyed(handle)).ok_or(CUDA_ERROR_INVALID_CONTEXT)
    }

    /// The context that had the handle.
    fn destroyed(handle: usize) -> Option<Arc<Self>> {
        let offset = handle.checked_sub(FIRST).filter(|offset| offset.is_multiple_of(STEP))? / STEP;
        let device = Device::with_ordinal(offset % DEVICES)?;
        let was_there = offset / DEVICES < COUNT.load(Ordering::Relaxed);
        was_there.then(|| Arc::new(Self { handle, device, primary: false, activation: RwLock::new(None) }))
    }

    /// It is not needed any more, but for its handle.
    fn forget(&self) {
        CONTEXTS.remove(self.handle);
    }

    /// The value that callers know it by.
    pub(crate) fn handle(&self) -> CUcontext {
        self.handle as CUcontext
    }

    /// Its life, if it has one now.
    pub(crate) fn life(&self) -> Option<Arc<Activation>> {
        self.activation.read().clone()
    }

    /// Its life, for a call on it: a dead context and one with a sticky error answer so.
    pub(crate) fn activation(&self) -> Result<Arc<Activation>, CUresult> {
        let activation = self.life().ok_or(CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        activation.health()?;
        Ok(activation)
    }

    fn is_alive(&self) -> bool {
        self.activation.read().is_some()
    }

    /// Begins a life. Whatever it is given later, there are threads to run it.
    fn activate(&self, flags: u32) -> Answer {
        if !executor::start() {
            return Err(CUDA_ERROR_OPERATING_SYSTEM);
        }
        *self.activation.write() = Some(Arc::new(Activation::new(self, flags)));
        Ok(())
    }

    /// Ends its life, and that of everything that belongs to it, when its work is done. False if it had none.
    fn end(&self) -> bool {
        let Some(activation) = self.activation.write().take() else { return false };
        activation.ended.store(true, Ordering::Release);
        // Never refused: a host function cannot come here.
        let _ = activation.wait_for_work();
        ENDED.send(&activation);
        activation.heap.forget();
        true
    }
}

impl Activation {
    fn new(context: &Context, flags: u32) -> Self {
        Self::with(context.handle, context.device, flags)
    }

    /// In the place of one, for what belongs to a device and to no context: it has no work, and does not end.
    pub(crate) fn nobody(device: Device) -> Arc<Self> {
        static NOBODIES: LazyLock<Vec<Arc<Activation>>> = LazyLock::new(|| {
            let devices = (0..device::count()).filter_map(Device::with_ordinal);
            devices.map(|device| Arc::new(Activation::with(0, device, 0))).collect()
        });
        Arc::clone(&NOBODIES[device.ordinal()])
    }

    /// `context` is the handle of its context, 0 if it has none.
    fn with(context: usize, device: Device, flags: u32) -> Self {
        let queues = Group::new();
        Self {
            legacy_stream: Queue::new(&queues, Coupling::Main, 0),
            queues,
            context,
            device,
            flags: AtomicU32::new(flags),
            attached: AtomicU32::new(1),
            cache: AtomicI32::new(CUfunc_cache::default().0),
            limits: Mutex::new(Limits::default()),
            heap: Heap::default(),
            ended: AtomicBool::new(false),
            fault: AtomicI32::new(CUDA_SUCCESS.0),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The handle of its context.
    pub(crate) fn context(&self) -> CUcontext {
        self.context as CUcontext
    }

    /// As `cuCtxGetId` answers; no two activations of a process share one.
    pub(crate) fn id(&self) -> u64 {
        self.queues.id()
    }

    /// What its streams do.
    pub(crate) fn queues(&self) -> &Arc<Group> {
        &self.queues
    }

    /// What its legacy default stream does.
    pub(crate) fn legacy_stream(&self) -> &Arc<Queue> {
        &self.legacy_stream
    }

    /// Waits for everything that it has been given.
    pub(crate) fn wait_for_work(&self) -> Answer {
        wait_for(&executor::unfinished(&self.queues))
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// What its kernels allocate from.
    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// What a report says of an object that belongs to it.
    pub(crate) fn report(&self, kind: &'static str, name: usize) -> live::Object {
        let device = Some(self.device.ordinal());
        let context = Some(self.context).filter(|context| *context != 0);
        live::Object { kind, name, bytes: 0, device, context, label: None }
    }
}

/// Gives the calling thread's current context a sticky error, or every context that is alive if it has none. False if
/// there is none at all.
pub(crate) fn poison(code: CUresult) -> bool {
    let lives = match current::top() {
        Some(context) => context.life().into_iter().collect(),
        None => lives(),
    };
    lives.iter().for_each(|activation| activation.poison(code));
    !lives.is_empty()
}

/// Work of this context has gone wrong: every context of the process is lost with it, and every device (measured, of a
/// trap and of an illegal address, on two devices with a link between them).
pub(crate) fn lose_all(context: &Arc<Activation>, code: CUresult) {
    sticky::lose_devices(code);
    // Its own last: whoever waits for the kernel goes on when that is done.
    let others = lives().into_iter().filter(|other| !Arc::ptr_eq(other, context));
    others.for_each(|other| other.poison(code));
    context.poison(code);
}

/// Waits for all work of other devices.
fn wait_for_others(device: Device) {
    for activation in lives().iter().filter(|activation| activation.device() != device) {
        // Never refused: a host function cannot come here.
        let _ = activation.wait_for_work();
    }
}

/// The lives of contexts on a device.
pub(crate) fn lives_on(device: Device) -> Vec<Arc<Activation>> {
    lives().into_iter().filter(|activation| activation.device() == device).collect()
}

fn lives() -> Vec<Arc<Activation>> {
    let mut lives = Vec::new();
    CONTEXTS.each(|context| lives.extend(context.life()));
    lives
}
