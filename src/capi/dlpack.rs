//! Buffers as DLPack tensors, and DLPack tensors as buffers: memory that passes between libraries without a copy.

use super::buffer::cushim_buffer;
use super::driver::cushim_driver;
use super::driver_types::Driver;
use super::error::{call, cushim_status};
use super::handles::{claim, hold};
use super::{options, out};
use crate::callback::Owner;
use crate::device::Device;
use crate::error::{Error, Status};
use crate::handle;
use crate::memory::{Buffer, DevicePointer, Home, Properties};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// The version of the layout below.
const VERSION: (u32, u32) = (1, 0);

/// `DLManagedTensorVersioned` of DLPack 1.
#[repr(C)]
pub(super) struct ManagedTensor {
    major: u32,
    minor: u32,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
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

/// What `cushim_dlpack_options.flags` may contain.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_dlpack_flags {
    /// Nobody may write to the tensor.
    CUSHIM_DLPACK_READ_ONLY = 1,
}

/// Options of `cushim_buffer_export_dlpack`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_dlpack_options {
    /// Bytes of this struct, `sizeof(cushim_dlpack_options)`.
    pub struct_size: usize,
    /// What an element is, a `DLDataTypeCode` (0 signed, 1 unsigned, 2 floating); only with `bits`.
    pub code: i32,
    /// Bits of an element: a multiple of 8, at most 128. 0 for unsigned bytes.
    pub bits: i32,
    /// Elements in a vector; 0 and 1 mean that there are none.
    pub lanes: i32,
    /// A combination of `cushim_dlpack_flags`.
    pub flags: u32,
    /// Elements in each dimension; they are contiguous, the last dimension innermost. NULL for one dimension with as many
    /// elements as fit.
    pub shape: *const i64,
    /// Number of dimensions, at most 64.
    pub dimensions: usize,
    /// Bytes before the first element.
    pub offset: u64,
}

/// Gives a buffer out as a DLPack tensor, which holds it until its deleter is called.
///
/// The tensor is a `DLManagedTensorVersioned` of DLPack 1. Its device is CUDA, CUDA managed, CUDA host (page-locked) or CPU, by
/// the buffer's properties. DLPack does not order work: what uses the memory must come before the free in the deallocation
/// stream's order, and after what is written here; the two sides see to that by an event or a synchronisation.
///
/// @param buffer The buffer.
/// @param options NULL for the defaults: one dimension of unsigned bytes. Read during the call only.
/// @param tensor Receives a pointer to the `DLManagedTensorVersioned`; NULL on failure. Must not be NULL. Whoever has the tensor
///   in the end calls its deleter, once, on any thread.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for elements that reach past the end of the buffer;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, and its shape for its dimensions; `tensor` is NULL or
/// valid for writes.
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
        let shape = format.fit(&buffer)?;
        let properties = buffer.properties()?;
        *tensor = Exported::make(buffer, &properties, &format, shape).cast();
        Ok(())
    })
}

/// What a tensor is to be.
struct Format {
    code: u8,
    bits: u8,
    lanes: u16,
    read_only: bool,
    shape: Option<Vec<i64>>,
    offset: u64,
}

impl Format {
    /// # Safety
    /// The shape is NULL or valid for reads of the dimensions.
    unsafe fn of(given: &cushim_dlpack_options) -> Result<Self, Error> {
        let cushim_dlpack_options { code, bits, lanes, flags, shape, dimensions, offset, .. } = *given;
        options::check_flags(flags, cushim_dlpack_flags::CUSHIM_DLPACK_READ_ONLY as u32)?;
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
        let shape = (!shape.is_null())
            .then(|| (0..dimensions).map(|at| unsafe { shape.add(at).read_unaligned() }).collect());
        Ok(Self { code, bits, lanes, read_only: flags != 0, shape, offset })
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
struct Exported {
    /// First, so that a pointer to it is one to the whole.
    tensor: ManagedTensor,
    buffer: Arc<Buffer>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Exported {
    fn make(
        buffer: Arc<Buffer>,
        properties: &Properties,
        format: &Format,
        shape: Vec<i64>,
    ) -> *mut ManagedTensor {
        let (device_type, device_id) = device_of(&buffer, properties);
        let strides = contiguous(&shape);
        let mut exported = Box::new(Self {
            tensor: ManagedTensor {
                major: VERSION.0,
                minor: VERSION.1,
                manager_ctx: null_mut(),
                deleter: Some(delete),
                flags: if format.read_only { READ_ONLY } else { 0 },
                tensor: Tensor {
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
                },
            },
            buffer,
            shape,
            strides,
        });
        exported.tensor.tensor.shape = exported.shape.as_mut_ptr();
        exported.tensor.tensor.strides = exported.strides.as_mut_ptr();
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
unsafe extern "C" fn delete(tensor: *mut ManagedTensor) {
    // What the parent of a fork exported belongs to the parent.
    if tensor.is_null() || handle::forked() {
        return;
    }
    // SAFETY: whoever has the tensor calls this once, and it is the first member of what was made above.
    let exported = unsafe { Box::from_raw(tensor.cast::<Exported>()) };
    let Exported { buffer, .. } = *exported;
    crate::callback::caught("the deleter of a tensor", || buffer.let_go());
}

/// Takes in a DLPack tensor as a buffer of its bytes. The tensor's deleter is called when the buffer is gone, as the `release` of
/// a `cushim_owner` is.
///
/// @param driver The driver with whose memory it is used.
/// @param tensor A pointer to a `DLManagedTensorVersioned` of DLPack 1.x, whose elements are contiguous. The call takes it if it
///   succeeds; if it fails, it is still the caller's. Must not be NULL.
/// @param read_only Receives 1 if nobody may write to it; 0 on failure; may be NULL.
/// @param buffer Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_buffer_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a tensor that is not contiguous, of another
/// version, or on a device that there is not here; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `tensor` is NULL or such a tensor, whose deleter may be called, once, from any thread; `read_only` and `buffer` are NULL or
/// valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_import_dlpack(
    driver: cushim_driver,
    tensor: *mut c_void,
    read_only: *mut i32,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (read_only, buffer) =
            unsafe { (out::cleared_if_given(read_only, 0), out::cleared(buffer, null_mut(), "buffer")?) };
        if tensor.is_null() {
            return Err(out::null("tensor"));
        }
        let driver = hold(driver)?;
        let tensor = tensor.cast::<ManagedTensor>();
        // SAFETY: the caller vouches for the tensor, whose first member is the version in every version of the layout.
        let (start, bytes) = unsafe { range_of(&driver.driver, tensor) }?;
        // SAFETY: as above.
        let (flags, deleter) = unsafe { ((*tensor).flags, (*tensor).deleter) };
        let taken = Taken(tensor);
        // SAFETY: the caller vouches for the deleter, which the owner calls once.
        let owner =
            Owner::new(move || deleter.into_iter().for_each(|deleter| unsafe { deleter(taken.get()) }));
        // SAFETY: the caller vouches for the memory.
        let made = unsafe { Buffer::wrap(&driver.driver, start, bytes, Home::Owner(owner), None) };
        *buffer = claim(made.map_err(|(failure, home)| super::buffer::given_back(failure, home))?)?;
        out::put(read_only, i32::from(flags & READ_ONLY != 0));
        Ok(())
    })
}

/// A tensor on its way to the thread that deletes it.
struct Taken(*mut ManagedTensor);

// SAFETY: the caller vouches that the deleter may be called from any thread.
unsafe impl Send for Taken {}

impl Taken {
    fn get(&self) -> *mut ManagedTensor {
        self.0
    }
}

/// The memory of a tensor: where it starts, and how many bytes it has.
///
/// # Safety
/// `tensor` is a `DLManagedTensorVersioned`.
unsafe fn range_of(driver: &Driver, tensor: *const ManagedTensor) -> Result<(DevicePointer, usize), Error> {
    // SAFETY: the version is the first member in every version of the layout.
    let (major, minor) = unsafe { ((*tensor).major, (*tensor).minor) };
    if major != VERSION.0 {
        return Err(invalid(format!(
            "the tensor is of DLPack {major}.{minor}; only {}.x is known",
            VERSION.0
        )));
    }
    // SAFETY: the version says that it is this layout.
    let tensor = unsafe { &(*tensor).tensor };
    check_device(driver, tensor)?;
    let dimensions = usize::try_from(tensor.ndim).ok().filter(|count| *count <= MOST_DIMENSIONS);
    let dimensions =
        dimensions.ok_or_else(|| invalid(format!("the tensor has {} dimensions", tensor.ndim)))?;
    // SAFETY: the tensor has as many extents and strides as dimensions; strides may be left out.
    let (shape, strides) =
        unsafe { (numbers(tensor.shape, dimensions), numbers(tensor.strides, dimensions)) };
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

/// # Safety
/// `values` is NULL or valid for reads of `count` numbers.
unsafe fn numbers<'a>(values: *const i64, count: usize) -> Option<&'a [i64]> {
    match (count, values.is_null()) {
        (0, _) => Some(&[]),
        (_, true) => None,
        // SAFETY: as the caller vouches.
        _ => Some(unsafe { std::slice::from_raw_parts(values, count) }),
    }
}

/// Whether the elements lie side by side. Of a dimension of one element the stride means nothing, and of no elements none does.
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
