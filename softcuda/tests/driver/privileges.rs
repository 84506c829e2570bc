//! A process that has more rights than the user who started it.

use crate::common::{Library, alone_in, at, core_path, with_context_of};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Makes a program run as another user or group than the one who starts it.
fn privilege(program: &Path) {
    // SAFETY: reads the identity of the process.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::fs::chown(program, Some(65534), Some(65534)).expect("the superuser may");
        fs::set_permissions(program, fs::Permissions::from_mode(0o4755)).expect("the superuser may");
        return;
    }
    let mut groups = [0; 256];
    // SAFETY: the array has as many places as is said.
    let count = unsafe { libc::getgroups(groups.len() as i32, groups.as_mut_ptr()) };
    // SAFETY: reads the identity of the process.
    let own = unsafe { libc::getegid() };
    let other = groups[..count.max(0) as usize].iter().find(|group| **group != own);
    let other =
        other.expect("run this test as root, or as a user with a second group, to make a set-gid program");
    std::os::unix::fs::chown(program, None, Some(*other)).expect("it is one of our groups");
    fs::set_permissions(program, fs::Permissions::from_mode(0o2755)).expect("the file is ours");
}

fn is_child() -> bool {
    std::env::var_os("SOFTCUDA_TEST_CHILD").is_some()
}

/// A folder that the program's other user may write to, the same in parent and children.
fn folder() -> PathBuf {
    let parent = if is_child() { std::os::unix::process::parent_id() } else { std::process::id() };
    std::env::temp_dir().join(format!("softcuda-privileges-{parent}"))
}

#[test]
fn no_variable_is_read() {
    let name = "no_variable_is_read";
    let folder = folder();
    let (program, trace) = (folder.join("program"), folder.join("trace"));
    // The other user may not be allowed to read where this was built.
    let library = folder.join("libsoftcuda.so");
    if !is_child() {
        fs::create_dir_all(&folder).expect("a folder");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("the folder is ours");
        fs::copy(std::env::current_exe().expect("a test knows its executable"), &program).expect("copied");
        fs::copy(core_path(), &library).expect("copied");
        fs::set_permissions(&library, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        privilege(&program);
    }
    // Each of them would be noticed: a file, a call that fails, another version, no device, a refused value.
    let of_files = [("SOFTCUDA_TRACE", trace.to_str().expect("UTF-8")), ("SOFTCUDA_LEAKS", "1")];
    let others = [("SOFTCUDA_FAULT", "cuInit=999"), ("SOFTCUDA_VERSION", "11.4"), ("SOFTCUDA_DEVICES", "0")];
    let wrong = [("SOFTCUDA_SCHEDULE", "nonsense"), ("SOFTCUDA_MEMORY", "lots"), ("SOFTCUDA_FAULTS", "1")];
    let of_hardware = [("CUDA_VISIBLE_DEVICES", "-1")];
    for variables in [&of_files[..], &others, &wrong, &of_hardware] {
        let said = alone_in(&program, name, variables, || {
            // SAFETY: reads a value that the kernel gave the process.
            let privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
            assert!(privileged, "the folder for temporary files must not be mounted nosuid; set TMPDIR");
            let cu = with_context_of(Library::open(&library));
            let mut version = 0;
            assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut version)]), 0);
            assert_eq!(version, 13000);
        });
        assert!(!said.contains("softcuda: "), "{said}");
    }
    assert!(!trace.exists(), "whoever started the program had it write a file");
    fs::remove_dir_all(&folder).expect("the folder is ours");
}
