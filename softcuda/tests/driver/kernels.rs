//! Code: loaded from images of all kinds, launched, and what becomes of kernels that go wrong.

use crate::common::streams::{INVALID_HANDLE, stream, synchronize};
use crate::common::{INVALID_VALUE, Library, NOT_FOUND, alone, at, everywhere, first, with_context};
use std::ffi::c_void;

const INVALID_IMAGE: i32 = 200;
const NO_BINARY_FOR_GPU: i32 = 209;
const INVALID_PTX: i32 = 218;
const UNSUPPORTED_PTX_VERSION: i32 = 222;
const ILLEGAL_ADDRESS: i32 = 700;
const LAUNCH_TIMEOUT: i32 = 702;
const MISALIGNED: i32 = 716;
const LAUNCH_FAILED: i32 = 719;

/// Images of one kernel, `saxpy`, as `fatbinary` of CUDA 13.0 packs it.
const IMAGES: [(&str, &[u8]); 4] = [
    ("plain", include_bytes!("../data/fatbin/plain.fatbin")),
    ("LZ4", include_bytes!("../data/fatbin/lz4.fatbin")),
    ("Zstandard", include_bytes!("../data/fatbin/zstd.fatbin")),
    ("beside machine code", include_bytes!("../data/fatbin/both.fatbin")),
];
const MACHINE_CODE: &[u8] = include_bytes!("../data/fatbin/machine_code.cubin");

fn ptx(body: &str) -> Vec<u8> {
    let text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .visible .entry k(.param .u64 p) {{\n.reg .u64 %p;\n.reg .u32 %x;\n.reg .pred %c;\n\
         ld.param.u64 %p, [p];\n{body}\nret;\n}}\n\0"
    );
    text.into_bytes()
}

fn load(cu: &Library, image: &[u8]) -> Result<u64, i32> {
    let mut module = 0u64;
    match cu.call("cuModuleLoadData", &[at(&mut module), first(image)]) {
        0 => Ok(module),
        code => Err(code),
    }
}

fn function(cu: &Library, module: u64, name: &[u8]) -> Result<u64, i32> {
    let mut function = 0u64;
    match cu.call("cuModuleGetFunction", &[at(&mut function), module, first(name)]) {
        0 => Ok(function),
        code => Err(code),
    }
}

fn allocate(cu: &Library, bytes: u64) -> u64 {
    let mut pointer = 0u64;
    assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), bytes]), 0);
    pointer
}

/// Launches with an array of arguments; the sizes are blocks and threads.
fn launch(cu: &Library, function: u64, stream: u64, sizes: (u32, u32), arguments: &[u64]) -> i32 {
    let mut config = [0u64; 7];
    let put = |config: &mut [u64; 7], at: usize, value: u32| {
        config[at / 2] |= u64::from(value) << (32 * (at % 2));
    };
    for (place, value) in [sizes.0, 1, 1, sizes.1, 1, 1].into_iter().enumerate() {
        put(&mut config, place, value);
    }
    config[4] = stream;
    let pointers: Vec<*const u64> = arguments.iter().map(std::ptr::from_ref).collect();
    cu.call("cuLaunchKernelEx", &[first(&config), function, first(&pointers), 0])
}

/// What a kernel uses may be freed after it in the same stream, and even before it starts: the free comes behind it. A free
/// that waits does so for kernels that use the memory.
#[test]
fn memory_is_there_until_the_free_comes() {
    alone("memory_is_there_until_the_free_comes", &[("SOFTCUDA_SCHEDULE", "lazy")], || {
        let cu = with_context();
        let s = stream(&cu);
        let store = ptx("mov.u32 %x, 42;\nst.global.u32 [%p], %x;");
        let store = load(&cu, &store).and_then(|module| function(&cu, module, b"k\0")).expect("it loads");
        let (mut first_one, mut second_one, mut seen) = (0u64, 0u64, [0u32; 2]);
        // The second allocation gets the room of the first, and takes its place in the table before that is gone.
        for (memory, seen) in [&mut first_one, &mut second_one].into_iter().zip(&mut seen) {
            assert_eq!(cu.call("cuMemAllocAsync", &[at(memory), 64, s]), 0);
            assert_eq!(launch(&cu, store, s, (1, 1), &[*memory]), 0);
            assert_eq!(cu.call("cuMemcpyDtoHAsync_v2", &[at(seen), *memory, 4, s]), 0);
            assert_eq!(launch(&cu, store, s, (1, 1), &[*memory]), 0);
            assert_eq!(cu.call("cuMemFreeAsync", &[*memory, s]), 0);
        }
        assert_eq!(synchronize(&cu, s), 0);
        assert_eq!(seen, [42, 42]);
        let plain = allocate(&cu, 64);
        assert_eq!(launch(&cu, store, s, (1, 1), &[plain]), 0);
        assert_eq!(cu.call("cuMemFree_v2", &[plain]), 0);
        // What comes behind the free is found out.
        assert_eq!(launch(&cu, store, s, (1, 1), &[first_one]), 0);
        assert_eq!(synchronize(&cu, s), ILLEGAL_ADDRESS);
    });
}

#[test]
fn ptx_is_found_in_every_fatbin() {
    alone("ptx_is_found_in_every_fatbin", &[], || {
        let cu = with_context();
        let s = stream(&cu);
        let (x, y) = (allocate(&cu, 400), allocate(&cu, 400));
        for (name, image) in IMAGES {
            let saxpy = load(&cu, image).and_then(|module| function(&cu, module, b"saxpy\0"));
            let saxpy = saxpy.unwrap_or_else(|code| panic!("{name}: {code}"));
            for (pointer, value) in [(x, 2.0f32), (y, 1.0)] {
                assert_eq!(cu.call("cuMemsetD32_v2", &[pointer, u64::from(value.to_bits()), 100]), 0);
            }
            let arguments = [100, u64::from(3.0f32.to_bits()), x, y];
            assert_eq!(launch(&cu, saxpy, s, (4, 32), &arguments), 0, "{name}");
            let mut result = [0f32; 100];
            assert_eq!(synchronize(&cu, s), 0);
            assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut result), y, 400]), 0);
            assert_eq!(result, [7.0; 100], "{name}");
        }
    });
}

#[test]
fn machine_code_needs_native_kernels() {
    extern "C" fn count(launch: *const c_void, data: *mut c_void) {
        // SAFETY: a launch as the control interface has it, and the test's own counter.
        let (grid, counter) = unsafe { (*launch.cast::<u32>(), &mut *data.cast::<u32>()) };
        *counter += grid;
    }
    alone("machine_code_needs_native_kernels", &[], || {
        let cu = with_context();
        assert_eq!(load(&cu, MACHINE_CODE), Err(NO_BINARY_FOR_GPU));
        let (sizes, mut counter) = ([4usize, 4, 8, 8], 0u32);
        let (sizes, function_address) = (first(&sizes), count as *const () as u64);
        // One that stands for another kernel.
        let register = [first(b"other\0"), sizes, 4, function_address, at(&mut counter)];
        assert_eq!(cu.call("softcuda_kernel_register", &register), 0);
        let (mut module, mut log) = (0u64, [0u8; 400]);
        let (keys, mut values) = ([5i32, 6], [at(&mut log), 400]);
        let options = [at(&mut module), first(MACHINE_CODE), 2, first(&keys), at(&mut values)];
        assert_eq!(cu.call("cuModuleLoadDataEx", &options), NO_BINARY_FOR_GPU);
        let said = String::from_utf8_lossy(&log);
        assert!(
            said.contains("the image has machine code of the kernel saxpy only; compile it with PTX"),
            "{said}"
        );
        let register = [first(b"saxpy\0"), sizes, 4, function_address, at(&mut counter)];
        assert_eq!(cu.call("softcuda_kernel_register", &register), 0);
        let saxpy = load(&cu, MACHINE_CODE).and_then(|module| function(&cu, module, b"saxpy\0"));
        let saxpy = saxpy.expect("a native kernel");
        let s = stream(&cu);
        assert_eq!(launch(&cu, saxpy, s, (4, 32), &[1, 2, 3, 4]), 0);
        assert_eq!((synchronize(&cu, s), counter), (0, 4));
        // In PTX it takes the kernel's place as well.
        let module = load(&cu, IMAGES[0].1).expect("PTX");
        let saxpy = function(&cu, module, b"saxpy\0").expect("it has one");
        assert_eq!(launch(&cu, saxpy, s, (5, 32), &[1, 2, 3, 4]), 0);
        assert_eq!((synchronize(&cu, s), counter), (0, 9));
        assert_eq!(cu.call("softcuda_kernel_unregister", &[first(b"saxpy\0")]), 0);
        assert_eq!(cu.call("softcuda_kernel_unregister", &[first(b"saxpy\0")]), NOT_FOUND);
        assert_eq!(load(&cu, MACHINE_CODE), Err(NO_BINARY_FOR_GPU));
    });
}

/// Measured: a library takes any text, and its kernels answer with the error.
#[test]
fn libraries_are_compiled_late() {
    alone("libraries_are_compiled_late", &[], || {
        let cu = with_context();
        let texts: [(&[u8], i32); 2] =
            [(b"this is no PTX\0", INVALID_IMAGE), (&ptx("add.u33 %x, %x, %x;"), INVALID_PTX)];
        for (text, error) in texts {
            assert_eq!(load(&cu, text), Err(error));
            let (mut library, mut kernel, mut module, mut count) = (0u64, 0u64, 0u64, 9u32);
            let mut log = [0u8; 256];
            let keys = [5i32, 6];
            let mut values = [at(&mut log), log.len() as u64];
            let options = [first(&keys), at(&mut values), 2, 0, 0, 0];
            let arguments = [&[at(&mut library), first(text)], &options[..]].concat();
            assert_eq!(cu.call("cuLibraryLoadData", &arguments), 0);
            let said = log.iter().position(|byte| *byte == 0).expect("it ends");
            assert_eq!(values[1], said as u64, "the length of what the compiler says");
            assert!(said > 20, "{}", String::from_utf8_lossy(&log));
            assert_eq!(cu.call("cuLibraryGetKernel", &[at(&mut kernel), library, first(b"k\0")]), error);
            assert_eq!(cu.call("cuLibraryGetModule", &[at(&mut module), library]), error);
            assert_eq!((cu.call("cuLibraryGetKernelCount", &[at(&mut count), library]), count), (0, 0));
            assert_eq!(cu.call("cuLibraryUnload", &[library]), 0);
            assert_eq!(cu.call("cuLibraryUnload", &[library]), INVALID_HANDLE);
        }
    });
}

/// Two warps wait, each for the other, at two barriers.
const DIFFERENT_BARRIERS: &str =
    "mov.u32 %x, %tid.x; setp.lt.u32 %c, %x, 32; @%c bar.sync 0, 64; @!%c bar.sync 1, 64;";

/// Each ends the context, and says on stderr which kernel, block, thread, instruction and address it was.
#[test]
fn faults_of_kernels() {
    let cases = [
        ("st.global.u32 [%p], 1;", 0, ILLEGAL_ADDRESS, "illegal address"),
        ("st.global.u32 [%p+64], 1;", 64, ILLEGAL_ADDRESS, "1 bytes after the 64 bytes at 0x"),
        ("mov.u64 %p, 8; st.u32 [%p], 1;", 64, ILLEGAL_ADDRESS, "illegal address 0x8"),
        ("st.global.u32 [%p+1], 1;", 64, MISALIGNED, "misaligned"),
        (DIFFERENT_BARRIERS, 64, LAUNCH_TIMEOUT, "threads wait for each other for ever"),
        ("trap;", 64, LAUNCH_FAILED, "trap"),
    ];
    for (number, (body, bytes, error, sentence)) in cases.into_iter().enumerate() {
        let variable = number.to_string();
        let said = alone("faults_of_kernels", &[("SOFTCUDA_TEST_CASE", &variable)], || {
            let cu = with_context();
            let s = stream(&cu);
            let pointer = if bytes > 0 { allocate(&cu, bytes) } else { 0xdead_0000 };
            let module = load(&cu, &ptx(body)).expect("it compiles");
            let k = function(&cu, module, b"k\0").expect("it has one");
            assert_eq!(launch(&cu, k, s, (1, 64), &[pointer]), 0);
            assert_eq!(synchronize(&cu, s), error);
            let mut next = 0u64;
            assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut next), 64]), error, "sticky");
        });
        if !said.is_empty() {
            assert!(said.contains(sentence) && said.contains("kernel k") && said.contains("line"), "{said}");
        }
    }
}

#[test]
fn an_endless_kernel_ends_when_asked_for() {
    alone("an_endless_kernel_ends_when_asked_for", &[("SOFTCUDA_KERNEL_BUDGET", "100000")], || {
        let cu = with_context();
        let s = stream(&cu);
        let module = load(&cu, &ptx("again: bra again;")).expect("it compiles");
        let k = function(&cu, module, b"k\0").expect("it has one");
        assert_eq!(launch(&cu, k, s, (1, 1), &[0]), 0);
        assert_eq!(synchronize(&cu, s), LAUNCH_TIMEOUT);
    });
}

/// What a kernel is said to need is an estimate, but never more than the load allowed.
/// What a driver's own compiler writes is loaded, and nothing newer.
#[test]
fn the_ptx_of_each_version() {
    for (version, own, next) in [("11.4", "7.4", "7.5"), ("13.0", "9.0", "9.1"), ("13.5", "9.5", "9.6")] {
        alone("the_ptx_of_each_version", &[("SOFTCUDA_VERSION", version)], || {
            let cu = with_context();
            let text =
                |isa: &str| format!(".version {isa}\n.target sm_70\n.address_size 64\n\0").into_bytes();
            assert!(load(&cu, &text(own)).is_ok());
            assert_eq!(load(&cu, &text(next)), Err(UNSUPPORTED_PTX_VERSION));
        });
    }
}

#[test]
fn registers_are_limited() {
    alone("registers_are_limited", &[], || {
        let cu = with_context();
        let most = |limit: u64| {
            const NUM_REGS: u64 = 4;
            let (text, keys, values) = (ptx(".reg .b64 %wide<90>;"), [0i32], [limit]);
            let (mut module, mut registers) = (0u64, 0i32);
            let load = [at(&mut module), first(&text), 1, first(&keys), first(&values)];
            assert_eq!(cu.call("cuModuleLoadDataEx", &load), 0);
            let k = function(&cu, module, b"k\0").expect("it has one");
            assert_eq!(cu.call("cuFuncGetAttribute", &[at(&mut registers), NUM_REGS, k]), 0);
            registers
        };
        assert_eq!(most(24), 24);
        assert!(most(255) > 100, "{}", most(255));
    });
}

const HEAP: &str = "
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);
.visible .entry get(.param .u64 to, .param .u64 size) {
    .reg .b64 %to, %n;
    ld.param.u64 %to, [to]; ld.param.u64 %n, [size];
    { .param .b64 n; .param .b64 r; st.param.b64 [n], %n; call.uni (r), malloc, (n); ld.param.b64 %n, [r]; }
    st.u64 [%to], %n;
    ret;
}
.visible .entry put(.param .u64 of) {
    .reg .b64 %of;
    ld.param.u64 %of, [of];
    { .param .b64 p; st.param.b64 [p], %of; call.uni free, (p); }
    ret;
}
.visible .entry set(.param .u64 of) {
    .reg .b64 %of;
    ld.param.u64 %of, [of];
    { .param .b64 h; .param .b32 v; st.param.b64 [h], %of; st.param.b32 [v], 1; call.uni cudaGraphSetConditional, (h, v); }
    ret;
}
\0";

/// A program whose kernels use the heap.
struct Heap {
    cu: Library,
    stream: u64,
    module: u64,
    place: u64,
}

impl Heap {
    fn new() -> Self {
        let cu = with_context();
        let (stream, place) = (stream(&cu), allocate(&cu, 8));
        let module = load(&cu, HEAP.as_bytes()).expect("it compiles");
        Self { cu, stream, module, place }
    }

    /// Runs a kernel of one thread: how that ends.
    fn run(&self, name: &[u8], arguments: &[u64]) -> i32 {
        let kernel = function(&self.cu, self.module, name).expect("it has one");
        assert_eq!(launch(&self.cu, kernel, self.stream, (1, 1), arguments), 0);
        synchronize(&self.cu, self.stream)
    }

    /// What `malloc` gives.
    fn get(&self, bytes: u64) -> u64 {
        assert_eq!(self.run(b"get\0", &[self.place, bytes]), 0);
        let mut block = 1u64;
        assert_eq!(self.cu.call("cuMemcpyDtoH_v2", &[at(&mut block), self.place, 8]), 0);
        block
    }

    fn set_limit(&self, bytes: u64) -> i32 {
        const MALLOC_HEAP_SIZE: u64 = 2;
        self.cu.call("cuCtxSetLimit", &[MALLOC_HEAP_SIZE, bytes])
    }
}

/// Measured, but for how much of the heap can be had: a GPU takes a part of it for itself.
#[test]
fn kernels_have_a_heap() {
    alone("kernels_have_a_heap", &[], || {
        let heap = Heap::new();
        assert_eq!(heap.set_limit(16 << 20), 0);
        let (large, small) = (heap.get(15 << 20), heap.get(0));
        assert!(large != 0 && small != 0 && small % 16 == 0);
        assert_eq!(heap.get(2 << 20), 0, "there is no room for it");
        assert_eq!(heap.set_limit(32 << 20), INVALID_VALUE, "its size is fixed now");
        let mut byte = 0u8;
        assert_eq!(heap.cu.call("cuMemcpyDtoH_v2", &[at(&mut byte), large, 1]), INVALID_VALUE);
        assert_eq!(heap.cu.call("cuMemFree_v2", &[large]), INVALID_VALUE);
        assert_eq!(heap.run(b"put\0", &[0]), 0);
        assert_eq!(heap.run(b"put\0", &[large + 16]), 0, "goes unnoticed");
        assert_eq!(heap.run(b"put\0", &[heap.place]), 0, "goes unnoticed");
        assert_eq!(heap.run(b"put\0", &[large]), 0);
        assert_ne!(heap.get(2 << 20), 0);
        assert_eq!(heap.run(b"put\0", &[large]), LAUNCH_FAILED, "a second time");
    });
}

/// Measured.
#[test]
fn a_condition_of_no_graph() {
    alone("a_condition_of_no_graph", &[], || {
        assert_eq!(Heap::new().run(b"set\0", &[5]), ILLEGAL_ADDRESS);
    });
}

/// Unloading waits for what runs.
#[test]
fn unloading() {
    alone("unloading", &[], || {
        let cu = with_context();
        let s = stream(&cu);
        let memory = allocate(&cu, 64);
        let module = load(&cu, &ptx("st.global.u32 [%p], 7;")).expect("it compiles");
        let k = function(&cu, module, b"k\0").expect("it has one");
        assert_eq!(launch(&cu, k, s, (1, 1), &[memory]), 0);
        assert_eq!(cu.call("cuModuleUnload", &[module]), 0);
        let mut value = 0u32;
        assert_eq!(cu.call("cuMemcpyDtoH_v2", &[at(&mut value), memory, 4]), 0);
        assert_eq!(value, 7);
    });
}

/// Whether the program gives a buffer for the compiler's log, and another option instead.
#[test]
fn a_refusal_names_the_instruction_even_without_a_log() {
    let name = "a_refusal_names_the_instruction_even_without_a_log";
    for loader in ["cuModuleLoadData", "cuModuleLoadDataEx", "cuLibraryLoadData", "with a log"] {
        let said = alone(name, &[("SOFTCUDA_TEST_CASE", loader)], || {
            let cu = with_context();
            let image = ptx("cvt.pack.sat.u8.s32.b32 %x, %x, %x, %x;");
            let (mut handle, mut text) = (0u64, [0u8; 256]);
            // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
            let (keys, values) = ([5u32, 6], [at(&mut text), text.len() as u64]);
            match loader {
                "cuModuleLoadData" => assert_eq!(load(&cu, &image), Err(INVALID_PTX)),
                "cuLibraryLoadData" => {
                    let arguments = [at(&mut handle), first(&image), 0, 0, 0, 0, 0, 0];
                    assert_eq!(cu.call(loader, &arguments), 0, "compiled when it is used");
                }
                loader => {
                    let count = if loader == "with a log" { 2 } else { 0 };
                    let arguments = [at(&mut handle), first(&image), count, first(&keys), first(&values)];
                    assert_eq!(cu.call("cuModuleLoadDataEx", &arguments), INVALID_PTX);
                }
            }
            assert_eq!(String::from_utf8_lossy(&text).contains("cvt.pack"), loader == "with a log");
        });
        if !said.is_empty() || std::env::var_os("SOFTCUDA_TEST_CHILD").is_none() {
            let lines: Vec<&str> = said.lines().filter(|line| line.contains("softcuda")).collect();
            let wanted = usize::from(loader != "with a log");
            assert_eq!(lines.len(), wanted, "{loader}: {said}");
            assert!(lines.iter().all(|line| line.contains("cvt.pack") && line.contains("line 9")), "{said}");
        }
    }
}

/// Not longer than it asks for, no more than a millisecond at a time, and side by side.
#[test]
fn nanosleep_sleeps() {
    alone("nanosleep_sleeps", &[], || {
        let cu = with_context();
        let s = stream(&cu);
        let kernel = |body: &str| {
            let module = load(&cu, &ptx(body)).expect("it compiles");
            function(&cu, module, b"k\0").expect("it has one")
        };
        let time = |kernel: u64, sizes: (u32, u32), argument: u64| {
            let begun = std::time::Instant::now();
            assert_eq!(launch(&cu, kernel, s, sizes, &[argument]), 0);
            assert_eq!(synchronize(&cu, s), 0);
            begun.elapsed().as_micros()
        };
        let again = |nanoseconds: &str, times: u32| {
            kernel(&format!(
                "mov.u32 %x, {times};\nagain: nanosleep.u32 {nanoseconds};\nsub.u32 %x, %x, 1;\n\
                 setp.ne.u32 %c, %x, 0;\n@%c bra again;"
            ))
        };
        let a_millisecond = again("1000000", 20);
        let alone = time(a_millisecond, (1, 1), 0);
        assert!(alone >= 15_000, "{alone} us for 20 ms");
        // Warps and blocks sleep at the same time: 16 of each would need 5 s one after the other.
        let many = time(a_millisecond, (16, 512), 0);
        assert!((15_000..2_000_000).contains(&many), "{many} us for 20 ms");
        let longer_than_there_is = time(again("4000000000", 5), (1, 1), 0);
        assert!((4_000..2_000_000).contains(&longer_than_there_is), "{longer_than_there_is} us for 5 ms");
        let nothing = time(again("0", 20), (1, 1), 0);
        assert!(nothing < 15_000, "{nothing} us for nothing");
    });
    // Who sleeps while somebody else of its warp, its block or its grid works, and waits for that.
    everywhere("nanosleep_sleeps", || {
        let cu = with_context();
        let s = stream(&cu);
        let flag = allocate(&cu, 4);
        let waiting = ptx("mov.u32 %x, %tid.x;\n.reg .u32 %b;\nmov.u32 %b, %ctaid.x;\nadd.u32 %x, %x, %b;\n\
             setp.eq.u32 %c, %x, 95;\n@%c bra set;\n\
             wait: nanosleep.u32 1000;\nld.volatile.global.u32 %x, [%p];\nsetp.eq.u32 %c, %x, 0;\n\
             @%c bra wait;\nbra end;\n\
             set: nanosleep.u32 500000;\nst.global.u32 [%p], 1;\nend:");
        let module = load(&cu, &waiting).expect("it compiles");
        let k = function(&cu, module, b"k\0").expect("it has one");
        for blocks in [1, 3] {
            assert_eq!(cu.call("cuMemsetD32_v2", &[flag, 0, 1]), 0);
            assert_eq!(launch(&cu, k, s, (blocks, 96), &[flag]), 0);
            assert_eq!(synchronize(&cu, s), 0);
        }
    });
}

/// With `CUDA_LAUNCH_BLOCKING=1` launches, memsets and launches of graphs return when all work of the context is done, and say what became
/// of it, on each schedule; copies do not wait, nor does anything with another value. (Measured on driver 580.)
#[test]
fn launches_that_wait() {
    let test = "launches_that_wait";
    for schedule in ["eager", "lazy", "seeded", "in-order"] {
        for (value, waits) in [("1", true), (" 01", true), ("0", false), ("2", false), ("", false)] {
            alone(test, &[("SOFTCUDA_SCHEDULE", schedule), ("CUDA_LAUNCH_BLOCKING", value)], || {
                let cu = with_context();
                let (s, other) = (stream(&cu), stream(&cu));
                let store = ptx("mov.u32 %x, 42;\nst.global.u32 [%p], %x;");
                let store = load(&cu, &store).and_then(|module| function(&cu, module, b"k\0"));
                let store = store.expect("it loads");
                let (mut pointer, mut seen) = (0u64, std::ptr::null_mut::<u32>());
                assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut seen), 64, 0]), 0);
                assert_eq!(cu.call("cuMemHostGetDevicePointer_v2", &[at(&mut pointer), seen as u64, 0]), 0);
                // SAFETY: memory of the driver's for this process, which work writes or has written.
                let word = |index: usize| unsafe { seen.add(index).read_volatile() };
                // What has not run under the lazy schedule has not been written.
                let check = |index: usize, waits: bool, expected: u32| {
                    if waits || schedule == "lazy" {
                        assert_eq!(word(index), if waits { expected } else { 0 }, "{schedule} {index}");
                    }
                };
                assert_eq!(cu.call("cuMemcpyAsync", &[pointer + 4, pointer + 60, 4, other]), 0);
                assert_eq!(launch(&cu, store, s, (1, 1), &[pointer]), 0);
                check(0, waits, 42);
                if waits {
                    assert_eq!(cu.call("cuStreamQuery", &[other]), 0, "nothing is left in other streams");
                }
                assert_eq!(cu.call("cuMemsetD32Async", &[pointer + 8, 7, 1, s]), 0);
                check(2, waits, 7);
                let (mut graph, mut exec) = (0u64, 0u64);
                assert_eq!(cu.call("cuStreamBeginCapture_v2", &[s, 0]), 0);
                assert_eq!(launch(&cu, store, s, (1, 1), &[pointer + 12]), 0, "which is recorded");
                assert_eq!(cu.call("cuMemsetD32Async", &[pointer + 16, 9, 1, s]), 0);
                assert_eq!(cu.call("cuStreamEndCapture", &[s, at(&mut graph)]), 0);
                assert_eq!(cu.call("cuGraphInstantiateWithFlags", &[at(&mut exec), graph, 0]), 0);
                assert_eq!((word(3), word(4)), (0, 0));
                assert_eq!(cu.call("cuGraphLaunch", &[exec, s]), 0);
                check(3, waits, 42);
                check(4, waits, 9);
                let answer = launch(&cu, store, s, (1, 1), &[64]);
                assert_eq!(answer, if waits { ILLEGAL_ADDRESS } else { 0 }, "of this very launch");
            });
        }
    }
}
