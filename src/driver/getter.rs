//! `cuGetProcAddress` in its forms, and the one way in which all of them are asked.

use super::library::Library;
use super::sys::CUDA_SUCCESS;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;

/// A caller's getter: `cuGetProcAddress_v2` with a pointer for the caller's own use before its parameters.
///
/// It puts the address of the ABI that `version` names into `*address`, or null where there is none, a
/// `CUdriverProcAddressQueryResult` into `*status`, and returns a `CUresult`. No out-pointer is ever null.
pub type GetProcAddress = unsafe extern "C" fn(
    user: *mut c_void,
    symbol: *const c_char,
    address: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> c_int;

type DriverGetter = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> c_int;
type DriverGetterV1 = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> c_int;

/// The flag for symbols that take the null stream for the legacy one. Zero means the same to every driver asked so far,
/// but only this is documented to.
pub(super) const LEGACY_STREAM: u64 = 1;
/// The flag for symbols that take the null stream for the calling thread's.
pub(super) const PER_THREAD_STREAM: u64 = 2;

/// A getter of the caller's, to be asked instead of a library.
#[derive(Debug, Clone, Copy)]
pub struct CustomGetter {
    function: GetProcAddress,
    user: *mut c_void,
    is_v1: bool,
}

impl CustomGetter {
    /// A getter that is called with `user`, on the thread that opens the driver and only while it is being opened.
    ///
    /// # Safety
    /// The getter must keep the contract of [`GetProcAddress`]: each address that it gives must be that of a function of
    /// the ABI asked for, and stay valid until the process ends.
    #[must_use]
    pub const unsafe fn new(function: GetProcAddress, user: *mut c_void) -> Self {
        Self { function, user, is_v1: false }
    }

    /// The same getter, taken for one that behaves as `cuGetProcAddress` did before 12.0: an absent symbol is an error,
    /// and what it leaves in `*status` means nothing.
    #[must_use]
    pub const fn v1(self) -> Self {
        Self { is_v1: true, ..self }
    }
}

/// How a driver is asked for its symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GetterKind {
    /// By its `cuGetProcAddress_v2`: drivers since 12.0.
    V2,
    /// By its `cuGetProcAddress` with four arguments: drivers 11.3 to 11.8.
    V1,
    /// By the names that it exports, because it has no getter.
    Dlsym,
    /// By the caller's getter.
    Custom,
    /// Not at all: there is no driver.
    None,
}

impl GetterKind {
    /// The word that reports use: `cuGetProcAddress_v2`, `cuGetProcAddress`, `dlsym`, `custom` or `none`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2 => "cuGetProcAddress_v2",
            Self::V1 => "cuGetProcAddress",
            Self::Dlsym => "dlsym",
            Self::Custom => "custom",
            Self::None => "none",
        }
    }
}

impl fmt::Display for GetterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a getter answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// Null unless the getter reported success.
    pub(super) address: *const c_void,
    pub(super) result: c_int,
    /// The query status, where the getter has one and wrote it.
    pub(super) query: Option<c_int>,
}

/// Whom to ask.
#[derive(Clone, Copy)]
pub(super) enum Getter {
    V2(DriverGetter),
    V1(DriverGetterV1),
    Custom(CustomGetter),
}

/// A query status that no driver answers: whoever finds it knows that none was written.
const UNWRITTEN: c_int = -1;

impl Getter {
    /// The library's own getter, in the newest form that it has.
    pub(super) fn of(library: &Library) -> Option<Self> {
        // The plain export keeps its four arguments for ever, in new drivers too; only the suffixed one takes five.
        let v2 = library.symbol(c"cuGetProcAddress_v2");
        if !v2.is_null() {
            // SAFETY: drivers export this name with exactly this type only.
            return Some(Self::V2(unsafe { std::mem::transmute::<*const c_void, DriverGetter>(v2) }));
        }
        let v1 = library.symbol(c"cuGetProcAddress");
        // SAFETY: as above.
        (!v1.is_null()).then(|| Self::V1(unsafe { std::mem::transmute::<*const c_void, DriverGetterV1>(v1) }))
    }

    pub(super) fn kind(&self) -> GetterKind {
        match self {
            Self::V2(_) => GetterKind::V2,
            Self::V1(_) => GetterKind::V1,
            Self::Custom(_) => GetterKind::Custom,
        }
    }

    /// Asks for the ABI `number` of the function `base`.
    pub(super) fn ask(&self, base: &CStr, number: u32, flags: u64) -> Answer {
        let mut address = std::ptr::null_mut();
        let mut query = UNWRITTEN;
        let (base, number) = (base.as_ptr(), number as c_int);
        let out: *mut *mut c_void = &raw mut address;
        // SAFETY: the name ends with NUL and both out-pointers are valid, which is all that a getter demands; driver
        // 580 crashes on a null out-pointer. That a custom getter is sound was promised when it was made.
        let result = unsafe {
            match *self {
                Self::V2(get) => get(base, out, number, flags, &raw mut query),
                Self::V1(get) => get(base, out, number, flags),
                Self::Custom(CustomGetter { function: get, user, .. }) => {
                    get(user, base, out, number, flags, &raw mut query)
                }
            }
        };
        // Success with a null address means absent; so does any error, whatever was left in the out-parameter.
        let address = if result == CUDA_SUCCESS.0 { address.cast_const() } else { std::ptr::null() };
        let query = (query != UNWRITTEN && self.has_query()).then_some(query);
        Answer { address, result, query }
    }

    fn has_query(&self) -> bool {
        matches!(self, Self::V2(_) | Self::Custom(CustomGetter { is_v1: false, .. }))
    }
}
