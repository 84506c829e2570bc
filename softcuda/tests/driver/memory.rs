//! Memory: every expectation was measured on driver 580, but for the lines that say otherwise.

use crate::common::streams::stream;
use crate::common::{
    INVALID_VALUE, Library, NOT_FOUND, OUT_OF_MEMORY, alone, at, everywhere, first, with_context,
};

const ALREADY_REGISTERED: i32 = 712;
const NOT_REGISTERED: i32 = 713;

fn allocate(cu: &Library, size: u64) -> u64 {
    let mut pointer = 0;
    assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), size]), 0, "{size} bytes");
    pointer
}

fn read(cu: &Library, pointer: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; size];
    assert_eq!(cu.call("cuMemcpyDtoH_v2", &[bytes.as_mut_ptr() as u64, pointer, size as u64]), 0);
    bytes
}

fn write(cu: &Library, pointer: u64, bytes: &[u8]) {
    assert_eq!(cu.call("cuMemcpyHtoD_v2", &[pointer, first(bytes), bytes.len() as u64]), 0);
}

fn numbered(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 7 + i / 256) as u8).collect()
}

#[test]
fn allocation() {
    alone("allocation", &[], || {
        let cu = with_context();
        let mut pointer = 9;
        assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut pointer), u64::MAX]), OUT_OF_MEMORY);
        let (a, b) = (allocate(&cu, 4096), allocate(&cu, 1));
        assert_eq!((a % 512, b % 512), (0, 0));
        assert_eq!(cu.call("cuMemFree_v2", &[a]), 0);
        assert_eq!(cu.call("cuMemsetD8_v2", &[a, 0, 1]), INVALID_VALUE, "freed");
        // The measured driver crashes on this one.
        assert_eq!(cu.call("cuMemcpy", &[a, at(&mut pointer), 8]), INVALID_VALUE);
    });
}

/// Chosen: a GPU gives at least that, and programs that manage pages of their own in one allocation depend on it.
#[test]
fn what_is_as_large_as_a_page_begins_at_one() {
    everywhere("what_is_as_large_as_a_page_begins_at_one", || {
        let cu = with_context();
        let s = stream(&cu);
        for size in [1, 4096, 512, 4097, 100, 65_536, 8192] {
            let plain = allocate(&cu, size);
            let (mut pooled, mut pitched, mut pitch) = (0u64, 0u64, 0u64);
            assert_eq!(cu.call("cuMemAllocAsync", &[at(&mut pooled), size, s]), 0);
            assert_eq!(
                cu.call("cuMemAllocPitch_v2", &[at(&mut pitched), at(&mut pitch), 1, size.div_ceil(512), 4]),
                0
            );
            let wanted = if size >= 4096 { 4096 } else { 512 };
            for address in [plain, pooled, pitched] {
                assert_eq!(address % wanted, 0, "{size} bytes at {address:#x}");
            }
            // So that what follows finds gaps of all sizes.
            assert_eq!(cu.call("cuMemFree_v2", &[pitched]), 0);
        }
    });
}

#[test]
fn the_device_is_used_up_and_freed() {
    alone("the_device_is_used_up_and_freed", &[("SOFTCUDA_MEMORY", "1M")], || {
        let cu = with_context();
        for _ in 0..3 {
            let blocks: Vec<u64> = (0..4).map(|_| allocate(&cu, 256 << 10)).collect();
            let (mut free, mut total) = (9u64, 9u64);
            assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]), 0);
            assert_eq!((free, total), (0, 1 << 20));
            assert_eq!(cu.call("cuMemAlloc_v2", &[at(&mut free), 1]), OUT_OF_MEMORY);
            assert_eq!(cu.call("softcuda_live_objects", &[]), 1 + 4);
            for block in blocks {
                assert_eq!(cu.call("cuMemFree_v2", &[block]), 0);
            }
        }
        assert_eq!(cu.call("cuMemGetInfo_v2", &[0, 0]), 0);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 1);
    });
}

/// Device memory is not the host's: a read there is a fault.
#[test]
fn the_host_cannot_read_device_memory() {
    alone("the_host_cannot_read_device_memory", &[], || {
        let cu = with_context();
        let pointer = allocate(&cu, 4096);
        // SAFETY: the child reads where it must not, and dies.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: none; this is the point.
            let byte = unsafe { (pointer as *const u8).read_volatile() };
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(byte)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "status {status}");
    });
}

#[test]
fn pitched_allocation() {
    alone("pitched_allocation", &[], || {
        let cu = with_context();
        let pitched = |width: u64, element: u64| {
            let (mut pointer, mut pitch) = (0u64, 0u64);
            let result =
                cu.call("cuMemAllocPitch_v2", &[at(&mut pointer), at(&mut pitch), width, 10, element]);
            (result, pitch)
        };
        assert_eq!(pitched(512, 4), (0, 512));
        assert_eq!((pitched(100, 8).0, pitched(100, 16).0), (0, 0));
        assert_eq!((pitched(100, 1), pitched(100, 2)), ((INVALID_VALUE, 0), (INVALID_VALUE, 0)));
    });
}

#[test]
fn an_address_range_ends_with_its_allocation() {
    alone("an_address_range_ends_with_its_allocation", &[], || {
        let cu = with_context();
        let pointer = allocate(&cu, 100);
        let range = |address: u64| {
            let (mut base, mut size) = (0u64, 0u64);
            (cu.call("cuMemGetAddressRange_v2", &[at(&mut base), at(&mut size), address]), base, size)
        };
        assert_eq!(range(pointer + 99), (0, pointer, 100));
        assert_eq!(range(pointer + 100), (NOT_FOUND, 0, 0));
    });
}

#[test]
fn linear_copies() {
    alone("linear_copies", &[], || {
        let cu = with_context();
        let (a, b) = (allocate(&cu, 4096), allocate(&cu, 4096));
        let data = numbered(4096);
        write(&cu, a, &data);
        assert_eq!(read(&cu, a, 4096), data);
        assert_eq!(cu.call("cuMemcpyDtoD_v2", &[b + 16, a, 100]), 0);
        assert_eq!(read(&cu, b + 16, 100), data[..100]);
        let mut host = vec![0u8; 64];
        assert_eq!(cu.call("cuMemcpy", &[host.as_mut_ptr() as u64, a + 1, 64]), 0);
        assert_eq!(host, data[1..65]);
        assert_eq!(cu.call("cuMemcpy", &[b, host.as_ptr() as u64, 64]), 0);
        assert_eq!(read(&cu, b, 16), data[1..17]);
        let pageable = first(&data);
        let refused: &[(&str, &[u64])] = &[
            ("cuMemcpyHtoD_v2", &[a + 1, pageable, 4096]),
            ("cuMemcpyHtoD_v2", &[0, pageable, 8]),
            ("cuMemcpyHtoD_v2", &[a, 0, 8]),
            ("cuMemcpyHtoD_v2", &[pageable, pageable, 8]),
            ("cuMemcpyDtoH_v2", &[0, a, 8]),
            ("cuMemcpyDtoD_v2", &[a, pageable, 8]),
            ("cuMemcpyDtoD_v2", &[a, u64::MAX, 8]),
            ("cuMemcpyDtoD_v2", &[a, b, u64::MAX]),
            ("cuMemcpyPeer", &[pageable, 0, a, 0, 8]),
        ];
        for (name, arguments) in refused {
            assert_eq!(cu.call(name, arguments), INVALID_VALUE, "{name} {arguments:x?}");
        }
        let accepted: &[(&str, &[u64])] = &[
            ("cuMemcpyHtoD_v2", &[a, b, 64]),
            ("cuMemcpyDtoH_v2", &[b, a, 64]),
            ("cuMemcpyPeer", &[a, 0, b, 0, 64]),
            ("cuMemcpyPeer", &[a, 0, b, 0, 0]),
            ("cuMemcpyHtoD_v2_ptds", &[a, pageable, 64]),
            ("cuMemcpy_ptds", &[a, pageable, 64]),
        ];
        for (name, arguments) in accepted {
            assert_eq!(cu.call(name, arguments), 0, "{name} {arguments:x?}");
        }
    });
}

#[test]
fn memory_serves_every_context() {
    alone("memory_serves_every_context", &[], || {
        let cu = with_context();
        let a = allocate(&cu, 64);
        let mut other = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut other), 0, 0]), 0);
        assert_eq!(cu.call("cuMemsetD8_v2", &[a, 1, 64]), 0);
        assert_eq!(cu.call("cuMemcpyPeer", &[a, other, a + 32, 0, 32]), 0, "the contexts are not looked at");
        assert_eq!(cu.call("cuMemFree_v2", &[a]), 0);
    });
}

#[test]
fn fills() {
    alone("fills", &[], || {
        let cu = with_context();
        let a = allocate(&cu, 4096);
        assert_eq!(cu.call("cuMemsetD8_v2", &[a, 0x11, 4096]), 0);
        assert_eq!(cu.call("cuMemsetD16_v2", &[a + 2, 0x2233, 2]), 0);
        assert_eq!(cu.call("cuMemsetD32_v2", &[a + 8, 0x4455_6677, 1]), 0);
        assert_eq!(
            read(&cu, a, 13),
            [0x11, 0x11, 0x33, 0x22, 0x33, 0x22, 0x11, 0x11, 0x77, 0x66, 0x55, 0x44, 0x11]
        );
        let answers: &[(&str, &[u64], i32)] = &[
            ("cuMemsetD8_v2", &[a + 100, 0, 3996], 0),
            ("cuMemsetD8_v2", &[0x1234, 0, 0], 0),
            ("cuMemsetD32_v2", &[a + 1, 0, 0], 0),
            ("cuMemsetD32_v2", &[a, 0, u64::MAX], INVALID_VALUE),
            // Pitch, value, width, height.
            ("cuMemsetD2D8_v2", &[a, 64, 0, 64, 64], 0),
            ("cuMemsetD2D8_v2", &[a, 64, 0, 65, 2], INVALID_VALUE),
            ("cuMemsetD2D8_v2", &[a, 64, 0, 64, 65], INVALID_VALUE),
            ("cuMemsetD2D8_v2", &[a, 0, 0, 64, 1], 0),
            ("cuMemsetD2D8_v2", &[a, 0, 0, 64, 2], INVALID_VALUE),
            ("cuMemsetD2D8_v2", &[a, 1 << 40, 0, 1, 2], INVALID_VALUE),
            ("cuMemsetD2D32_v2", &[a, 64, 0, 16, 64], 0),
            ("cuMemsetD2D32_v2", &[a, 64, 0, 17, 2], INVALID_VALUE),
        ];
        for (name, arguments, expected) in answers {
            assert_eq!(cu.call(name, arguments), *expected, "{name} {arguments:x?}");
        }
        assert_eq!(cu.call("cuMemsetD2D16_v2", &[a + 512, 8, 0xabcd, 2, 2]), 0);
        assert_eq!(read(&cu, a + 512, 13), [0xcd, 0xab, 0xcd, 0xab, 0, 0, 0, 0, 0xcd, 0xab, 0xcd, 0xab, 0]);
    });
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Rectangle {
    src_x: usize,
    src_y: usize,
    src_type: i32,
    src_host: u64,
    src_device: u64,
    src_array: u64,
    src_pitch: usize,
    dst_x: usize,
    dst_y: usize,
    dst_type: i32,
    dst_host: u64,
    dst_device: u64,
    dst_array: u64,
    dst_pitch: usize,
    width: usize,
    height: usize,
}

const HOST: i32 = 1;
const DEVICE: i32 = 2;
const ARRAY: i32 = 3;
const UNIFIED: i32 = 4;

#[test]
fn rectangles() {
    alone("rectangles", &[], || {
        let cu = with_context();
        let device = allocate(&cu, 4096);
        let mut data = numbered(65536);
        let host = data.as_mut_ptr() as u64;
        let usual = Rectangle {
            src_x: 0,
            src_y: 0,
            src_type: HOST,
            src_host: host,
            src_device: 0,
            src_array: 0,
            src_pitch: 64,
            dst_x: 0,
            dst_y: 0,
            dst_type: DEVICE,
            dst_host: 0,
            dst_device: device,
            dst_array: 0,
            dst_pitch: 64,
            width: 16,
            height: 4,
        };
        let copy = |change: &dyn Fn(&mut Rectangle)| {
            let mut rectangle = usual;
            change(&mut rectangle);
            cu.call("cuMemcpy2D_v2", &[at(&mut rectangle)])
        };
        type Case<'a> = (&'a str, i32, &'a dyn Fn(&mut Rectangle));
        let cases: &[Case] = &[
            ("as usual", 0, &|_| {}),
            ("source pitch 0, one row", 0, &|r| (r.src_pitch, r.height) = (0, 1)),
            ("target pitch 0, one row", 0, &|r| (r.dst_pitch, r.height) = (0, 1)),
            ("target pitch below the width, one row", 1, &|r| (r.dst_pitch, r.height) = (8, 1)),
            ("target pitch below the width", 1, &|r| r.dst_pitch = 8),
            ("source row beyond the pitch", 1, &|r| r.src_x = 60),
            ("target row beyond the pitch", 1, &|r| r.dst_x = 60),
            ("exactly all", 0, &|r| (r.width, r.height) = (64, 64)),
            ("unified source", 0, &|r| (r.src_type, r.src_device) = (UNIFIED, r.src_host)),
            ("unified target", 0, &|r| r.dst_type = UNIFIED),
            ("device pointer as host", 0, &|r| r.src_host = r.dst_device),
            ("host pointer as device", 1, &|r| r.dst_device = r.src_host),
            ("target NULL", 1, &|r| r.dst_device = 0),
            ("source NULL, not from its start", 1, &|r| (r.src_host, r.src_x) = (0, 8)),
            ("array NULL", 1, &|r| r.src_type = ARRAY),
            ("odd pitch", 0, &|r| r.dst_pitch = 65),
            ("last row is short", 0, &|r| (r.height, r.dst_device) = (64, r.dst_device + 40)),
            ("last row is too long", 1, &|r| (r.height, r.width, r.dst_device) = (64, 32, r.dst_device + 40)),
            ("overflow", 1, &|r| r.dst_y = usize::MAX / 2),
        ];
        for (name, expected, change) in cases {
            assert_eq!(copy(change), *expected, "{name}");
        }

        assert_eq!(cu.call("cuMemsetD8_v2", &[device, 0, 4096]), 0);
        let placed = |r: &mut Rectangle| (r.src_x, r.src_y, r.dst_x, r.dst_y) = (3, 1, 5, 2);
        assert_eq!(copy(&placed), 0);
        let bytes = read(&cu, device, 4096);
        for y in 0..64 {
            for x in 0..64 {
                let inside = (5..21).contains(&x) && (2..6).contains(&y);
                let expected = if inside { data[(y - 1) * 64 + x - 2] } else { 0 };
                assert_eq!(bytes[y * 64 + x], expected, "at {x},{y}");
            }
        }
    });
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Block {
    src: Corner,
    dst: Corner,
    width: usize,
    height: usize,
    depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Corner {
    x: usize,
    y: usize,
    z: usize,
    lod: usize,
    kind: i32,
    host: u64,
    device: u64,
    array: u64,
    reserved: u64,
    pitch: usize,
    height: usize,
}

#[test]
fn boxes() {
    alone("boxes", &[], || {
        let cu = with_context();
        let device = allocate(&cu, 4096);
        let data = numbered(4096);
        let corner = |kind, host, device| Corner {
            x: 0,
            y: 0,
            z: 0,
            lod: 0,
            kind,
            host,
            device,
            array: 0,
            reserved: 0,
            pitch: 16,
            height: 4,
        };
        let src = corner(HOST, first(&data), 0);
        let usual = Block { src, dst: corner(DEVICE, 0, device), width: 16, height: 4, depth: 4 };
        let copy = |change: &dyn Fn(&mut Block)| {
            let mut block = usual;
            change(&mut block);
            cu.call("cuMemcpy3D_v2", &[at(&mut block)])
        };
        type Case<'a> = (&'a str, i32, &'a dyn Fn(&mut Block));
        let cases: &[Case] = &[
            ("as usual", 0, &|_| {}),
            ("source height 0", 0, &|b| b.src.height = 0),
            ("source height below the rows, one slice", 1, &|b| (b.src.height, b.depth) = (2, 1)),
            ("no strides, one row", 0, &|b| {
                (b.src.pitch, b.src.height, b.dst.pitch, b.dst.height, b.height, b.depth) =
                    (0, 0, 0, 0, 1, 1);
            }),
            ("reserved", 0, &|b| b.src.reserved = 1),
            ("rows beyond the height", 1, &|b| b.src.y = 1),
            ("exactly all", 0, &|b| b.depth = 64),
            ("past the end by the offset", 1, &|b| b.dst.z = 61),
        ];
        for (name, expected, change) in cases {
            assert_eq!(copy(change), *expected, "{name}");
        }
        assert_eq!(cu.call("cuMemsetD8_v2", &[device, 0, 4096]), 0);
        let placed = |b: &mut Block| {
            (b.width, b.height, b.depth) = (5, 2, 3);
            (b.src.x, b.src.y, b.src.z, b.dst.x, b.dst.y, b.dst.z) = (2, 1, 4, 7, 2, 1);
        };
        assert_eq!(copy(&placed), 0);
        let bytes = read(&cu, device, 4096);
        for (i, &byte) in bytes.iter().enumerate() {
            let (x, y, z) = (i % 16, i / 16 % 4, i / 64);
            let inside = (7..12).contains(&x) && (2..4).contains(&y) && (1..4).contains(&z);
            let expected = if inside { data[(z + 3) * 64 + (y - 1) * 16 + x - 5] } else { 0 };
            assert_eq!(byte, expected, "at {x},{y},{z}");
        }
    });
}

#[test]
fn pinned_memory() {
    alone("pinned_memory", &[], || {
        let cu = with_context();
        let pinned = |size: u64, flags: u64| {
            let mut pointer = 5;
            (cu.call("cuMemHostAlloc", &[at(&mut pointer), size, flags]), pointer)
        };
        let flags = |pointer: u64| {
            let mut flags = 0u32;
            (cu.call("cuMemHostGetFlags", &[at(&mut flags), pointer]), flags)
        };
        for (asked, shown) in [(0, 2), (1, 2), (2, 2), (3, 2), (4, 6), (5, 7), (6, 6), (7, 7)] {
            let (result, pointer) = pinned(64, asked);
            assert_eq!((result, flags(pointer)), (0, (0, shown)), "{asked}");
            assert_eq!(flags(pointer + 8), (0, shown));
            assert_eq!(cu.call("cuMemFreeHost", &[pointer]), 0);
        }
        let (_, pointer) = pinned(4096, 0);
        let device = allocate(&cu, 4096);
        // SAFETY: the driver has given 4096 bytes, which this process may use.
        unsafe { std::slice::from_raw_parts_mut(pointer as *mut u8, 4096) }.copy_from_slice(&numbered(4096));
        let address = |pointer: u64| {
            let mut address = 0u64;
            (cu.call("cuMemHostGetDevicePointer_v2", &[at(&mut address), pointer, 0]), address)
        };
        assert_eq!(address(pointer + 8), (0, pointer + 8));
        assert_eq!(address(device), (INVALID_VALUE, 0));
        assert_eq!(flags(device).0, INVALID_VALUE);
        assert_eq!(cu.call("cuMemcpyDtoD_v2", &[device, pointer, 16]), 0);
        assert_eq!(read(&cu, device, 16), numbered(16));
        assert_eq!(cu.call("cuMemsetD8_v2", &[pointer, 0x5a, 16]), 0);
        // SAFETY: as above.
        assert_eq!(unsafe { (pointer as *const u8).add(15).read() }, 0x5a);
        assert_eq!(cu.call("cuMemFreeHost", &[device]), INVALID_VALUE);
        let mut size = 0u64;
        assert_eq!(cu.call("cuMemGetAddressRange_v2", &[0, at(&mut size), pointer]), 0);
        assert_eq!(size, 4096);
    });
}

#[test]
fn registered_memory() {
    alone("registered_memory", &[], || {
        let cu = with_context();
        let mut memory = vec![0u8; 1 << 16];
        let host = (memory.as_mut_ptr() as u64).next_multiple_of(4096);
        let register =
            |address: u64, size: u64, flags: u64| cu.call("cuMemHostRegister_v2", &[address, size, flags]);
        let unregister = |address: u64| cu.call("cuMemHostUnregister", &[address]);
        let mut flags = 0u32;
        for (asked, shown) in [(0, 2), (1, 3), (2, 2), (3, 3), (8, 2), (9, 3), (10, 2), (11, 3)] {
            assert_eq!(register(host, 8192, asked), 0, "{asked}");
            assert_eq!(cu.call("cuMemHostGetFlags", &[at(&mut flags), host]), 0);
            assert_eq!(flags, shown, "{asked}");
            assert_eq!(unregister(host), 0);
        }
        for bad in [4, 5, 6, 7, 12, 16] {
            assert_eq!(register(host, 8192, bad), INVALID_VALUE, "{bad}");
        }
        assert_eq!(register(0x10000, 4096, 0), INVALID_VALUE, "no memory there");

        assert_eq!(register(host + 100, 5000, 0), 0);
        assert_eq!(register(host + 4000, 9000, 0), ALREADY_REGISTERED);
        assert_eq!(register(host + 5100, 100, 0), 0, "sharing a page");
        assert_eq!(register(host + 8192, 100, 0), 0);
        let mut address = 0u64;
        assert_eq!(cu.call("cuMemHostGetDevicePointer_v2", &[at(&mut address), host + 100, 0]), 0);
        assert_eq!(address, host + 100);
        for start in [100, 5100, 8192] {
            assert_eq!(unregister(host + start), 0);
        }

        let mut pinned = 0u64;
        assert_eq!(cu.call("cuMemAllocHost_v2", &[at(&mut pinned), 4096]), 0);
        assert_eq!(unregister(pinned), INVALID_VALUE);
        assert_eq!(register(pinned, 16, 0), INVALID_VALUE);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 2);
    });
}

#[test]
fn pinned_and_registered_memory_go_with_a_reset() {
    alone("pinned_and_registered_memory_go_with_a_reset", &[], || {
        let cu = with_context();
        let mut memory = vec![0u8; 8192];
        let host = memory.as_mut_ptr() as u64;
        let mut pinned = 0u64;
        assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut pinned), 4096, 0]), 0);
        assert_eq!(cu.call("cuMemHostRegister_v2", &[host, 8192, 0]), 0);
        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!(cu.call("cuMemFreeHost", &[pinned]), crate::common::DESTROYED);
        assert_eq!(cu.call("cuMemHostUnregister", &[host]), crate::common::DESTROYED);
        assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut 0u64), 0]), 0);
        assert_eq!(cu.call("cuMemFreeHost", &[pinned]), INVALID_VALUE);
        assert_eq!(cu.call("cuMemHostUnregister", &[host]), NOT_REGISTERED);
        assert_eq!(cu.call("cuMemHostRegister_v2", &[host, 8192, 0]), 0);
    });
}

/// Attribute numbers with the value of device and pinned memory, `None` where the call is refused.
#[test]
fn pointer_attributes() {
    alone("pointer_attributes", &[], || {
        let cu = with_context();
        let device = allocate(&cu, 4096);
        let mut pinned = 0u64;
        assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut pinned), 4096, 0]), 0);
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        const FRAME: u64 = 0xeeee_eeee_eeee_eeee;
        let get = |attribute: u64, pointer: u64| {
            let mut value = FRAME;
            (cu.call("cuPointerGetAttribute", &[at(&mut value), attribute, pointer]), value)
        };
        // 32-bit values leave the upper half alone.
        let small = |value: u64| (0, FRAME << 32 | value);
        let at8 = |base: u64| base + 8;
        for (base, is_device) in [(device, true), (pinned, false)] {
            let p = at8(base);
            assert_eq!(get(0, p), (INVALID_VALUE, FRAME));
            assert_eq!(get(1, p), (0, context));
            assert_eq!(get(2, p), small(if is_device { 2 } else { 1 }));
            assert_eq!(get(3, p), (0, p));
            assert_eq!(get(4, p), if is_device { (INVALID_VALUE, 0) } else { (0, p) });
            assert_eq!(get(6, p), small(0));
            assert_eq!(get(8, p), small(0));
            assert_eq!(get(9, p), small(0));
            assert_eq!(get(11, p), (0, base));
            assert_eq!(get(12, p), (0, 4096));
            assert_eq!(get(13, p), small(1));
            assert_eq!(get(14, p), (0, 0));
            assert_eq!(get(16, p), small(3));
            assert_eq!(get(17, p), (0, 0));
            let (mapping, size) = (get(19, p).1, get(18, p).1);
            assert!(
                mapping <= base && base + 4096 <= mapping + size && size % (2 << 20) == 0,
                "{mapping:x} {size:x}"
            );
            assert_eq!(get(22, p), (INVALID_VALUE, FRAME), "newer than 13.0");
            assert_eq!(get(23, p), (INVALID_VALUE, FRAME));
        }
        assert_ne!(get(7, device), get(7, pinned));
        let mut local = 0u64;
        for attribute in 0..24 {
            assert_eq!(get(attribute, at(&mut local)), (INVALID_VALUE, FRAME), "pageable {attribute}");
            assert_eq!(get(attribute, 0), (INVALID_VALUE, FRAME), "NULL {attribute}");
        }
        assert_eq!(cu.call("cuPointerGetAttribute", &[0, 2, device]), INVALID_VALUE);

        let several = |count: u64, attributes: [i32; 3], pointer: u64| {
            let mut values = [7u64; 3];
            let places = [0, 1, 2].map(|i| at(&mut values[i]));
            let result =
                cu.call("cuPointerGetAttributes", &[count, first(&attributes), first(&places), pointer]);
            (result, values)
        };
        assert_eq!(several(3, [2, 9, 12], device), (0, [2, 0, 4096]));
        assert_eq!(several(3, [2, 9, 12], at(&mut local)), (0, [0, 0xffff_fffe, 7]));
        assert_eq!(several(3, [2, 9, 12], 0), (0, [0, 0xffff_fffe, 7]));
        assert_eq!(several(3, [2, 99, 12], device), (INVALID_VALUE, [7; 3]));
        assert_eq!(several(0, [2, 9, 12], device).0, INVALID_VALUE);

        let mut one = 1u32;
        for (attribute, result) in [(1, 1), (2, 1), (9, 1), (6, 0)] {
            assert_eq!(
                cu.call("cuPointerSetAttribute", &[at(&mut one), attribute, device]),
                result,
                "{attribute}"
            );
        }
        assert_eq!(get(6, device), small(1));
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);
        assert_eq!(get(2, device), small(2), "no context is needed");
    });
}

#[test]
fn pointer_attributes_belong_to_versions() {
    for (version, known) in [("12.5", false), ("12.8", true)] {
        alone("pointer_attributes_belong_to_versions", &[("SOFTCUDA_VERSION", version)], || {
            let cu = with_context();
            let device = allocate(&cu, 64);
            let mut value = 9u32;
            let result = cu.call("cuPointerGetAttribute", &[at(&mut value), 21, device]);
            assert_eq!((result, value), if known { (0, 0) } else { (INVALID_VALUE, 9) }, "{version}");
        });
    }
}

/// What is freed goes back to the system.
#[test]
fn freed_memory_is_given_back() {
    alone("freed_memory_is_given_back", &[], || {
        let cu = with_context();
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
            text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number of pages")
                * 4096
        };
        let before = resident();
        let size = 128 << 20;
        let pointer = allocate(&cu, size);
        assert_eq!(cu.call("cuMemsetD8_v2", &[pointer, 1, size]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), 0, "a fill is not waited for");
        assert!(resident() >= before + size);
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);
        assert!(resident() < before + size / 4);
    });
}

/// Threads allocate, fill, check and free at once.
#[test]
fn many_threads() {
    alone("many_threads", &[("SOFTCUDA_MEMORY", "64M")], || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        std::thread::scope(|scope| {
            for thread in 1..=8u64 {
                let cu = &cu;
                scope.spawn(move || {
                    assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
                    for round in 0..300u64 {
                        let size = 1 + (round * 37 + thread * 101) % 70_000;
                        let pointer = allocate(cu, size);
                        assert_eq!(cu.call("cuMemsetD8_v2", &[pointer, thread, size]), 0);
                        assert!(
                            read(cu, pointer, size as usize).iter().all(|&byte| u64::from(byte) == thread)
                        );
                        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);
                    }
                });
            }
        });
        assert_eq!(cu.call("softcuda_live_objects", &[]), 1);
        let (mut free, mut total) = (0u64, 0u64);
        assert_eq!(cu.call("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]), 0);
        assert_eq!(free, total);
    });
}
