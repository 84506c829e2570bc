//! Copies with attributes: one, or many that the driver may do in any order.

use super::{Place, invalid, refusal};
use crate::batch::{self, BatchOptions, PerItem, Refusal};
use crate::driver::calls::memory::batch_copy as calls;
use crate::driver::{CallError, sys};
use crate::error::{Error, Status};
use crate::location::Location;
use crate::stream::Stream;

/// One copy of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchCopy {
    /// The destination; not an array.
    pub to: Place,
    /// The source; not an array.
    pub from: Place,
    /// How many bytes; at least 1.
    pub bytes: usize,
}

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

impl CopyAttributes {
    /// Attributes with this access and no hints.
    #[must_use]
    pub fn new(source_access: SourceAccess) -> Self {
        Self { source_access, ..Self::default() }
    }

    /// The same attributes, with hints where both ends are; either may be unset.
    #[must_use]
    pub const fn with_hints(mut self, source: Location, destination: Location) -> Self {
        (self.source_hint, self.destination_hint) = (source, destination);
        self
    }

    /// The same attributes for a copy that should run beside kernels.
    #[must_use]
    pub const fn overlapping(mut self) -> Self {
        self.overlap_with_compute = true;
        self
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

    fn check(&self, stream: &Stream) -> Result<(), Error> {
        let hints = [self.source_hint, self.destination_hint];
        hints
            .iter()
            .filter(|hint| !hint.is_unset())
            .try_for_each(|hint| hint.check(stream.context().device()))
    }
}

impl BatchCopy {
    /// Both ends, checked: the destination, and the source.
    fn ends(&self) -> Result<(u64, u64), Error> {
        let end = |what: &str, place: Place| -> Result<u64, Error> {
            let address = place.address().ok_or_else(|| {
                invalid(format!("the {what} is an array, which is not copied in a batch; copy it as a box"))
            })?;
            place.check_range(what, self.bytes as u64)?;
            Ok(address)
        };
        if self.bytes == 0 {
            return Err(invalid("the copy has no bytes; leave it out".to_owned()));
        }
        Ok((end("destination", self.to)?, end("source", self.from)?))
    }
}

impl Stream {
    /// Copies so many bytes after the work that is in the stream by now, as the attributes say: a batch of one, with the
    /// refusals of every [`batch`](crate::batch). It is done by the driver's call for one such copy (13.2), else by its call
    /// for many (12.8), else as by [`copy`](Self::copy).
    ///
    /// # Safety
    /// As for [`copy`](Self::copy). With [`SourceAccess::DuringCall`] the source need not stay good after the call; with
    /// [`SourceAccess::AnyTime`] nothing that is in the stream before the copy writes it.
    ///
    /// # Errors
    /// As for [`copy_batch`](Self::copy_batch).
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_with_attributes(
        &self,
        to: Place,
        from: Place,
        bytes: usize,
        attributes: CopyAttributes,
    ) -> Result<(), Error> {
        self.copy_all(&[BatchCopy { to, from, bytes }], &[attributes], BatchOptions::default())
    }

    /// Copies several ranges after the work that is in the stream by now; they are not ordered among each other. What comes
    /// later in the stream waits for all of them. The attributes are one for all copies or one for each; none are the
    /// defaults. [`batch`](crate::batch) says what all calls of this sort have in common.
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::batch::BatchOptions;
    /// use cushim::memory::{BatchCopy, DeviceMemory, Place};
    /// use cushim::{Device, Stream, StreamOptions};
    ///
    /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
    /// let context = Device::get(&driver, 0)?.primary_context()?;
    /// let stream = Stream::create(&context, &StreamOptions::default())?;
    /// let blocks = [DeviceMemory::allocate(&context, 64)?, DeviceMemory::allocate(&context, 64)?];
    /// let (bytes, mut back) = ([7u8; 128], [0u8; 128]);
    /// let (there, here) = (bytes.as_chunks::<64>().0, back.as_chunks_mut::<64>().0);
    /// let to = |i: usize| BatchCopy { to: blocks[i].place(), from: Place::host_source(&there[i]), bytes: 64 };
    /// let mut from = |i: usize| BatchCopy { to: Place::host(&mut here[i]), from: blocks[i].place(), bytes: 64 };
    /// // SAFETY: each end has 64 bytes, which stay until the stream is done.
    /// unsafe {
    ///     stream.copy_batch(&[to(0), to(1)], &[], BatchOptions::default())?;
    ///     stream.copy_batch(&[from(0), from(1)], &[], BatchOptions::default())?;
    /// }
    /// stream.synchronize()?;
    /// assert_eq!(back, bytes);
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Safety
    /// As for [`copy_with_attributes`](Self::copy_with_attributes), for each copy; no destination meets another end.
    ///
    /// # Errors
    /// Those of every batch; [`Status::INVALID_ARGUMENT`] for a copy of no bytes, an array, an end that is NULL or reaches
    /// past the end of all addresses, and a hint that is no location; [`Status::UNSUPPORTED`] for
    /// [`SourceAccess::DuringCall`] before driver 12.8, and there for all if the options refuse a loop; the driver's.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_batch(
        &self,
        copies: &[BatchCopy],
        attributes: &[CopyAttributes],
        options: BatchOptions,
    ) -> Result<(), Error> {
        let defaults = [CopyAttributes::default()];
        self.copy_all(copies, if attributes.is_empty() { &defaults } else { attributes }, options)
    }

    fn copy_all(
        &self,
        copies: &[BatchCopy],
        attributes: &[CopyAttributes],
        options: BatchOptions,
    ) -> Result<(), Error> {
        let context = self.context();
        context.check_there(self)?;
        let attributes = PerItem::new("attributes", attributes, "copies", copies.len())?;
        batch::check_each(copies, |copy| copy.ends().map(drop))?;
        batch::check_each(attributes.values(), |attributes| attributes.check(self))?;
        batch::check_stream(self, "copies with attributes")?;
        if !options.choose(self, calls::has_batch(context.table()))? {
            return self.copy_in_loop(copies, attributes);
        }
        if let [copy] = copies {
            return batch::one_by_one(1, |_| self.copy_one(*copy, attributes.of(0)));
        }
        let mut columns = Columns::of(copies)?;
        batch::in_parts(copies.len(), |part| {
            let (mut natives, mut starts) = attributes.runs(part.clone(), CopyAttributes::native);
            let ends = (&mut columns.to[part.clone()], &mut columns.from[part.clone()]);
            let runs = (natives.as_mut_slice(), starts.as_mut_slice());
            let bytes = &mut columns.bytes[part.clone()];
            calls::many(context.live(self)?, self.raw(), ends, bytes, runs).map_err(|refused| {
                let failure = context.failed(refused.error, self);
                let failure = refusal::of_copies(failure, context, &copies[part.clone()], part.start);
                Refusal { failure, item: refused.item }
            })
        })
    }

    /// On a driver without batch copies: in the stream's order, without the hints.
    fn copy_in_loop(
        &self,
        copies: &[BatchCopy],
        attributes: PerItem<'_, CopyAttributes>,
    ) -> Result<(), Error> {
        batch::check_each(attributes.values(), |attributes| self.check_loop(attributes))?;
        let _current = self.enter_to_copy()?;
        batch::one_by_one(copies.len(), |index| {
            let BatchCopy { to, from, bytes } = copies[index];
            self.copy_vouched(to, from, bytes)
        })
    }

    /// Refuses what changes the meaning of a copy and has no older form.
    fn check_loop(&self, attributes: &CopyAttributes) -> Result<(), Error> {
        if attributes.source_access != SourceAccess::DuringCall {
            return Ok(());
        }
        let Err(error) = calls::has_batch(self.context().table()) else { return Ok(()) };
        let mut failure = self.context().failed(error, self);
        if failure.status == Status::UNSUPPORTED {
            failure.message = format!(
                "that a source is read during the call is a promise that only drivers with batch copies keep: {}",
                failure.message
            );
        }
        Err(failure)
    }

    fn copy_one(&self, copy: BatchCopy, attributes: CopyAttributes) -> Result<(), Error> {
        let (context, (to, from)) = (self.context(), copy.ends()?);
        let there = context.live(self)?;
        let result = if calls::has_one(context.table()) {
            calls::one(there, self.raw(), (to, from), copy.bytes, attributes.native())
        } else {
            let runs = (&mut [attributes.native()][..], &mut [0][..]);
            calls::many(there, self.raw(), (&mut [to], &mut [from]), &mut [copy.bytes], runs)
                .map_err(|refused| refused.error)
        };
        result.map_err(|error| self.refused(error, &copy))
    }

    #[cold]
    fn refused(&self, error: CallError, copy: &BatchCopy) -> Error {
        let context = self.context();
        refusal::of_copy(context.failed(error, self), context, copy.to, copy.from, copy.bytes)
    }
}

/// Copies as the driver's calls for many take them.
struct Columns {
    to: Vec<u64>,
    from: Vec<u64>,
    bytes: Vec<usize>,
}

impl Columns {
    fn of(copies: &[BatchCopy]) -> Result<Self, Error> {
        let ends: Vec<(u64, u64)> = copies.iter().map(BatchCopy::ends).collect::<Result<_, _>>()?;
        let (to, from) = ends.into_iter().unzip();
        Ok(Self { to, from, bytes: copies.iter().map(|copy| copy.bytes).collect() })
    }
}
