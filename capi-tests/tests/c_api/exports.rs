//! What the shared libraries export and want, and how they are marked for the loader.

use capi_tests::header;
use capi_tests::libraries::{library, soname};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn output(command: &str, options: &[&str], library: &Path) -> String {
    let output = Command::new(command).args(options).arg(library).output();
    let output = output.unwrap_or_else(|error| panic!("{command}: {error}; apt install binutils"));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The names of the library's dynamic symbols, without their versions.
fn symbols(library: &Path, which: &str) -> BTreeSet<String> {
    let listed = output("nm", &["-D", which], library);
    let name = |line: &str| {
        line.split_whitespace().last().and_then(|name| name.split('@').next()).map(str::to_owned)
    };
    listed.lines().filter_map(name).collect()
}

/// The entries of the dynamic section that have this tag.
fn dynamic(library: &Path, tag: &str) -> Vec<String> {
    let section = output("readelf", &["-dW"], library);
    section.lines().filter(|line| line.contains(&format!("({tag})"))).map(str::to_owned).collect()
}

/// Never unmapped, and its calls inside itself are bound to itself.
fn assert_marks(library: &Path, soname: &str) {
    let names = dynamic(library, "SONAME");
    assert!(names.len() == 1 && names[0].contains(&format!("[{soname}]")), "{names:?}");
    assert!(
        dynamic(library, "FLAGS_1").iter().any(|flags| flags.contains("NODELETE")),
        "{}",
        library.display()
    );
    let symbolic = dynamic(library, "FLAGS").iter().any(|flags| flags.contains("SYMBOLIC"));
    assert!(symbolic || !dynamic(library, "SYMBOLIC").is_empty(), "{}", library.display());
}

#[test]
fn libcushim_exports_what_its_headers_declare() {
    let exported = symbols(&library("libcushim.so"), "--defined-only");
    let declared = header::functions(&(header::text() + &header::objects()));
    assert_eq!(exported, declared);
    assert!(exported.iter().all(|name| name.starts_with("cushim_")), "{exported:?}");
}

#[test]
fn libcushim_is_marked_for_the_loader() {
    assert_marks(&library("libcushim.so"), &soname());
}

/// It starts on a machine without a driver, because it wants none from the loader.
#[test]
fn libcushim_wants_nothing_of_the_driver() {
    let library = library("libcushim.so");
    let wanted = symbols(&library, "--undefined-only");
    assert!(wanted.contains("dlopen") || wanted.contains("dlsym"), "{wanted:?}");
    assert!(wanted.iter().all(|name| !name.starts_with("cu")), "{wanted:?}");
    let libraries = dynamic(&library, "NEEDED");
    let known = [
        "[libc.so",
        "[libgcc_s.so",
        "[libdl.so",
        "[libpthread.so",
        "[libm.so",
        "[librt.so",
        "[libutil.so",
        "[ld-linux",
    ];
    assert!(libraries.iter().all(|line| known.iter().any(|name| line.contains(name))), "{libraries:?}");
}

#[test]
fn libsoftcuda_exports_the_driver_and_its_controls() {
    let library = library("libsoftcuda.so");
    let exported = symbols(&library, "--defined-only");
    let strange: Vec<_> =
        exported.iter().filter(|name| !is_driver_name(name) && !name.starts_with("softcuda_")).collect();
    assert!(strange.is_empty(), "{strange:?}");
    for entry in header::entries(&header::text()) {
        assert!(exported.contains(&entry.exported), "{} is missing", entry.exported);
    }
    assert!(exported.contains("softcuda_version"));
    assert_marks(&library, "libsoftcuda.so");
}

/// `cuInit`, and not `cushim_driver_open`.
fn is_driver_name(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

#[test]
fn shells_are_marked_for_the_loader() {
    for (version, _) in softcuda::VERSIONS {
        let shell =
            softcuda::shell_path(version).unwrap_or_else(|| panic!("no shell of {version}; apt install gcc"));
        assert_marks(&shell, "libcuda.so.1");
        let exported = symbols(&shell, "--defined-only");
        let strange: Vec<_> =
            exported.iter().filter(|name| !is_driver_name(name) && !name.starts_with("softcuda_")).collect();
        assert!(strange.is_empty() && exported.contains("cuInit"), "{version}: {strange:?}");
    }
}
