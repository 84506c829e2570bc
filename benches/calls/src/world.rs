//! What is measured on: one driver, one context, and each subject's own stream, events and memory in it.

use crate::kernels::{self, Kernel};
use crate::options::Options;
use crate::shim::{self, Functions};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, sys as cudarc_sys};
use cushim::capi::buffer::cushim_buffer;
use cushim::capi::context::cushim_context;
use cushim::capi::driver::{cushim_driver, cushim_driver_info, cushim_driver_options};
use cushim::capi::event::{cushim_event, cushim_event_flags, cushim_event_options};
use cushim::capi::resource::cushim_resource;
use cushim::capi::stream::cushim_stream;
use cushim::driver::{Table, sys};
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// The driver that does nothing, as compiled by the build script.
static NOOP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/noop.so"));

/// Bytes of each copy, fill and allocation.
pub(crate) const BYTES: usize = 4096;

/// A function of the table.
macro_rules! entry {
    ($table:expr, $entry:ident) => {
        $table.$entry.expect(concat!("the driver has ", stringify!($entry)))
    };
}
pub(crate) use entry;

/// Everything that the rows use. It lives until the process ends.
///
/// In each subject's stream memory was allocated: from then on driver 580 takes some 40 ns more for a record or a wait there,
/// and 85 more to synchronise (measured), which must not look like a cost of the subject that was the first to allocate.
pub(crate) struct World {
    pub(crate) is_noop: bool,
    pub(crate) about: About,
    pub(crate) raw: Raw,
    pub(crate) shim: Shim,
    pub(crate) cudarc: Cudarc,
    /// The same again, without cudarc's tracking of which stream uses which memory.
    pub(crate) untracked: Cudarc,
    pub(crate) kernels: Vec<Kernel>,
    /// Page-locked memory, three times [`BYTES`]: a source of copies, and two destinations.
    pub(crate) pinned: *mut u8,
}

/// For the head of the report.
pub(crate) struct About {
    pub(crate) library: String,
    pub(crate) driver: String,
    pub(crate) version: i32,
    pub(crate) device: String,
}

pub(crate) struct Raw {
    pub(crate) table: &'static Table,
    pub(crate) context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    pub(crate) event: sys::CUevent,
    pub(crate) timed: [sys::CUevent; 2],
    pub(crate) memory: [u64; 2],
}

pub(crate) struct Shim {
    pub(crate) call: Functions,
    pub(crate) driver: cushim_driver,
    pub(crate) context: cushim_context,
    pub(crate) stream: cushim_stream,
    /// A borrowed handle of the same stream, and one of a stream that no owning handle holds.
    pub(crate) borrowed: cushim_stream,
    pub(crate) event: cushim_event,
    pub(crate) timed: [cushim_event; 2],
    /// The device's pool, and memory of it.
    pub(crate) pool: cushim_resource,
    pub(crate) buffers: [cushim_buffer; 2],
}

pub(crate) struct Cudarc {
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) event: CudaEvent,
    pub(crate) timed: [CudaEvent; 2],
}

impl Cudarc {
    fn new(tracked: bool) -> Self {
        let context = CudaContext::new(0).expect("cudarc retains the primary context");
        if !tracked {
            // SAFETY: nothing here uses memory in a stream other than the one that it was allocated in.
            unsafe { context.disable_event_tracking() };
        }
        let timing = Some(cudarc_sys::CUevent_flags::CU_EVENT_DEFAULT);
        let event = |flags| context.new_event(flags).expect("cudarc creates an event");
        let stream = context.new_stream().expect("cudarc creates a stream");
        let this = Self { stream, event: event(None), timed: [event(timing), event(timing)] };
        this.timed
            .iter()
            .chain([&this.event])
            .for_each(|event| event.record(&this.stream).expect("recorded"));
        drop(this.memory());
        this
    }

    pub(crate) fn memory(&self) -> CudaSlice<u8> {
        // SAFETY: nobody reads what it holds.
        unsafe { self.stream.alloc(BYTES) }.expect("cudarc allocates memory")
    }
}

impl World {
    pub(crate) fn new(options: &Options) -> Result<&'static Self, String> {
        let library = options.library.clone().map_or_else(shim::beside_this_program, Ok)?;
        let call = Functions::load(&library)?;
        let driver = open_driver(&call, options)?;
        let shim = Shim::new(call, driver)?;
        let raw = Raw::new(&shim);
        shim.record();
        raw.record();
        check_cudarc_finds(&raw)?;
        let pinned = raw.pinned();
        let (cudarc, untracked) = (Cudarc::new(true), Cudarc::new(false));
        let kernels = kernels::load(&shim.call, shim.context, &cudarc);
        let about = About { library: library.display().to_string(), ..shim.about() };
        let is_noop = options.driver == NOOP_NAME;
        Ok(Box::leak(Box::new(Self { is_noop, about, raw, shim, cudarc, untracked, kernels, pinned })))
    }

    /// Waits until the device has done everything.
    pub(crate) fn settle(&self) {
        // SAFETY: a context is current.
        let result = unsafe { entry!(self.raw.table, cuCtxSynchronize_2000)() };
        assert_eq!(result, sys::CUDA_SUCCESS, "cuCtxSynchronize");
    }
}

/// By this a user asks for the driver that does nothing.
const NOOP_NAME: &str = "noop";

/// Opens the driver that was asked for.
pub(crate) fn open_driver(call: &Functions, options: &Options) -> Result<cushim_driver, String> {
    if options.driver == NOOP_NAME { open_noop(call) } else { open(call, &options.driver) }
}

fn open_noop(call: &Functions) -> Result<cushim_driver, String> {
    let failed = |error| format!("the driver that does nothing cannot be written: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("libcuda.so");
    std::fs::write(&path, NOOP).map_err(failed)?;
    open(call, path.to_str().ok_or("the folder for temporary files has a name that is not UTF-8")?)
}

fn open(call: &Functions, which: &str) -> Result<cushim_driver, String> {
    let which = CString::new(which).map_err(|_| "--driver takes no NUL")?;
    // SAFETY: zero is the default of every member.
    let mut options = unsafe { std::mem::zeroed::<cushim_driver_options>() };
    options.struct_size = size_of::<cushim_driver_options>();
    options.driver = which.as_ptr();
    let mut driver = null_mut();
    // SAFETY: both pointers are good.
    if unsafe { (call.cushim_driver_open)(&raw const options, &raw mut driver) } == 0 {
        return Ok(driver);
    }
    // SAFETY: the function returns a string that lives until this thread's next call.
    let message = unsafe { CStr::from_ptr((call.cushim_last_error_message)()) };
    Err(format!("{}\nWithout a GPU: --driver noop.", message.to_string_lossy()))
}

/// cudarc asks the loader for `libcuda.so` and gets the copy that is loaded already, if all is well.
fn check_cudarc_finds(raw: &Raw) -> Result<(), String> {
    // SAFETY: the libraries that this tries are drivers.
    if !unsafe { cudarc_sys::is_culib_present() } {
        return Err("cudarc finds no driver: it looks for libcuda.so in the loader's usual places".to_owned());
    }
    let context = CudaContext::new(0).map_err(|error| format!("cudarc: {error:?}"))?;
    let is_same = context.cu_ctx().cast() == raw.context;
    is_same.then_some(()).ok_or_else(|| "cudarc found another driver than cushim did".to_owned())
}

impl Shim {
    pub(crate) fn new(call: Functions, driver: cushim_driver) -> Result<Self, String> {
        let (mut device, mut context, mut stream, mut event) =
            (null_mut(), null_mut(), null_mut(), null_mut());
        let mut borrowed = null_mut();
        let mut timed = [null_mut(); 2];
        let (mut pool, mut buffers) = (null_mut(), [null_mut(); 2]);
        let timing = cushim_event_options {
            struct_size: size_of::<cushim_event_options>(),
            flags: cushim_event_flags::CUSHIM_EVENT_TIMING as u32,
            reserved: 0,
        };
        // SAFETY: every pointer is good, and handles are checked.
        unsafe {
            let mut status = (call.cushim_driver_get_device)(driver, 0, &raw mut device);
            call.must("device", status);
            status = (call.cushim_context_retain_primary)(device, &raw mut context);
            call.must("primary context", status);
            call.must("current context", (call.cushim_context_set_current)(context));
            status = (call.cushim_stream_create)(context, null(), &raw mut stream);
            call.must("stream", status);
            status = (call.cushim_event_create)(context, null(), &raw mut event);
            call.must("event", status);
            for timed in &mut timed {
                status = (call.cushim_event_create)(context, &raw const timing, timed);
                call.must("timed event", status);
            }
            status = (call.cushim_device_get_resource)(device, &raw mut pool);
            call.must("pool", status);
            for buffer in &mut buffers {
                status = (call.cushim_buffer_create)(pool, stream, BYTES, buffer);
                call.must("buffer", status);
            }
            call.must("current stream", (call.cushim_stream_push_current)(stream));
            status = (call.cushim_stream_get_current)(&raw mut borrowed);
            call.must("borrowed handle", status);
        }
        Ok(Self { call, driver, context, stream, borrowed, event, timed, pool, buffers })
    }

    pub(crate) fn record(&self) {
        for event in self.timed.into_iter().chain([self.event]) {
            // SAFETY: handles are checked.
            self.call.must("record", unsafe { (self.call.cushim_event_record)(event, self.stream) });
        }
    }

    fn about(&self) -> About {
        // SAFETY: all its members may be zero.
        let mut info = unsafe { std::mem::zeroed::<cushim_driver_info>() };
        info.struct_size = size_of::<cushim_driver_info>();
        let mut device = null_mut();
        let mut name = [0; 256];
        // SAFETY: every pointer is good; the strings of the information live as long as the driver, and so does the name.
        unsafe {
            let mut status = (self.call.cushim_driver_get_info)(self.driver, &raw mut info);
            self.call.must("information", status);
            status = (self.call.cushim_driver_get_device)(self.driver, 0, &raw mut device);
            self.call.must("device", status);
            status = (self.call.cushim_device_get_name)(device, name.as_mut_ptr(), name.len(), null_mut());
            self.call.must("name", status);
            About {
                library: String::new(),
                driver: CStr::from_ptr(info.path).to_string_lossy().into_owned(),
                version: info.version,
                device: CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned(),
            }
        }
    }
}

impl Raw {
    pub(crate) fn new(shim: &Shim) -> Self {
        let mut table = null();
        let (mut context, mut stream, mut event) = (null_mut(), null_mut(), null_mut());
        let mut timed = [null_mut(); 2];
        let mut memory = [0; 2];
        // SAFETY: every pointer is good; the table lives for ever; the context that the calls need is current.
        unsafe {
            let mut status = (shim.call.cushim_driver_get_table)(shim.driver, 0, &raw mut table);
            shim.call.must("table", status);
            status = (shim.call.cushim_context_native)(shim.context, &raw mut context);
            shim.call.must("native context", status);
            let table: &'static Table = &*table;
            let good = |what: &str, result| assert_eq!(result, sys::CUDA_SUCCESS, "{what}");
            let non_blocking = sys::CU_STREAM_NON_BLOCKING.0 as u32;
            let create = entry!(table, cuStreamCreateWithPriority_5050);
            good("cuStreamCreateWithPriority", create(&raw mut stream, non_blocking, 0));
            let create = entry!(table, cuEventCreate_2000);
            good("cuEventCreate", create(&raw mut event, sys::CU_EVENT_DISABLE_TIMING.0 as u32));
            timed.iter_mut().for_each(|timed| good("cuEventCreate", create(timed, 0)));
            for memory in &mut memory {
                good("cuMemAlloc", entry!(table, cuMemAlloc_3020)(memory, BYTES));
            }
            let mut pooled = 0;
            good("cuMemAllocAsync", entry!(table, cuMemAllocAsync_11020)(&raw mut pooled, BYTES, stream));
            good("cuMemFreeAsync", entry!(table, cuMemFreeAsync_11020)(pooled, stream));
            keep_freed_memory(table);
            Self { table, context, stream, event, timed, memory }
        }
    }

    pub(crate) fn record(&self) {
        for event in self.timed.into_iter().chain([self.event]) {
            // SAFETY: both are alive.
            let result = unsafe { entry!(self.table, cuEventRecord_2000)(event, self.stream) };
            assert_eq!(result, sys::CUDA_SUCCESS, "cuEventRecord");
        }
    }

    fn pinned(&self) -> *mut u8 {
        let mut pinned = null_mut();
        // SAFETY: writes one pointer; the context is current.
        let result = unsafe { entry!(self.table, cuMemHostAlloc_2020)(&raw mut pinned, 3 * BYTES, 0) };
        assert_eq!(result, sys::CUDA_SUCCESS, "cuMemHostAlloc");
        pinned.cast()
    }
}

/// Has the device's pool keep what is freed: else each wait gives memory back to the system, and that is what would be
/// measured.
///
/// # Safety
/// A context is current.
unsafe fn keep_freed_memory(table: &Table) {
    let mut pool = null_mut();
    let mut all = u64::MAX;
    // SAFETY: each writes or reads what it is given.
    unsafe {
        if entry!(table, cuDeviceGetDefaultMemPool_11020)(&raw mut pool, 0) == sys::CUDA_SUCCESS {
            let threshold = sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            let _ = entry!(table, cuMemPoolSetAttribute_11020)(pool, threshold, (&raw mut all).cast());
        }
    }
}
