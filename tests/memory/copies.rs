//! Copies between any two places, of ranges and of boxes.

use crate::{NOWHERE, context, holding, numbered, read, stream};
use cushim::batch::BatchOptions;
use cushim::memory::{
    BatchCopy, DeviceMemory, DevicePointer, Extent, Fill, PinnedMemory, PinnedOptions, Place, Region,
};
use cushim::{Context, Error, Status, Stream};
use std::sync::Arc;

/// Where a copy runs.
#[derive(Clone, Copy)]
enum Order<'a> {
    Now(&'a Context),
    In(&'a Stream),
}

impl Order<'_> {
    /// Copies a range, and waits.
    fn copy(self, to: Place, from: Place, bytes: usize) -> Result<(), Error> {
        // SAFETY: the tests copy within their memory, or are refused.
        unsafe {
            match self {
                Self::Now(context) => context.copy(to, from, bytes),
                Self::In(stream) => stream.copy(to, from, bytes).and_then(|()| stream.synchronize()),
            }
        }
    }

    /// Copies a box, and waits.
    fn copy_box(self, to: &Region, from: &Region, extent: Extent) -> Result<(), Error> {
        // SAFETY: as above.
        unsafe {
            match self {
                Self::Now(context) => context.copy_box(to, from, extent),
                Self::In(stream) => stream.copy_box(to, from, extent).and_then(|()| stream.synchronize()),
            }
        }
    }
}

/// Runs the test at once, in a created stream, and in both default streams.
fn in_every_order(test: impl Fn(&Arc<Context>, Order)) {
    let context = context();
    test(&context, Order::Now(&context));
    for stream in [stream(&context), Stream::legacy(&context), Stream::per_thread(&context)] {
        test(&context, Order::In(&stream));
    }
}

/// What tests copy from and to: memory of each sort, holding the same bytes.
struct Places {
    pageable: Vec<u8>,
    pinned: PinnedMemory,
    device: DeviceMemory,
}

impl Places {
    fn new(context: &Arc<Context>, bytes: &[u8]) -> Self {
        let pinned = PinnedMemory::allocate(context, bytes.len(), PinnedOptions::default()).expect("memory");
        // SAFETY: the memory is new, and holds so many bytes.
        unsafe { pinned.address().cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
        Self { pageable: bytes.to_vec(), pinned, device: holding(context, bytes) }
    }

    /// Every way to name one of them.
    fn all(&mut self) -> [Place; 7] {
        let pageable: *mut u8 = self.pageable.as_mut_ptr();
        let mapped = self.pinned.device_pointer().expect("the device reaches it");
        [
            Place::Host(pageable.cast()),
            Place::Auto(pageable.expose_provenance() as u64),
            self.pinned.place(),
            Place::Auto(self.pinned.address().expose_provenance() as u64),
            Place::Device(mapped),
            self.device.place(),
            Place::Auto(self.device.pointer().0),
        ]
    }
}

#[test]
fn a_range_goes_from_any_place_to_any() {
    let (old, new) = (vec![0xaa; 3000], numbered(3000));
    in_every_order(|context, order| {
        for to in 0..7 {
            for from in 0..7 {
                let (mut target, mut source) = (Places::new(context, &old), Places::new(context, &new));
                let (to, from) = (target.all()[to], source.all()[from]);
                order.copy(to, from, 2999).unwrap_or_else(|error| panic!("{from:?} to {to:?}: {error}"));
                let copied = read(context, to, 3000);
                assert!(copied[..2999] == new[..2999] && copied[2999] == 0xaa, "{from:?} to {to:?}");
            }
        }
    });
}

/// A box in a block of bytes.
#[derive(Clone, Copy)]
struct Part {
    start: (usize, usize, usize),
    pitch: usize,
    rows: usize,
}

impl Part {
    fn region(self, place: Place) -> Region {
        let (x, y, z) = self.start;
        Region::new(place, self.pitch).with_rows(self.rows).at(x, y, z)
    }

    fn index(self, (x, y, z): (usize, usize, usize)) -> usize {
        let start = self.start;
        ((start.2 + z) * self.rows + start.1 + y) * self.pitch + start.0 + x
    }
}

/// What `target` is after the box was copied there from `source`.
fn copied(target: &[u8], to: Part, source: &[u8], from: Part, extent: Extent) -> Vec<u8> {
    let mut result = target.to_vec();
    for z in 0..extent.depth {
        for y in 0..extent.height {
            for x in 0..extent.width {
                result[to.index((x, y, z))] = source[from.index((x, y, z))];
            }
        }
    }
    result
}

#[test]
fn a_box_goes_from_any_place_to_any() {
    let (old, new) = (vec![0xaa; 4096], numbered(4096));
    let (to, from) =
        (Part { start: (5, 2, 1), pitch: 32, rows: 9 }, Part { start: (2, 1, 3), pitch: 20, rows: 6 });
    let extent = Extent { width: 13, height: 4, depth: 5 };
    let expected = copied(&old, to, &new, from, extent);
    in_every_order(|context, order| {
        for i in 0..7 {
            for j in 0..7 {
                let (mut target, mut source) = (Places::new(context, &old), Places::new(context, &new));
                let (to, from) = (to.region(target.all()[i]), from.region(source.all()[j]));
                order
                    .copy_box(&to, &from, extent)
                    .unwrap_or_else(|error| panic!("{from:?} to {to:?}: {error}"));
                assert!(read(context, to.place, 4096) == expected, "{from:?} to {to:?}");
            }
        }
    });
}

#[test]
fn a_rectangle_has_one_slice() {
    let (old, new) = (vec![0; 64 * 16], numbered(50 * 10));
    let (to, from) =
        (Part { start: (10, 3, 0), pitch: 64, rows: 16 }, Part { start: (1, 0, 0), pitch: 50, rows: 10 });
    let extent = Extent::rectangle(49, 10);
    in_every_order(|context, order| {
        let target = holding(context, &old);
        let source = Region::new(Place::host_source(new.as_slice()), 50).at(1, 0, 0);
        order.copy_box(&Region::new(target.place(), 64).at(10, 3, 0), &source, extent).expect("copied");
        assert!(read(context, target.place(), old.len()) == copied(&old, to, &new, from, extent));
    });
}

/// Strides of 0 mean that rows and slices end where the box ends.
#[test]
fn strides_of_zero_leave_no_gaps() {
    let data = numbered(6 * 5 * 4);
    in_every_order(|context, order| {
        let (source, target) = (holding(context, &data), holding(context, &[0; 120]));
        let tight = |memory: &DeviceMemory| Region::new(memory.place(), 0);
        let extent = Extent { width: 6, height: 5, depth: 4 };
        order.copy_box(&tight(&target), &tight(&source), extent).expect("copied");
        assert_eq!(read(context, target.place(), 120), data);
        // A corner of it: rows of 2 + 3 bytes, slices of 1 + 2 rows.
        let corner = tight(&source).at(2, 1, 1);
        let extent = Extent { width: 3, height: 2, depth: 1 };
        order.copy_box(&tight(&target), &corner, extent).expect("copied");
        let start = 15 + 5 + 2;
        let expected = [&data[start..start + 3], &data[start + 5..start + 8]].concat();
        assert_eq!(read(context, target.place(), 6), expected);
    });
}

#[test]
fn of_nothing_nothing_is_looked_at() {
    in_every_order(|_, order| {
        let nowhere = Place::Device(DevicePointer(NOWHERE));
        for place in [Place::Host(std::ptr::null_mut()), Place::Auto(0), nowhere, Place::Auto(u64::MAX)] {
            assert_eq!(order.copy(place, nowhere, 0), Ok(()));
            for (width, height, depth) in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
                let extent = Extent { width, height, depth };
                assert_eq!(order.copy_box(&Region::new(place, 0), &Region::new(nowhere, 0), extent), Ok(()));
            }
        }
    });
}

#[test]
fn a_wrong_place_is_refused_before_the_driver() {
    in_every_order(|context, order| {
        let memory = holding(context, &[1; 64]);
        let good = memory.place();
        let null = [Place::Host(std::ptr::null_mut()), Place::Device(DevicePointer::NULL), Place::Auto(0)];
        for bad in null.into_iter().chain([Place::Array(std::ptr::null_mut()), Place::Auto(u64::MAX - 7)]) {
            for (result, end) in
                [(order.copy(bad, good, 8), "destination"), (order.copy(good, bad, 8), "source")]
            {
                let error = result.expect_err("refused");
                assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{bad:?}");
                assert!(error.message.contains(end), "{error}");
            }
        }
        let narrow = Region::new(good, 4);
        let error =
            order.copy_box(&narrow, &Region::new(good, 8), Extent::rectangle(8, 2)).expect_err("refused");
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
        assert_eq!(
            error.message,
            "the destination's rows are 4 bytes apart, too few for 8 bytes from byte 0 on"
        );
    });
}

/// What the driver refuses leaves the stream as it was.
#[test]
fn a_copy_past_the_end_is_the_drivers_error() {
    in_every_order(|context, order| {
        let memory = holding(context, &[1; 64]);
        let mut bytes = [0u8; 128];
        let error = order.copy(Place::host(&mut bytes), memory.place(), 65).expect_err("one too many");
        assert_eq!((error.status, error.driver_code), (Status(1), 1));
        assert!(error.function.starts_with("cuMemcpyDtoH"), "{}", error.function);
        assert!(error.message.contains("The source, 0x"), "{error}");
        assert!(error.message.contains("64 bytes left in its allocation of 64, too few for 65"), "{error}");
        order.copy(Place::host(&mut bytes), memory.place(), 64).expect("copied");
        assert_eq!(bytes[..64], [1; 64]);
    });
}

/// Of a batch the driver mostly does not say which copy it refuses; in a loop it is plain.
#[test]
fn the_copy_of_a_batch_that_has_no_memory_is_named() {
    let context = context();
    let (stream, memory) = (stream(&context), holding(&context, &[1; 64]));
    let gone = holding(&context, &[1; 64]).place();
    let copy = |from| BatchCopy { to: memory.place(), from, bytes: 32 };
    let copies = [copy(Place::host_source(&[1u8; 32])), copy(gone)];
    // SAFETY: one source is gone, which the driver refuses.
    let error = unsafe { stream.copy_batch(&copies, &[], BatchOptions::default()) }.expect_err("it is gone");
    assert_eq!(error.driver_code, 1);
    assert!(error.item == Some(1) || error.message.contains("The source of item 1, 0x"), "{error}");
    assert!(error.message.contains("freed before, or never allocated"), "{error}");
}

/// An array is an end like others; this one does not exist.
#[test]
fn the_driver_is_asked_about_arrays() {
    if crate::driver().kind() != cushim::driver::Kind::Software {
        return; // a real driver takes the handle for an address
    }
    let context = context();
    let memory = holding(&context, &[1; 64]);
    let array = Place::Array(std::ptr::without_provenance_mut(0x40));
    let error = Order::Now(&context).copy(memory.place(), array, 8).expect_err("no array");
    assert_eq!(error.function, "cuMemcpy3D");
    assert_eq!(Order::Now(&context).copy(memory.place(), array, 0), Ok(()));
}

/// The driver itself returns from fills, and from copies to a device, before they are done.
#[test]
fn what_is_synchronous_is_done() {
    // Alone: work of other tests in the legacy stream would look as if it were this one's.
    crate::alone("copies::what_is_synchronous_is_done", &[], synchronous);
}

fn synchronous() {
    let context = context();
    let (legacy, size) = (Stream::legacy(&context), 32 << 20);
    let is_done = || legacy.query().expect("asked");
    let (a, b) = (
        DeviceMemory::allocate(&context, size).expect("memory"),
        DeviceMemory::allocate(&context, size).expect("memory"),
    );
    let host = vec![3u8; size];
    let rows = |memory: &DeviceMemory| Region::new(memory.place(), 1 << 10);
    let extent = Extent::rectangle(1 << 10, size >> 10);
    // SAFETY: all of them hold so many bytes.
    unsafe {
        context.fill(a.pointer(), Fill::U8(1), size).expect("filled");
        assert!(is_done(), "a fill");
        context.fill_2d(a.pointer(), 1 << 10, Fill::U16(1), 500, size >> 10).expect("filled");
        assert!(is_done(), "a fill of rows");
        context.copy(b.place(), a.place(), size).expect("copied");
        assert!(is_done(), "within the device");
        context.copy(b.place(), Place::host_source(host.as_slice()), size).expect("copied");
        assert!(is_done(), "from the host");
        context.copy_box(&rows(&b), &rows(&a), extent).expect("copied");
        assert!(is_done(), "a box");
        context.copy_peer((&context, b.pointer()), (&context, a.pointer()), size).expect("copied");
        assert!(is_done(), "between contexts");
        context.copy_box_peer((&context, &rows(&b)), (&context, &rows(&a)), extent).expect("copied");
        assert!(is_done(), "a box between contexts");
    }
}
