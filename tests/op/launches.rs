//! Launches: their shape, and their arguments.

use crate::*;
use cushim::Status;
use cushim::driver::Version;
use cushim::kernel::LaunchConfig;

/// A kernel that counts its threads, all of them.
fn counting(context: &Context) -> Kernel {
    let body = ".reg .u64 %at; .reg .u32 %old; ld.param.u64 %at, [at]; atom.global.add.u32 %old, [%at], 1;";
    kernel(context, ".param .u64 at", body)
}

/// How many threads run so.
fn threads(config: &LaunchConfig) -> Result<u32, Error> {
    let context = context();
    let (stream, memory) = (stream(&context), DeviceMemory::allocate(&context, 4).expect("memory"));
    let mut arguments = Arguments::new();
    arguments.push(memory.at(0));
    let mut count = 0_u32;
    // SAFETY: the kernel takes a pointer to a number; everything lasts until the stream is done.
    unsafe {
        context.run(&mut Memset::new(memory.at(0), Value::U32(0), 1)).expect("set");
        stream.enqueue(&mut Launch::new(&counting(&context), config, &mut arguments))?;
        stream.enqueue(&mut Copy::new(Endpoint::host(&raw mut count), memory.at(0), 4)).expect("copied");
    }
    stream.synchronize().map(|()| count)
}

/// Zero blocks, as a computed number may be, are a mistake of the caller's; that of directions that nobody uses is none.
#[test]
fn zero_means_one_but_in_x() {
    let mut config = LaunchConfig::default();
    for (grid, block, expected) in [
        ([1, 1, 1], [1, 1, 1], 1),
        ([3, 0, 0], [4, 0, 0], 12),
        ([3, 0, 2], [4, 2, 0], 48),
        ([1, 5, 0], [1, 0, 3], 15),
    ] {
        (config.grid, config.block) = (grid, block);
        assert_eq!(threads(&config), Ok(expected), "{config:?}");
    }
    for (grid, block, why) in [
        ([0, 1, 1], [1, 1, 1], "the grid has 0 blocks in x"),
        ([0, 0, 0], [1, 1, 1], "the grid has 0 blocks in x"),
        ([1, 1, 1], [0, 1, 1], "the block has 0 threads in x"),
        ([1, 1, 1], [0, 8, 8], "the block has 0 threads in x"),
    ] {
        (config.grid, config.block) = (grid, block);
        let error = threads(&config).expect_err(why);
        assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{error}");
        assert!(error.message.starts_with(&format!("kernel test cannot be launched: {why}")), "{error}");
    }
    assert_eq!(threads(&LaunchConfig::new(2, 3)), Ok(6));
}

/// Numbers are given as they are, or where they stand.
#[test]
fn numbers_are_given_by_value() {
    let context = context();
    let (stream, memory) = (stream(&context), DeviceMemory::allocate(&context, 24).expect("memory"));
    let body = ".reg .u64 %at; .reg .b16 %h; .reg .b32 %w; .reg .b64 %d; ld.param.u64 %at, [at];
        ld.param.u8 %h, [byte]; st.global.u8 [%at], %h; ld.param.b16 %h, [half]; st.global.b16 [%at+2], %h;
        ld.param.b32 %w, [word]; st.global.b32 [%at+4], %w; ld.param.b64 %d, [long]; st.global.b64 [%at+8], %d;
        ld.param.b64 %d, [size]; st.global.b64 [%at+16], %d;";
    let parameters = ".param .u64 at, .param .u8 byte, .param .b16 half, .param .b32 word, .param .b64 long, .param .b64 size";
    let (kernel, config) = (kernel(&context, parameters, body), LaunchConfig::default().grid([1; 3]));
    let mut arguments = Arguments::new();
    arguments.push(memory.at(0)).push(-2_i8).push(0x0304_u16).push(1.5_f32).push(-2.5_f64).push(7_usize);
    let mut bytes = [0_u8; 24];
    // SAFETY: the kernel takes these, and writes 24 bytes, which all have; everything lasts until the stream is done.
    unsafe {
        context.run(&mut Memset::new(memory.at(0), Value::U8(0), 24)).expect("set");
        stream.enqueue(&mut Launch::new(&kernel, &config, &mut arguments)).expect("launched");
        stream.enqueue(&mut Copy::new(Endpoint::host(&mut bytes), memory.at(0), 24)).expect("copied");
    }
    stream.synchronize().expect("done");
    assert_eq!((bytes[0] as i8, u16::from_le_bytes([bytes[2], bytes[3]])), (-2, 0x0304));
    let (word, long, size) = (&bytes[4..8], &bytes[8..16], &bytes[16..]);
    assert_eq!(f32::from_le_bytes(word.try_into().expect("four")), 1.5);
    assert_eq!(f64::from_le_bytes(long.try_into().expect("eight")), -2.5);
    assert_eq!(usize::from_le_bytes(size.try_into().expect("eight")), 7);
}

/// Since driver 12.4 the kernel's parameters are known.
#[test]
fn arguments_that_are_not_the_kernels_are_refused() {
    if driver().version() < Some(Version::from_number(12040)) {
        return;
    }
    let context = context();
    let (stream, config) = (stream(&context), LaunchConfig::new(1, 1));
    let kernel = kernel(&context, ".param .u32 n, .param .u64 at", "");
    let launch = |arguments: &mut Arguments| {
        // SAFETY: the kernel does nothing with its arguments.
        unsafe { stream.enqueue(&mut Launch::new(&kernel, &config, arguments)) }
    };
    let pointer = DevicePointer(4096);
    let good: [Argument; 2] = [(&1_u32).into(), pointer.into()];
    launch(&mut good.into_iter().collect()).expect("they are the kernel's");
    for (arguments, item, why) in [
        (vec![], None, "takes 2 arguments, and 0 are given"),
        (vec![(&1_u32).into()], None, "takes 2 arguments, and 1 are given"),
        (
            vec![(&1_u32).into(), pointer.into(), pointer.into()],
            Some(2),
            "takes 2 arguments, and 3 are given",
        ),
        (
            vec![(&1_u64).into(), pointer.into()],
            Some(0),
            "argument 0 of kernel test takes 4 bytes, and 8 are",
        ),
        (
            vec![(&1_u32).into(), (&1_u16).into()],
            Some(1),
            "argument 1 of kernel test takes 8 bytes, and 2 are",
        ),
    ] {
        let arguments: Vec<Argument> = arguments;
        let error = launch(&mut arguments.into_iter().collect()).expect_err(why);
        assert_eq!((error.status, error.driver_code), (Status::INVALID_ARGUMENT, 0), "{error}");
        assert_eq!(error.item, item, "{error}");
        assert!(error.message.contains(why), "{error}");
    }
    // SAFETY: as above.
    unsafe {
        stream.enqueue(&mut Launch::packed(&kernel, &config, &[0; 16])).expect("as long as the kernel wants");
        let error = stream.enqueue(&mut Launch::packed(&kernel, &config, &[0; 15])).expect_err("too short");
        assert!(error.message.contains("has 15 bytes; kernel test takes 16"), "{error}");
    }
    stream.synchronize().expect("done");
}

/// A kernel gets the address of an endpoint, wherever its memory is.
#[test]
fn an_endpoint_is_an_argument() {
    use cushim::memory::{Buffer, ManagedResourceOptions, PinnedMemory, PinnedOptions, Resource};
    let context = context();
    let stream = stream(&context);
    let body =
        ".reg .u64 %at, %to; ld.param.u64 %to, [to]; ld.param.u64 %at, [at]; st.global.u64 [%to], %at;";
    let kernel = kernel(&context, ".param .u64 to, .param .u64 at", body);
    let told = DeviceMemory::allocate(&context, 8).expect("memory");
    let managed = Resource::managed(&context, &ManagedResourceOptions::default()).expect("a resource");
    let managed = Buffer::create(&managed, 64, None).expect("a buffer");
    let pinned = PinnedMemory::allocate(&context, 64, PinnedOptions::default()).expect("memory");
    for (endpoint, expected) in [
        (told.at(3), told.pointer().0 + 3),
        (managed.at(8), managed.pointer().0 + 8),
        (pinned.at(5), pinned.address().expose_provenance() as u64 + 5),
        (Endpoint::auto(78), 78),
    ] {
        let (config, mut arguments, mut address) = (LaunchConfig::new(1, 1), Arguments::new(), 0_u64);
        arguments.push(told.at(0)).push(endpoint);
        // SAFETY: the kernel writes eight bytes; everything lasts until the stream is done.
        unsafe {
            stream.enqueue(&mut Launch::new(&kernel, &config, &mut arguments)).expect("launched");
            stream.enqueue(&mut Copy::new(Endpoint::host(&raw mut address), told.at(0), 8)).expect("copied");
        }
        stream.synchronize().expect("done");
        assert_eq!(address, expected);
    }
    let (config, mut arguments) = (LaunchConfig::new(1, 1), Arguments::new());
    arguments.push(told.at(0)).push(Endpoint::device(DevicePointer(77)));
    // SAFETY: nothing is launched.
    let launched = unsafe { stream.enqueue(&mut Launch::new(&kernel, &config, &mut arguments)) };
    let refused = launched.expect_err("no memory is there");
    assert_eq!((refused.status, refused.item), (Status::INVALID_ARGUMENT, Some(1)), "{refused}");
}
