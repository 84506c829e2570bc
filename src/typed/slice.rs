//! Slices that own their memory.

use super::element::DeviceCopy;
use super::fill::Fill;
use super::host_use::HostUse;
use super::memory::{Access, Memory, Order, check_stream};
use super::transfer;
use super::view::{View, ViewMut};
use crate::feature::Feature;
use crate::memory::{Buffer, ManagedResourceOptions, PinnedForm, PinnedResourceOptions, Resource};
use crate::object::error::{Error, Status};
use crate::stream::Stream;
use std::fmt;
use std::marker::PhantomData;

/// Elements in device memory.
///
/// The memory comes from the device's resource ([`Device::resource`](crate::Device::resource)), in the order of a stream, the slice's
/// *home stream*, and goes in its order, after all that was done with the slice in other streams.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::typed::DeviceSlice;
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// let numbers = DeviceSlice::from_slice(&stream, &[1.0, 2.0, 3.0, 4.0])?;
/// let mut others = DeviceSlice::zeroed(&stream, 2)?;
/// others.copy_from(&stream, numbers.range(2..)?)?;
/// assert_eq!(others.to_vec(&stream)?, [3.0, 4.0]);
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// What would be undefined does not compile. A slice that is read is not written meanwhile:
///
/// ```compile_fail,E0502
/// # use cushim::{Stream, typed::DeviceSlice};
/// # fn f(stream: &Stream, slice: &mut DeviceSlice<f32>) -> Result<(), cushim::Error> {
/// let part = slice.range(..2)?;
/// slice.fill(stream, 0.0)?;
/// part.to_vec(stream)?;
/// # Ok(())
/// # }
/// ```
///
/// Nor are two parts written that may be the same:
///
/// ```compile_fail,E0499
/// # use cushim::{Stream, typed::DeviceSlice};
/// # fn f(stream: &Stream, slice: &mut DeviceSlice<f32>) -> Result<(), cushim::Error> {
/// let (mut one, mut other) = (slice.range_mut(..2)?, slice.range_mut(1..)?);
/// one.fill(stream, 0.0)?;
/// other.fill(stream, 1.0)?;
/// # Ok(())
/// # }
/// ```
///
/// Nor does a part outlive its slice:
///
/// ```compile_fail,E0505
/// # use cushim::{Stream, typed::DeviceSlice};
/// # fn f(stream: &Stream, slice: DeviceSlice<f32>) -> Result<(), cushim::Error> {
/// let part = slice.range(..2)?;
/// drop(slice);
/// part.to_vec(stream)?;
/// # Ok(())
/// # }
/// ```
///
/// Nor are there slices of what is more than its bytes:
///
/// ```compile_fail,E0277
/// # use cushim::{Stream, typed::DeviceSlice};
/// # fn f(stream: &Stream) -> Result<(), cushim::Error> {
/// DeviceSlice::from_slice(stream, &[true, false])?;
/// # Ok(())
/// # }
/// ```
pub struct DeviceSlice<T: DeviceCopy> {
    memory: Memory,
    len: usize,
    _elements: PhantomData<T>,
}

/// Elements in page-locked host memory: copies between it and devices are asynchronous, and kernels reach it.
///
/// The host reads and writes the elements by [`as_slice`](Self::as_slice) and [`as_mut_slice`](Self::as_mut_slice), which first wait for
/// what devices do with them.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::typed::{DeviceSlice, PinnedSlice};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// let (mut host, mut device) = (PinnedSlice::zeroed(&stream, 1000)?, DeviceSlice::zeroed(&stream, 1000)?);
/// host.as_mut_slice()?.fill(7_u32);
/// device.copy_from(&stream, &host)?; // does not wait
/// host.as_mut_slice()?.fill(8); // waits until the copy has read it
/// host.copy_from(&stream, &device)?; // does not wait
/// assert_eq!(host.as_slice()?[999], 7); // waits until it is there
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// While the host has the elements, nothing that writes them is enqueued:
///
/// ```compile_fail,E0502
/// # use cushim::{Stream, typed::{DeviceSlice, PinnedSlice}};
/// # fn f(stream: &Stream, host: &mut PinnedSlice<u32>, device: &DeviceSlice<u32>) -> Result<(), cushim::Error> {
/// let elements = host.as_slice()?;
/// host.copy_from(stream, device)?;
/// assert_eq!(elements[0], 7);
/// # Ok(())
/// # }
/// ```
pub struct PinnedSlice<T: DeviceCopy> {
    memory: Memory,
    len: usize,
    _elements: PhantomData<T>,
}

/// Elements in managed memory, which host and devices reach by one address, wherever it is at the time.
///
/// The host reads and writes them as those of a [`PinnedSlice`]. It needs a device that lets the host reach managed memory while kernels
/// run ([`Feature::ConcurrentManagedAccess`]).
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::typed::ManagedSlice;
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// let mut numbers = ManagedSlice::zeroed(&stream, 1000)?;
/// numbers.fill(&stream, 7_u32)?; // on the device
/// numbers.as_mut_slice()?[0] += 1; // on the host
/// assert_eq!(numbers.as_slice()?[..2], [8, 7]);
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct ManagedSlice<T: DeviceCopy> {
    memory: Memory,
    len: usize,
    _elements: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Allocates so many elements. What they are is not defined until they are written.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a per-thread default stream; the driver's.
    pub fn allocate(stream: &Stream, len: usize) -> Result<Self, Error> {
        check_stream(stream)?;
        let buffer = stream.context().device().allocate(bytes::<T>(len)?, Some(stream))?;
        Ok(Self { memory: Memory::new(buffer, stream, None), len, _elements: PhantomData })
    }

    /// Allocates so many elements, whose bytes are 0.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate).
    pub fn zeroed(stream: &Stream, len: usize) -> Result<Self, Error> {
        let mut slice = Self::allocate(stream, len)?;
        slice.fill_zero(stream)?;
        Ok(slice)
    }

    /// Allocates as many elements as these, and copies them; it returns when they are there.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate).
    pub fn from_slice(stream: &Stream, elements: &[T]) -> Result<Self, Error> {
        let mut slice = Self::allocate(stream, elements.len())?;
        slice.copy_from_slice(stream, elements)?;
        Ok(slice)
    }

    /// Allocates as many elements as a slice of any kind has, all or a range, and copies them. It returns before they have arrived.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate).
    pub fn copied_from<'s>(stream: &Stream, from: impl Into<View<'s, T>>) -> Result<Self, Error> {
        let from = from.into();
        let mut slice = Self::allocate(stream, from.len())?;
        slice.copy_from(stream, from)?;
        Ok(slice)
    }

    /// Takes over a buffer of device memory that starts with so many elements; `home` becomes its deallocation stream.
    ///
    /// # Safety
    /// The buffer has device memory, which nobody else uses while the slice lives, and what was done with it before is ordered before the
    /// work in `home`.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a buffer that is too small, and a per-thread default stream; as for [`Buffer::set_stream`].
    pub unsafe fn from_buffer(buffer: Buffer, len: usize, home: &Stream) -> Result<Self, Error> {
        check_stream(home)?;
        let (needed, has) = (bytes::<T>(len)?, buffer.bytes());
        if has < needed && len > 0 {
            let refusal = format!("{len} elements take {needed} bytes, and {buffer} has {has}");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(&buffer));
        }
        buffer.set_stream(home)?;
        Ok(Self { memory: Memory::new(buffer, home, None), len, _elements: PhantomData })
    }

    /// Gives the memory up as a buffer, whose deallocation stream is the home stream. That waits for what other streams do with it.
    ///
    /// # Errors
    /// The driver's; the memory is freed then.
    pub fn into_buffer(self) -> Result<Buffer, Error> {
        self.memory.into_buffer()
    }
}

impl<T: DeviceCopy> PinnedSlice<T> {
    /// Allocates so many elements, whose bytes are 0.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a per-thread default stream; the driver's.
    pub fn zeroed(home: &Stream, len: usize) -> Result<Self, Error> {
        let options = PinnedResourceOptions::default().form(PinnedForm::Synchronous);
        let memory = on_host::<T>(home, len, || Resource::pinned(home.context(), &options))?;
        Ok(Self { memory, len, _elements: PhantomData })
    }
}

impl<T: DeviceCopy> ManagedSlice<T> {
    /// Allocates so many elements, whose bytes are 0.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] for a device without [`Feature::ConcurrentManagedAccess`]; [`Status::INVALID_ARGUMENT`] for a per-thread
    /// default stream; the driver's.
    pub fn zeroed(home: &Stream, len: usize) -> Result<Self, Error> {
        let device = home.context().device();
        if !device.supports(Feature::ConcurrentManagedAccess)? {
            let refusal = format!(
                "{device} does not let the host reach managed memory while a kernel runs ({}): use a PinnedSlice",
                Feature::ConcurrentManagedAccess
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(device));
        }
        let options = ManagedResourceOptions::default();
        let memory = on_host::<T>(home, len, || Resource::managed(home.context(), &options))?;
        Ok(Self { memory, len, _elements: PhantomData })
    }
}

/// The bytes of so many elements. There is one byte at least, so that each slice has an address.
fn bytes<T>(len: usize) -> Result<usize, Error> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.map(|bytes| bytes.max(1)).ok_or_else(|| {
        let refusal = format!("{len} elements of {} bytes are larger than any memory", size_of::<T>());
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}

/// Memory that the host reaches, too.
fn on_host<T>(
    home: &Stream,
    len: usize,
    resource: impl FnOnce() -> Result<Resource, Error>,
) -> Result<Memory, Error> {
    check_stream(home)?;
    let bytes = bytes::<T>(len)?;
    let buffer = Buffer::create(&resource()?, bytes, None)?;
    buffer.set_stream(home)?; // which is waited for before the memory is freed
    let start: *mut u8 = std::ptr::with_exposed_provenance_mut(buffer.pointer().0 as usize);
    if !start.addr().is_multiple_of(align_of::<T>()) {
        let refusal = format!("elements are aligned to {} bytes, and {buffer} is not", align_of::<T>());
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(&buffer));
    }
    // SAFETY: the host reaches so many bytes there, which are nobody else's yet.
    unsafe { start.write_bytes(0, bytes) };
    Ok(Memory::new(buffer, home, Some(HostUse::new())))
}

macro_rules! slices {
    ($($slice:ident),*) => {$(
        impl<T: DeviceCopy> $slice<T> {
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

            /// The stream in whose order the memory goes.
            #[must_use]
            pub fn home(&self) -> &Stream {
                self.memory.home()
            }

            /// All of it, to be read.
            #[must_use]
            pub fn view(&self) -> View<'_, T> {
                View::new(&self.memory, 0, self.len)
            }

            /// All of it, to be written.
            #[must_use]
            pub fn view_mut(&mut self) -> ViewMut<'_, T> {
                ViewMut::new(&mut self.memory, self.len)
            }

            /// A part of it, to be read: `slice.range(10..20)`.
            ///
            /// # Errors
            /// [`Status::INVALID_ARGUMENT`] for a range that is not inside.
            pub fn range(&self, range: impl std::ops::RangeBounds<usize>) -> Result<View<'_, T>, Error> {
                self.view().range(range)
            }

            /// A part of it, to be written. [`ViewMut::split_at_mut`] gives two.
            ///
            /// # Errors
            /// As for [`range`](Self::range).
            pub fn range_mut(&mut self, range: impl std::ops::RangeBounds<usize>) -> Result<ViewMut<'_, T>, Error> {
                self.view_mut().range(range)
            }

            /// Copies elements here, from any kind of slice, all or a range. It returns before they have arrived.
            ///
            /// # Errors
            /// [`Status::INVALID_ARGUMENT`] for a source of another length; the driver's.
            pub fn copy_from<'s>(&mut self, stream: &Stream, from: impl Into<View<'s, T>>) -> Result<(), Error> {
                transfer::between(stream, self.view(), from.into())
            }

            /// Copies elements of the host's here. The host's memory is free again when this returns.
            ///
            /// # Errors
            /// [`Status::INVALID_ARGUMENT`] if `from` has another length, and for a stream under capture; the driver's.
            pub fn copy_from_slice(&mut self, stream: &Stream, from: &[T]) -> Result<(), Error> {
                transfer::from_host(stream, self.view(), from)
            }

            /// Copies the elements to the host, and returns when they are there.
            ///
            /// # Errors
            /// As for [`copy_from_slice`](Self::copy_from_slice).
            pub fn copy_to_slice(&self, stream: &Stream, to: &mut [T]) -> Result<(), Error> {
                transfer::to_host(stream, self.view(), to)
            }

            /// The elements, on the host.
            ///
            /// # Errors
            /// [`Status::INVALID_ARGUMENT`] for a stream under capture; the driver's.
            pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>, Error> {
                transfer::to_vec(stream, self.view())
            }

            /// Sets every element to the value. It returns before that is done.
            ///
            /// # Errors
            /// The driver's.
            pub fn fill(&mut self, stream: &Stream, value: T) -> Result<(), Error>
            where
                T: Fill,
            {
                self.view_mut().fill(stream, value)
            }

            /// Sets every byte to 0. It returns before that is done.
            ///
            /// # Errors
            /// The driver's.
            pub fn fill_zero(&mut self, stream: &Stream) -> Result<(), Error> {
                transfer::fill_zero(stream, self.view())
            }

            /// Who orders work on the slice in different streams.
            #[must_use]
            pub fn order(&self) -> Order {
                self.memory.order()
            }

            /// Says who orders work on the slice in different streams.
            ///
            /// # Safety
            /// With [`Order::Explicit`], whoever uses the slice in another stream than its home stream orders that: after what it reads,
            /// and before what writes it; and before it is dropped, the home stream waits for it.
            pub unsafe fn set_order(&mut self, order: Order) {
                self.memory.set_order(order);
            }

            /// Names the memory in messages; `None` takes the name away.
            pub fn set_label(&self, label: Option<&str>) {
                self.memory.buffer().set_label(label);
            }
        }

        impl<'a, T: DeviceCopy> From<&'a $slice<T>> for View<'a, T> {
            fn from(slice: &'a $slice<T>) -> Self {
                slice.view()
            }
        }

        impl<'a, T: DeviceCopy> From<&'a mut $slice<T>> for ViewMut<'a, T> {
            fn from(slice: &'a mut $slice<T>) -> Self {
                slice.view_mut()
            }
        }

        impl<T: DeviceCopy> fmt::Debug for $slice<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} in {})", stringify!($slice), self.len, self.memory.buffer())
            }
        }
    )*};
}

slices!(DeviceSlice, PinnedSlice, ManagedSlice);

macro_rules! on_host {
    ($($slice:ident),*) => {$(
        impl<T: DeviceCopy> $slice<T> {
            /// Allocates as many elements as these, and copies them, on the host.
            ///
            /// # Errors
            /// As for [`zeroed`](Self::zeroed).
            pub fn from_slice(home: &Stream, elements: &[T]) -> Result<Self, Error> {
                let mut slice = Self::zeroed(home, elements.len())?;
                slice.as_mut_slice()?.copy_from_slice(elements);
                Ok(slice)
            }

            /// Allocates as many elements as a slice of any kind has, all or a range, and copies them, in the order of the home stream. It
            /// returns before they have arrived, for which [`as_slice`](Self::as_slice) waits.
            ///
            /// # Errors
            /// As for [`zeroed`](Self::zeroed).
            pub fn copied_from<'s>(home: &Stream, from: impl Into<View<'s, T>>) -> Result<Self, Error> {
                let from = from.into();
                let mut slice = Self::zeroed(home, from.len())?;
                slice.copy_from(home, from)?;
                Ok(slice)
            }

            fn start(&self) -> *mut T {
                std::ptr::with_exposed_provenance_mut(self.memory.buffer().pointer().0 as usize)
            }

            /// The elements, to be read by the host: waits for what devices write there.
            ///
            /// # Errors
            /// The driver's, also of earlier work.
            pub fn as_slice(&self) -> Result<&[T], Error> {
                self.wait(Access::Read)?;
                // SAFETY: so many elements are there, which are values whatever they hold; what wrote them is done, and what writes them
                // needs this slice for itself.
                Ok(unsafe { std::slice::from_raw_parts(self.start(), self.len) })
            }

            /// The elements, to be written by the host: waits for all that devices do with them.
            ///
            /// # Errors
            /// The driver's, also of earlier work.
            pub fn as_mut_slice(&mut self) -> Result<&mut [T], Error> {
                self.wait(Access::Write)?;
                // SAFETY: as for `as_slice`; what reads them is done, too.
                Ok(unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) })
            }

            fn wait(&self, access: Access) -> Result<(), Error> {
                self.memory.host().map_or(Ok(()), |host| host.wait(access))
            }
        }
    )*};
}

on_host!(PinnedSlice, ManagedSlice);
