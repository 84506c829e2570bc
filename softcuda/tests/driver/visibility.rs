//! Which names a program finds by `dlsym`, and what a call answers that nothing implements.

use crate::common::{
    INVALID_VALUE, Library, MISMATCH, NOT_FOUND, NOT_INITIALIZED, NOT_SUPPORTED, alone, at, call_address,
    catalogue, dotted, shell_path,
};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Functions that answer before `cuInit`.
const BEFORE_INIT: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
];

#[test]
fn the_core_exports_every_name() {
    alone("the_core_exports_every_name", &[], || {
        let core = Library::core();
        for name in catalogue() {
            assert_ne!(core.symbol(&name.exported), 0, "{}", name.exported);
        }
    });
}

#[test]
fn a_shell_exports_its_version_and_nothing_else() {
    for (version, number) in softcuda::VERSIONS {
        alone("a_shell_exports_its_version_and_nothing_else", &[("TEST_VERSION", version)], || {
            let shell = Library::open(&shell_path(version));
            for name in catalogue() {
                let expected = name.number <= *number && name.base != "cuEventCreateFromEGLSync";
                assert_eq!(shell.symbol(&name.exported) != 0, expected, "{} in {version}", name.exported);
            }
            assert_eq!(shell.symbol("softcuda_attach"), 0, "the shell's dependencies are not searched");
            let mut answered = 0;
            assert_eq!(shell.call("cuDriverGetVersion", &[at(&mut answered)]), 0);
            assert_eq!(answered, *number as i32);
        });
    }
}

#[test]
fn before_init_every_other_call_says_so() {
    alone("before_init_every_other_call_says_so", &[("SOFTCUDA_VERSION", "13.5")], || {
        let core = Library::core();
        for name in catalogue().iter().filter(|n| !BEFORE_INIT.contains(&&*n.exported)) {
            assert_eq!(core.call(&name.exported, &[]), NOT_INITIALIZED, "{}", name.exported);
        }
        let mut version = 0;
        assert_eq!(core.call("cuDriverGetVersion", &[at(&mut version)]), 0);
        let mut table = 5u64;
        assert_eq!(core.call("cuGetExportTable", &[at(&mut table), at(&mut [0u8; 16])]), NOT_FOUND);
        assert_eq!(table, 0);
        assert_eq!(core.call("cuInit", &[1]), INVALID_VALUE);
    });
}

/// With zeros for arguments an implemented function answers anything but 801; each name of the list below is reached
/// through its own export, the per-thread ones too.
#[test]
fn what_nothing_implements_is_refused() {
    alone("what_nothing_implements_is_refused", &[("SOFTCUDA_VERSION", "13.5")], || {
        let core = Library::core();
        assert_eq!(core.call("cuInit", &[0]), 0);
        // Two refusals that are measured answers.
        let measured = ["cuDeviceGetLuid"];
        let refused: BTreeSet<String> = catalogue()
            .into_iter()
            .filter(|n| {
                !measured.contains(&&*n.exported) && core.call(&n.exported, &[0; 10]) == NOT_SUPPORTED
            })
            .map(|n| n.exported)
            .collect();
        for implemented in ["cuMemAlloc_v2", "cuMemcpy_ptds", "cuMemsetD2D32_v2_ptds", "cuCtxCreate_v4"] {
            assert!(!refused.contains(implemented), "{implemented}");
        }
        for unmodelled in [
            "cuTexRefCreate",
            "cuGraphicsMapResources_ptsz",
            "cuMulticastCreate",
            "cuEGLStreamConsumerConnect",
        ] {
            assert!(refused.contains(unmodelled), "{unmodelled}");
        }
    });
}

#[test]
fn the_core_refuses_what_is_newer_than_its_version() {
    alone("the_core_refuses_what_is_newer_than_its_version", &[("SOFTCUDA_VERSION", "12.4")], || {
        let core = Library::core();
        assert_eq!(core.call("cuInit", &[0]), 0);
        let mut context = 0u64;
        assert_eq!(core.call("cuCtxCreate_v4", &[at(&mut context), 0, 0, 0]), NOT_SUPPORTED);
        assert_eq!(context, 0);
        assert_eq!(core.call("cuCtxCreate_v3", &[at(&mut context), 0, 0, 0, 0]), 0);
        assert_ne!(context, 0);
    });
}

#[test]
fn a_shell_fixes_the_version_of_the_process() {
    let said = alone("a_shell_fixes_the_version_of_the_process", &[("SOFTCUDA_VERSION", "12.8")], || {
        let first = Library::open(&shell_path("12.2"));
        let mut version = 0;
        assert_eq!(first.call("cuDriverGetVersion", &[at(&mut version)]), 0);
        assert_eq!(version, 12020, "the shell, not the environment");
        let second = Library::open(&shell_path("13.0"));
        for name in ["cuInit", "cuDriverGetVersion", "cuGetProcAddress_v2", "cuMemAlloc_v2", "cuTexRefCreate"]
        {
            assert_eq!(second.call(name, &[0; 5]), MISMATCH, "{name}");
        }
        // The first one and the core go on.
        assert_eq!(first.call("cuInit", &[0]), 0);
        let mut count = 0;
        assert_eq!(Library::core().call("cuDeviceGetCount", &[at(&mut count)]), 0);
        assert_eq!(count, 1);
    });
    assert_eq!(said.matches("softcuda: ").count(), 1, "{said}");
    assert!(
        said.contains("a shell of version 13.0 was loaded, but this process already uses 12.2"),
        "{said}"
    );
}

/// A program that opens nothing but a shell arranges and observes with it.
#[test]
fn a_shell_has_the_control_functions() {
    let header = std::fs::read_to_string("../include/softcuda.h").expect("the header is there");
    let declared: BTreeSet<&str> = header
        .lines()
        .filter(|line| {
            line.contains('(') && !line.starts_with([' ', '/', '#']) && !line.starts_with("typedef")
        })
        .filter_map(|line| {
            line.split('(').next()?.split([' ', '*']).find(|word| word.starts_with("softcuda_"))
        })
        .collect();
    assert!(declared.contains("softcuda_fault_set"), "{declared:?}");
    for (version, number) in softcuda::VERSIONS {
        alone("a_shell_has_the_control_functions", &[("TEST_VERSION", version)], || {
            let shell = Library::open(&shell_path(version));
            let missing: Vec<_> = declared.iter().filter(|name| shell.symbol(name) == 0).collect();
            assert!(missing.is_empty(), "{missing:?} in {version}");
            assert_eq!(shell.call("softcuda_version", &[]), *number as i32);
            assert_eq!(shell.call("cuInit", &[0]), 0);
            let mut context = 0u64;
            assert_eq!(shell.call("cuCtxCreate_v2", &[at(&mut context), 0, 0]), 0);
            assert_eq!(shell.fault_set("cuMemAlloc#2=2"), 0);
            assert_eq!((shell.allocate(64).0, shell.allocate(64).0), (0, 2));
            assert_eq!((shell.fault_hits(), shell.call_count("cuMemAlloc")), (1, 2));
            assert_eq!((shell.live("device memory"), shell.live_bytes("device memory")), (1, 64));
            assert_eq!((shell.live("devices"), shell.fault_set("nonsense")), (-1, INVALID_VALUE));
            assert!(shell.message().contains("`nonsense` cannot be read"), "{}", shell.message());
        });
    }
}

/// They are of no version: those of a shell whose version is not that of the process work, too.
#[test]
fn a_shell_of_another_version_has_the_control_functions() {
    alone("a_shell_of_another_version_has_the_control_functions", &[], || {
        let first = Library::open(&shell_path("12.2"));
        let second = Library::open(&shell_path("13.0"));
        assert_eq!((first.call("cuInit", &[0]), second.call("cuInit", &[0])), (0, MISMATCH));
        assert_eq!(second.call("softcuda_version", &[]), 12020);
        assert_eq!((second.call_count("cuInit"), second.fault_set("cuMemFree=1")), (1, 0));
        assert_eq!(first.call("cuMemFree_v2", &[0]), INVALID_VALUE);
    });
}

#[test]
fn a_shell_comes_too_late_for_a_core_in_use() {
    let said = alone("a_shell_comes_too_late_for_a_core_in_use", &[], || {
        let core = Library::core();
        assert_eq!(core.call("cuInit", &[0]), 0);
        let shell = Library::open(&shell_path("12.2"));
        assert_eq!(shell.call("cuInit", &[0]), MISMATCH);
        let same = Library::open(&shell_path("13.0"));
        assert_eq!(same.call("cuInit", &[0]), 0);
    });
    assert!(
        said.contains("a shell of version 12.2 was loaded, but this process already uses 13.0"),
        "{said}"
    );
}

/// A shell passes all arguments through, in registers and on the stack.
#[test]
fn a_shell_passes_arguments_through() {
    alone("a_shell_passes_arguments_through", &[], || {
        let shell = Library::open(&shell_path("12.5"));
        assert_eq!(shell.call("cuInit", &[0]), 0);
        let (mut context, mut device, mut free, mut total) = (0u64, 0u64, 0u64, 0u64);
        assert_eq!(shell.call("cuCtxCreate_v3", &[at(&mut context), 0, 0, 0, 0]), 0);
        assert_eq!(shell.call("cuMemAlloc_v2", &[at(&mut device), 64]), 0);
        assert_eq!(shell.call("cuMemGetInfo_v2", &[at(&mut free), at(&mut total)]), 0);
        assert!(free < total);
        assert_eq!(shell.call("cuMemsetD2D32_v2", &[device, 32, 0x0102_0304, 4, 2]), 0);
        let mut host = [0u32; 4];
        assert_eq!(shell.call("cuMemcpyDtoH_v2", &[at(&mut host), device + 32, 16]), 0);
        assert_eq!(host, [0x0102_0304; 4]);
    });
}

/// An installed shell finds the core beside itself; one that finds none says so and answers an error.
#[test]
fn an_installed_shell() {
    let parents = std::env::temp_dir().join(format!("softcuda-shell-{}", std::process::id()));
    let child = std::env::var("TEST_FOLDER").ok();
    let folder = child.as_ref().map_or(parents, PathBuf::from);
    let shell = folder.join("libsoftcuda-12.0.so");
    let text = folder.to_str().expect("a temporary folder has a plain name");
    if child.is_none() {
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        std::fs::copy(shell_path("12.0"), &shell).expect("the shell can be copied");
    }
    let variables = [("TEST_FOLDER", text), ("LD_LIBRARY_PATH", ""), ("TEST_CORE", "absent")];
    let said = alone("an_installed_shell", &variables, || {
        let shell = Library::open(&shell);
        assert_eq!(shell.call("cuInit", &[0]), 303);
        assert_eq!(shell.call("cuMemAlloc_v2", &[0, 0]), 303);
        assert_eq!((shell.call("softcuda_version", &[]), shell.live("stream")), (-1, -1));
        assert_eq!(shell.call_wide("softcuda_bytes", &[1, 1]), 0);
        assert!(shell.message().contains("cannot be used"), "{}", shell.message());
    });
    if child.is_none() {
        assert!(said.contains("the shell of version 12.0 cannot use libsoftcuda.so: "), "{said}");
        std::fs::copy(crate::common::core_path(), folder.join("libsoftcuda.so"))
            .expect("the core can be copied");
    }
    let variables = [("TEST_FOLDER", text), ("LD_LIBRARY_PATH", ""), ("TEST_CORE", "beside")];
    alone("an_installed_shell", &variables, || {
        let library = Library::open(&shell);
        assert_eq!(library.call("cuInit", &[0]), 0);
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
        assert!(maps.contains(folder.join("libsoftcuda.so").to_str().unwrap()), "{maps}");
    });
    std::fs::remove_dir_all(&folder).expect("the temporary folder can be removed");
}

/// Both libraries stay loaded, know their names and keep their calls to themselves.
#[test]
fn linker_options() {
    let tags = |path: &std::path::Path| {
        let output =
            std::process::Command::new("readelf").arg("-d").arg(path).output().expect("readelf runs");
        String::from_utf8(output.stdout).expect("readelf prints text")
    };
    let mut libraries = vec![(crate::common::core_path(), "libsoftcuda.so".to_owned())];
    for (version, number) in softcuda::VERSIONS {
        assert_eq!(dotted(*number), *version);
        libraries.push((shell_path(version), "libcuda.so.1".to_owned()));
    }
    for (path, soname) in libraries {
        let tags = tags(&path);
        assert!(tags.contains("NODELETE"), "{soname}: {tags}");
        assert!(tags.contains("SYMBOLIC"), "{soname}: {tags}");
        assert!(tags.contains(&format!("soname: [{soname}]")), "{soname}: {tags}");
        assert!(!tags.contains("Shared library: [libsoftcuda"), "{soname}: {tags}");
    }
}

/// A getter's pointer, called, is the function.
#[test]
fn a_getters_pointer_works() {
    alone("a_getters_pointer_works", &[], || {
        let shell = Library::open(&shell_path("11.4"));
        let name = c"cuInit";
        let mut pointer = 0usize;
        assert_eq!(shell.call("cuGetProcAddress", &[name.as_ptr() as u64, at(&mut pointer), 11040, 0]), 0);
        assert_eq!(call_address(pointer, &[0]), 0);
    });
}

/// As a program finds it that asks the loader for `libcuda.so.1`, with a folder of the user's in `LD_LIBRARY_PATH`.
#[test]
fn a_shell_that_is_opened_by_a_link_finds_its_core() {
    alone("a_shell_that_is_opened_by_a_link_finds_its_core", &[], || {
        let folder = std::env::temp_dir().join(format!("softcuda-link-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let link = folder.join("libcuda.so.1");
        std::os::unix::fs::symlink(shell_path("12.2"), &link).expect("a link");
        let shell = Library::open(&link);
        let mut version = 0;
        assert_eq!(shell.call("cuDriverGetVersion", &[at(&mut version)]), 0);
        assert_eq!(version, 12020);
        // What is linked against it asks for the driver, and gets this one where it is open already.
        // SAFETY: asks for a library that is loaded.
        let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        assert!(!driver.is_null(), "its SONAME is the driver's");
        // SAFETY: an open library.
        let init = unsafe { libc::dlsym(driver, c"cuInit".as_ptr()) };
        assert_eq!(init as usize, shell.symbol("cuInit"));
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    });
}
