//! Where operations read and write, and the boxes there.
//!
//! @header cushim.h

use crate::capi::buffer::cushim_buffer;
use crate::capi::callback::{cushim_owner, lent};
use crate::capi::context::cushim_context;
use crate::capi::driver_types::CUarray;
use crate::capi::handles::{Lent, get};
use crate::capi::input::given;
use crate::capi::pointer;
use crate::context::Context;
use crate::memory::{Buffer, BufferObject, DevicePointer};
use crate::object::callback::Lending;
use crate::object::error::{Error, Status};
use crate::object::handle::{self, Guard, Token};
use crate::op::{Endpoint, Extent, Region, Side};

/// What sort of endpoint it is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_endpoint_kind {
    /// Host memory of any kind. A copy from ordinary (not page-locked) memory in a stream reads it before it returns;
    /// one to it may block until it is done.
    CUSHIM_ENDPOINT_HOST = 1,
    /// Device memory, or host memory by the address by which the device reaches it.
    CUSHIM_ENDPOINT_DEVICE = 2,
    /// A `CUarray`.
    CUSHIM_ENDPOINT_ARRAY = 3,
    /// An address of either kind; the driver is asked which. What it does not know is ordinary host memory.
    CUSHIM_ENDPOINT_AUTO = 4,
    /// A `cushim_buffer`, whose handle is in `address`. An operation that would reach past its end is refused.
    CUSHIM_ENDPOINT_BUFFER = 5,
}

/// What `cushim_endpoint.flags` may contain. At most one, and none with an owner.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_endpoint_flags {
    /// The source is host memory: its bytes are copied during the call, so that the memory need not last. The copy is
    /// kept until the operation is done, and with a graph as long as the graph.
    CUSHIM_ENDPOINT_KEEP_BYTES = 1,
    /// The caller keeps the memory for as long as the operation may run: a graph, again and again. Without effect in
    /// a stream that is not being captured, where the caller always does.
    CUSHIM_ENDPOINT_CALLER_KEEPS = 2,
}

/// Where an operation reads or writes. Nothing is guessed from the bits of an address unless `CUSHIM_ENDPOINT_AUTO`
/// asks for it; what is said of it is what the driver is told. Zeros in all members but `kind` and `address` are the
/// defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_endpoint {
    /// @field[enum(cushim_endpoint_kind)] A `cushim_endpoint_kind`.
    pub kind: i32,
    /// @field[flags(cushim_endpoint_flags)] A combination of `cushim_endpoint_flags`.
    pub flags: u32,
    /// The address, the array, or the buffer's handle.
    pub address: u64,
    /// Bytes from there on; of an array 0.
    pub offset: u64,
    /// @field[nullable] The context of the memory, if it is a device's. Where both endpoints of a copy name theirs (a
    ///   buffer with a resource knows its own), a copy between two devices needs no access of either to the other's
    ///   memory. May be NULL.
    pub context: cushim_context,
    /// @field[nullable, taken] What keeps the memory alive: released when the operation is done. May be NULL. Read
    ///   during the call only; if the call fails, nothing is released.
    pub owner: *const cushim_owner,
}

/// A box of memory: rows in a pitch, slices of rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_region {
    /// Where the memory starts, or the array.
    pub endpoint: cushim_endpoint,
    /// Bytes before the box in each row.
    pub x: usize,
    /// Rows before the box in each slice.
    pub y: usize,
    /// Slices before the box.
    pub z: usize,
    /// Bytes from row to row; 0 for rows that end where the box ends. Means nothing for an array.
    pub pitch: usize,
    /// Rows from slice to slice; 0 for slices that end where the box ends. Means nothing for an array.
    pub rows: usize,
}

/// The size of a box.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_extent {
    /// Bytes in a row.
    pub width: usize,
    /// Rows in a slice.
    pub height: usize,
    /// Slices; of a rectangle 1.
    pub depth: usize,
}

const HOST: i32 = cushim_endpoint_kind::CUSHIM_ENDPOINT_HOST as i32;
const DEVICE: i32 = cushim_endpoint_kind::CUSHIM_ENDPOINT_DEVICE as i32;
const ARRAY: i32 = cushim_endpoint_kind::CUSHIM_ENDPOINT_ARRAY as i32;
const AUTO: i32 = cushim_endpoint_kind::CUSHIM_ENDPOINT_AUTO as i32;
const BUFFER: i32 = cushim_endpoint_kind::CUSHIM_ENDPOINT_BUFFER as i32;
const KEEP_BYTES: u32 = cushim_endpoint_flags::CUSHIM_ENDPOINT_KEEP_BYTES as u32;
const CALLER_KEEPS: u32 = cushim_endpoint_flags::CUSHIM_ENDPOINT_CALLER_KEEPS as u32;

/// An endpoint that is an address of host or device memory, as most are: nothing is looked up for it, and nothing
/// kept. `None` for any other, and for what is to be refused.
///
/// # Safety
/// As for [`given`].
#[inline(always)]
pub(in crate::capi) unsafe fn address_alone(endpoint: *const cushim_endpoint) -> Option<Side> {
    if !pointer::is_good(endpoint) {
        return None;
    }
    // SAFETY: it is aligned, and the caller vouches for the rest.
    let cushim_endpoint { kind, flags, address, offset, context, owner } = unsafe { endpoint.read() };
    if flags != 0 || !context.is_null() || !owner.is_null() {
        return None;
    }
    side(kind, address, offset)
}

/// An address of this kind; `None` for any other kind, and where the offset leads past all addresses.
#[inline(always)]
fn side(kind: i32, address: u64, offset: u64) -> Option<Side> {
    let end = address.checked_add(offset)?;
    // NULL and an offset is no address.
    let address = if address == 0 { 0 } else { end };
    match kind {
        HOST => Some(Side::Host(address)),
        DEVICE => Some(Side::Device(address)),
        _ => None,
    }
}

/// An endpoint that is memory and nothing else: an address, or a part of a buffer.
pub(in crate::capi) enum Spot<'g> {
    Address(Side),
    Buffer(Lent<'g, Buffer>, u64),
}

impl<'g> Spot<'g> {
    /// `None` for any other endpoint, and for what is to be refused.
    ///
    /// # Safety
    /// As for [`given`].
    #[inline(always)]
    pub(in crate::capi) unsafe fn read(guard: &'g Guard, endpoint: *const cushim_endpoint) -> Option<Self> {
        if !pointer::is_good(endpoint) {
            return None;
        }
        // SAFETY: it is aligned, and the caller vouches for the rest.
        let endpoint = unsafe { endpoint.read() };
        let cushim_endpoint { kind, flags, address, offset, context, owner } = endpoint;
        if flags != 0 || !context.is_null() || !owner.is_null() {
            return None;
        }
        if kind != BUFFER {
            return side(kind, address, offset).map(Self::Address);
        }
        let buffer = guard.find::<BufferObject>(Token::from_pointer(
            std::ptr::without_provenance_mut::<()>(address as usize),
        ))?;
        if offset <= buffer.bytes() as u64 { Some(Self::Buffer(buffer, offset)) } else { None }
    }

    /// Whether a copy may have to wait for ordinary host memory.
    #[inline]
    pub(in crate::capi) fn may_block(&self) -> bool {
        matches!(self, Self::Address(Side::Host(_)))
    }

    /// The same, held by itself.
    #[inline]
    pub(in crate::capi) fn held(self) -> Spot<'static> {
        match self {
            Self::Address(side) => Spot::Address(side),
            Self::Buffer(buffer, offset) => Spot::Buffer(buffer.held(), offset),
        }
    }

    #[inline(always)]
    pub(in crate::capi) fn endpoint(&self) -> Endpoint<'_> {
        match self {
            Self::Address(side) => Endpoint::at(*side),
            Self::Buffer(buffer, offset) => buffer.at(*offset),
        }
    }
}

/// Whether an endpoint is read or written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::capi) enum Role {
    Source,
    Destination,
}

/// An endpoint of a caller's, with the objects that it names: lent, or held.
pub(in crate::capi) struct CallersEndpoint<'g> {
    given: cushim_endpoint,
    what: &'static str,
    buffer: Option<Lent<'g, Buffer>>,
    context: Option<Lent<'g, Context>>,
}

impl<'g> CallersEndpoint<'g> {
    /// Looks up what the caller's struct names.
    ///
    /// # Safety
    /// As for [`given`].
    #[inline]
    pub(in crate::capi) unsafe fn read(
        guard: &'g Guard,
        endpoint: *const cushim_endpoint,
        what: &'static str,
    ) -> Result<Self, Error> {
        // SAFETY: the caller vouches for it.
        Self::of(guard, unsafe { given(endpoint, what) }?, what)
    }

    #[inline]
    pub(in crate::capi) fn of(
        guard: &'g Guard,
        given: cushim_endpoint,
        what: &'static str,
    ) -> Result<Self, Error> {
        pointer::check_if_given(given.owner, "owner")?;
        let buffer = match given.kind {
            BUFFER => {
                let handle: cushim_buffer = std::ptr::with_exposed_provenance_mut(given.address as usize);
                Some(get(guard, handle)?)
            }
            _ => None,
        };
        let context = if given.context.is_null() { None } else { Some(get(guard, given.context)?) };
        Ok(Self { given, what, buffer, context })
    }

    /// An endpoint that is no memory, with an owner all the same; `None` if there is none.
    pub(in crate::capi) fn of_owner_alone(given: cushim_endpoint) -> Result<Option<Self>, Error> {
        pointer::check_if_given(given.owner, "owner")?;
        let endpoint = Self { given, what: "at", buffer: None, context: None };
        Ok(if given.owner.is_null() { None } else { Some(endpoint) })
    }

    /// What an operation is told of such an endpoint.
    pub(in crate::capi) fn nowhere(&self) -> Endpoint<'static> {
        Endpoint::at(Side::Host(0))
    }

    /// Whether a copy may have to wait for ordinary host memory.
    #[inline]
    pub(in crate::capi) fn may_block(&self) -> bool {
        matches!(self.given.kind, HOST | AUTO)
    }

    /// Whether its bytes are to be kept.
    pub(in crate::capi) fn keeps_bytes(&self) -> bool {
        self.given.flags & KEEP_BYTES != 0
    }

    /// The same endpoint, with its objects held by itself.
    pub(in crate::capi) fn held(self) -> CallersEndpoint<'static> {
        let Self { given, what, buffer, context } = self;
        CallersEndpoint { given, what, buffer: buffer.map(Lent::held), context: context.map(Lent::held) }
    }

    /// What an operation is told, but for the owner. `bytes` says how many are read, if they are to be kept.
    ///
    /// # Safety
    /// A source whose bytes are to be kept has so many.
    #[inline]
    pub(in crate::capi) unsafe fn endpoint(
        &self,
        role: Role,
        bytes: impl FnOnce() -> usize,
    ) -> Result<Endpoint<'_>, Error> {
        let given = &self.given;
        if given.flags != 0 || !given.owner.is_null() {
            self.check_keeping(role)?;
        }
        let endpoint = self.located()?;
        if given.flags & CALLER_KEEPS != 0 {
            return Ok(endpoint.kept_by_caller());
        }
        if self.keeps_bytes() {
            // SAFETY: the caller vouches for the bytes.
            return unsafe { endpoint.keep_bytes(bytes()) };
        }
        Ok(endpoint)
    }

    /// Lends the caller's owner to the endpoint, once nothing is refused any more but by the sink.
    ///
    /// # Safety
    /// The owner is NULL or valid, and its release may be called.
    #[inline]
    pub(in crate::capi) unsafe fn lend_owner(&self, lending: &Lending, endpoint: &mut Endpoint<'_>) {
        if !self.given.owner.is_null() {
            // SAFETY: the caller vouches for the owner.
            endpoint.own(unsafe { lent(lending, self.given.owner) });
        }
    }

    /// The endpoint as an argument of a kernel.
    pub(in crate::capi) fn as_argument(&self) -> Result<Endpoint<'_>, Error> {
        if self.given.kind == ARRAY || self.given.flags & KEEP_BYTES != 0 {
            let refusal =
                "a kernel takes the address of an endpoint: it can be neither an array nor kept bytes";
            return Err(Error::new(Status::INVALID_ARGUMENT, format!("{}: {refusal}", self.what)));
        }
        if self.given.flags != 0 || !self.given.owner.is_null() {
            self.check_keeping(Role::Destination)?;
        }
        self.located()
    }

    /// The memory, and whose it is.
    #[inline]
    fn located(&self) -> Result<Endpoint<'_>, Error> {
        let endpoint = self.address()?;
        Ok(match &self.context {
            Some(context) => endpoint.in_context(context),
            None => endpoint,
        })
    }

    #[inline]
    fn address(&self) -> Result<Endpoint<'_>, Error> {
        let cushim_endpoint { kind, address, offset, .. } = self.given;
        if let Some(buffer) = &self.buffer {
            return match offset {
                offset if offset <= buffer.bytes() as u64 => Ok(buffer.at(offset)),
                _ => Err(past_the_end(buffer, offset)),
            };
        }
        let (end, overflows) = address.overflowing_add(offset);
        if overflows {
            return Err(self.refusal());
        }
        // NULL and an offset is no address.
        let address = if address == 0 { 0 } else { end };
        match kind {
            HOST => Ok(Endpoint::host::<u8>(std::ptr::with_exposed_provenance_mut(address as usize))),
            DEVICE => Ok(Endpoint::device(DevicePointer(address))),
            AUTO => Ok(Endpoint::auto(address)),
            ARRAY if offset == 0 => {
                let array: CUarray = std::ptr::with_exposed_provenance_mut::<()>(address as usize) as CUarray;
                Ok(Endpoint::array(array))
            }
            _ => Err(self.refusal()),
        }
    }

    /// Refuses flags and an owner that do not go together, or not with the kind.
    #[cold]
    fn check_keeping(&self, role: Role) -> Result<(), Error> {
        let cushim_endpoint { kind, flags, owner, .. } = self.given;
        let why = if flags & !(KEEP_BYTES | CALLER_KEEPS) != 0 {
            format!(
                "flags is {flags:#x}; there are CUSHIM_ENDPOINT_KEEP_BYTES (1) and CUSHIM_ENDPOINT_CALLER_KEEPS (2)"
            )
        } else if flags.count_ones() + u32::from(!owner.is_null()) > 1 {
            "one of CUSHIM_ENDPOINT_KEEP_BYTES, CUSHIM_ENDPOINT_CALLER_KEEPS and an owner keeps the memory, not several"
                .to_owned()
        } else if kind == BUFFER {
            "a buffer keeps its own memory; leave flags and owner out".to_owned()
        } else if flags == KEEP_BYTES && (kind != HOST || role != Role::Source) {
            "CUSHIM_ENDPOINT_KEEP_BYTES is for a source in host memory (CUSHIM_ENDPOINT_HOST)".to_owned()
        } else {
            return Ok(handle::check_memory()?);
        };
        Err(Error::new(Status::INVALID_ARGUMENT, format!("{}: {why}", self.what)))
    }

    /// What is wrong with an endpoint.
    #[cold]
    fn refusal(&self) -> Error {
        let cushim_endpoint { kind, address, offset, .. } = self.given;
        let why = match kind {
            HOST..=BUFFER if kind == ARRAY => {
                format!("offset is {offset}; an array has none, use a region's x, y and z")
            }
            HOST..=BUFFER => {
                format!("offset is {offset}, from the address {address:#x} past the end of all addresses")
            }
            _ => {
                format!("kind is {kind}; use one of CUSHIM_ENDPOINT_HOST, _DEVICE, _ARRAY, _AUTO and _BUFFER")
            }
        };
        Error::new(Status::INVALID_ARGUMENT, format!("{}: {why}", self.what))
    }
}

#[cold]
fn past_the_end(buffer: &Buffer, offset: u64) -> Error {
    let refusal =
        format!("the offset {offset} is past the end of {buffer}, which has {} bytes", buffer.bytes());
    Error::new(Status::INVALID_ARGUMENT, refusal).about(buffer)
}

/// The caller's region at an endpoint.
///
/// # Safety
/// As for [`CallersEndpoint::endpoint`], for the bytes of the box.
pub(in crate::capi) unsafe fn region<'a>(
    given: &cushim_region,
    endpoint: &'a CallersEndpoint<'_>,
    role: Role,
    extent: Extent,
) -> Result<Region<'a>, Error> {
    let &cushim_region { x, y, z, pitch, rows, .. } = given;
    let boxed = |at| Region { at, x, y, z, pitch, rows };
    // What is wrong with the numbers is said when the operation is checked; no bytes are kept then.
    let bytes = || boxed(Endpoint::auto(0)).span(extent).unwrap_or(0);
    // SAFETY: the caller vouches for it.
    unsafe { endpoint.endpoint(role, bytes) }.map(boxed)
}

/// # Safety
/// As for [`given`].
pub(in crate::capi) unsafe fn extent_of(extent: *const cushim_extent) -> Result<Extent, Error> {
    // SAFETY: the caller vouches for it.
    let cushim_extent { width, height, depth } = unsafe { given(extent, "extent") }?;
    Ok(Extent { width, height, depth })
}
