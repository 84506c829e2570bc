//! Buffers and images of OpenGL: who has them when, and in the order of which stream they go back.

use crate::Fake;
use cushim::graphics::{Graphics, GraphicsOptions};
use cushim::memory::Buffer;
use cushim::op::{Memset, Value};
use cushim::{Error, Status, Stream, StreamOptions};

const TEXTURE_2D: u32 = 0x0de1;
const OUT_OF_MEMORY: i32 = 2;

fn fake() -> (Fake, Stream) {
    let fake = Fake::open(13000);
    let other = Stream::create(&fake.context, &StreamOptions::default()).expect("a stream");
    (fake, other)
}

fn buffer(fake: &Fake, name: u32) -> Graphics {
    let graphics = Graphics::of_buffer(&fake.context, name, GraphicsOptions::default()).expect("a buffer");
    graphics.set_label(Some("vertices"));
    fake.calls();
    graphics
}

fn fill(stream: &Stream, buffer: &Buffer) -> Result<(), Error> {
    // SAFETY: inside of the buffer.
    unsafe { stream.enqueue(&mut Memset::new(buffer.at(0), Value::U8(1), 1)) }
}

#[test]
fn unmapped_in_the_stream_of_the_map_or_another() {
    let (fake, other) = fake();
    let graphics = buffer(&fake, 7);
    for (given, expected) in [(None, 0), (Some(&other), 1)] {
        let mapped = graphics.map(&fake.stream).expect("it is mapped");
        assert!(graphics.is_mapped() && mapped.bytes() == 4096 && mapped.pointer().0 == 0x300_0000);
        graphics.unmap(given).expect("it is unmapped");
        assert!(!graphics.is_mapped());
        assert_eq!(fake.calls(), ["map 7 in stream 0".to_owned(), format!("unmap 7 in stream {expected}")]);
        // What had the memory has it no more, and its end is nobody's unmapping.
        let used = fill(&fake.stream, &mapped).map(|()| 0);
        let error = crate::refused(&fake, used, Status::INVALID_ARGUMENT, "was unmapped");
        assert!(error.message.contains("\"vertices\""), "{error}");
        drop(mapped);
        assert_eq!(fake.calls(), [""; 0]);
    }
    drop(graphics);
    assert_eq!(fake.calls(), ["unregister 7"]);
}

#[test]
fn the_end_of_the_buffer_unmaps_in_the_order_of_its_stream() {
    let (fake, other) = fake();
    let graphics = buffer(&fake, 7);
    drop(graphics.map(&fake.stream).expect("it is mapped"));
    Buffer::destroy_on(graphics.map(&fake.stream).expect("again"), &other).expect("it ends");
    assert!(!graphics.is_mapped());
    // The handle may go first.
    let mapped = graphics.map(&other).expect("again");
    drop(graphics);
    drop(mapped);
    let expected = [
        "map 7 in stream 0",
        "unmap 7 in stream 0",
        "map 7 in stream 0",
        "unmap 7 in stream 1",
        "map 7 in stream 1",
        "unmap 7 in stream 1",
        "unregister 7",
    ];
    assert_eq!(fake.calls(), expected);
}

#[test]
fn a_turn_at_a_time() {
    let (fake, other) = fake();
    let graphics = buffer(&fake, 7);
    crate::refused(&fake, graphics.unmap(None), Status::INVALID_ARGUMENT, "\"vertices\" is not mapped");
    let first = graphics.map(&fake.stream).expect("it is mapped");
    fake.calls();
    crate::refused(&fake, graphics.map(&other), Status::INVALID_ARGUMENT, "\"vertices\" is mapped already");
    graphics.unmap(None).expect("it is unmapped");
    // The end of an earlier turn ends no later one.
    let second = graphics.map(&other).expect("again");
    fake.calls();
    drop(first);
    assert!(graphics.is_mapped() && fake.calls().is_empty());
    drop(second);
    assert_eq!(fake.calls(), ["unmap 7 in stream 1"]);
    fake.capture(true);
    let captured = graphics.map(&fake.stream);
    fake.capture(false);
    crate::refused(&fake, captured, Status::INVALID_ARGUMENT, "outside of captures");
}

#[test]
fn images_are_arrays() {
    let (fake, _) = fake();
    let options = GraphicsOptions::default().surface(true);
    let image = Graphics::of_image(&fake.context, 5, TEXTURE_2D, options).expect("an image");
    assert_eq!(fake.calls(), ["register image 5, flags 4"]);
    crate::refused(&fake, image.map(&fake.stream), Status::INVALID_ARGUMENT, "map it as an array");
    crate::refused(&fake, image.array(0, 0), Status::INVALID_ARGUMENT, "is not mapped; map it first");
    let array = image.map_array(&fake.stream, 0, 1).expect("it is mapped");
    assert_ne!(array, image.array(2, 3).expect("it is mapped"));
    assert!(image.array(0, 4).is_err() && image.is_mapped());
    let calls = ["map 5 in stream 0", "array of 5, layer 0, level 1", "array of 5, layer 2, level 3"];
    assert_eq!(fake.calls(), calls);
    let again = image.map_array(&fake.stream, 0, 0);
    crate::refused(&fake, again, Status::INVALID_ARGUMENT, "is mapped already");
    image.unmap(None).expect("it is unmapped");
    // Without an array nothing stays mapped.
    assert!(image.map_array(&fake.stream, 0, 4).is_err() && !image.is_mapped());
    image.map_array(&fake.stream, 0, 0).expect("again");
    fake.calls();
    drop(image);
    assert_eq!(fake.calls(), ["unmap 5 in stream 0", "unregister 5"]);
    let buffer = buffer(&fake, 7);
    crate::refused(
        &fake,
        buffer.map_array(&fake.stream, 0, 0),
        Status::INVALID_ARGUMENT,
        "map it as a buffer",
    );
}

#[test]
fn what_fails_leaves_it_as_it_was() {
    let (fake, _) = fake();
    let graphics = buffer(&fake, 7);
    for (function, expected) in [
        ("cuGraphicsMapResources", &[][..]),
        ("cuGraphicsResourceGetMappedPointer", &["map 7 in stream 0", "unmap 7 in stream 0"]),
    ] {
        fake.fail(function, 1, OUT_OF_MEMORY, 0);
        let error = graphics.map(&fake.stream).expect_err(function);
        assert_eq!(error.driver_code, OUT_OF_MEMORY, "{error}");
        assert!(!graphics.is_mapped());
        assert_eq!(fake.calls(), expected);
    }
    let mapped = graphics.map(&fake.stream).expect("it is mapped");
    fake.fail("cuGraphicsUnmapResources", 1, OUT_OF_MEMORY, 0);
    assert!(graphics.unmap(None).is_err() && graphics.is_mapped());
    // The end of the buffer answers for it; what stays mapped can be unmapped.
    fake.fail("cuGraphicsUnmapResources", 1, OUT_OF_MEMORY, 0);
    let error = Buffer::destroy(mapped).expect_err("it fails");
    assert_eq!(error.driver_code, OUT_OF_MEMORY, "{error}");
    assert!(graphics.is_mapped());
    graphics.unmap(None).expect("it is unmapped");
    assert!(!graphics.is_mapped());
}

#[test]
fn in_a_stream_that_is_captured_it_waits_for_the_end() {
    let (fake, _) = fake();
    let graphics = buffer(&fake, 7);
    let image =
        Graphics::of_image(&fake.context, 5, TEXTURE_2D, GraphicsOptions::default()).expect("an image");
    let mapped = graphics.map(&fake.stream).expect("it is mapped");
    image.map_array(&fake.stream, 0, 0).expect("it is mapped");
    fake.calls();
    fake.capture(true);
    for refused in [
        graphics.unmap(None).err(),
        graphics.unmap(Some(&fake.stream)).err(),
        Buffer::destroy_on(mapped.clone(), &fake.stream).err(),
    ] {
        let error = refused.expect("it is captured");
        assert!(error.message.contains("outside of captures"), "{error}");
    }
    drop(mapped);
    drop(image);
    assert!(graphics.is_mapped());
    assert_eq!(fake.calls(), [""; 0]);
    fake.capture(false);
    for _ in 0..1000 {
        if !graphics.is_mapped() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!graphics.is_mapped());
    assert!(fake.calls().contains(&"unmap 7 in stream 0".to_owned()));
}

#[test]
fn what_cannot_be_registered() {
    let (fake, _) = fake();
    let none = GraphicsOptions::default();
    let register = |name, options| Graphics::of_buffer(&fake.context, name, options);
    crate::refused(&fake, register(0, none), Status::INVALID_ARGUMENT, "0 names no buffer");
    crate::refused(&fake, register(7, none.surface(true)), Status::INVALID_ARGUMENT, "are for images");
    let both = none.read_only(true).write_discard(true);
    crate::refused(&fake, register(7, both), Status::INVALID_ARGUMENT, "contradict each other");
    let error = register(99, none).expect_err("there is none");
    assert!(error.message.contains("buffer 99 must exist in the OpenGL context"), "{error}");
}
