//! What lives, and who says so.

use crate::common::streams::{event, free_stream};
use crate::common::{Library, NOT_FOUND, SYSTEM_NOT_READY, alone, at, with_context};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;

/// What the descriptor of an unnamed file was told.
fn dump(cu: &Library) -> String {
    // SAFETY: makes a file in memory.
    let fd = unsafe { libc::memfd_create(c"dump".as_ptr(), 0) };
    // SAFETY: the file's own descriptor.
    let mut file: std::fs::File = unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) };
    assert_eq!(cu.call("softcuda_dump", &[file.as_raw_fd() as u64]), 0);
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).expect("the descriptor is still open");
    file.read_to_string(&mut text).expect("it holds text");
    text
}

#[test]
fn counted_by_kind_and_dumped() {
    alone("counted_by_kind_and_dumped", &[], || {
        let cu = with_context();
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut context)]), 0);
        let (_, first) = cu.allocate(100);
        let (_, second) = cu.allocate(200);
        let (mut pinned, mut own) = (0u64, vec![0u8; 8192]);
        assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut pinned), 300, 0]), 0);
        assert_eq!(cu.call("cuMemHostRegister_v2", &[own.as_mut_ptr() as u64, 8192, 0]), 0);

        let (stream, event) = (free_stream(&cu), event(&cu));
        // Of pinned kind, without handles, on device 0.
        let (mut pool, mut properties) = (0u64, [0u32; 22]);
        (properties[0], properties[2]) = (1, 1);
        assert_eq!(cu.call("cuMemPoolCreate", &[at(&mut pool), at(&mut properties)]), 0);
        let mut ordered = 0u64;
        assert_eq!(cu.call("cuMemAllocFromPoolAsync", &[at(&mut ordered), 400, pool, stream]), 0);

        let kinds = [
            "context",
            "stream",
            "event",
            "device memory",
            "pinned memory",
            "registered memory",
            "memory pool",
        ];
        assert_eq!(kinds.map(|kind| cu.live(kind)), [1, 1, 1, 3, 1, 1, 1]);
        assert_eq!(kinds.map(|kind| cu.live_bytes(kind)), [0, 0, 0, 700, 300, 8192, 0]);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 9);
        let registered = own.as_ptr() as u64;
        let mut memory = [(first, 100), (second, 200), (ordered, 400)];
        memory.sort_unstable();
        let of_context = format!("device 0, context {context:#x}\n");
        let mut expected = format!(
            "context {context:#x}, device 0\nstream {stream:#x}, {of_context}event {event:#x}, {of_context}"
        );
        for (address, size) in memory {
            expected += &format!("device memory {address:#x}, {size} bytes, {of_context}");
        }
        expected += &format!("pinned memory {pinned:#x}, 300 bytes, {of_context}");
        expected += &format!("registered memory {registered:#x}, 8192 bytes, {of_context}");
        expected += &format!("memory pool {pool:#x}, device 0\n");
        assert_eq!(dump(&cu), expected);

        assert_eq!((cu.live("devices"), cu.live_bytes("devices")), (-1, -1));
        assert!(
            cu.message().starts_with("`devices` is no kind of object; there are context, "),
            "{}",
            cu.message()
        );
        assert_eq!(cu.call_wide("softcuda_live", &[0]) as i64, -1);
        assert_eq!(cu.call("softcuda_dump", &[9999]), 304);
        assert!(
            cu.message().contains("descriptor 9999 takes no text: Bad file descriptor"),
            "{}",
            cu.message()
        );

        assert_eq!(cu.call("cuDevicePrimaryCtxReset_v2", &[0]), 0);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 2, "memory of a pool is no context's");
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);
        assert_eq!(cu.call("cuMemFree_v2", &[ordered]), 0);
        assert_eq!(dump(&cu), format!("memory pool {pool:#x}, device 0\n"), "a pool is the device's");
        assert_eq!(cu.call("softcuda_live_objects", &[]), 1);
    });
}

#[test]
fn an_address() {
    alone("an_address", &[], || {
        let cu = with_context();
        let (mut base, mut size, mut context, mut current) = (0u64, 0u64, 0u64, 0u64);
        assert_eq!(cu.call("cuCtxGetCurrent", &[at(&mut current)]), 0);
        let (_, pointer) = cu.allocate(100);
        let mut info = |address| {
            (base, size, context) = (1, 1, 1);
            let arguments = [address, at(&mut base), at(&mut size), at(&mut context)];
            (cu.call("softcuda_allocation_info", &arguments), base, size, context)
        };
        assert_eq!(info(pointer), (0, pointer, 100, current));
        assert_eq!(info(pointer + 99), (0, pointer, 100, current));
        assert_eq!(info(pointer + 100), (NOT_FOUND, 1, 1, 1));
        assert!(cu.message().ends_with("lies in no allocation that is alive"), "{}", cu.message());
        assert_eq!(cu.call("softcuda_allocation_info", &[pointer, 0, 0, 0]), 0);
        let is_live = |address| cu.call("softcuda_is_live", &[address]);
        assert_eq!(
            (is_live(pointer), is_live(pointer + 99), is_live(pointer + 100), is_live(0)),
            (1, 1, 0, 0)
        );
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);
        assert_eq!(is_live(pointer), 0);
    });
}

#[test]
fn leaks_are_reported_at_the_end() {
    let said = alone("leaks_are_reported_at_the_end", &[("SOFTCUDA_LEAKS", "1")], || {
        let cu = with_context();
        cu.allocate(64);
        // SAFETY: a child that ends at once, with its exit handlers; it has nothing of its own to report.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::exit(0);
            }
            assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        }
    });
    if !said.is_empty() {
        assert_eq!(said.matches("softcuda: never released:\ncontext 0x").count(), 1, "{said}");
        assert_eq!(said.matches("device memory 0x").count(), 1, "{said}");
    }
    let clean = |variables: &[(&str, &str)], leaks: bool| {
        let said = alone("leaks_are_reported_at_the_end", variables, || {
            let cu = with_context();
            if !leaks {
                assert_eq!(cu.call("cuDevicePrimaryCtxRelease_v2", &[0]), 0);
            }
        });
        assert!(!said.contains("released"), "{said}");
    };
    clean(&[("SOFTCUDA_LEAKS", "1"), ("SOFTCUDA_DEVICES", "1")], false);
    clean(&[("SOFTCUDA_LEAKS", "0")], true);
    clean(&[("SOFTCUDA_LEAKS", "")], true);
    let said = alone("leaks_are_reported_at_the_end", &[("SOFTCUDA_LEAKS", "yes")], || {
        assert_eq!(Library::core().call("cuInit", &[0]), SYSTEM_NOT_READY);
    });
    assert!(
        said.is_empty() || said.contains("SOFTCUDA_LEAKS=yes is not 0 or 1; every call answers an error"),
        "{said}"
    );
}
