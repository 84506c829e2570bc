//! What slices hold.

/// A type whose values are bytes and nothing else: what memory of it holds is a value, whoever wrote it, and copying the bytes copies
/// the value.
///
/// Numbers are such types, and arrays of them. A type of one's own that consists of such, `#[repr(C)]` as the kernels see it:
///
/// ```
/// use cushim::typed::DeviceCopy;
///
/// #[derive(Debug, Clone, Copy)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
///
/// // SAFETY: four numbers, without a gap.
/// unsafe impl DeviceCopy for Particle {}
/// ```
///
/// # Safety
/// Every pattern of bits is a value (so no `bool`, `char`, reference or enum), and there is no padding.
pub unsafe trait DeviceCopy: Copy + Send + Sync + 'static {}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        // SAFETY: each pattern of bits is a number, and there is no padding.
        unsafe impl DeviceCopy for $number {}
    )*};
}

numbers!(i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize, f32, f64);

// SAFETY: an array has no padding beside that of its elements.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}
