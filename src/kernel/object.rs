//! One kernel.

use super::{Library, refusal};
use crate::context::Context;
use crate::driver::calls::context::RawContext;
use crate::driver::calls::kernel::function::{Parameter, RawKernel};
use crate::driver::calls::kernel::library::of_kernel;
use crate::driver::{CallError, Driver, sys};
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::registry::Registry;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A kernel: a function of loaded code that a device runs.
///
/// Every function may be called from every thread. A kernel keeps its library loaded.
pub struct Kernel(Arc<KernelObject>);

/// What handles of kernels name.
pub(crate) struct KernelObject {
    header: Header,
    context: Context,
    name: String,
    raw: RawKernel,
    /// Where its parameters stand, if the driver says so (12.4).
    parameters: Option<Parameters>,
    keeper: Keeper,
    /// The function that it is in its context, once somebody asked; 0 until then.
    function: AtomicUsize,
}

object!(KernelObject as Kernel: Kernel, header);

/// What a kernel takes.
struct Parameters {
    layout: Box<[Parameter]>,
    /// The bytes of each once more, as launches compare them.
    sizes: Box<[u32]>,
}

impl Parameters {
    fn new(layout: Box<[Parameter]>) -> Self {
        // None is larger than the 32,764 bytes that a kernel takes.
        let sizes = layout.iter().map(|parameter| parameter.size as u32).collect();
        Self { layout, sizes }
    }
}

/// What keeps the code of a kernel loaded.
#[derive(Debug, Default)]
pub enum Keeper {
    /// Whoever lent the kernel.
    #[default]
    Lender,
    /// The library that it is in.
    Library(Library),
    /// Something of the caller's.
    Owner(Owner),
}

/// A kernel as the driver has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeKernel {
    /// From driver 12.0 on, good in every context.
    Kernel(sys::CUkernel),
    /// Of one context. The runtime's `cudaFunction_t` has the same value.
    Function(sys::CUfunction),
}

impl NativeKernel {
    fn address(self) -> *mut c_void {
        match self {
            Self::Kernel(kernel) => kernel.cast(),
            Self::Function(function) => function.cast(),
        }
    }
}

/// The kernels of libraries that were loaded here, by the native handle.
static KNOWN: Registry<Kernel> = Registry::new();

/// The same, by the function that each is in its library's context, once somebody asked for that.
static FUNCTIONS: Registry<Kernel> = Registry::new();

impl Kernel {
    pub(super) fn of_library(library: &Library, name: &str, raw: RawKernel) -> Result<Self, Error> {
        KNOWN.find_or_add(
            library.driver(),
            raw.handle().addr(),
            |_| true,
            || {
                let keeper = Keeper::Library(library.clone());
                let parameters = Self::layout_of(library.context(), &raw)?;
                Ok(Self::new(library.context(), name.to_owned(), raw.clone(), parameters, keeper))
            },
        )
    }

    fn new(
        context: &Context,
        name: String,
        raw: RawKernel,
        parameters: Option<Parameters>,
        keeper: Keeper,
    ) -> Self {
        Self(Arc::new(KernelObject {
            header: Header::new::<KernelObject>(),
            context: context.clone(),
            name,
            raw,
            parameters,
            keeper,
            function: AtomicUsize::new(0),
        }))
    }

    /// Where the parameters stand; `None` if the driver is too old to say.
    fn layout_of(context: &Context, raw: &RawKernel) -> Result<Option<Parameters>, Error> {
        match raw.parameters(context.live(context)?) {
            Ok(layout) => Ok(Some(Parameters::new(layout))),
            Err(error) if error.result().is_none() => Ok(None),
            Err(error) => Err(context.failed(error, context)),
        }
    }

    /// Takes in a kernel as the driver, or somebody else, has it. One of a library that was loaded here gives its object
    /// again, and then `keeper` is let go; a library in it that is not the kernel's own is reported in the log.
    ///
    /// # Safety
    /// `native` is a kernel of the driver, or a function of `context`, and its code stays loaded until the returned object
    /// is gone; `keeper` may see to that.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `native` is NULL; [`Status::UNSUPPORTED`] for a `CUkernel` before driver 12.0; the
    /// driver's.
    pub unsafe fn wrap(context: &Context, native: NativeKernel, keeper: Keeper) -> Result<Self, Error> {
        // SAFETY: as the caller vouches.
        unsafe { Self::take_in(context, native, keeper) }.map_err(|(error, _)| error)
    }

    /// As [`wrap`](Self::wrap); on failure the keeper is given back.
    ///
    /// # Safety
    /// As for [`wrap`](Self::wrap).
    pub(crate) unsafe fn take_in(
        context: &Context,
        native: NativeKernel,
        keeper: Keeper,
    ) -> Result<Self, (Error, Keeper)> {
        let (driver, address) = (context.driver(), native.address());
        if address.is_null() {
            return Err((Error::new(Status::INVALID_ARGUMENT, "the native kernel is NULL"), keeper));
        }
        let known = match native {
            NativeKernel::Kernel(_) => KNOWN.find(driver, address.addr()),
            NativeKernel::Function(_) => Self::of_native(driver, address),
        };
        if let Some(known) = known {
            known.warn_of_another(&keeper);
            return Ok(known);
        }
        let table = driver.object_table();
        // SAFETY: the caller vouches for the handle.
        let raw = unsafe {
            match native {
                NativeKernel::Kernel(kernel) => RawKernel::kernel(table, kernel),
                NativeKernel::Function(function) => RawKernel::function(table, function),
            }
        };
        if let Err(missing) = raw.check() {
            return Err((Error::of_call(driver, missing).about(context), keeper));
        }
        // Before driver 12.3 a kernel does not know its name.
        let name = raw.name().unwrap_or_default();
        let kernel = match Self::layout_of(context, &raw) {
            Ok(parameters) => Self::new(context, name, raw, parameters, keeper),
            Err(error) => return Err((error, keeper)),
        };
        kernel.warn_of_false_library();
        Ok(kernel)
    }

    /// The object of a native handle that the driver has just named; `None` if there is none.
    pub(crate) fn of_native(driver: &Driver, native: *mut c_void) -> Option<Self> {
        KNOWN.find(driver, native.addr()).or_else(|| FUNCTIONS.find(driver, native.addr()))
    }

    /// Whoever wrapped a kernel of a known library names that library, or none.
    fn warn_of_another(&self, given: &Keeper) {
        let (Keeper::Library(given), Some(own)) = (given, self.library()) else { return };
        if given != own {
            log::warn!(target: "cushim", "{self} is of {own}, not of {given} which it was wrapped with; its own is kept");
        }
    }

    fn warn_of_false_library(&self) {
        let Keeper::Library(library) = &self.0.keeper else { return };
        let is_other = |own: sys::CUlibrary| !library.native().is_null() && own != library.native();
        if !self.0.raw.is_of_one_context() && of_kernel(&self.0.raw).is_ok_and(is_other) {
            log::warn!(target: "cushim", "{self} is not of {library}, which was given to keep it loaded");
        }
    }

    /// The context of the kernel's library; it can be launched in others too unless it is a `CUfunction`.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The driver that the kernel belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.0.context.driver()
    }

    /// The library that the kernel is in; `None` for one of somebody else's that was wrapped without.
    #[must_use]
    pub fn library(&self) -> Option<&Library> {
        match &self.0.keeper {
            Keeper::Library(library) => Some(library),
            Keeper::Lender | Keeper::Owner(_) => None,
        }
    }

    /// The name; empty for one that was wrapped on a driver before 12.3.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The driver's own handle.
    #[must_use]
    pub fn native(&self) -> NativeKernel {
        let handle = self.0.raw.handle();
        match self.0.raw.is_of_one_context() {
            true => NativeKernel::Function(handle.cast()),
            false => NativeKernel::Kernel(handle.cast()),
        }
    }

    /// The driver's handle of the function that the kernel is in its context. It names this object when it is wrapped.
    ///
    /// # Errors
    /// The driver's.
    pub fn native_function(&self) -> Result<sys::CUfunction, Error> {
        let function = self.here(RawKernel::function_in)?;
        if self.library().is_some() && self.0.function.swap(function.addr(), Relaxed) == 0 {
            FUNCTIONS.add(self.driver(), function.addr(), self);
        }
        Ok(function)
    }

    /// An attribute (`CU_FUNC_ATTRIBUTE_*`), on the device of the kernel's context.
    ///
    /// # Errors
    /// The driver's; an attribute that is younger than the driver is `CUDA_ERROR_INVALID_VALUE`.
    pub fn attribute(&self, attribute: sys::CUfunction_attribute) -> Result<i32, Error> {
        self.here(|raw, context| raw.attribute(context, self.device(), attribute))
    }

    /// Sets an attribute, on the device of the kernel's context: for every launch from now on, whoever makes it.
    ///
    /// # Errors
    /// The driver's, also for an attribute that is only read.
    pub fn set_attribute(&self, attribute: sys::CUfunction_attribute, value: i32) -> Result<(), Error> {
        self.here(|raw, context| raw.set_attribute(context, self.device(), attribute, value))
            .map_err(|failure| refusal::explain_attribute(failure, self, attribute, value))
    }

    /// Loads the code in the kernel's context now: with lazy loading, as drivers do it by default, the first launch does that, and
    /// a first launch in a capture, or beside a kernel that waits for it, is no time for that. A kernel that is loaded stays so.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.4; the driver's.
    pub fn preload(&self) -> Result<(), Error> {
        self.here(RawKernel::load).map_err(|mut failure| {
            if failure.status == Status::UNSUPPORTED {
                failure.message.push_str(
                    ". Set CUDA_MODULE_LOADING=EAGER in the environment, or launch the kernel once before instead",
                );
            }
            failure
        })
    }

    /// Where its parameters stand, in order.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.4.
    pub fn parameters(&self) -> Result<&[Parameter], Error> {
        self.layout().ok_or_else(|| {
            let missing = match self.0.raw.is_of_one_context() {
                true => CallError::missing("cuFuncGetParamInfo_12040"),
                false => CallError::missing("cuKernelGetParamInfo_12040"),
            };
            Error::of_call(self.driver(), missing).about(self)
        })
    }

    /// Refuses a kernel that cannot run in this context.
    #[inline(always)]
    pub(crate) fn check_in(&self, at: &Context) -> Result<(), Error> {
        match self.0.context == *at {
            true => self.0.context.check_there(self),
            false => self.check_in_another(at),
        }
    }

    #[inline(never)]
    fn check_in_another(&self, at: &Context) -> Result<(), Error> {
        if self.driver() != at.driver() {
            let refusal = format!("{self} belongs to another driver than {at}");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(self));
        }
        // The driver does not say that the kernel's own context is gone.
        self.0.context.check_still_there(self)?;
        if self.0.raw.is_of_one_context() { at.has(&self.0.context, self) } else { Ok(()) }
    }

    /// As [`parameters`](Self::parameters), where the driver says so.
    pub(crate) fn layout(&self) -> Option<&[Parameter]> {
        self.0.parameters.as_ref().map(|parameters| &*parameters.layout)
    }

    /// How many bytes each takes, where the driver says so.
    #[inline]
    pub(crate) fn sizes(&self) -> Option<&[u32]> {
        self.0.parameters.as_ref().map(|parameters| &*parameters.sizes)
    }

    /// Names the kernel in messages, in place of its own name; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    /// Whether its lender keeps it, and nobody here.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.0.keeper, Keeper::Lender)
    }

    #[inline]
    pub(crate) fn raw(&self) -> &RawKernel {
        &self.0.raw
    }

    fn device(&self) -> sys::CUdevice {
        self.0.context.device().native()
    }

    pub(super) fn here<T>(
        &self,
        call: impl FnOnce(&RawKernel, &RawContext) -> Result<T, CallError>,
    ) -> Result<T, Error> {
        call(&self.0.raw, self.0.context.live(self)?).map_err(|error| self.0.context.failed(error, self))
    }
}

impl Drop for KernelObject {
    fn drop(&mut self) {
        if let Keeper::Library(_) = self.keeper {
            KNOWN.remove(self.context.driver(), self.raw.handle().addr(), self);
            let function = *self.function.get_mut();
            FUNCTIONS.remove(self.context.driver(), function, self);
        }
    }
}

impl fmt::Display for KernelObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.header.label(), self.name.as_str()) {
            (Some(label), _) => write!(f, "kernel \"{label}\""),
            (None, "") => f.write_str("kernel"),
            (None, name) => write!(f, "kernel {name}"),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.0.name)
            .field("parameters", &self.layout())
            .field("keeper", &self.0.keeper)
            .finish_non_exhaustive()
    }
}
