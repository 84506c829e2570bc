//! Virtual memory beside what a driver was asked (`conformance`): between processes, what lives, and work whose memory is gone.

use crate::common::graphs::function;
use crate::common::streams::{ILLEGAL_ADDRESS, free_stream, synchronize};
use crate::common::{INVALID_DEVICE, INVALID_VALUE, Library, NOT_SUPPORTED, alone, at, with_context};
use crate::races::Program;
use std::ffi::CStr;
use std::os::fd::AsRawFd as _;

const UNIT: u64 = 2 << 20;
const FILE: u64 = 1;

/// `CUmemAllocationProp`.
#[repr(C)]
struct Wanted {
    kind: i32,
    handles: i32,
    location: i32,
    id: i32,
    windows: u64,
    flags: u64,
}

/// `CUmemPoolProps`.
#[repr(C)]
struct PoolWanted {
    kind: i32,
    handles: i32,
    location: i32,
    id: i32,
    rest: [u64; 9],
}

/// `CUmemAccessDesc`.
#[repr(C)]
struct Access {
    location: i32,
    id: i32,
    flags: i32,
}

/// Memory of a place that can be given away.
fn create(cu: &Library, location: i32) -> u64 {
    let mut wanted = Wanted { kind: 1, handles: FILE as i32, location, id: 0, windows: 0, flags: 0 };
    let mut handle = 0;
    assert_eq!(cu.call("cuMemCreate", &[at(&mut handle), UNIT, at(&mut wanted), 0]), 0);
    handle
}

/// Maps memory at new addresses, for device 0, and for the host if it is the host's.
fn map(cu: &Library, handle: u64, of_host: bool) -> u64 {
    let mut address = 0;
    assert_eq!(cu.call("cuMemAddressReserve", &[at(&mut address), UNIT, 0, 0, 0]), 0);
    assert_eq!(cu.call("cuMemMap", &[address, UNIT, 0, handle, 0]), 0);
    for location in if of_host { &[1, 3][..] } else { &[1] } {
        let mut access = Access { location: *location, id: 0, flags: 3 };
        assert_eq!(cu.call("cuMemSetAccess", &[address, UNIT, at(&mut access), 1]), 0);
    }
    address
}

fn read(cu: &Library, address: u64) -> [u8; 4] {
    let mut bytes = [0u8; 4];
    assert_eq!(cu.call("cuMemcpyDtoH_v2", &[bytes.as_mut_ptr() as u64, address, 4]), 0);
    bytes
}

/// Another process, which has nothing but the descriptor, finds the bytes; and what it writes is found here.
#[test]
fn a_descriptor_gives_the_memory_to_another_process() {
    const INHERITED: &str = "TEST_DESCRIPTOR";
    if let Ok(descriptor) = std::env::var(INHERITED) {
        let cu = with_context();
        let mut handle = 0;
        let descriptor: u64 = descriptor.parse().expect("a number");
        assert_eq!(cu.call("cuMemImportFromShareableHandle", &[at(&mut handle), descriptor, FILE]), 0);
        let address = map(&cu, handle, false);
        assert_eq!(read(&cu, address), [7; 4]);
        assert_eq!(cu.call("cuMemsetD8_v2", &[address, 8, UNIT]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0, "a fill returns early");
        return;
    }
    alone("a_descriptor_gives_the_memory_to_another_process", &[], || {
        let cu = with_context();
        let handle = create(&cu, 1);
        let address = map(&cu, handle, false);
        assert_eq!(cu.call("cuMemsetD8_v2", &[address, 7, UNIT]), 0);
        let mut descriptor = -1i32;
        assert_eq!(cu.call("cuMemExportToShareableHandle", &[at(&mut descriptor), handle, FILE, 0]), 0);
        // SAFETY: the export gave it to this process. A duplicate is kept by programs that are started.
        let inherited = unsafe { libc::dup(descriptor) };
        let child = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "virtual_memory::a_descriptor_gives_the_memory_to_another_process"])
            .env(INHERITED, inherited.to_string())
            .output()
            .expect("this test starts");
        assert!(child.status.success(), "{child:?}");
        assert_eq!(read(&cu, address), [8; 4]);
    });
}

/// What a place of this type may do at an address, or why it is not told.
fn access(cu: &Library, address: u64, location: i32) -> Result<u64, i32> {
    let (mut place, mut flags) = ([location, 0], 77u64);
    match cu.call("cuMemGetAccess", &[at(&mut flags), at(&mut place), address]) {
        0 => Ok(flags),
        error => Err(error),
    }
}

fn set(cu: &Library, address: u64, location: i32, flags: i32) -> i32 {
    let mut access = Access { location, id: 0, flags };
    cu.call("cuMemSetAccess", &[address, UNIT, at(&mut access), 1])
}

/// As driver 580 answers (measured on an H200): types of places are 1 a device, 2 the host, 3 a node of it, 4 the calling thread's.
#[test]
fn who_has_access_to_what() {
    let cu = with_context();
    let mut plain = 0;
    assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 4096]), 0);
    for location in [1, 2, 3] {
        assert_eq!(access(&cu, plain, location), Ok(0), "memory of another kind, place {location}");
    }
    assert_eq!(access(&cu, plain, 4), Err(INVALID_DEVICE));
    assert_eq!(cu.call("cuMemFree_v2", &[plain]), 0);
    assert_eq!(access(&cu, plain, 1), Err(INVALID_VALUE), "memory that is gone");

    let devices = map(&cu, create(&cu, 1), false);
    assert_eq!(set(&cu, devices, 1, 1), 0);
    assert_eq!([1, 2, 3].map(|place| access(&cu, devices, place)), [Ok(1), Ok(1), Ok(0)]);
    assert_eq!([2, 3].map(|place| set(&cu, devices, place, 3)), [NOT_SUPPORTED; 2]);
    assert_eq!([2, 3].map(|place| set(&cu, devices, place, 0)), [0; 2], "no access is no new one");
    assert_eq!(access(&cu, devices, 1), Ok(1));

    let hosts = map(&cu, create(&cu, 3), true);
    assert_eq!([1, 3].map(|place| set(&cu, hosts, place, 0)), [0; 2]);
    assert_eq!(set(&cu, hosts, 2, 1), 0);
    assert_eq!([1, 2, 3].map(|place| access(&cu, hosts, place)), [Ok(0), Ok(1), Ok(1)]);
    for flags in [0, 1, 3] {
        assert_eq!(set(&cu, hosts, 4, flags), INVALID_VALUE);
    }
    assert_eq!(access(&cu, hosts, 4), Err(INVALID_DEVICE));
}

#[test]
fn the_host_uses_its_own_by_the_same_addresses() {
    alone("the_host_uses_its_own_by_the_same_addresses", &[], || {
        let cu = with_context();
        let handle = create(&cu, 3);
        let address = map(&cu, handle, true);
        let words = address as *mut [u8; 4];
        assert_eq!(cu.call("cuMemsetD8_v2", &[address, 3, UNIT]), 0);
        // SAFETY: memory of the host's, to which it has access.
        assert_eq!(unsafe { words.read_volatile() }, [3; 4]);
        // SAFETY: as above.
        unsafe { words.write_volatile([1, 2, 3, 4]) };
        assert_eq!(read(&cu, address), [1, 2, 3, 4]);
    });
}

#[test]
fn what_is_held_lives_and_takes_memory() {
    alone("what_is_held_lives_and_takes_memory", &[], || {
        let cu = with_context();
        let used = || {
            let (mut free, mut total) = (0u64, 0u64);
            assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]), 0);
            total - free
        };
        let lives = || [cu.live("physical memory"), cu.live("address range")];
        let handle = create(&cu, 1);
        assert_eq!((lives(), used()), ([1, 0], UNIT));
        let address = map(&cu, handle, false);
        assert_eq!((lives(), used()), ([1, 1], UNIT));
        assert_eq!(cu.call("cuMemRelease", &[handle]), 0);
        assert_eq!((lives(), used()), ([0, 1], UNIT), "it is mapped");
        assert_eq!(cu.call("cuMemUnmap", &[address, UNIT]), 0);
        assert_eq!((lives(), used()), ([0, 1], 0));
        assert_eq!(cu.call("cuMemAddressFree", &[address, UNIT]), 0);
        assert_eq!((lives(), used()), ([0, 0], 0));
    });
}

#[test]
fn work_finds_nothing_where_memory_was_unmapped_before_its_turn() {
    alone(
        "work_finds_nothing_where_memory_was_unmapped_before_its_turn",
        &[("SOFTCUDA_SCHEDULE", "lazy")],
        || {
            let cu = with_context();
            let handle = create(&cu, 1);
            let address = map(&cu, handle, false);
            let stream = free_stream(&cu);
            assert_eq!(cu.call("cuMemsetD8Async", &[address, 1, 16, stream]), 0);
            assert_eq!(cu.call("cuMemUnmap", &[address, UNIT]), 0);
            assert_eq!(cu.call("cuMemsetD8Async", &[address, 1, 16, stream]), INVALID_VALUE);
            assert_eq!(synchronize(&cu, stream), ILLEGAL_ADDRESS);
        },
    );
}

/// Which memory it was, and what helps: the answer alone is that of a kernel that failed.
#[test]
fn a_value_written_where_the_device_may_only_read_says_so() {
    const LAUNCH_FAILED: i32 = 719;
    let said = alone("a_value_written_where_the_device_may_only_read_says_so", &[], || {
        let cu = with_context();
        let (address, stream) = (map(&cu, create(&cu, 1), false), free_stream(&cu));
        assert_eq!(set(&cu, address, 1, 1), 0);
        assert_eq!(cu.call("cuStreamWriteValue32_v2", &[stream, address, 5, 0]), 0);
        assert_eq!(synchronize(&cu, stream), LAUNCH_FAILED);
    });
    let what = "launch failed: a write of a value on stream";
    assert!(said.contains(what) && said.contains("allow it with cuMemSetAccess"), "{said}");
}

const KERNELS: &CStr = c"
.version 7.4
.target sm_80
.address_size 64
.visible .entry store(.param .u64 place)
{
    .reg .u64 %a;
    ld.param.u64 %a, [place];
    st.global.u32 [%a], 7;
    ret;
}
.visible .entry add(.param .u64 place)
{
    .reg .u64 %a;
    ld.param.u64 %a, [place];
    red.global.add.u32 [%a], 7;
    ret;
}
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .u32 %v, %t;
    .reg .u64 %f, %o, %g;
    ld.param.u64 %f, [from];
    ld.param.u64 %o, [to];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %g, %t, 4;
    add.u64 %f, %f, %g;
    add.u64 %o, %o, %g;
    ld.global.u32 %v, [%f];
    st.global.u32 [%o], %v;
    ret;
}
";

/// A kernel reads what the device may only read, and ends where it writes there (measured of stores); whoever checks makes no difference.
#[test]
fn a_kernel_writes_where_the_device_may_only_read() {
    for check in ["", "races,memory,uninitialised"] {
        for name in [c"store", c"add"] {
            let kernel = name.to_str().expect("plain");
            let variables = [("SOFTCUDA_CHECK", check), ("TEST_KERNEL", kernel)];
            let said = alone("a_kernel_writes_where_the_device_may_only_read", &variables, || {
                let program = Program { cu: with_context(), mended: false };
                let (cu, mut plain) = (&program.cu, 0u64);
                let (address, stream) = (map(cu, create(cu, 1), false), free_stream(cu));
                assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut plain), 1024]), 0);
                assert_eq!(cu.call("cuMemsetD8_v2", &[address, 5, UNIT]), 0);
                assert_eq!(cu.call("cuCtxSynchronize", &[]), 0, "a fill returns early");
                assert_eq!(set(cu, address, 1, 1), 0);
                let copy = function(cu, KERNELS, c"copy");
                program.launch(copy, stream, &[address, plain]);
                assert_eq!(synchronize(cu, stream), 0);
                assert_eq!([read(cu, plain), read(cu, plain + 1020)], [[5; 4]; 2]);
                program.launch(function(cu, KERNELS, name), stream, &[address]);
                assert_eq!(synchronize(cu, stream), ILLEGAL_ADDRESS);
            });
            let what = format!("kernel {kernel}: illegal address");
            let is_said = said.contains(&what) && said.contains("allow it with cuMemSetAccess");
            assert!(said.is_empty() || is_said, "{said}");
        }
    }
}

/// What comes from outside is looked at, not believed.
#[test]
fn descriptors_of_something_else_are_refused() {
    alone("descriptors_of_something_else_are_refused", &[], || {
        const UNKNOWN: i32 = 999;
        let cu = with_context();
        // SAFETY: makes files in memory.
        let plain = unsafe { libc::memfd_create(c"plain".as_ptr(), 0) };
        let null = std::fs::File::open("/dev/null").expect("there");
        for descriptor in [plain as u64, null.as_raw_fd() as u64, 1 << 40, u64::MAX, 1000] {
            let mut handle = 0u64;
            let answer = cu.call("cuMemImportFromShareableHandle", &[at(&mut handle), descriptor, FILE]);
            assert_eq!((answer, handle), (UNKNOWN, 0), "{descriptor:#x}");
        }
        // What is another kind's is told apart (measured), in both directions.
        let (mut pool, mut file, mut of_memory, mut out) = (0u64, -1i32, -1i32, 0u64);
        let mut wanted = PoolWanted { kind: 1, handles: FILE as i32, location: 1, id: 0, rest: [0; 9] };
        assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut pool), at(&mut wanted)]), 0);
        assert_eq!(cu.call("cuMemPoolExportToShareableHandle", &[at(&mut file), pool, FILE, 0]), 0);
        let of_pool = [at(&mut out), file as u64, FILE];
        assert_eq!(cu.call("cuMemImportFromShareableHandle", &of_pool), NOT_SUPPORTED);
        let memory = create(&cu, 1);
        assert_eq!(cu.call("cuMemExportToShareableHandle", &[at(&mut of_memory), memory, FILE, 0]), 0);
        let of_memory = [at(&mut out), of_memory as u64, FILE, 0];
        assert_eq!(cu.call("cuMemPoolImportFromShareableHandle", &of_memory), NOT_SUPPORTED);
        assert_eq!(out, 0);
    });
}
