//! Where an operation reads or writes.

use super::operand::{Held, check_operand};
use super::{invalid, reach};
use crate::check::{Access, Deeds, Touch, Use};
use crate::context::Context;
use crate::driver::sys;
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::pointer::{DevicePointer, PointerAttributes};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

/// Where an operation reads or writes: an address with what is known of it. Nothing is guessed from the bits of an address,
/// except where [`auto`](Self::auto) asks for that; and what is said of it is what the driver is told.
pub struct Endpoint<'a> {
    side: Side,
    /// Where the memory ends; `u64::MAX` if nobody knows.
    end: u64,
    /// The device whose memory it is, if that is known.
    device: Option<i32>,
    /// The context that its caller named.
    context: Option<&'a Context>,
    /// The object whose memory it is.
    hold: Option<Held<'a>>,
    /// The context with which that ends, if it is known.
    origin: Option<&'a Context>,
    /// What keeps it alive otherwise.
    owner: Option<Owner>,
    /// Whether that is a copy of the bytes, which the operation made.
    keeps_bytes: bool,
    /// Whether the caller keeps it for as long as a graph may use it.
    is_kept_by_caller: bool,
    _memory: PhantomData<&'a ()>,
}

/// What sort of memory an endpoint is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Host memory of any kind.
    Host(u64),
    /// Device memory, or host memory by the address by which the device reaches it.
    Device(u64),
    /// A CUDA array.
    Array(sys::CUarray),
    /// Memory of either kind, about which the driver is asked. What it does not know is ordinary host memory.
    Auto(u64),
}

// SAFETY: the driver's arrays may be used from every thread.
unsafe impl Send for Side {}
// SAFETY: as above.
unsafe impl Sync for Side {}

impl Side {
    #[inline]
    pub(crate) fn address(self) -> Option<u64> {
        match self {
            Self::Host(address) | Self::Device(address) | Self::Auto(address) => Some(address),
            Self::Array(_) => None,
        }
    }

    /// The same with [`Auto`](Self::Auto) resolved: what the driver says of the address.
    #[inline(always)]
    fn asked(self, at: &Context) -> Result<Self, Error> {
        if let Self::Auto(address) = self { Self::of_address(address, at) } else { Ok(self) }
    }

    #[inline(never)]
    fn of_address(address: u64, at: &Context) -> Result<Self, Error> {
        let known = PointerAttributes::memory_type(at.driver(), address)?;
        Ok(if known == Some(sys::CU_MEMORYTYPE_DEVICE) { Self::Device(address) } else { Self::Host(address) })
    }
}

impl<'a> Endpoint<'a> {
    #[inline(always)]
    fn new(side: Side) -> Self {
        Self {
            side,
            end: u64::MAX,
            device: None,
            context: None,
            hold: None,
            origin: None,
            owner: None,
            keeps_bytes: false,
            is_kept_by_caller: false,
            _memory: PhantomData,
        }
    }

    /// Memory of this sort, of which nothing else is known.
    #[cfg(feature = "capi")]
    #[inline(always)]
    pub(crate) fn at(side: Side) -> Self {
        Self::new(side)
    }

    /// Host memory of any kind that is written, or read. A copy from ordinary (not page-locked) memory in a stream reads it
    /// before it returns; one to it may block until it is done.
    #[inline(always)]
    #[must_use]
    pub fn host<T: ?Sized>(memory: *mut T) -> Self {
        Self::new(Side::Host(memory.cast::<c_void>().expose_provenance() as u64))
    }

    /// The same for host memory that is only read: a source.
    #[must_use]
    pub fn host_source<T: ?Sized>(memory: *const T) -> Self {
        Self::host(memory.cast_mut())
    }

    /// A copy of these bytes, made now: the operation keeps it.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        let kept: Box<[u8]> = bytes.into();
        let start = kept.as_ptr();
        let endpoint = Self::host_source(start)
            .within(start.addr() as u64 + kept.len() as u64)
            .owned_by(Owner::keeping(kept));
        Self { keeps_bytes: true, ..endpoint }
    }

    /// Device memory, or host memory by the address by which the device reaches it.
    #[inline(always)]
    #[must_use]
    pub fn device(pointer: DevicePointer) -> Self {
        Self::new(Side::Device(pointer.0))
    }

    /// A CUDA array.
    #[must_use]
    pub fn array(array: sys::CUarray) -> Self {
        Self::new(Side::Array(array))
    }

    /// An address of either kind; the driver is asked which. What it does not know is ordinary host memory.
    #[inline(always)]
    #[must_use]
    pub fn auto(address: u64) -> Self {
        Self::new(Side::Auto(address))
    }

    /// Memory of an object, from an address on, that ends at another; the device whose memory it is, if one's alone, and the
    /// context with which it ends, if that is known.
    #[inline(always)]
    pub(crate) fn of_object(
        hold: Held<'a>,
        side: Side,
        end: u64,
        device: Option<i32>,
        origin: Option<&'a Context>,
    ) -> Self {
        Self { hold: Some(hold), end, device, origin, ..Self::new(side) }
    }

    /// Memory of a graph, from an address on, that ends at another: the graph itself keeps it.
    #[inline(always)]
    pub(crate) fn of_graph(side: Side, end: u64, device: Option<i32>) -> Self {
        Self { end, device, ..Self::new(side) }
    }

    /// Memory whose end is known.
    pub(crate) fn within(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// The same endpoint in memory of this context. Where both endpoints of a copy say theirs, or are buffers, the copy needs
    /// no access from one device to the other's memory.
    #[inline(always)]
    #[must_use]
    pub fn in_context(mut self, context: &'a Context) -> Self {
        self.device = Some(context.device().ordinal());
        self.context = Some(context);
        self
    }

    /// The same endpoint with what keeps the memory alive: released when the operation is done.
    #[must_use]
    pub fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// The same endpoint in host memory that the caller keeps for as long as the operation may be done: by a graph, as often as
    /// that is launched. Without effect elsewhere, where the caller always does.
    #[must_use]
    pub fn kept_by_caller(mut self) -> Self {
        self.is_kept_by_caller = true;
        self
    }

    /// The same for an owner that may be there.
    #[cfg(feature = "capi")]
    pub(crate) fn own(&mut self, owner: Option<Owner>) {
        self.owner = owner;
    }

    /// A copy of the bytes of a host source, made now: the operation keeps it.
    ///
    /// # Safety
    /// The memory holds so many bytes.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for what is no address of so many bytes, [`Status::OUT_OF_MEMORY`].
    #[cfg(feature = "capi")]
    pub(crate) unsafe fn keep_bytes(self, bytes: usize) -> Result<Self, Error> {
        let Side::Host(address) = self.side else { return Ok(self) };
        if bytes > 0 {
            check_range("source", address, bytes as u64)?;
        }
        let mut kept: Vec<u8> = Vec::new();
        if kept.try_reserve_exact(bytes).is_err() {
            return Err(Error::new(Status::OUT_OF_MEMORY, format!("{bytes} bytes cannot be kept")));
        }
        let source: *const u8 = std::ptr::with_exposed_provenance(address as usize);
        // SAFETY: the caller vouches for the source, and there is room for as many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(source, kept.as_mut_ptr(), bytes);
            kept.set_len(bytes);
        }
        let start = kept.as_ptr();
        let end = start.addr() as u64 + bytes as u64;
        let endpoint = Self::host_source(start).within(end).owned_by(Owner::keeping(kept));
        Ok(Self { context: self.context, keeps_bytes: true, ..endpoint })
    }

    /// The address; `None` for an array, which has none.
    #[must_use]
    pub fn address(&self) -> Option<u64> {
        self.side.address()
    }

    /// Where the memory ends; `u64::MAX` if nobody knows.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The device whose memory it is known to be.
    #[inline]
    pub(super) fn device_ordinal(&self) -> Option<i32> {
        self.device
    }

    /// The context that its caller named.
    pub(super) fn context(&self) -> Option<&'a Context> {
        self.context
    }

    /// The value that a kernel gets for it.
    #[inline]
    pub(super) fn native(&self) -> u64 {
        match self.side {
            Side::Array(array) => array.expose_provenance() as u64,
            Side::Host(address) | Side::Device(address) | Side::Auto(address) => address,
        }
    }

    /// The object whose memory it is.
    pub(super) fn into_hold(self) -> Option<Held<'a>> {
        self.hold
    }

    /// The same, lent.
    #[inline]
    pub(super) fn held(&self) -> Option<&Held<'a>> {
        self.hold.as_ref()
    }

    /// Has it be known that so many bytes of it are touched. Arrays have no addresses.
    #[cold]
    pub(super) fn touch(&self, bytes: u64, access: Access, usage: Use, deeds: &mut Deeds) {
        let Some(address) = self.side.address().filter(|_| bytes > 0) else { return };
        let name = self.hold.as_ref().map(|hold| hold.operand().to_string());
        deeds.touch(Touch { address, bytes: Some(bytes), access, usage, name });
    }

    /// Whether something has to be kept alive for it.
    pub(super) fn is_kept(&self) -> bool {
        self.hold.is_some() || self.owner.is_some()
    }

    pub(super) fn is_kept_by_caller(&self) -> bool {
        self.is_kept_by_caller
    }

    #[inline]
    pub(super) fn side(&self) -> Side {
        self.side
    }

    #[inline]
    pub(super) fn has_owner(&self) -> bool {
        self.owner.is_some()
    }

    pub(super) fn take_owner(&mut self) -> Option<Owner> {
        self.owner.take()
    }

    /// The copy of the bytes that the operation made.
    pub(super) fn take_bytes(&mut self) -> Option<Owner> {
        if self.keeps_bytes { self.owner.take() } else { None }
    }

    /// What of it is ordinary host memory, or may be.
    #[inline]
    pub(super) fn may_be_host(&self) -> bool {
        matches!(self.side, Side::Host(_) | Side::Auto(_))
    }

    /// Refuses an endpoint that is NULL, that so many bytes reach past the end of, or whose object or context is not there any
    /// more; answers with what sort of memory it is in.
    #[inline(always)]
    pub(super) fn check(&self, what: &str, bytes: u64, at: &Context) -> Result<Side, Error> {
        self.check_objects(at)?;
        let Some(address) = self.side.address() else { return self.check_array(what) };
        check_range(what, address, bytes)?;
        self.check_end(what, bytes)?;
        self.side.asked(at)
    }

    /// Refuses what reaches past the end of the memory.
    #[inline(always)]
    pub(super) fn check_end(&self, what: &str, bytes: u64) -> Result<(), Error> {
        let address = self.side.address().unwrap_or_default();
        if bytes > self.end.saturating_sub(address) { Err(self.too_few(what, bytes)) } else { Ok(()) }
    }

    /// A driver that refuses a memset says no more than that it does not like an argument.
    #[cold]
    pub(super) fn explain_memset(&self, mut failure: Error) -> Error {
        let is_refused = failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0;
        if is_refused && self.end != u64::MAX && matches!(self.side, Side::Host(_)) {
            let object =
                self.hold.as_ref().map_or_else(|| "the memory".to_owned(), |hold| hold.operand().to_string());
            failure
                .message
                .push_str(&format!(". {object} is host memory; if no device reaches it, set it on the host"));
        }
        failure
    }

    /// The same for the driver's calls that take an address without being told what it is: one that is said to be device
    /// memory has to be memory of the driver's.
    pub(super) fn check_address(&self, what: &str, bytes: u64, at: &Context) -> Result<(), Error> {
        self.check_objects(at)?;
        let address = self.side.address().ok_or_else(|| {
            invalid(format!("the {what} is an array, which is not copied in a batch; use a 3D copy"))
        })?;
        check_range(what, address, bytes)?;
        self.check_end(what, bytes)?;
        let is_said = matches!(self.side, Side::Device(_)) && self.hold.is_none();
        if is_said && PointerAttributes::memory_type(at.driver(), address)?.is_none() {
            return Err(invalid(format!("the {what}, {}", reach::no_device_memory(address, reach::AS_HOST))));
        }
        Ok(())
    }

    fn check_array(&self, what: &str) -> Result<Side, Error> {
        match self.side {
            Side::Array(array) if array.is_null() => Err(invalid(format!("the {what}'s array is NULL"))),
            side => Ok(side),
        }
    }

    /// Refuses an object or a context of another driver, and one that was destroyed.
    #[inline(always)]
    pub(super) fn check_objects(&self, at: &Context) -> Result<(), Error> {
        if let Some(hold) = &self.hold
            && !self.origin.is_some_and(|origin| origin == at)
        {
            check_operand(hold.operand(), at)?;
        }
        match &self.context {
            Some(context) => check_context(context, at),
            None => Ok(()),
        }
    }

    #[cold]
    fn too_few(&self, what: &str, bytes: u64) -> Error {
        let address = self.side.address().unwrap_or_default();
        let left = self.end.saturating_sub(address);
        let Some(hold) = &self.hold else {
            return invalid(format!("the {what} has {left} bytes left in its memory, too few for {bytes}"));
        };
        let object = hold.operand();
        invalid(format!("the {what} has {left} bytes left in {object}, too few for {bytes}")).about(object)
    }
}

/// Refuses a context of another driver, and one that was destroyed.
pub(super) fn check_context(context: &Context, at: &Context) -> Result<(), Error> {
    if context.driver() != at.driver() {
        let refusal = format!("{context} belongs to another driver than {at}");
        return Err(Error::new(Status::INVALID_HANDLE, refusal).about(context));
    }
    context.check_still_there(context)
}

impl fmt::Debug for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("side", &self.side).finish_non_exhaustive()
    }
}

/// Set in the value of every handle, and together in no address of a program: that half is the kernel's.
const NO_ADDRESS: u64 = 1 << 63 | 1 << 55;

/// Refuses an end that is NULL or a handle, or that no address space could hold.
#[inline(always)]
pub(crate) fn check_range(end: &str, address: u64, bytes: u64) -> Result<(), Error> {
    if address != 0 && address & NO_ADDRESS != NO_ADDRESS && address.checked_add(bytes).is_some() {
        return Ok(());
    }
    Err(out_of_range(end, address, bytes))
}

#[cold]
fn out_of_range(end: &str, address: u64, bytes: u64) -> Error {
    invalid(match address {
        0 => format!("the {end} is NULL"),
        _ if address.checked_add(bytes).is_some() => format!(
            "the {end} is {address:#x}, which is a handle, not an address; the address of a buffer is what \
             cushim_buffer_pointer gives"
        ),
        _ => format!("the {end} reaches past the end of all addresses: {bytes} bytes from {address:#x}"),
    })
}
