//! Buffers as DLPack tensors, and DLPack tensors as buffers: memory that passes between libraries without a copy.
//!
//! @header cushim.h
//! @task exchange tensors with other libraries

use super::buffer::cushim_buffer;
use super::driver::cushim_driver;
use super::driver_types::Driver;
use super::error::{call, call_taking, cushim_status};
use super::handles::{hold, reserve};
use super::{input, options, out, pointer};
use crate::device::Device;
use crate::memory::{Buffer, DevicePointer, Home, Properties};
use crate::object::callback::{Foreign, Lending};
use crate::object::error::{Error, Status};
use crate::object::handle;
use std::ffi::c_void;
use std::ptr::null_mut;

/// The version of the layout below.
const VERSION: (u32, u32) = (1, 0);

/// `DLManagedTensorVersioned` of DLPack 1.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager_ctx: *mut c_void,
    deleter: Option<Deleter<Self>>,
    flags: u64,
    tensor: Tensor,
}

/// `DLManagedTensor`, as it was before DLPack 1.
#[repr(C)]
struct Unversioned {
    tensor: Tensor,
    manager_ctx: *mut c_void,
    deleter: Option<Deleter<Self>>,
}

type Deleter<M> = unsafe extern "C" fn(*mut M);

/// One of the two layouts.
trait Managed: Sized + 'static {
    fn new(tensor: Tensor, flags: u64, deleter: Deleter<Self>) -> Self;
    fn tensor(&self) -> &Tensor;
    fn tensor_mut(&mut self) -> &mut Tensor;
    fn flags(&self) -> u64;
    fn deleter(&self) -> Option<Deleter<Self>>;
}

impl Managed for Versioned {
    fn new(tensor: Tensor, flags: u64, deleter: Deleter<Self>) -> Self {
        let (major, minor) = VERSION;
        Self { major, minor, manager_ctx: null_mut(), deleter: Some(deleter), flags, tensor }
    }

    fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    fn tensor_mut(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

impl Managed for Unversioned {
    /// It has no place for flags, and those that it cannot have were refused.
    fn new(tensor: Tensor, _flags: u64, deleter: Deleter<Self>) -> Self {
        Self { tensor, manager_ctx: null_mut(), deleter: Some(deleter) }
    }

    fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    fn tensor_mut(&mut self) -> &mut Tensor {
        &mut self.tensor
    }

    fn flags(&self) -> u64 {
        0
    }

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

const READ_ONLY: u64 = 1;

/// `DLDeviceType`, as far as it is known here.
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const CUDA_MANAGED: i32 = 13;

/// No library has tensors of more dimensions.
const MOST_DIMENSIONS: usize = 64;

/// Flags of a DLPack tensor.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_dlpack_flags {
    /// Nobody may write the tensor. Not together with `CUSHIM_DLPACK_UNVERSIONED`: such a tensor cannot say so.
    CUSHIM_DLPACK_READ_ONLY = 1,
    /// A `DLManagedTensor` (a capsule named "dltensor"), as before DLPack 1, instead of a `DLManagedTensorVersioned`
    /// ("dltensor_versioned"). NumPy before 2.1 accepts no others.
    CUSHIM_DLPACK_UNVERSIONED = 2,
    /// Of `cushim_buffer_import_dlpack` only: the library does not call the deleter. After the last use
    /// `cushim_drain` returns the tensor, as an item of kind `CUSHIM_DRAIN_RELEASE`, and the program calls its
    /// deleter.
    CUSHIM_DLPACK_PULL = 4,
}

const READ_ONLY_FLAG: u32 = cushim_dlpack_flags::CUSHIM_DLPACK_READ_ONLY as u32;
const UNVERSIONED: u32 = cushim_dlpack_flags::CUSHIM_DLPACK_UNVERSIONED as u32;
const PULL: u32 = cushim_dlpack_flags::CUSHIM_DLPACK_PULL as u32;

/// Options of `cushim_buffer_export_dlpack`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_dlpack_options {
    /// Bytes of this struct, `sizeof(cushim_dlpack_options)`.
    pub struct_size: usize,
    /// The type of an element, a `DLDataTypeCode` (0 signed, 1 unsigned, 2 floating-point); needs `bits`.
    pub code: i32,
    /// The bits of an element: a multiple of 8, at most 128. 0: unsigned bytes.
    pub bits: i32,
    /// The elements of a vector; 0 and 1 mean no vectors.
    pub lanes: i32,
    /// @field[flags(cushim_dlpack_flags)] Flags.
    pub flags: u32,
    /// @field[nullable, array(dimensions)] The number of elements in each dimension, in row-major order, contiguous.
    ///   NULL: one dimension with as many elements as fit.
    pub shape: *const i64,
    /// The number of dimensions, at most 64.
    pub dimensions: usize,
    /// Bytes before the first element.
    pub offset: u64,
}

/// Exports a buffer as a DLPack tensor. The tensor keeps the buffer alive until its deleter is called.
///
/// Its device is CUDA, CUDA managed, CUDA host (page-locked) or CPU, by the buffer's properties. DLPack orders
/// nothing: make the consumer's work wait for what was written, and the free of the memory (the deallocation stream)
/// for the consumer's work, with events or by synchronising.
///
/// @param[in] buffer The buffer.
/// @param[in, nullable] options The options. NULL: one dimension of unsigned bytes.
/// @param[out, owned] tensor The `DLManagedTensorVersioned`, or `DLManagedTensor` with `CUSHIM_DLPACK_UNVERSIONED`.
///   Call its deleter exactly once, on any thread.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for elements that reach past the end of the buffer.
/// @driver none
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, and its shape for its dimensions; `tensor`
/// is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_export_dlpack(
    buffer: cushim_buffer,
    options: *const cushim_dlpack_options,
    tensor: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `tensor`.
        let tensor = unsafe { out::cleared(tensor, null_mut(), "tensor") }?;
        // SAFETY: the caller vouches for `options`; all its members may be zero.
        let options = unsafe { options::read(options, "options") }?;
        // SAFETY: as above.
        let format = unsafe { Format::of(&options) }?;
        let buffer = hold(buffer)?;
        buffer.refuse_asleep()?;
        let shape = format.fit(&buffer)?;
        let properties = buffer.properties()?;
        *tensor = match format.unversioned {
            false => Exported::<Versioned>::make(buffer, &properties, &format, shape).cast(),
            true => Exported::<Unversioned>::make(buffer, &properties, &format, shape).cast(),
        };
        Ok(())
    })
}

/// What a tensor is to be.
struct Format {
    code: u8,
    bits: u8,
    lanes: u16,
    read_only: bool,
    unversioned: bool,
    shape: Option<Vec<i64>>,
    offset: u64,
}

impl Format {
    /// # Safety
    /// The shape is NULL or valid for reads of the dimensions.
    unsafe fn of(given: &cushim_dlpack_options) -> Result<Self, Error> {
        let cushim_dlpack_options { code, bits, lanes, flags, shape, dimensions, offset, .. } = *given;
        options::check_flags(flags, READ_ONLY_FLAG | UNVERSIONED)?;
        if flags == READ_ONLY_FLAG | UNVERSIONED {
            return Err(invalid(
                "an unversioned tensor cannot say that it is read-only; export a versioned one".to_owned(),
            ));
        }
        if !(0..=128).contains(&bits) || bits % 8 != 0 {
            return Err(invalid(format!("bits is {bits}; an element has a multiple of 8, at most 128")));
        }
        let (code, bits) = if bits == 0 && code == 0 { (1, 8) } else { (code, bits) };
        let (Ok(code), Ok(bits), Ok(lanes)) =
            (u8::try_from(code), u8::try_from(bits), u16::try_from(lanes.max(1)))
        else {
            return Err(invalid(format!("code is {code} and lanes is {lanes}; DLPack has no such elements")));
        };
        if bits == 0 {
            return Err(invalid(
                "bits is 0; of elements of another kind than unsigned bytes it must be named".to_owned(),
            ));
        }
        if dimensions > MOST_DIMENSIONS || (shape.is_null() && dimensions != 0) {
            return Err(invalid(format!(
                "dimensions is {dimensions}, of at most {MOST_DIMENSIONS}; with no shape it is 0"
            )));
        }
        // SAFETY: the caller vouches for the shape.
        let shape =
            unsafe { numbers(shape, dimensions, "shape") }?.filter(|_| !shape.is_null()).map(<[i64]>::to_vec);
        let (read_only, unversioned) = (flags & READ_ONLY_FLAG != 0, flags & UNVERSIONED != 0);
        Ok(Self { code, bits, lanes, read_only, unversioned, shape, offset })
    }

    /// Bytes of an element.
    fn element(&self) -> u64 {
        u64::from(self.bits) / 8 * u64::from(self.lanes)
    }

    /// The shape, which fits into the buffer.
    fn fit(&self, buffer: &Buffer) -> Result<Vec<i64>, Error> {
        let room = (buffer.bytes() as u64)
            .checked_sub(self.offset)
            .ok_or_else(|| invalid(format!("offset is {}, past the end of {buffer}", self.offset)))?;
        let Some(shape) = &self.shape else { return Ok(vec![(room / self.element()) as i64]) };
        match count(shape).and_then(|count| count.checked_mul(self.element())) {
            Some(bytes) if bytes <= room => Ok(shape.clone()),
            _ => Err(invalid(format!(
                "the shape {shape:?} of elements of {} bytes does not fit into the {room} bytes of {buffer} from {} on",
                self.element(),
                self.offset
            ))),
        }
    }
}

/// How many elements a shape has; `None` if it has none that could be.
fn count(shape: &[i64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |count, &extent| count.checked_mul(u64::try_from(extent).ok()?))
}

/// The strides of contiguous elements, the last dimension innermost.
fn contiguous(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1_i64; shape.len()];
    for at in (0..shape.len().saturating_sub(1)).rev() {
        strides[at] = strides[at + 1].saturating_mul(shape[at + 1].max(1));
    }
    strides
}

fn invalid(refusal: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

/// A tensor that was given out, with what it points to.
#[repr(C)]
struct Exported<M> {
    /// First, so that a pointer to it is one to the whole.
    managed: M,
    buffer: Buffer,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl<M: Managed> Exported<M> {
    fn make(buffer: Buffer, properties: &Properties, format: &Format, shape: Vec<i64>) -> *mut M {
        let (device_type, device_id) = device_of(&buffer, properties);
        let strides = contiguous(&shape);
        let tensor = Tensor {
            data: std::ptr::with_exposed_provenance_mut(buffer.pointer().0 as usize),
            device_type,
            device_id,
            ndim: shape.len() as i32,
            code: format.code,
            bits: format.bits,
            lanes: format.lanes,
            shape: null_mut(),
            strides: null_mut(),
            byte_offset: format.offset,
        };
        let flags = if format.read_only { READ_ONLY } else { 0 };
        let mut exported =
            Box::new(Self { managed: M::new(tensor, flags, delete::<M>), buffer, shape, strides });
        exported.managed.tensor_mut().shape = exported.shape.as_mut_ptr();
        exported.managed.tensor_mut().strides = exported.strides.as_mut_ptr();
        Box::into_raw(exported).cast()
    }
}

/// Where DLPack says that memory is.
fn device_of(buffer: &Buffer, properties: &Properties) -> (i32, i32) {
    let ordinal = || properties.device.or_else(|| Some(buffer.context()?.device().ordinal())).unwrap_or(0);
    match properties {
        Properties { managed: true, .. } => (CUDA_MANAGED, ordinal()),
        Properties { host_accessible: true, device_accessible: true, .. } => (CUDA_HOST, 0),
        Properties { host_accessible: true, .. } => (CPU, 0),
        _ => (CUDA, ordinal()),
    }
}

/// The deleter of exported tensors.
unsafe extern "C" fn delete<M>(tensor: *mut M) {
    // What the parent of a fork exported belongs to the parent.
    if tensor.is_null() || handle::forked() {
        return;
    }
    // SAFETY: whoever has the tensor calls this once, and it is the first member of what was made above.
    let exported = unsafe { Box::from_raw(tensor.cast::<Exported<M>>()) };
    let Exported { buffer, .. } = *exported;
    crate::object::callback::caught("the deleter of a tensor", || buffer.let_go());
}

/// Wraps the memory of a DLPack tensor as a buffer. The tensor's deleter is called after the last use, as the
/// `release` of a `cushim_owner` is; with `CUSHIM_DLPACK_PULL` the program calls it.
///
/// @param[in] driver The driver.
/// @param[in, taken] tensor A `DLManagedTensorVersioned` of DLPack 1.x, or a `DLManagedTensor`, with contiguous
///   elements. If the call fails, it still belongs to the caller.
/// @param[in, flags(cushim_dlpack_flags)] flags `CUSHIM_DLPACK_UNVERSIONED` for a `DLManagedTensor`;
///   `CUSHIM_DLPACK_PULL` to have the tensor drained (`cushim_drain`) instead of its deleter called, as a language
///   wants it whose code must not run on foreign threads; otherwise 0.
/// @param[out, owned] buffer The buffer.
/// @param[out, nullable] read_only Receives 1 if nobody may write the memory, otherwise 0.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a tensor that is not contiguous, is of another version, or is on a
///   device that the driver does not have.
/// @driver none
///
/// # Safety
/// `tensor` is NULL or such a tensor, whose deleter may be called, once, from any thread; `buffer` and `read_only`
/// are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_import_dlpack(
    driver: cushim_driver,
    tensor: *mut c_void,
    flags: u32,
    buffer: *mut cushim_buffer,
    read_only: *mut i32,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for both.
        let (buffer, read_only) = unsafe {
            out::both(
                out::cleared(buffer, null_mut(), "buffer"),
                out::cleared_if_given(read_only, 0, "read_only"),
            )
        }?;
        pointer::check(tensor.cast::<Versioned>(), "tensor")?;
        options::check_flags(flags, UNVERSIONED | PULL)?;
        let pull = flags & PULL != 0;
        let driver = &hold(driver)?.driver;
        let reserved = reserve()?;
        let (made, its_flags) = if flags & UNVERSIONED != 0 {
            // SAFETY: the caller vouches for the tensor.
            unsafe { take_in::<Unversioned>(lending, driver, tensor.cast(), pull) }
        } else {
            // SAFETY: the caller vouches for the tensor.
            unsafe {
                check_version(tensor.cast())?;
                take_in::<Versioned>(lending, driver, tensor.cast(), pull)
            }
        }?;
        *buffer = reserved.of(made);
        out::put(read_only, i32::from(its_flags & READ_ONLY != 0));
        Ok(())
    })
}

/// Makes a buffer that in the end deletes the tensor, or has it drained; answers with the tensor's flags, too.
///
/// # Safety
/// As for `cushim_buffer_import_dlpack`; the tensor has this layout.
unsafe fn take_in<M: Managed>(
    lending: &Lending,
    driver: &Driver,
    managed: *mut M,
    pull: bool,
) -> Result<(Buffer, u64), Error> {
    // SAFETY: the caller vouches for the tensor.
    let tensor = unsafe { &*managed };
    // SAFETY: as above.
    let (start, bytes) = unsafe { range_of(driver, tensor.tensor()) }?;
    let (flags, deleter, taken) = (tensor.flags(), tensor.deleter(), Taken(managed));
    // SAFETY: the caller vouches for the deleter, which the owner calls once.
    let delete = move || deleter.into_iter().for_each(|deleter| unsafe { deleter.call((taken.get(),)) });
    // SAFETY: without a function nothing is called.
    let owner = if pull { unsafe { lending.lend(managed.cast(), None) } } else { lending.lend_to(delete) };
    // SAFETY: the caller vouches for the memory.
    let made = unsafe { Buffer::wrap(driver, start, bytes, Home::Owner(owner), None) };
    let made = made.map_err(|(failure, _)| failure)?;
    Ok((made, flags))
}

/// A tensor on its way to the thread that deletes it.
struct Taken<M>(*mut M);

// SAFETY: the caller vouches that the deleter may be called from any thread.
unsafe impl<M> Send for Taken<M> {}

impl<M> Taken<M> {
    fn get(&self) -> *mut M {
        self.0
    }
}

/// Refuses a tensor of a version that is not known.
///
/// # Safety
/// `tensor` is a `DLManagedTensorVersioned` of whatever version.
unsafe fn check_version(tensor: *const Versioned) -> Result<(), Error> {
    // SAFETY: the version is the first member in every version of the layout.
    let (major, minor) = unsafe { ((*tensor).major, (*tensor).minor) };
    if major == VERSION.0 {
        return Ok(());
    }
    let refusal = format!("the tensor is of DLPack {major}.{minor}; only {}.x is known", VERSION.0);
    Err(invalid(refusal))
}

/// The memory of a tensor: where it starts, and how many bytes it has.
///
/// # Safety
/// The tensor has as many extents and strides as dimensions, or no strides.
unsafe fn range_of(driver: &Driver, tensor: &Tensor) -> Result<(DevicePointer, usize), Error> {
    check_device(driver, tensor)?;
    let dimensions = usize::try_from(tensor.ndim).ok().filter(|count| *count <= MOST_DIMENSIONS);
    let dimensions =
        dimensions.ok_or_else(|| invalid(format!("the tensor has {} dimensions", tensor.ndim)))?;
    // SAFETY: as the caller vouches.
    let (shape, strides) = unsafe {
        (
            numbers(tensor.shape, dimensions, "the tensor's shape")?,
            numbers(tensor.strides, dimensions, "the tensor's strides")?,
        )
    };
    let shape = shape.ok_or_else(|| invalid("the tensor has no shape".to_owned()))?;
    if strides.is_some_and(|strides| !is_contiguous(shape, strides)) {
        return Err(invalid("the tensor is not contiguous; export a contiguous copy of it".to_owned()));
    }
    let element = (u64::from(tensor.bits) * u64::from(tensor.lanes)).div_ceil(8);
    let bytes = count(shape).and_then(|count| usize::try_from(count.checked_mul(element)?).ok());
    let bytes =
        bytes.ok_or_else(|| invalid(format!("the tensor's shape {shape:?} is no shape of any memory")))?;
    let start = (tensor.data.expose_provenance() as u64).checked_add(tensor.byte_offset);
    let start =
        start.ok_or_else(|| invalid("the tensor reaches past the end of all addresses".to_owned()))?;
    Ok((DevicePointer(start), bytes))
}

/// The numbers of a tensor; `None` where there are none but should be.
///
/// # Safety
/// `values` is NULL, misaligned or valid for reads of `count` numbers.
unsafe fn numbers<'a>(values: *const i64, count: usize, what: &str) -> Result<Option<&'a [i64]>, Error> {
    if values.is_null() && count > 0 {
        return Ok(None);
    }
    // SAFETY: as the caller vouches.
    unsafe { input::slice(values, count, what) }.map(Some)
}

/// Whether the elements lie side by side. Of a dimension of one element the stride means nothing, and of no elements
/// none does.
fn is_contiguous(shape: &[i64], strides: &[i64]) -> bool {
    let is_as_expected =
        |((extent, stride), expected): ((&i64, &i64), &i64)| *extent == 1 || stride == expected;
    shape.contains(&0) || shape.iter().zip(strides).zip(&contiguous(shape)).all(is_as_expected)
}

fn check_device(driver: &Driver, tensor: &Tensor) -> Result<(), Error> {
    match tensor.device_type {
        CPU | CUDA_HOST => Ok(()),
        CUDA | CUDA_MANAGED => Device::get(driver, tensor.device_id).map(drop),
        other => Err(invalid(format!(
            "the tensor is on a device of DLPack's type {other}; known are CPU (1), CUDA (2), CUDA host (3) and CUDA managed (13)"
        ))),
    }
}
