//! Memory of the pools of two devices, which the driver copies only where the context that is current reaches it: here it
//! makes no difference which one is.

use crate::{INVALID_VALUE, alone, context, driver, finish_in, holding, numbered, read, set_bytes, stream};
use cushim::driver::{Choice, OpenOptions};
use cushim::memory::{Buffer, DevicePoolOptions, PoolChoice, Resource};
use cushim::op::{Copy, Copy3d, CopyBatch, Endpoint, Extent, Memset, Region, Value};
use cushim::{Context, Device, Error, Status, Stream};

const BYTES: usize = 4096;

/// One device, its primary context, a stream of it, and a pool of its own.
struct Side {
    context: Context,
    stream: Stream,
    pool: Resource,
}

impl Side {
    fn new(device: &Device) -> Self {
        let context = device.primary_context().expect("a context");
        let mut options = DevicePoolOptions::default();
        options.choice = PoolChoice::Own;
        let pool = Resource::device_pool(device, &options).expect("a pool");
        Self { stream: stream(&context), context, pool }
    }

    fn device(&self) -> &Device {
        self.context.device()
    }

    /// A buffer of the pool that holds these bytes.
    fn holding(&self, bytes: &[u8]) -> Buffer {
        let buffer = Buffer::create(&self.pool, bytes.len(), Some(&self.stream)).expect("a buffer");
        let copy = Copy::new(buffer.at(0), Endpoint::host_source(bytes), bytes.len());
        // SAFETY: both ends hold so many bytes.
        unsafe { finish_in(&self.stream, copy) }.expect("copied");
        buffer
    }

    fn read(&self, buffer: &Buffer) -> Vec<u8> {
        read(&self.context, buffer.at(0), buffer.bytes())
    }
}

/// Runs `test` where each of the contexts is current, and where none is.
fn whichever_is_current(sides: &[Side; 2], test: impl Fn(&str)) {
    for (current, name) in [(Some(&sides[0]), "the first"), (Some(&sides[1]), "the second"), (None, "none")] {
        match current {
            Some(side) => side.context.set_current().expect("current"),
            None => Context::clear_current(&driver()).expect("cleared"),
        }
        let before = current.map(|side| side.context.native());
        test(name);
        let after = Context::current(&driver()).expect("asked").map(|current| current.native);
        assert_eq!(after, before, "{name} is current no more");
    }
    Context::clear_current(&driver()).expect("cleared");
}

/// Runs the test in a process that has two devices; on a machine with fewer, not at all.
fn with_two(name: &str, test: impl FnOnce(&[Side; 2])) {
    alone(&format!("devices::{name}"), &[("SOFTCUDA_DEVICES", "2")], || {
        let driver = driver();
        if Device::count(&driver).expect("counted") >= 2 {
            test(&[0, 1].map(|ordinal| Side::new(&Device::get(&driver, ordinal).expect("a device"))));
        }
    });
}

#[test]
fn copies_between_host_and_pool() {
    with_two("copies_between_host_and_pool", |sides| {
        whichever_is_current(sides, |current| sides.iter().for_each(|side| host_and_pool(side, current)));
    });
}

fn host_and_pool(side: &Side, current: &str) {
    let (stream, data) = (&side.stream, numbered(BYTES));
    let buffer = side.holding(&data);
    let mut back = vec![0; BYTES];
    let address = back.as_mut_ptr();
    let (here, at) = (|| Endpoint::host(address), || Endpoint::device(buffer.pointer()));
    let done = |result: Result<(), Error>, how: &str| {
        result.unwrap_or_else(|e| panic!("{how}, {current} current: {e}"));
    };
    // SAFETY: all ends hold so many bytes, and last until the stream is done.
    unsafe {
        done(finish_in(stream, Copy::new(here(), buffer.at(0), BYTES)), "to the host");
        done(finish_in(stream, Copy::new(here(), at(), BYTES)), "from an address");
        let source = Endpoint::host_source(data.as_slice());
        done(finish_in(stream, Copy::new(at(), source, BYTES)), "to an address");
        let nothing = Copy::new(Endpoint::auto(buffer.pointer().0), at(), 0);
        done(finish_in(stream, nothing), "nothing");
        let rows = Region::new(buffer.at(0), 64);
        let rows = Copy3d::new(Region::new(here(), 64), rows, Extent::rectangle(64, 64));
        done(finish_in(stream, rows), "rows");
        let mut one = [Copy::new(here(), at(), BYTES)];
        done(finish_in(stream, CopyBatch::new(&mut one, &[])), "with attributes");
        let half = |start: usize| {
            let to = Endpoint::host(address.wrapping_add(start));
            Copy::new(to, buffer.at(start as u64), BYTES / 2)
        };
        let mut halves = [half(0), half(BYTES / 2)];
        done(finish_in(stream, CopyBatch::new(&mut halves, &[])), "a batch");
        assert!(back == data, "{current} is current");
        let scratch = Buffer::create_scratch(Some(&side.pool), data.as_ptr().cast(), BYTES, stream);
        back.fill(0);
        let scratch = scratch.unwrap_or_else(|e| panic!("scratch, {current} current: {e}"));
        let ended = Buffer::destroy_scratch(scratch, back.as_mut_ptr().cast(), stream);
        done(ended.and_then(|()| stream.synchronize()), "scratch");
        assert!(back == data, "{current} is current");
    }
    // SAFETY: nobody writes the source.
    let copy = unsafe { buffer.create_copy(stream) };
    let copy = copy.unwrap_or_else(|e| panic!("a new buffer, {current} current: {e}"));
    stream.synchronize().expect("done");
    assert!(side.read(&copy) == data, "{current} is current");
}

#[test]
fn buffers_of_two_devices() {
    with_two("buffers_of_two_devices", |sides| {
        let [first, second] = sides;
        whichever_is_current(sides, |current| {
            for stream in [&first.stream, &second.stream, &Stream::legacy(&first.context)] {
                for (from, to) in [(first, second), (second, first), (first, first), (second, second)] {
                    between(from, to, stream, current);
                }
            }
        });
    });
}

/// Every way from a buffer of one device to one of another, in the stream of either.
fn between(from: &Side, to: &Side, stream: &Stream, current: &str) {
    let data = numbered(BYTES);
    let source = from.holding(&data);
    let target = to.holding(&[0; BYTES]);
    let context = stream.context();
    let arrived = |result: Result<(), Error>, how: &str| {
        let why =
            format!("{how} of {} in a stream of {}, {current} current", from.device(), context.device());
        result.and_then(|()| stream.synchronize()).unwrap_or_else(|e| panic!("{why}: {e}"));
        assert!(to.read(&target) == data, "{why}");
        // SAFETY: the buffer holds so many values.
        unsafe { to.context.run(&mut Memset::new(target.at(0), Value::U8(0), BYTES)) }.expect("set");
    };
    let all = || Copy::new(target.at(0), source.at(0), BYTES);
    let half = |start| Copy::new(target.at(start), source.at(start), BYTES / 2);
    let rows = || {
        let (to, from) = (Region::new(target.at(0), 64), Region::new(source.at(0), 64));
        Copy3d::new(to, from, Extent::rectangle(64, 64))
    };
    // Addresses, of which the contexts are said.
    let named = || {
        let to = Endpoint::device(target.pointer()).in_context(&to.context);
        Copy::new(to, Endpoint::device(source.pointer()).in_context(&from.context), BYTES)
    };
    // SAFETY: all ends hold so many bytes, and last until the stream is done.
    unsafe {
        arrived(stream.enqueue(&mut all()), "a buffer");
        let first = stream.enqueue(&mut half(0));
        arrived(first.and_then(|()| stream.enqueue(&mut half(BYTES as u64 / 2))), "two parts");
        arrived(stream.enqueue(&mut rows()), "a box");
        arrived(stream.enqueue(&mut named()), "addresses with contexts");
        arrived(context.run(&mut all()), "at once");
        arrived(context.run(&mut rows()), "a box at once");
        arrived(context.run(&mut named()), "addresses with contexts at once");
        let copy = source.create_copy(stream).expect("copied");
        stream.synchronize().expect("done");
        assert!(from.read(&copy) == data);
    }
}

/// What the driver refuses is refused in the same words, whichever context is current.
#[test]
fn what_is_out_of_reach() {
    with_two("what_is_out_of_reach", |sides| {
        let [first, second] = sides;
        let memory = second.holding(&[0; BYTES]);
        let plain = holding(&second.context, &[0; BYTES]);
        let mut bytes = [0u8; BYTES];
        let here = bytes.as_mut_ptr();
        let (here, at) = (|| Endpoint::host(here), || Endpoint::device(memory.pointer()));
        // SAFETY: all ends hold so many bytes, and last until the stream is done.
        let ways = || unsafe {
            let set = set_bytes(&first.stream, memory.pointer(), 1, BYTES);
            let plain = set_bytes(&first.stream, plain.pointer(), 1, BYTES);
            let (to, from) = (Region::new(here(), 64), Region::new(at(), 64));
            let rows = first.stream.enqueue(&mut Copy3d::new(to, from, Extent::rectangle(64, 8)));
            let out = first.stream.enqueue(&mut Copy::new(here(), at(), BYTES));
            let into = first.context.run(&mut Copy::new(at(), here(), BYTES));
            [
                (out, "The source, ", "or give device 0 access to the pool"),
                (into, "The destination, ", "cushim_resource_add_peers"),
                (rows, "The source, ", "pool"),
                (set, "is memory of a pool of device 1, to which device 0", "cushim_resource_add_peers"),
                (plain, "is memory of device 1, to which device 0", "cushim_context_enable_peer_access"),
            ]
        };
        whichever_is_current(sides, |current| {
            for (result, what, advice) in ways() {
                let error = result.expect_err(what);
                assert_eq!(error.status, Status(INVALID_VALUE), "{current} current: {error}");
                let is_told = error.message.contains(what) && error.message.contains(advice);
                assert!(is_told && error.message.contains("a stream of device 1"), "{error}");
            }
        });
        second.pool.add_peers(&[first.device().clone()]).expect("changed");
        whichever_is_current(sides, |current| {
            for (result, what, _) in &ways()[..4] {
                assert_eq!(result, &Ok(()), "{what}, {current} current");
            }
            first.stream.synchronize().expect("done");
        });
    });
}

/// Access goes one way, once, until it is taken back; each refusal says which of these it was.
#[test]
fn access_of_contexts() {
    with_two("access_of_contexts", |sides| {
        let [first, second] = sides.each_ref().map(|side| &side.context);
        let plain = holding(second, &[0; BYTES]);
        let says = |result: Result<(), Error>, status: i32, why: &str| {
            let error = result.expect_err(why);
            assert_eq!(error.status, Status(status), "{error}");
            assert!(error.message.contains(why), "{error}");
        };
        // SAFETY: the memory holds so many values, and lasts until the stream is done.
        let set = || unsafe { set_bytes(&sides[0].stream, plain.pointer(), 1, BYTES) };
        says(
            first.disable_peer_access(second),
            NOT_ENABLED,
            "was given no access to the memory of primary context of device 1",
        );
        first.enable_peer_access(second).expect("enabled");
        says(
            first.enable_peer_access(second),
            ALREADY_ENABLED,
            "has access to the memory of primary context of device 1, and keeps it",
        );
        says(second.disable_peer_access(first), NOT_ENABLED, "the other way is another matter");
        whichever_is_current(sides, |current| assert_eq!(set(), Ok(()), "{current} is current"));
        first.synchronize().expect("done");
        first.disable_peer_access(second).expect("disabled");
        says(set(), INVALID_VALUE, "enable the context's access");
        let beside = Context::create(first.device(), 0).expect("a context");
        says(first.enable_peer_access(&beside), UNSUPPORTED, "Both contexts are of device 0");
        says(first.disable_peer_access(&beside), NOT_ENABLED, "Both contexts are of device 0");
    });
}

const UNSUPPORTED: i32 = 217;
const ALREADY_ENABLED: i32 = 704;
const NOT_ENABLED: i32 = 705;

#[test]
fn access_across_drivers() {
    let none = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
    let foreign = Device::get(&none, 0).expect("a device").primary_context().expect("a context");
    for result in [context().enable_peer_access(&foreign), foreign.disable_peer_access(&context())] {
        let error = result.expect_err("another driver's");
        assert_eq!(error.status, Status::INVALID_HANDLE);
        assert!(error.message.contains("belong to different drivers"), "{error}");
    }
    let error = foreign.enable_peer_access(&foreign).expect_err("none has no such function");
    assert_eq!(error.status, Status::UNSUPPORTED);
}
