//! What a launch gives to a kernel.

use super::Endpoint;
use super::Side;
use super::endpoint::check_context;
use super::operand::{ConditionOperand, Held, check_operand};
use super::reach::{self, Sink};
use crate::check::{Deeds, Touch};
use crate::context::Context;
use crate::driver::calls::kernel::launch::Plain;
use crate::kernel::{Kernel, Parameter};
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::pointer::DevicePointer;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One argument of a kernel.
#[derive(Debug)]
#[non_exhaustive]
pub enum Argument<'a> {
    /// The bytes of a value, as the kernel's parameter has them.
    Bytes(&'a [u8]),
    /// A number, made from it: `5u32`.
    Number(NumberArgument),
    /// A device pointer.
    Pointer(DevicePointer),
    /// A device pointer, and what keeps the memory alive: released when the kernel is done.
    Owned(DevicePointer, Owner),
    /// The address of an endpoint, whose object has to be there.
    Endpoint(Endpoint<'a>),
    /// The bytes of a value with a name, by which it is set for all kernel nodes of an instance at once
    /// ([`Exec::set_parameter`](crate::graph::Exec::set_parameter)). In a stream it is just the value.
    Parameter(&'a str, &'a [u8]),
    /// The number by which the kernel sets a condition of its graph, made from a [`Condition`](crate::graph::Condition).
    Condition(ConditionArgument),
}

/// A number, as an argument.
#[derive(Clone, Copy)]
pub struct NumberArgument {
    /// The number's bytes, as they stand in memory.
    bits: u64,
    size: usize,
}

impl fmt::Debug for NumberArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.bits.to_ne_bytes()[..self.size])
    }
}

/// A condition, as an argument.
pub struct ConditionArgument(pub(crate) Arc<dyn ConditionOperand>);

impl fmt::Debug for ConditionArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

macro_rules! from_numbers {
    ($($number:ty),*) => {$(
        impl<'a> From<&'a $number> for Argument<'a> {
            fn from(number: &'a $number) -> Self {
                Self::Bytes(number.bytes())
            }
        }

        impl From<$number> for Argument<'_> {
            fn from(number: $number) -> Self {
                let mut bits = [0; size_of::<u64>()];
                bits[..size_of::<$number>()].copy_from_slice(number.bytes());
                Self::Number(NumberArgument { bits: u64::from_ne_bytes(bits), size: size_of::<$number>() })
            }
        }
    )*};
}

from_numbers!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64);

impl From<DevicePointer> for Argument<'_> {
    fn from(pointer: DevicePointer) -> Self {
        Self::Pointer(pointer)
    }
}

impl<'a> From<Endpoint<'a>> for Argument<'a> {
    fn from(endpoint: Endpoint<'a>) -> Self {
        Self::Endpoint(endpoint)
    }
}

/// A condition that is an argument.
struct ConditionAt {
    index: u32,
    /// Its number, once it has one.
    number: AtomicU64,
    condition: Arc<dyn ConditionOperand>,
}

/// What errors call one of them.
const ARGUMENT: &str = "argument";

/// How many arguments a launch takes without allocating.
const FEW: usize = 256;

/// The arguments of a launch: where the value of each is, how large it is, and what it needs.
///
/// It is large, so that a launch need not allocate, and to move it costs more than a launch does: make it where it is used.
pub struct Arguments<'a> {
    addresses: SmallVec<[*const c_void; FEW]>,
    sizes: SmallVec<[u32; FEW]>,
    /// The objects whose addresses they are, and which arguments; `None` while there are none.
    holds: Option<SmallVec<[(u32, Held<'a>); 8]>>,
    /// What some of them need besides; `None` while all are bytes and objects, as they are in most launches.
    needs: Option<Needs<'a>>,
    /// The number of the first, as errors say it: not 0 if they are some of a kernel's.
    first: usize,
    _values: PhantomData<&'a [u8]>,
}

/// What arguments need that are neither bytes of the caller's, nor objects that have their address.
#[derive(Default)]
struct Needs<'a> {
    /// Pointers and numbers that stand nowhere else, and which arguments they are.
    numbers: SmallVec<[(u32, u64); 16]>,
    /// The contexts that callers named for memory, and of which arguments.
    contexts: SmallVec<[(u32, &'a Context); 1]>,
    /// Names, and of which arguments.
    names: SmallVec<[(u32, Arc<str>); 1]>,
    /// Addresses of endpoints that are no object's, and which arguments.
    addresses: SmallVec<[(u32, Side); 1]>,
    /// Conditions, and which arguments.
    conditions: SmallVec<[ConditionAt; 1]>,
    /// Owners, and which arguments.
    owners: Vec<(u32, Owner)>,
}

impl<'a> Arguments<'a> {
    /// None yet.
    #[inline(always)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            addresses: SmallVec::new(),
            sizes: SmallVec::new(),
            holds: None,
            needs: None,
            first: 0,
            _values: PhantomData,
        }
    }

    /// Says that the first has this number, as it is not the kernel's first.
    pub(super) fn start_at(&mut self, first: usize) {
        self.first = first;
    }

    #[inline]
    fn needs_mut(&mut self) -> &mut Needs<'a> {
        self.needs.get_or_insert_default()
    }

    /// Adds one.
    pub fn push(&mut self, argument: impl Into<Argument<'a>>) -> &mut Self {
        match argument.into() {
            Argument::Bytes(bytes) => self.push_at(bytes.as_ptr().cast(), bytes.len()),
            Argument::Number(number) => self.push_number(number.bits, number.size),
            Argument::Pointer(pointer) => self.push_pointer(pointer.0),
            Argument::Owned(pointer, owner) => {
                self.push_pointer(pointer.0);
                self.push_owner(self.addresses.len() - 1, owner);
            }
            Argument::Endpoint(endpoint) => self.push_endpoint(endpoint),
            Argument::Parameter(name, bytes) => self.push_parameter(name, bytes.as_ptr().cast(), bytes.len()),
            Argument::Condition(ConditionArgument(condition)) => self.push_condition(condition),
        }
        self
    }

    /// Adds one whose bytes stand at an address, for as long as the arguments exist.
    #[inline]
    pub(crate) fn push_at(&mut self, address: *const c_void, size: usize) {
        self.addresses.push(address);
        // None is larger than the 32,764 bytes that a kernel takes.
        self.sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
    }

    /// Adds several of that sort at once: of each, where its bytes stand, and how many. Answers whether all were; if not, what
    /// was added means nothing.
    #[inline(always)]
    pub(crate) fn extend_at<T>(
        &mut self,
        values: &[T],
        mut place: impl FnMut(&T) -> Option<(*const c_void, u32)>,
    ) -> bool {
        let (start, count) = (self.addresses.len(), values.len());
        if count > FEW - start.min(FEW) {
            self.make_room(count);
        }
        // SAFETY: there is room for so many from there on.
        let (addresses, sizes) =
            unsafe { (self.addresses.as_mut_ptr().add(start), self.sizes.as_mut_ptr().add(start)) };
        for (index, value) in values.iter().enumerate() {
            let Some((address, size)) = place(value) else { return false };
            // SAFETY: as above; both have the same length.
            unsafe {
                addresses.add(index).write(address);
                sizes.add(index).write(size);
            }
        }
        // SAFETY: all of them were written.
        unsafe {
            self.addresses.set_len(start + count);
            self.sizes.set_len(start + count);
        }
        true
    }

    #[cold]
    fn make_room(&mut self, count: usize) {
        self.addresses.reserve(count);
        self.sizes.reserve(count);
    }

    /// Adds a pointer.
    #[inline]
    pub(crate) fn push_pointer(&mut self, pointer: u64) {
        self.push_number(pointer, size_of::<u64>());
    }

    /// Adds the lowest bytes of a number.
    #[inline]
    fn push_number(&mut self, bits: u64, size: usize) {
        let index = self.addresses.len() as u32;
        self.needs_mut().numbers.push((index, bits));
        self.push_at(std::ptr::null(), size);
    }

    /// Adds the address of an object, which stands in the object.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn push_object(&mut self, address: &'a u64, held: Held<'a>) {
        let index = self.addresses.len() as u32;
        self.holds.get_or_insert_default().push((index, held));
        self.push_at(std::ptr::from_ref(address).cast(), size_of::<u64>());
    }

    pub(crate) fn push_endpoint(&mut self, mut endpoint: Endpoint<'a>) {
        let index = self.addresses.len() as u32;
        let address = endpoint.native();
        if let Some(owner) = endpoint.take_owner() {
            self.needs_mut().owners.push((index, owner));
        }
        if let Some(context) = endpoint.context() {
            self.needs_mut().contexts.push((index, context));
        }
        let side = endpoint.side();
        match endpoint.into_hold() {
            Some(hold) => self.holds.get_or_insert_default().push((index, hold)),
            None => self.needs_mut().addresses.push((index, side)),
        }
        self.push_pointer(address);
    }

    /// Adds one with a name, whose bytes stand at an address for as long as the arguments exist.
    pub(crate) fn push_parameter(&mut self, name: &str, address: *const c_void, size: usize) {
        let index = self.addresses.len() as u32;
        self.needs_mut().names.push((index, Arc::from(name)));
        self.push_at(address, size);
    }

    /// Adds the number of a condition.
    pub(crate) fn push_condition(&mut self, condition: Arc<dyn ConditionOperand>) {
        let index = self.addresses.len() as u32;
        self.needs_mut().conditions.push(ConditionAt { index, number: AtomicU64::new(0), condition });
        self.push_at(std::ptr::null(), size_of::<u64>());
    }

    /// What an argument needs: released when the kernel is done.
    pub(crate) fn push_owner(&mut self, index: usize, owner: Owner) {
        self.needs_mut().owners.push((index as u32, owner));
    }

    /// The bytes of each.
    #[inline]
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The objects whose addresses they are, and which arguments.
    #[inline]
    pub(super) fn objects(&self) -> &[(u32, Held<'a>)] {
        self.holds.as_deref().unwrap_or_default()
    }

    #[inline]
    pub(super) fn has_owners(&self) -> bool {
        self.needs.as_ref().is_some_and(|needs| !needs.owners.is_empty())
    }

    #[inline]
    pub(super) fn has_conditions(&self) -> bool {
        self.needs.as_ref().is_some_and(|needs| !needs.conditions.is_empty())
    }

    /// Whether all are values or conditions, and none has a name.
    pub(super) fn is_plain(&self) -> bool {
        let has_none = |needs: &Needs<'_>| needs.names.is_empty() && needs.owners.is_empty();
        self.holds.is_none() && self.needs.as_ref().is_none_or(has_none)
    }

    pub(crate) fn take_owners(&mut self) -> Vec<Owner> {
        self.take_owned().map(|(_, owner)| owner).collect()
    }

    /// The owners, and which arguments.
    pub(super) fn take_owned(&mut self) -> impl Iterator<Item = (u32, Owner)> + use<> {
        self.needs.as_mut().map(|needs| std::mem::take(&mut needs.owners)).unwrap_or_default().into_iter()
    }

    /// Sees to it that each has an address. Nothing is added any more, and the list stays where it is.
    #[inline]
    pub(super) fn finish(&mut self) {
        if let Some(needs) = &self.needs {
            needs.point(&mut self.addresses);
        }
    }

    /// Where the value of each is, once they are finished.
    #[inline]
    pub(super) fn addresses(&self) -> &[*const c_void] {
        &self.addresses
    }

    /// The names, and of which arguments.
    pub(super) fn names(&self) -> &[(u32, Arc<str>)] {
        self.needs.as_ref().map_or(&[], |needs| &needs.names)
    }

    /// The conditions among them, and which arguments.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = (usize, &dyn ConditionOperand)> {
        let all = self.needs.iter().flat_map(|needs| &needs.conditions);
        all.map(|at| (self.first + at.index as usize, at.condition.as_ref()))
    }

    /// Gives each condition among them its number, when nothing else is refused any more.
    #[inline]
    pub(super) fn number_conditions(&self) -> Result<(), Error> {
        self.needs.as_ref().map_or(Ok(()), |needs| needs.number_conditions(self.first))
    }

    /// Refuses arguments that are not the kernel's, where the driver tells its parameters, and objects that are not there any
    /// more.
    #[inline(always)]
    pub(super) fn check(&self, kernel: &Kernel, at: &Context) -> Result<(), Error> {
        if let Some(takes) = kernel.sizes()
            && !is_same(takes, &self.sizes)
        {
            return Err(self.misfit(kernel, kernel.layout().unwrap_or_default()));
        }
        self.check_objects(at)
    }

    /// Has it be known which memory the kernel gets: every argument of eight bytes may be an address.
    #[cold]
    pub(super) fn touch(&self, kernel: Option<&str>, deeds: &mut Deeds) {
        for (index, (address, size)) in self.addresses.iter().zip(&self.sizes).enumerate() {
            if *size as usize != size_of::<u64>() || address.is_null() {
                continue;
            }
            // SAFETY: the argument has as many bytes, which are the caller's, or stand here.
            let value = unsafe { address.cast::<u64>().read_unaligned() };
            let mut touch = Touch::argument(self.first + index, value, kernel);
            let held = self.objects().iter().find(|(of, _)| *of as usize == index);
            touch.name = held.map(|(_, held)| held.operand().to_string());
            deeds.touch(touch);
        }
    }

    /// Refuses objects that are not there any more.
    #[inline]
    pub(super) fn check_objects(&self, at: &Context) -> Result<(), Error> {
        self.holds.as_ref().map_or(Ok(()), |holds| check_each(holds, self.first, at))?;
        self.needs.as_ref().map_or(Ok(()), |needs| needs.check_contexts(self.first, at))
    }

    /// Refuses addresses that were given as memory, and that the device does not reach.
    #[inline]
    pub(super) fn check_reach(&self, at: &Context, sink: Sink) -> Result<(), Error> {
        self.needs.as_ref().map_or(Ok(()), |needs| needs.check_reach(self.first, at, sink))
    }

    #[cold]
    fn misfit(&self, kernel: &Kernel, layout: &[Parameter]) -> Error {
        let wrong = layout.iter().zip(&self.sizes).position(|(takes, size)| takes.size != *size as usize);
        let (refusal, item) = match wrong {
            Some(index) => {
                let (takes, given) = (layout[index].size, self.sizes[index]);
                (
                    format!("argument {index} of {kernel} takes {takes} bytes, and {given} are given"),
                    Some(index),
                )
            }
            None => {
                let given = self.sizes.len();
                // The first that the kernel does not take; of those that are missing none is at fault.
                let surplus = (given > layout.len()).then_some(layout.len());
                (format!("{kernel} takes {}, and {given} are given", count(layout.len())), surplus)
            }
        };
        let mut error = Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel);
        error.item = item;
        error
    }
}

impl Needs<'_> {
    /// Gives numbers and conditions their addresses. This stays where it is from now on.
    fn point(&self, addresses: &mut [*const c_void]) {
        for (index, number) in &self.numbers {
            addresses[*index as usize] = std::ptr::from_ref(number).cast();
        }
        for at in &self.conditions {
            addresses[at.index as usize] = at.number.as_ptr().cast_const().cast();
        }
    }

    fn number_conditions(&self, first: usize) -> Result<(), Error> {
        self.conditions.iter().try_for_each(|at| {
            let number = at
                .condition
                .native()
                .map_err(|failure| failure.of_item(ARGUMENT, first + at.index as usize))?;
            at.number.store(number, Relaxed);
            Ok(())
        })
    }

    fn check_contexts(&self, first: usize, at: &Context) -> Result<(), Error> {
        self.contexts.iter().try_for_each(|(index, context)| {
            check_context(context, at).map_err(|failure| failure.of_item(ARGUMENT, first + *index as usize))
        })
    }

    fn check_reach(&self, first: usize, at: &Context, sink: Sink) -> Result<(), Error> {
        self.addresses.iter().try_for_each(|(index, side)| {
            reach::check(*side, at, sink)
                .map_err(|failure| failure.of_item(ARGUMENT, first + *index as usize))
        })
    }
}

/// Whether two lists of sizes are equal. Two empty ones are not compared: an empty list has no address that could be read, and the
/// processor takes some 60 ns for the masked read of nothing there, with which C libraries compare.
#[inline(always)]
fn is_same(takes: &[u32], given: &[u32]) -> bool {
    takes.len() == given.len() && (takes.is_empty() || takes == given)
}

fn check_each(holds: &[(u32, Held<'_>)], first: usize, at: &Context) -> Result<(), Error> {
    holds.iter().try_for_each(|(index, hold)| {
        check_operand(hold.operand(), at)
            .map_err(|failure| failure.of_item(ARGUMENT, first + *index as usize))
    })
}

fn count(arguments: usize) -> String {
    match arguments {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        more => format!("{more} arguments"),
    }
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, A: Into<Argument<'a>>> FromIterator<A> for Arguments<'a> {
    fn from_iter<I: IntoIterator<Item = A>>(arguments: I) -> Self {
        let mut list = Self::new();
        for argument in arguments {
            list.push(argument);
        }
        list
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments").field("sizes", &self.sizes.as_slice()).finish_non_exhaustive()
    }
}

/// What of a packed block goes to the driver, which takes no byte more than the kernel does (580: 701). A block that is
/// not as long as the kernel's parameters is refused.
#[inline]
pub(super) fn packed<'a>(kernel: &Kernel, block: &'a [u8]) -> Result<&'a [u8], Error> {
    let (Some(layout), bytes) = (kernel.layout(), block.len()) else { return Ok(block) };
    let needed = layout.last().map_or(0, |last| last.offset + last.size);
    // A struct in C ends on a multiple of its alignment, which is 16 at most here.
    if (needed..=needed.next_multiple_of(16)).contains(&bytes) {
        return Ok(&block[..needed]);
    }
    let refusal = format!("the block of arguments has {bytes} bytes; {kernel} takes {needed}");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel))
}
