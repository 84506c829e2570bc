//! Parts of slices.

use super::element::DeviceCopy;
use super::fill::Fill;
use super::memory::{Access, Memory, Place};
use super::transfer;
use crate::memory::DevicePointer;
use crate::object::error::{Error, Status};
use crate::op::Endpoint;
use crate::stream::Stream;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// A slice, or a part of one, to be read: what kernels and copies take. Any kind of slice becomes one: `(&slice).into()`.
pub struct View<'a, T: DeviceCopy> {
    memory: &'a Memory,
    /// Of the first element, in elements.
    start: usize,
    len: usize,
    _elements: PhantomData<&'a [T]>,
}

/// A slice, or a part of one, to be read and written. There is one of each part at a time.
pub struct ViewMut<'a, T: DeviceCopy> {
    memory: &'a Memory,
    start: usize,
    len: usize,
    _elements: PhantomData<&'a mut [T]>,
}

impl<T: DeviceCopy> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for View<'_, T> {}

impl<'a, T: DeviceCopy> View<'a, T> {
    pub(super) fn new(memory: &'a Memory, start: usize, len: usize) -> Self {
        Self { memory, start, len, _elements: PhantomData }
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it: `view.range(10..20)`.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a range that is not inside.
    pub fn range(&self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        let (start, len) = part(range, self.len)?;
        Ok(Self::new(self.memory, self.start + start, len))
    }

    /// Two parts of it: up to `middle`, and from there on.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a middle that is not inside.
    pub fn split_at(&self, middle: usize) -> Result<(Self, Self), Error> {
        Ok((self.range(..middle)?, self.range(middle..)?))
    }

    /// Copies the elements to the host, and returns when they are there.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `to` has another length, and for a stream under capture; the driver's.
    pub fn copy_to_slice(&self, stream: &Stream, to: &mut [T]) -> Result<(), Error> {
        transfer::to_host(stream, *self, to)
    }

    /// The elements, on the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>, Error> {
        transfer::to_vec(stream, *self)
    }

    pub(super) fn endpoint(&self) -> Endpoint<'a> {
        self.memory.at(self.start * size_of::<T>())
    }

    pub(super) fn memory(&self) -> &'a Memory {
        self.memory
    }

    /// Where the first element is. Work with it by other means is not ordered by the slice, which says nothing of it.
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        DevicePointer(self.memory.buffer().pointer().0 + (self.start * size_of::<T>()) as u64)
    }
}

impl<'a, T: DeviceCopy> ViewMut<'a, T> {
    pub(super) fn new(memory: &'a mut Memory, len: usize) -> Self {
        Self { memory, start: 0, len, _elements: PhantomData }
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same, to be read.
    #[must_use]
    pub fn as_view(&self) -> View<'_, T> {
        View::new(self.memory, self.start, self.len)
    }

    /// The same for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { ..*self }
    }

    /// A part of it: `view.range(10..20)`.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a range that is not inside.
    pub fn range(self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        let (start, len) = part(range, self.len)?;
        Ok(Self { start: self.start + start, len, ..self })
    }

    /// Two parts of it, which are written apart from each other: up to `middle`, and from there on.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a middle that is not inside.
    pub fn split_at_mut(self, middle: usize) -> Result<(Self, Self), Error> {
        let (_, len) = part(middle.., self.len)?;
        let rest = Self { start: self.start + middle, len, ..self };
        Ok((Self { len: middle, ..self }, rest))
    }

    /// Copies elements here, from any kind of slice. It returns before they have arrived.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a source of another length; the driver's.
    pub fn copy_from<'s>(&mut self, stream: &Stream, from: impl Into<View<'s, T>>) -> Result<(), Error> {
        transfer::between(stream, self.as_view(), from.into())
    }

    /// Copies elements of the host's here. The host's memory is free again when this returns.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if `from` has another length, and for a stream under capture; the driver's.
    pub fn copy_from_slice(&mut self, stream: &Stream, from: &[T]) -> Result<(), Error> {
        transfer::from_host(stream, self.as_view(), from)
    }

    /// Sets every element to the value. It returns before that is done.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<(), Error>
    where
        T: Fill,
    {
        transfer::fill(stream, self.as_view(), value.value())
    }

    /// Sets every byte to 0. It returns before that is done.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill_zero(&mut self, stream: &Stream) -> Result<(), Error> {
        transfer::fill_zero(stream, self.as_view())
    }
}

impl<'a, T: DeviceCopy> From<&'a ViewMut<'_, T>> for View<'a, T> {
    fn from(view: &'a ViewMut<'_, T>) -> Self {
        view.as_view()
    }
}

impl<'a, T: DeviceCopy> From<&View<'a, T>> for View<'a, T> {
    fn from(view: &View<'a, T>) -> Self {
        *view
    }
}

/// Where a part starts, and how long it is.
fn part(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize), Error> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    if start <= end && end <= len {
        return Ok((start, end - start));
    }
    Err(Error::new(
        Status::INVALID_ARGUMENT,
        format!("{start}..{end} is not inside of a slice of {len} elements"),
    ))
}

impl<T: DeviceCopy> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({} of {})", self.len, self.memory.buffer())
    }
}

impl<T: DeviceCopy> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewMut({} of {})", self.len, self.memory.buffer())
    }
}

/// Work that reads and writes views: orders it, enqueues it, and notes that it was.
pub(super) fn ordered(
    stream: &Stream,
    uses: &[(&Memory, Access)],
    enqueue: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let place = Place::new(stream);
    uses.iter().try_for_each(|(memory, access)| memory.begins(&place, *access))?;
    enqueue()?;
    uses.iter().try_for_each(|(memory, access)| memory.was_used(stream, *access))
}
