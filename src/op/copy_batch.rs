//! Copies with attributes: one, or many that the driver may do in any order.

use super::batch::{self, BatchOptions, PerItem, Refusal};
use super::{Copy, Operation, Traits, invalid, refusal};
use crate::check::Deeds;
use crate::context::Context;
use crate::driver::calls::memory::batch_copy as calls;
use crate::driver::sys;
use crate::location::Location;
use crate::object::callback::Owner;
use crate::object::error::{Error, Status};
use crate::object::setters::setters;
use crate::stream::Stream;

/// When the driver may read the source of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceAccess {
    /// When it is the copy's turn in the stream.
    #[default]
    InStreamOrder,
    /// Before the call returns: the source is ordinary memory that will not outlive it, a variable on the stack. A driver
    /// without batch copies (before 12.8) cannot promise that and refuses.
    DuringCall,
    /// At any time until the copy is done: nothing that is in the stream writes the source.
    AnyTime,
}

impl SourceAccess {
    const fn native(self) -> sys::CUmemcpySrcAccessOrder {
        match self {
            Self::InStreamOrder => sys::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            Self::DuringCall => sys::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
            Self::AnyTime => sys::CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
        }
    }
}

/// What the driver should know of a copy. All but [`source_access`](Self::source_access) are hints, which change how fast it
/// is and nothing else; a driver that takes none does without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CopyAttributes {
    /// When the source may be read.
    pub source_access: SourceAccess,
    /// Where the source is, if it is managed memory or memory of the process; unset if that is not known.
    pub source_hint: Location,
    /// Where the destination is, or should be.
    pub destination_hint: Location,
    /// The copy should run beside kernels, even if it takes longer then.
    pub overlap_with_compute: bool,
}

setters!(CopyAttributes {
    source_access: SourceAccess,
    source_hint: Location,
    destination_hint: Location,
    overlap_with_compute: bool,
});

impl CopyAttributes {
    /// Attributes with this access and no hints.
    #[must_use]
    pub fn new(source_access: SourceAccess) -> Self {
        Self { source_access, ..Self::default() }
    }

    fn native(self) -> sys::CUmemcpyAttributes {
        sys::CUmemcpyAttributes {
            srcAccessOrder: self.source_access.native(),
            srcLocHint: self.source_hint.native(),
            dstLocHint: self.destination_hint.native(),
            flags: if self.overlap_with_compute {
                sys::CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.0 as u32
            } else {
                sys::CU_MEMCPY_FLAG_DEFAULT.0 as u32
            },
        }
    }

    fn check(&self, at: &Context) -> Result<(), Error> {
        let hints = [self.source_hint, self.destination_hint];
        hints.iter().filter(|hint| !hint.is_unset()).try_for_each(|hint| hint.check(at.device()))
    }
}

/// Several copies, which are not ordered among each other; what comes later in the stream waits for all of them. The
/// attributes are one for all copies or one for each; none are the defaults. [`batch`] says what all operations of this sort
/// have in common: no copy has zero bytes, and none is of an array.
///
/// One copy is done by the driver's call for one such copy (13.2), else by its call for many (12.8), else as [`Copy`](struct@Copy); more by
/// the call for many, else one after the other, in the stream's order and without the hints.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::memory::DeviceMemory;
/// use cushim::op::{Copy, CopyBatch, Endpoint};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// let blocks = [DeviceMemory::allocate(&context, 64)?, DeviceMemory::allocate(&context, 64)?];
/// let (bytes, mut back) = ([7u8; 128], [0u8; 128]);
/// let (there, here) = (bytes.as_chunks::<64>().0, back.as_chunks_mut::<64>().0);
/// let to = |i: usize| Copy::new(blocks[i].at(0), Endpoint::host_source(&there[i]), 64);
/// let mut from = |i: usize| Copy::new(Endpoint::host(&mut here[i]), blocks[i].at(0), 64);
/// // SAFETY: each end has 64 bytes, which stay until the stream is done.
/// unsafe {
///     stream.enqueue(&mut CopyBatch::new(&mut [to(0), to(1)], &[]))?;
///     stream.enqueue(&mut CopyBatch::new(&mut [from(0), from(1)], &[]))?;
/// }
/// stream.synchronize()?;
/// assert_eq!(back, bytes);
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// With [`SourceAccess::DuringCall`] the source need not stay good after the call; with [`SourceAccess::AnyTime`] nothing that
/// is in the stream before the copy writes it.
#[derive(Debug)]
pub struct CopyBatch<'a, 'e> {
    copies: &'a mut [Copy<'e>],
    attributes: &'a [CopyAttributes],
    options: BatchOptions,
}

const DEFAULTS: &[CopyAttributes] = &[CopyAttributes {
    source_access: SourceAccess::InStreamOrder,
    source_hint: Location::UNSET,
    destination_hint: Location::UNSET,
    overlap_with_compute: false,
}];

impl<'a, 'e> CopyBatch<'a, 'e> {
    /// These copies, with attributes.
    #[must_use]
    pub fn new(copies: &'a mut [Copy<'e>], attributes: &'a [CopyAttributes]) -> Self {
        Self {
            copies,
            attributes: if attributes.is_empty() { DEFAULTS } else { attributes },
            options: BatchOptions::default(),
        }
    }

    /// The same copies, with options.
    #[must_use]
    pub fn with_options(mut self, options: BatchOptions) -> Self {
        self.options = options;
        self
    }

    fn attributes(&self) -> Result<PerItem<'_, CopyAttributes>, Error> {
        PerItem::new("attributes", self.attributes, "copies", self.copies.len())
    }

    /// On a driver without batch copies.
    ///
    /// # Safety
    /// As for [`Operation::enqueue`].
    unsafe fn enqueue_in_loop(&self, stream: &Stream) -> Result<(), Error> {
        batch::check_each(self.attributes, |attributes| check_loop(attributes, stream))?;
        batch::one_by_one(self.copies.len(), |index| {
            let (copy, context) = (&self.copies[index], stream.context());
            let checked = copy.check(context)?;
            let _current = stream.enter_to_copy()?;
            // SAFETY: checked with this stream's context; the caller vouches for each copy.
            unsafe { copy.enqueue(checked, stream) }
        })
    }

    /// By the driver's call for one copy, or that for many.
    ///
    /// # Safety
    /// As for [`Operation::enqueue`].
    unsafe fn enqueue_one(&self, copy: &Copy<'_>, stream: &Stream) -> Result<(), Error> {
        let (context, (to, from)) = (stream.context(), addresses(copy));
        let (there, native) = (context.live(stream)?, self.attributes()?.of(0).native());
        // SAFETY: the caller vouches for the copy.
        let result = unsafe {
            if calls::has_one(context.table()) {
                calls::one(there, stream.raw(), (to, from), copy.bytes, native)
            } else {
                let runs = (&mut [native][..], &mut [0][..]);
                calls::many(there, stream.raw(), (&mut [to], &mut [from]), &mut [copy.bytes], runs)
                    .map_err(|refused| refused.error)
            }
        };
        result.map_err(|error| refusal::of_copy(context.failed(error, stream), context, copy))
    }

    /// # Safety
    /// As for [`Operation::enqueue`].
    unsafe fn enqueue_many(&self, stream: &Stream) -> Result<(), Error> {
        let (context, attributes) = (stream.context(), self.attributes()?);
        let (mut to, mut from): (Vec<u64>, Vec<u64>) = self.copies.iter().map(addresses).unzip();
        let mut bytes: Vec<usize> = self.copies.iter().map(|copy| copy.bytes).collect();
        batch::in_parts(self.copies.len(), |part| {
            let (mut natives, mut starts) = attributes.runs(part.clone(), CopyAttributes::native);
            let ends = (&mut to[part.clone()], &mut from[part.clone()]);
            let runs = (natives.as_mut_slice(), starts.as_mut_slice());
            let there = context.live(stream)?;
            // SAFETY: the caller vouches for each copy.
            unsafe { calls::many(there, stream.raw(), ends, &mut bytes[part.clone()], runs) }.map_err(
                |refused| {
                    let failure = context.failed(refused.error, stream);
                    let failure =
                        refusal::of_copies(failure, context, &self.copies[part.clone()], part.start);
                    Refusal { failure, item: refused.item }
                },
            )
        })
    }
}

/// Refuses what no batch takes; the driver takes addresses there without being told what they are.
fn check_copy(copy: &Copy<'_>, at: &Context) -> Result<(), Error> {
    if copy.bytes == 0 {
        return Err(invalid("the copy has zero bytes; leave it out".to_owned()));
    }
    copy.to.check_address("destination", copy.bytes as u64, at)?;
    copy.from.check_address("source", copy.bytes as u64, at)
}

fn addresses(copy: &Copy<'_>) -> (u64, u64) {
    (copy.to.native(), copy.from.native())
}

/// Refuses what changes the meaning of a copy and has no older form.
fn check_loop(attributes: &CopyAttributes, stream: &Stream) -> Result<(), Error> {
    if attributes.source_access != SourceAccess::DuringCall {
        return Ok(());
    }
    let Err(error) = calls::has_batch(stream.context().table()) else { return Ok(()) };
    let mut failure = stream.context().failed(error, stream);
    if failure.status == Status::UNSUPPORTED {
        failure.message =
            format!("only drivers with batch copies can read a source during the call: {}", failure.message);
    }
    Err(failure)
}

impl Operation for CopyBatch<'_, '_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        let each = self.copies.iter().map(Operation::traits);
        let all = Traits { is_batch: true, ..Traits::default() };
        each.fold(all, |all, copy| Traits {
            touches_host: all.touches_host || copy.touches_host,
            has_owners: all.has_owners || copy.has_owners,
            ..all
        })
    }

    fn check<'a>(&'a self, at: &'a Context) -> Result<(), Error> {
        at.check_there(at)?;
        self.attributes()?;
        batch::check_each(self.copies, |copy| check_copy(copy, at))?;
        batch::check_each(self.attributes, |attributes| attributes.check(at))
    }

    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        batch::check_stream(stream, "copies with attributes")?;
        let has_batch = self.options.choose(stream, calls::has_batch(stream.context().table()))?;
        // SAFETY: as the caller vouches.
        unsafe {
            match &*self.copies {
                _ if !has_batch => self.enqueue_in_loop(stream),
                [copy] => batch::one_by_one(1, |_| self.enqueue_one(copy, stream)),
                _ => self.enqueue_many(stream),
            }
        }
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new(format!("batch of {} copies", self.copies.len()));
        self.copies.iter().for_each(|copy| copy.touch(&mut deeds));
        deeds
    }

    fn take_owners(&mut self) -> Vec<Owner> {
        self.copies.iter_mut().flat_map(Operation::take_owners).collect()
    }

    fn take_bytes(&mut self) -> Vec<Owner> {
        self.copies.iter_mut().filter_map(|copy| copy.from.take_bytes()).collect()
    }
}
