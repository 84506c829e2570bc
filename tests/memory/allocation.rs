//! Device memory comes and goes, at once and in the order of a stream.

use crate::{
    Allocation, INVALID_VALUE, NOWHERE, OUT_OF_MEMORY, context, copy_out, driver, numbered, read, set_bytes,
    stream,
};
use cushim::driver::Version;
use cushim::memory::{Buffer, DeviceMemory, DevicePointer, DevicePoolOptions, PoolChoice, Resource};
use cushim::op::{Memset, Value};
use cushim::{Status, Stream};

fn allocation(pointer: DevicePointer) -> Allocation {
    Allocation::at(pointer.0).expect("there is memory")
}

#[test]
fn memory_is_there_until_it_is_freed() {
    let context = context();
    let memory = DeviceMemory::allocate(&context, 5000).expect("memory");
    let pointer = memory.pointer();
    assert_eq!((memory.bytes(), pointer.0 % 256, memory.stream().is_none()), (5000, 0, true));
    let known = allocation(pointer);
    assert_eq!(allocation(pointer.offset(4999).expect("an address")).id, known.id);
    memory.free().expect("freed");
    assert!(!known.is_there());
    let dropped = allocation(DeviceMemory::allocate(&context, 5000).expect("memory").pointer());
    assert!(!dropped.is_there(), "dropped at the end of the statement");
}

#[test]
fn a_pointer_can_be_given_up_and_taken_over() {
    let context = context();
    let stream = stream(&context);
    let pointer = DeviceMemory::allocate(&context, 64).expect("memory").into_pointer();
    let known = allocation(pointer);
    // SAFETY: this is what was given up.
    let memory = unsafe { DeviceMemory::from_pointer(&context, pointer, 64) };
    assert_eq!((memory.pointer(), memory.bytes()), (pointer, 64));
    assert!(known.is_there());
    memory.free().expect("freed");
    assert!(!known.is_there());
    let pointer = DeviceMemory::allocate_on(&stream, 64).expect("memory").into_pointer();
    // SAFETY: as above.
    let memory = unsafe { DeviceMemory::from_pointer_on(&stream, pointer, 64) };
    assert_eq!(memory.stream().map(|stream| stream.native()), Some(stream.native()));
    memory.free().expect("freed");
    stream.synchronize().expect("done");
}

#[test]
fn a_stream_gives_memory_in_its_order() {
    let context = context();
    let stream = stream(&context);
    let memory = DeviceMemory::allocate_on(&stream, 4096).expect("memory");
    let mut bytes = [0u8; 4096];
    // SAFETY: both ends hold so many bytes, and last until the stream is done.
    unsafe {
        set_bytes(&stream, memory.pointer(), 7, 4096).expect("set");
        copy_out(&stream, &mut bytes, &memory).expect("copied");
    }
    memory.free().expect("freed in the stream");
    stream.synchronize().expect("done");
    assert_eq!(bytes, [7; 4096]);
}

/// The second stream uses the memory and frees it; the first has given it.
#[test]
fn another_stream_may_free_it() {
    let context = context();
    let (first, second) = (stream(&context), stream(&context));
    let memory = DeviceMemory::allocate_on(&first, 4096).expect("memory");
    second.wait_stream(&first).expect("waits");
    let mut bytes = [0u8; 4096];
    // SAFETY: both ends hold so many bytes, and last until the stream is done.
    unsafe {
        set_bytes(&second, memory.pointer(), 9, 4096).expect("set");
        copy_out(&second, &mut bytes, &memory).expect("copied");
    }
    memory.free_on(&second).expect("freed");
    second.synchronize().expect("done");
    assert_eq!(bytes, [9; 4096]);
}

/// Memory that came at once goes at once, but not before the stream is done with it.
#[test]
fn a_stream_is_waited_for_before_memory_goes_at_once() {
    let context = context();
    let stream = stream(&context);
    let data = numbered(1 << 20);
    let memory = crate::holding(&context, &data);
    let mut bytes = vec![0u8; data.len()];
    // SAFETY: both ends hold so many bytes, and last until the stream is done.
    unsafe { copy_out(&stream, &mut bytes, &memory) }.expect("copied");
    let known = allocation(memory.pointer());
    memory.free_on(&stream).expect("freed");
    assert!(stream.query().expect("asked"), "the stream was waited for");
    assert!(bytes == data && !known.is_there());
}

#[test]
fn default_streams_give_memory_of_their_context() {
    let context = context();
    for stream in [Stream::legacy(&context), Stream::per_thread(&context)] {
        let memory = DeviceMemory::allocate_on(&stream, 512).expect("memory");
        // SAFETY: the memory holds so many values.
        unsafe { stream.enqueue(&mut Memset::new(memory.at(0), Value::U32(0x0403_0201), 128)) }.expect("set");
        stream.synchronize().expect("done");
        assert_eq!(read(&context, memory.at(0), 8), [1, 2, 3, 4, 1, 2, 3, 4]);
    }
}

/// Another thread cannot name the stream, which would be another one there.
#[test]
fn memory_of_a_per_thread_stream_may_go_on_another_thread() {
    let context = context();
    let stream = Stream::per_thread(&context);
    let memory = DeviceMemory::allocate_on(&stream, 512).expect("memory");
    // SAFETY: the memory holds so many bytes.
    unsafe { set_bytes(&stream, memory.pointer(), 1, 512) }.expect("set");
    std::thread::scope(|scope| {
        let freed = scope.spawn(|| memory.free()).join().expect("no panic");
        assert_eq!(freed, Ok(()));
    });
    assert!(stream.query().expect("asked"), "all work was waited for");
}

#[test]
fn nothing_is_null() {
    let context = context();
    let stream = stream(&context);
    for memory in [DeviceMemory::allocate(&context, 0), DeviceMemory::allocate_on(&stream, 0)] {
        let memory = memory.expect("nothing");
        assert_eq!((memory.pointer(), memory.bytes()), (DevicePointer::NULL, 0));
        memory.free().expect("freed");
    }
}

#[test]
fn too_much_says_how_much_there_is() {
    let context = context();
    let stream = stream(&context);
    let total = context.memory_info().expect("known").1;
    for error in [DeviceMemory::allocate(&context, 1 << 50), DeviceMemory::allocate_on(&stream, 1 << 50)] {
        let error = error.expect_err("no machine has so much");
        assert_eq!(error.status, Status(OUT_OF_MEMORY));
        for part in ["1125899906842624 bytes were asked for", "device 0 has ", &format!("{total} bytes free")]
        {
            assert!(error.message.contains(part), "{error}");
        }
    }
}

/// What the device has besides does not help: the pool gives no more than it was told to.
#[test]
fn a_full_pool_says_what_its_limit_is() {
    const LIMIT: usize = 1 << 25;
    let context = context();
    let stream = stream(&context);
    let mut options = DevicePoolOptions::default();
    (options.choice, options.max_size) = (PoolChoice::Own, LIMIT);
    let pool = Resource::device_pool(context.device(), &options);
    if driver().version().expect("a version") < Version::from_number(12020) {
        assert_eq!(pool.expect_err("it has no limits").status, Status::UNSUPPORTED);
        return;
    }
    let pool = pool.expect("a pool");
    let held = Buffer::create(&pool, LIMIT / 2, Some(&stream)).expect("half of it");
    for bytes in [LIMIT * 2, LIMIT / 4 * 3] {
        let error = Buffer::create(&pool, bytes, Some(&stream)).expect_err("more than is left");
        assert_eq!(error.status, Status(OUT_OF_MEMORY));
        let expected = format!(
            "{bytes} bytes were asked for; the pool was created with a limit of {LIMIT} bytes, of which {} are in use",
            LIMIT / 2
        );
        assert!(error.message.ends_with(&expected), "{error}");
    }
    Buffer::create(&pool, LIMIT / 2, Some(&stream)).expect("the other half");
    Buffer::destroy(held).expect("freed");
}

#[test]
fn a_free_that_fails_says_what_was_to_be_freed() {
    // SAFETY: there is nothing there; the driver refuses.
    let memory = unsafe { DeviceMemory::from_pointer(&context(), DevicePointer(NOWHERE), 77) };
    let error = memory.free().expect_err("not memory");
    assert_eq!((error.status, error.function.as_str()), (Status(INVALID_VALUE), "cuMemFree"));
    assert_eq!(error.object, "77 bytes of device memory at 0x1230");
}

#[test]
fn every_thread_may_have_it() {
    fn shared<T: Send + Sync>() {}
    shared::<DeviceMemory>();
    shared::<cushim::memory::PinnedMemory>();
    shared::<cushim::memory::Registration>();
}
