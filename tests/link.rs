//! Programs that are linked: how nvJitLink is found, what it is told, and what links where it is not there. Compilers and linkers are those of
//! `fakes/`, whose code is PTX.

mod common;

use common::{alone, context};
use cushim::Status;
use cushim::compile::{CodeKind, Compiled, Link, Linker, Source};
use cushim::kernel::{Library, LoadOptions};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const CHILD: &str = "CUSHIM_TEST_CHILD";
const SAYS: &str = "CUSHIM_TEST_SAYS";
const KERNEL: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func f();\n.visible .entry k() { call f; ret; }\n";
const FUNCTION: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func f() { ret; }\n";

/// A library of the fakes in a file of its own.
fn library(source: &str, file: &Path, defines: &[&str]) {
    std::fs::create_dir_all(file.parent().expect("it is in a folder")).expect("the folder is ours");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes").join(source);
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]).args(defines);
    let status = command.arg(source).arg("-o").arg(file).status().expect("there is a compiler");
    assert!(status.success(), "{command:?}");
}

fn nvrtc(file: &Path, version: u32) {
    library("nvrtc.c", file, &[&format!("-DVERSION={version}"), "-DOLDEST_ONLY=0"]);
}

fn nvjitlink(file: &Path, version: u32) {
    library("nvjitlink.c", file, &[&format!("-DVERSION={version}"), "-DOLD=0"]);
}

/// Where Python has compilers and linkers; the parent makes them, and each child has other variables.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn packaged(&self, name: &str) -> PathBuf {
        self.folder.path().join("lib/python3.11/site-packages/nvidia").join(name)
    }

    fn trace(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// Runs the body in a child that finds nothing but what is in the folder, and what the variables say.
    fn child(&self, test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
        let (root, trace) = (self.folder.path().to_str().expect("UTF-8"), self.trace());
        let mut all = vec![
            ("VIRTUAL_ENV", root),
            ("HOME", root),
            ("CUSHIM_CACHE", "off"),
            ("CUSHIM_NVRTC", ""),
            ("CUSHIM_NVJITLINK", ""),
            ("FAKE_NVJITLINK_TRACE", trace.to_str().expect("UTF-8")),
        ];
        all.extend_from_slice(variables);
        alone(test, &all, body);
    }
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn compile(text: &str, kind: CodeKind) -> Compiled {
    Source::new(text).kind(kind).compile(context().device()).expect("it compiles")
}

fn both(kind: CodeKind) -> Link {
    Link::new().program(&compile(KERNEL, kind)).program(&compile(FUNCTION, kind))
}

fn loads(linked: &Compiled) {
    let library = Library::load(&context(), linked.image().expect("no LTO IR"), &LoadOptions::default());
    assert_eq!(library.expect("it loads").kernel("k").expect("it is there").name(), "k");
}

#[test]
fn lto_ir_is_linked_with_what_it_needs() {
    const NAME: &str = "lto_ir_is_linked_with_what_it_needs";
    let scene = Scene::new();
    if !is_child() {
        nvrtc(&scene.packaged("cuda_nvrtc/lib/libnvrtc.so.12"), 12040);
        nvjitlink(&scene.packaged("nvjitlink/lib/libnvJitLink.so.12"), 12040);
    }
    scene.child(NAME, &[("SOFTCUDA_VERSION", "12.4")], || {
        let linked = both(CodeKind::LtoIr).name("both").option("-O3").link(&context()).expect("linked");
        assert_eq!((linked.kind(), linked.architecture()), (CodeKind::Ptx, "compute_90"));
        assert_eq!((linked.compiler_version(), linked.log()), ((12, 4), "INFO: 2 inputs"));
        assert_eq!(linked.to_string(), "PTX of both for compute_90, by nvJitLink 12.4");
        loads(&linked);
        let named = both(CodeKind::LtoIr).option("-arch=compute_80").link(&context()).expect("linked");
        assert_eq!(named.architecture(), "compute_80");
        let mixed =
            Link::new().program(&compile(KERNEL, CodeKind::LtoIr)).code("f.ptx", FUNCTION).expect("PTX");
        let mixed = mixed.link(&context()).expect("linked");
        assert_eq!((mixed.kind(), mixed.architecture()), (CodeKind::Cubin, "sm_90"));
        loads(&mixed);
    });
    if !is_child() {
        let told = std::fs::read_to_string(scene.trace()).expect("it has been called");
        let told: Vec<&str> = told.lines().map(str::trim).collect();
        let own = "-arch=compute_90 -lto -ptx";
        assert_eq!(told, [&format!("{own} -O3"), "-lto -ptx -arch=compute_80", own]);
    }
}

/// Its functions have names with the version, and none tells it.
#[test]
fn the_first_nvjitlink_has_other_names() {
    const NAME: &str = "the_first_nvjitlink_has_other_names";
    let scene = Scene::new();
    if !is_child() {
        nvrtc(&scene.packaged("cuda_nvrtc/lib/libnvrtc.so.12"), 12000);
        library("nvjitlink.c", &scene.packaged("nvjitlink/lib/libnvJitLink.so.12"), &["-DOLD=1"]);
    }
    scene.child(NAME, &[("SOFTCUDA_VERSION", "12.0")], || {
        let found = Linker::find(context().driver()).expect("found");
        assert_eq!(found.version(), (12, 0));
        let opened = Linker::open(found.path()).expect("opened");
        assert_eq!(HashSet::from([found.clone(), opened]).len(), 1);
        assert_eq!(found.to_string(), "nvJitLink 12.0");
        loads(&both(CodeKind::LtoIr).link(&context()).expect("linked"));
    });
}

/// The linker is of the compiler's major version, and as new; the driver takes what it makes.
#[test]
fn a_linker_that_does_not_do_is_refused_by_name() {
    const NAME: &str = "a_linker_that_does_not_do_is_refused_by_name";
    let scene = Scene::new();
    let (old, new) = (scene.folder.path().join("old.so"), scene.folder.path().join("new.so"));
    let (old, new) = (old.to_str().expect("UTF-8").to_owned(), new.to_str().expect("UTF-8").to_owned());
    let try_with = |linker: &str, version: &str, says: &str| {
        let variables = [("CUSHIM_NVJITLINK", linker), ("SOFTCUDA_VERSION", version), (SAYS, says)];
        scene.child(NAME, &variables, || {
            let error = both(CodeKind::LtoIr).link(&context()).expect_err("it does not do");
            assert_eq!(error.status, Status::UNSUPPORTED);
            let says = std::env::var(SAYS).expect("set");
            assert!(error.message.contains(&says), "{error}");
        });
    };
    if is_child() {
        return try_with("", "", "");
    }
    nvrtc(&scene.packaged("cuda_nvrtc/lib/libnvrtc.so.12"), 12040);
    nvrtc(&scene.packaged("cu13/lib/libnvrtc.so.13"), 13000);
    nvjitlink(Path::new(&old), 12020);
    nvjitlink(Path::new(&new), 12080);
    try_with(
        &old,
        "12.4",
        "it is of CUDA 12.2, and the code of CUDA 12.4: the linker must be of the same major version, and as new",
    );
    try_with(&new, "12.4", "it is of CUDA 12.8, whose PTX a driver for CUDA 12.4 does not take");
    try_with(&new, "13.0", "it is of CUDA 12.8, and the code of CUDA 13.0");
    try_with("/nowhere/libnvJitLink.so.12", "12.4", "name another library in CUSHIM_NVJITLINK, or unset it");
    let none = std::env::current_exe().expect("a test knows its executable");
    try_with(none.to_str().expect("UTF-8"), "12.4", "name another library in CUSHIM_NVJITLINK");
    // None is there.
    try_with("", "12.4", "pip install \"nvidia-nvjitlink-cu12>=12.4,<=12.4.999\"");
    try_with("", "13.0", "pip install \"nvidia-nvjitlink>=13.0,<=13.0.999\"");
    // Of several the one that does.
    nvjitlink(&scene.packaged("nvjitlink/lib/libnvJitLink.so.12"), 12080);
    nvjitlink(&scene.packaged("cu13/lib/libnvJitLink.so.13"), 12080);
    try_with("", "12.4", "libnvJitLink.so.12: it is of CUDA 12.8, whose PTX");
}

/// What is no LTO IR is linked without nvJitLink.
#[test]
fn the_driver_links_where_there_is_none() {
    const NAME: &str = "the_driver_links_where_there_is_none";
    let scene = Scene::new();
    if !is_child() {
        nvrtc(&scene.packaged("cuda_nvrtc/lib/libnvrtc.so.12"), 12000);
    }
    scene.child(NAME, &[("SOFTCUDA_VERSION", "12.8")], || {
        let linked = both(CodeKind::Ptx).link(&context()).expect("linked");
        assert_eq!(
            linked.to_string(),
            "cubin of linked for sm_90, by the linker of the driver for CUDA 12.8"
        );
        loads(&linked);
        let again = Link::new().code("linked", linked.bytes()).expect("a cubin").link(&context());
        loads(&again.expect("it is linked again"));
        let error = Link::new().program(&compile(KERNEL, CodeKind::Ptx)).link(&context());
        let error = error.expect_err("a function is missing");
        assert!(
            error.message.starts_with("linked is not linked: ") && error.driver_log.contains('f'),
            "{error:?}"
        );
        let twice = both(CodeKind::Ptx).code("f.ptx", FUNCTION).expect("PTX").link(&context());
        let error = twice.expect_err("it is there twice");
        assert!(error.message.contains("The linker says: ") && error.driver_log.contains('f'), "{error:?}");
        let error = Link::new().link(&context()).expect_err("nothing");
        assert_eq!(
            (error.status, &*error.message),
            (Status::INVALID_ARGUMENT, "linked is not linked: there is no code to link")
        );
        let named =
            both(CodeKind::LtoIr).linker("/nowhere/l.so").link(&context()).expect_err("it is not there");
        assert!(named.message.contains("/nowhere/l.so cannot be used as nvJitLink"), "{named}");
    });
}
