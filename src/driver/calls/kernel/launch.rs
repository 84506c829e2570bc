//! Launches.

use super::function::RawKernel;
use crate::driver::call;
use crate::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchConfig, CUstream,
};
use crate::driver::{CallError, Table};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Attributes of one launch: few, so that they stand on the stack.
pub(crate) struct RawAttributes {
    list: [MaybeUninit<CUlaunchAttribute>; Self::MOST],
    count: usize,
    /// Whether one of them is more than the calls before driver 11.8 know.
    needs_list: bool,
    cooperative: bool,
}

impl RawAttributes {
    /// How many there may be: each of today's once, and as many of tomorrow's.
    pub(crate) const MOST: usize = 32;

    /// In line, so that it is made where it is used: to move it costs more than the launch does.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            list: [const { MaybeUninit::uninit() }; Self::MOST],
            count: 0,
            needs_list: false,
            cooperative: false,
        }
    }

    /// Adds one; false if there is no room.
    pub(crate) fn push(&mut self, id: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> bool {
        let Some(place) = self.list.get_mut(self.count) else { return false };
        place.write(CUlaunchAttribute { id, pad: [0; 4], value });
        self.count += 1;
        if id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE {
            // SAFETY: every value of this attribute is a number.
            self.cooperative = unsafe { value.cooperative } != 0;
        } else {
            self.needs_list = true;
        }
        true
    }

    /// Adds one whose value is given by its bytes.
    /// Those that were listed.
    pub(crate) fn each(&self) -> impl Iterator<Item = &CUlaunchAttribute> {
        // SAFETY: as many are initialised as were pushed.
        self.list[..self.count].iter().map(|attribute| unsafe { attribute.assume_init_ref() })
    }

    pub(crate) fn push_bytes(&mut self, id: CUlaunchAttributeID, bytes: [u8; 64]) -> bool {
        self.push(id, CUlaunchAttributeValue { pad: bytes.map(|byte| byte as c_char) })
    }
}

/// What a launch gives to the kernel.
#[derive(Clone, Copy)]
pub(crate) enum RawArguments<'a> {
    /// The address of each argument.
    Each(&'a [*const c_void]),
    /// All in one block, laid out as the kernel expects it.
    Packed(&'a [u8]),
}

/// Size of a launch.
#[derive(Clone, Copy)]
pub(crate) struct RawShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
}

const LIST_END: *mut c_void = null_mut();
const PACKED: *mut c_void = std::ptr::without_provenance_mut(1); // CU_LAUNCH_PARAM_BUFFER_POINTER
const PACKED_SIZE: *mut c_void = std::ptr::without_provenance_mut(2); // CU_LAUNCH_PARAM_BUFFER_SIZE

/// Where a packed block is described while the driver reads it.
pub(crate) struct Extra {
    size: usize,
    list: [*mut c_void; 5],
}

impl Default for Extra {
    #[inline]
    fn default() -> Self {
        Self { size: 0, list: [LIST_END; 5] }
    }
}

impl Extra {
    /// The arguments as the driver takes them, of which it only reads what they point to.
    #[inline(always)]
    pub(crate) fn of(&mut self, arguments: RawArguments<'_>) -> (*mut *mut c_void, *mut *mut c_void) {
        match arguments {
            // Where none are given and the kernel takes some, NULL is refused; anything else would be followed.
            RawArguments::Each([]) => (null_mut(), null_mut()),
            RawArguments::Each(each) => (each.as_ptr().cast_mut().cast(), null_mut()),
            RawArguments::Packed(block) => {
                self.size = block.len();
                let size = (&raw mut self.size).cast();
                self.list = [PACKED, block.as_ptr().cast_mut().cast(), PACKED_SIZE, size, LIST_END];
                (null_mut(), self.list.as_mut_ptr())
            }
        }
    }
}

/// Enqueues the kernel in the stream; attributes besides the cooperative one, 11.8.
///
/// # Safety
/// The arguments are as many, and as large, as the kernel takes, and what the kernel does with them is good; attributes that
/// were given by number have good values; the stream is alive.
#[inline(always)]
pub(crate) unsafe fn launch(
    kernel: &RawKernel,
    stream: CUstream,
    shape: &RawShape,
    attributes: &mut RawAttributes,
    arguments: RawArguments<'_>,
) -> Result<(), CallError> {
    let mut extra = Extra::default();
    let (each, extra) = extra.of(arguments);
    let table = kernel.table();
    // SAFETY: the kernel's code is loaded and the stream alive; the caller vouches for the arguments.
    unsafe { enqueue(table, kernel.handle(), stream, shape, attributes, each, extra) }
}

/// # Safety
/// As for the driver's `cuLaunchKernelEx`.
#[inline(always)]
unsafe fn enqueue(
    table: &Table,
    kernel: *mut c_void,
    stream: CUstream,
    shape: &RawShape,
    attributes: &mut RawAttributes,
    each: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<(), CallError> {
    let is_packed = !extra.is_null();
    if table.cuLaunchKernelEx_11060.is_some()
        || attributes.needs_list
        || (attributes.cooperative && is_packed)
    {
        let config = configuration(stream, shape, attributes);
        // SAFETY: the caller vouches for all of it; as many attributes are initialised as the configuration says.
        return unsafe {
            call!(table, cuLaunchKernelEx_11060(&raw const config, kernel.cast(), each, extra))
        };
    }
    let (kernel, [x, y, z], [bx, by, bz], shared) = (kernel.cast(), shape.grid, shape.block, shape.shared);
    // SAFETY: as above.
    unsafe {
        match attributes.cooperative {
            true => call!(
                table,
                cuLaunchCooperativeKernel_9000(kernel, x, y, z, bx, by, bz, shared, stream, each)
            ),
            false => {
                call!(table, cuLaunchKernel_4000(kernel, x, y, z, bx, by, bz, shared, stream, each, extra))
            }
        }
    }
}

/// A launch as the driver has it, good as long as `attributes` is.
#[inline]
pub(super) fn configuration(
    stream: CUstream,
    shape: &RawShape,
    attributes: &mut RawAttributes,
) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: shape.grid[0],
        gridDimY: shape.grid[1],
        gridDimZ: shape.grid[2],
        blockDimX: shape.block[0],
        blockDimY: shape.block[1],
        blockDimZ: shape.block[2],
        sharedMemBytes: shape.shared,
        hStream: stream,
        attrs: attributes.list.as_mut_ptr().cast(),
        numAttrs: attributes.count as u32,
    }
}

/// Numbers, all of whose bytes mean something.
pub(crate) trait Plain: Copy {
    /// The number's own bytes.
    fn bytes(&self) -> &[u8];
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            fn bytes(&self) -> &[u8] {
                // SAFETY: a number has no padding.
                unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
            }
        }
    )*};
}

plain!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64);
