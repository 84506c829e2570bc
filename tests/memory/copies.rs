//! Copies from any memory to any, of ranges and of boxes.

use crate::{NOWHERE, Order, context, holding, in_every_order, numbered, read, stream};
use cushim::memory::{
    Buffer, DeviceMemory, DevicePointer, ManagedResourceOptions, PinnedMemory, PinnedOptions,
    PinnedResourceOptions, Resource,
};
use cushim::op::{Copy, Copy3d, CopyBatch, Endpoint, Extent, Memset, Region, Value};
use cushim::{Context, Error, Status, Stream};

/// Copies a range, and waits.
fn copy(order: Order, to: Endpoint, from: Endpoint, bytes: usize) -> Result<(), Error> {
    // SAFETY: the tests copy within their memory, or are refused.
    unsafe { order.finish(Copy::new(to, from, bytes)) }
}

/// Copies a box, and waits.
fn copy_3d(order: Order, to: Region, from: Region, extent: Extent) -> Result<(), Error> {
    // SAFETY: as above.
    unsafe { order.finish(Copy3d::new(to, from, extent)) }
}

/// A way to name memory.
#[derive(Debug, Clone, Copy)]
enum Way {
    Pageable,
    PageableAuto,
    Pinned,
    PinnedAuto,
    /// Page-locked memory, by the address by which the device reaches it.
    Mapped,
    Device,
    DeviceAuto,
    PinnedBuffer,
    ManagedBuffer,
    DeviceBuffer,
}

impl Way {
    const ALL: [Self; 10] = [
        Self::Pageable,
        Self::PageableAuto,
        Self::Pinned,
        Self::PinnedAuto,
        Self::Mapped,
        Self::Device,
        Self::DeviceAuto,
        Self::PinnedBuffer,
        Self::ManagedBuffer,
        Self::DeviceBuffer,
    ];
}

/// What tests copy from and to: memory of each sort, holding the same bytes.
struct Memory {
    pageable: Vec<u8>,
    pinned: PinnedMemory,
    device: DeviceMemory,
    buffers: [Buffer; 3],
}

impl Memory {
    fn new(context: &Context, bytes: &[u8]) -> Self {
        let pinned = PinnedMemory::allocate(context, bytes.len(), PinnedOptions::default()).expect("memory");
        // SAFETY: the memory is new, and holds so many bytes.
        unsafe { pinned.address().cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
        let buffers = [
            Resource::pinned(context, &PinnedResourceOptions::default()),
            Resource::managed(context, &ManagedResourceOptions::default()),
            context.device().resource(),
        ]
        .map(|resource| buffer_holding(context, &resource.expect("a resource"), bytes));
        Self { pageable: bytes.to_vec(), pinned, device: holding(context, bytes), buffers }
    }

    fn by(&mut self, way: Way) -> Endpoint<'_> {
        let address = self.pageable.as_mut_ptr();
        let [pinned, managed, device] = &self.buffers;
        match way {
            Way::Pageable => Endpoint::host(address),
            Way::PageableAuto => Endpoint::auto(address.expose_provenance() as u64),
            Way::Pinned => self.pinned.at(0),
            Way::PinnedAuto => Endpoint::auto(self.pinned.address().expose_provenance() as u64),
            Way::Mapped => Endpoint::device(self.pinned.device_pointer().expect("the device reaches it")),
            Way::Device => self.device.at(0),
            Way::DeviceAuto => Endpoint::auto(self.device.pointer().0),
            Way::PinnedBuffer => pinned.at(0),
            Way::ManagedBuffer => managed.at(0),
            Way::DeviceBuffer => device.at(0),
        }
    }
}

fn buffer_holding(context: &Context, resource: &Resource, bytes: &[u8]) -> Buffer {
    let stream = stream(context);
    let buffer = Buffer::create(resource, bytes.len(), Some(&stream)).expect("a buffer");
    copy(Order::In(&stream), buffer.at(0), Endpoint::host_source(bytes), bytes.len()).expect("copied");
    buffer
}

#[test]
fn a_range_goes_from_any_memory_to_any() {
    let (old, new) = (vec![0xaa; 3000], numbered(3000));
    in_every_order(|context, order| {
        for to in Way::ALL {
            for from in Way::ALL {
                let (mut target, mut source) = (Memory::new(context, &old), Memory::new(context, &new));
                copy(order, target.by(to), source.by(from), 2999)
                    .unwrap_or_else(|error| panic!("{from:?} to {to:?}: {error}"));
                let copied = read(context, target.by(to), 3000);
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
    fn region(self, at: Endpoint) -> Region {
        let (x, y, z) = self.start;
        Region::new(at, self.pitch).with_rows(self.rows).offset_by(x, y, z)
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
fn a_box_goes_from_any_memory_to_any() {
    let (old, new) = (vec![0xaa; 4096], numbered(4096));
    let (there, here) =
        (Part { start: (5, 2, 1), pitch: 32, rows: 9 }, Part { start: (2, 1, 3), pitch: 20, rows: 6 });
    let extent = Extent { width: 13, height: 4, depth: 5 };
    let expected = copied(&old, there, &new, here, extent);
    in_every_order(|context, order| {
        for to in Way::ALL {
            for from in Way::ALL {
                let (mut target, mut source) = (Memory::new(context, &old), Memory::new(context, &new));
                copy_3d(order, there.region(target.by(to)), here.region(source.by(from)), extent)
                    .unwrap_or_else(|error| panic!("{from:?} to {to:?}: {error}"));
                assert!(read(context, target.by(to), 4096) == expected, "{from:?} to {to:?}");
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
        let source = Region::new(Endpoint::host_source(new.as_slice()), 50).offset_by(1, 0, 0);
        let there = Region::new(target.at(0), 64).offset_by(10, 3, 0);
        copy_3d(order, there, source, extent).expect("copied");
        assert!(read(context, target.at(0), old.len()) == copied(&old, to, &new, from, extent));
    });
}

/// Strides of 0 mean that rows and slices end where the box ends.
#[test]
fn strides_of_zero_leave_no_gaps() {
    let data = numbered(6 * 5 * 4);
    in_every_order(|context, order| {
        let (source, target) = (holding(context, &data), holding(context, &[0; 120]));
        let (there, here) = (|| Region::new(target.at(0), 0), || Region::new(source.at(0), 0));
        let extent = Extent { width: 6, height: 5, depth: 4 };
        copy_3d(order, there(), here(), extent).expect("copied");
        assert_eq!(read(context, target.at(0), 120), data);
        // A corner of it: rows of 2 + 3 bytes, slices of 1 + 2 rows.
        let extent = Extent { width: 3, height: 2, depth: 1 };
        copy_3d(order, there(), here().offset_by(2, 1, 1), extent).expect("copied");
        let start = 15 + 5 + 2;
        let expected = [&data[start..start + 3], &data[start + 5..start + 8]].concat();
        assert_eq!(read(context, target.at(0), 6), expected);
    });
}

#[test]
fn of_nothing_nothing_is_looked_at() {
    let nowhere = || Endpoint::device(DevicePointer(NOWHERE));
    let places: [fn() -> Endpoint<'static>; 4] = [
        || Endpoint::host(std::ptr::null_mut::<u8>()),
        || Endpoint::auto(0),
        || Endpoint::device(DevicePointer(NOWHERE)),
        || Endpoint::auto(u64::MAX),
    ];
    in_every_order(|_, order| {
        for place in places {
            assert_eq!(copy(order, place(), nowhere(), 0), Ok(()));
            for (width, height, depth) in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
                let extent = Extent { width, height, depth };
                let (to, from) = (Region::new(place(), 0), Region::new(nowhere(), 0));
                assert_eq!(copy_3d(order, to, from, extent), Ok(()));
            }
        }
    });
}

#[test]
fn a_wrong_endpoint_is_refused_before_the_driver() {
    let wrong: [fn() -> Endpoint<'static>; 5] = [
        || Endpoint::host(std::ptr::null_mut::<u8>()),
        || Endpoint::device(DevicePointer::NULL),
        || Endpoint::auto(0),
        || Endpoint::array(std::ptr::null_mut()),
        || Endpoint::auto(u64::MAX - 7),
    ];
    in_every_order(|context, order| {
        let memory = holding(context, &[1; 64]);
        for bad in wrong {
            for (result, end) in [
                (copy(order, bad(), memory.at(0), 8), "destination"),
                (copy(order, memory.at(0), bad(), 8), "source"),
            ] {
                let error = result.expect_err("refused");
                assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{:?}", bad());
                assert!(error.message.contains(end), "{error}");
            }
        }
        let (narrow, good) = (Region::new(memory.at(0), 4), Region::new(memory.at(0), 8));
        let error = copy_3d(order, narrow, good, Extent::rectangle(8, 2)).expect_err("refused");
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
        assert_eq!(
            error.message,
            "the destination's rows are 4 bytes apart, too few for 8 bytes from byte 0 on"
        );
    });
}

/// Of an address the driver knows how far its memory reaches. What it refuses leaves the stream as it was, and has the status of what is
/// refused without it.
#[test]
fn a_copy_past_the_end_is_found_by_the_driver() {
    in_every_order(|context, order| {
        let memory = holding(context, &[1; 64]);
        let mut bytes = [0u8; 128];
        let source = || Endpoint::device(memory.pointer());
        let error = copy(order, Endpoint::host(&mut bytes), source(), 65).expect_err("one too many");
        assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 1));
        assert!(error.function.starts_with("cuMemcpyDtoH"), "{}", error.function);
        assert!(error.message.contains("The source, 0x"), "{error}");
        assert!(error.message.contains("64 bytes left in its allocation of 64, too few for 65"), "{error}");
        copy(order, Endpoint::host(&mut bytes), source(), 64).expect("copied");
        assert_eq!(bytes[..64], [1; 64]);
    });
}

/// An object knows how far its memory reaches, so the driver is not asked.
#[test]
fn a_copy_past_the_end_of_an_object_is_refused() {
    in_every_order(|context, order| {
        let mut memory = Memory::new(context, &[1; 64]);
        for way in [Way::Pinned, Way::Device, Way::PinnedBuffer, Way::ManagedBuffer, Way::DeviceBuffer] {
            let mut bytes = [0u8; 128];
            let here = Endpoint::host(&mut bytes);
            let error = copy(order, here, memory.by(way), 65).expect_err("one too many");
            assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{way:?}: {error}");
            assert!(error.message.starts_with("the source has 64 bytes left in "), "{error}");
            assert!(error.message.ends_with(", too few for 65"), "{error}");
            let here = Region::new(Endpoint::host(&mut bytes), 16);
            let there = Region::new(memory.by(way), 16);
            let error = copy_3d(order, there, here, Extent::rectangle(16, 5)).expect_err("a row too many");
            assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{way:?}: {error}");
            assert!(error.message.starts_with("the destination has 64 bytes left in "), "{error}");
        }
    });
}

/// Of a batch the driver mostly does not say which copy it refuses; in a loop it is plain.
#[test]
fn the_copy_of_a_batch_that_has_too_little_memory_is_named() {
    let context = context();
    let (stream, memory) = (stream(&context), holding(&context, &[1; 64]));
    let copy = |from| Copy::new(memory.at(0), from, 32);
    let beyond = memory.pointer().offset(33).expect("an address");
    let mut copies = [copy(Endpoint::host_source(&[1u8; 32])), copy(Endpoint::device(beyond))];
    // SAFETY: one source is too short, which the driver refuses.
    let error =
        unsafe { stream.enqueue(&mut CopyBatch::new(&mut copies, &[])) }.expect_err("it is too short");
    assert_eq!(error.driver_code, 1);
    assert!(error.item == Some(1) || error.message.contains("The source of item 1, 0x"), "{error}");
    assert!(error.message.contains("31 bytes left in its allocation of 64, too few for 32"), "{error}");
}

/// A batch tells the driver nothing of what an address is, so what is said to be device memory has to be some.
#[test]
fn the_copy_of_a_batch_that_is_of_no_memory_is_refused() {
    let context = context();
    let (stream, memory) = (stream(&context), holding(&context, &[1; 64]));
    let freed = holding(&context, &[1; 64]).pointer();
    let (mut local, ordinary) = ([0u8; 32], [1u8; 32]);
    let local = DevicePointer((&raw mut local).expose_provenance() as u64);
    for gone in [freed, local, DevicePointer(NOWHERE)] {
        let good = || Copy::new(memory.at(0), Endpoint::host_source(&ordinary), 32);
        for (bad, end) in [
            (Copy::new(memory.at(0), Endpoint::device(gone), 32), "source"),
            (Copy::new(Endpoint::device(gone), Endpoint::host_source(&ordinary), 32), "destination"),
        ] {
            let mut copies = [good(), bad];
            // SAFETY: it is refused.
            let result = unsafe { stream.enqueue(&mut CopyBatch::new(&mut copies, &[])) };
            let error = result.expect_err("it is no device memory");
            assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{error}");
            assert_eq!(error.item, Some(1));
            assert!(
                error.message.starts_with(&format!("item 1: the {end}, {:#x}, is said", gone.0)),
                "{error}"
            );
        }
    }
}

/// An array is an end like others; this one does not exist.
#[test]
fn the_driver_is_asked_about_arrays() {
    if crate::driver().kind() != cushim::driver::Kind::Software {
        return; // a real driver takes the handle for an address
    }
    let context = context();
    let memory = holding(&context, &[1; 64]);
    let array = || Endpoint::array(std::ptr::without_provenance_mut(0x40));
    let error = copy(Order::Now(&context), memory.at(0), array(), 8).expect_err("no array");
    assert_eq!(error.function, "cuMemcpy3D");
    assert_eq!(copy(Order::Now(&context), memory.at(0), array(), 0), Ok(()));
}

/// The driver itself returns from memsets, and from copies to a device, before they are done.
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
    let boxed = || {
        let rows = |memory| Region::new(DeviceMemory::at(memory, 0), 1 << 10);
        Copy3d::new(rows(&b), rows(&a), Extent::rectangle(1 << 10, size >> 10))
    };
    let named = |memory| DeviceMemory::at(memory, 0).in_context(&context);
    // SAFETY: all of them hold so many bytes.
    unsafe {
        context.run(&mut Memset::new(a.at(0), Value::U8(1), size)).expect("set");
        assert!(is_done(), "a memset");
        context.run(&mut Memset::rectangle(a.at(0), 1 << 10, Value::U16(1), 500, size >> 10)).expect("set");
        assert!(is_done(), "a memset of rows");
        context.run(&mut Copy::new(b.at(0), a.at(0), size)).expect("copied");
        assert!(is_done(), "within the device");
        context.run(&mut Copy::new(b.at(0), Endpoint::host_source(host.as_slice()), size)).expect("copied");
        assert!(is_done(), "from the host");
        context.run(&mut boxed()).expect("copied");
        assert!(is_done(), "a box");
        context.run(&mut Copy::new(named(&b), named(&a), size)).expect("copied");
        assert!(is_done(), "with contexts");
    }
}
