//! Code that the driver loaded.

use super::{Image, Kernel};
use crate::context::Context;
use crate::driver::calls::context::RawContext;
use crate::driver::calls::kernel::library::RawLibrary;
use crate::driver::{CallError, Driver, sys};
use crate::object::error::{Error, Status};
use crate::object::handle::Object as _;
use crate::object::handle::{Header, object};
use crate::object::native::{self, Handle};
use crate::object::setters::setters;
use crate::pointer::DevicePointer;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::sync::Arc;

/// How PTX is compiled. Cubins are not compiled, and take no notice.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Registers that a thread may use at most; 0 leaves it to the compiler.
    pub max_registers: u32,
    /// Put line numbers into the code, for profilers.
    pub line_info: bool,
    /// Put everything into the code that a debugger needs.
    pub debug_info: bool,
    /// Have the compiler say more in its log.
    pub verbose: bool,
    /// Other options of the driver's, by number (`CU_JIT_*`), with their values. Those of the log buffers (3 to 6) are
    /// refused: the library keeps the log.
    pub others: Vec<(sys::CUjit_option, u64)>,
}

setters!(LoadOptions {
    max_registers: u32,
    line_info: bool,
    debug_info: bool,
    verbose: bool,
    others: Vec<(sys::CUjit_option, u64)>,
});

/// Code that was loaded, and its kernels and variables.
///
/// From driver 12.0 on a library's kernels run in every context of its driver; before, in the one it was loaded in. It is
/// unloaded when the last hold on it goes, its kernels' included, and the driver then waits for what runs of it. At the
/// end of the process it is not unloaded.
pub struct Library(Arc<LibraryObject>);

/// What handles of libraries name.
pub(crate) struct LibraryObject {
    header: Header,
    context: Context,
    /// Names that a compiler gave, each behind the expression that a program knows.
    names: Box<[(String, String)]>,
    /// `None` only while it is being released.
    raw: Option<RawLibrary>,
}

object!(LibraryObject as Library: Library, header; tell_label);

impl Library {
    /// Loads an image in a context. PTX is compiled now; what the compiler says of an error is in the error's
    /// `driver_log`.
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::Device;
    /// use cushim::kernel::{Image, Library, LoadOptions};
    ///
    /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
    /// let context = Device::get(&driver, 0)?.primary_context()?;
    /// let image = Image::new(
    ///     ".version 7.0
    ///      .target sm_70
    ///      .address_size 64
    ///      .visible .entry nothing() { ret; }",
    /// )?;
    /// let library = Library::load(&context, &image, &LoadOptions::default())?;
    /// assert_eq!(library.kernel("nothing")?.name(), "nothing");
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an option of the log buffers; `CUDA_ERROR_INVALID_PTX` (218) if PTX does not
    /// compile, `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` (222) if it is younger than the driver,
    /// `CUDA_ERROR_NO_BINARY_FOR_GPU` (209) if no code in the image is for the device; others of the driver's.
    pub fn load(context: &Context, image: &Image, options: &LoadOptions) -> Result<Self, Error> {
        let options = options.raw()?;
        let raw = RawLibrary::load(context.live(context)?, image.bytes(), &options).map_err(|failure| {
            let mut error = context.failed(failure.error, context);
            say_what_the_compiler_said(&mut error, image, &failure.log);
            error
        })?;
        Ok(Self(Arc::new(LibraryObject {
            header: Header::new::<LibraryObject>(),
            context: context.clone(),
            names: image.names().into(),
            raw: Some(raw),
        })))
    }

    /// The context that it was loaded in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The driver that the library belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.0.context.driver()
    }

    /// The driver's own handle, a `CUlibrary`; NULL before driver 12.0, where there is only a module.
    #[must_use]
    pub fn native(&self) -> sys::CUlibrary {
        self.raw().handle()
    }

    /// The driver's handle of the module that the library is in its context.
    ///
    /// # Errors
    /// The driver's.
    pub fn native_module(&self) -> Result<sys::CUmodule, Error> {
        self.here(RawLibrary::module)
    }

    /// What the compiler noted; empty if it had nothing to say, or had compiled the same before.
    #[must_use]
    pub fn log(&self) -> String {
        self.raw().info_log()
    }

    /// The kernel of this name. While one is held, the same name gives the same object. In code that was compiled here
    /// ([`compile`](crate::compile)) the name may be one of the source's name expressions.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a name with a NUL in it; `CUDA_ERROR_NOT_FOUND` (500) if there is no such kernel,
    /// with the names that there are; others of the driver's.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let name = self.lowered(name);
        let c_name = c_name(name)?;
        let raw = self
            // SAFETY: the kernel's object keeps the library.
            .here(|raw, context| unsafe { raw.kernel(context, &c_name) })
            .map_err(|error| self.explain_missing(error, "kernel", name))?;
        Kernel::of_library(self, name, raw)
    }

    /// What the code calls that which the name expression names; any other name as it is.
    fn lowered<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.names.iter().find(|(expression, _)| expression == name).map_or(name, |(_, lowered)| lowered)
    }

    /// The names of the kernels, in the driver's order.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] before driver 12.4; the driver's.
    pub fn kernel_names(&self) -> Result<Vec<String>, Error> {
        self.here(|raw, context| {
            // SAFETY: the kernels are gone before this returns.
            let kernels = unsafe { raw.kernels(context) }?;
            kernels.iter().map(|kernel| kernel.name()).collect()
        })
    }

    /// Address and bytes of a variable of the code in its context. Managed ones too, there.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel).
    pub fn global(&self, name: &str) -> Result<(DevicePointer, usize), Error> {
        self.variable("variable", name, RawLibrary::global)
    }

    /// Address and bytes of a managed variable, which are the same in every context.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel).
    pub fn managed(&self, name: &str) -> Result<(DevicePointer, usize), Error> {
        self.variable("managed variable", name, RawLibrary::managed)
    }

    fn variable(
        &self,
        what: &str,
        name: &str,
        find: impl FnOnce(&RawLibrary, &RawContext, &CStr) -> Result<(u64, usize), CallError>,
    ) -> Result<(DevicePointer, usize), Error> {
        let name = self.lowered(name);
        let c_name = c_name(name)?;
        let (address, bytes) = self
            .here(|raw, context| find(raw, context, &c_name))
            .map_err(|error| self.explain_missing(error, what, name))?;
        Ok((DevicePointer(address), bytes))
    }

    fn explain_missing(&self, mut error: Error, what: &str, name: &str) -> Error {
        if error.status.0 != sys::CUDA_ERROR_NOT_FOUND.0 {
            return error;
        }
        error.message = format!("{self} has no {what} \"{name}\"");
        let names = if what == "kernel" { self.kernel_names().ok() } else { None };
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            error.message.push_str(&format!("; it has {}", some_of(&names)));
        }
        error.message.push_str(". A C++ compiler changes names unless they are declared extern \"C\"");
        error
    }

    /// Names the library in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }

    pub(super) fn raw(&self) -> &RawLibrary {
        self.0.raw.as_ref().expect("a library has its code until it is dropped")
    }

    fn here<T>(
        &self,
        call: impl FnOnce(&RawLibrary, &RawContext) -> Result<T, CallError>,
    ) -> Result<T, Error> {
        call(self.raw(), self.0.context.live(self)?).map_err(|error| self.0.context.failed(error, self))
    }
}

impl LoadOptions {
    fn raw(&self) -> Result<Vec<(sys::CUjit_option, *mut c_void)>, Error> {
        let given = [
            (sys::CU_JIT_MAX_REGISTERS, self.max_registers),
            (sys::CU_JIT_GENERATE_LINE_INFO, u32::from(self.line_info)),
            (sys::CU_JIT_GENERATE_DEBUG_INFO, u32::from(self.debug_info)),
            (sys::CU_JIT_LOG_VERBOSE, u32::from(self.verbose)),
        ];
        let named =
            given.into_iter().filter(|(_, value)| *value != 0).map(|(key, value)| (key, u64::from(value)));
        let log = sys::CU_JIT_INFO_LOG_BUFFER.0..=sys::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.0;
        if let Some((key, _)) = self.others.iter().find(|(key, _)| log.contains(&key.0)) {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                format!("JIT option {} is for a log buffer; the log is kept here, and in the error", key.0),
            ));
        }
        let value = |value: u64| std::ptr::without_provenance_mut(value as usize);
        Ok(named.chain(self.others.iter().copied()).map(|(key, number)| (key, value(number))).collect())
    }
}

fn c_name(name: &str) -> Result<CString, Error> {
    CString::new(name)
        .map_err(|_| Error::new(Status::INVALID_ARGUMENT, format!("the name {name:?} has a NUL in it")))
}

/// The first of them, for a message.
pub(crate) fn some_of(names: &[String]) -> String {
    const MOST: usize = 8;
    let mut list = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        list.push_str(&format!(" and {} more", names.len() - MOST));
    }
    list
}

/// The first line of the log goes into the sentence, all of it into the error's `driver_log`.
fn say_what_the_compiler_said(error: &mut Error, image: &Image, log: &str) {
    let Some(first) = log.lines().next() else {
        if error.driver_code != 0 {
            error.message.push_str(&format!(". The image is {} of {} bytes", image.kind(), image.len()));
        }
        return;
    };
    error.message.push_str(&format!(". The compiler says: {first}"));
    if !error.driver_log.is_empty() {
        error.driver_log.push('\n');
    }
    error.driver_log.push_str(log);
}

impl Handle for RawLibrary {
    type Place = Context;

    fn address(&self) -> usize {
        self.handle().addr()
    }

    /// What belongs to one context went with it; a `CUlibrary` outlives every context.
    fn outlives_place(&self) -> bool {
        !self.is_of_one_context()
    }

    fn destroy(self) -> Result<(), CallError> {
        self.unload()
    }
}

impl LibraryObject {
    fn tell_label(&self, label: Option<&str>) {
        if let Some(raw) = &self.raw {
            self.context.driver().tell_label(raw.address(), label);
        }
    }
}

impl Drop for LibraryObject {
    fn drop(&mut self) {
        let Some(raw) = self.raw.take() else { return };
        let context = self.context.clone();
        native::release(self.context.driver(), self, move |library| native::destroy(raw, &context, library));
    }
}

impl fmt::Display for LibraryObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "library \"{label}\""),
            None => f.write_str("library"),
        }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("context", &self.0.context).finish_non_exhaustive()
    }
}
