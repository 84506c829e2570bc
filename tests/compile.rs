//! CUDA C++ compiled at run time: how NVRTC is found, what it is told, what is kept on disk. The compilers are those of `fakes/nvrtc.c`,
//! whose sources are PTX; `CUSHIM_TEST_NVRTC` names a real one for the last test.

mod common;

use common::alone;
use cushim::compile::{Compiled, Compiler, Source};
use cushim::kernel::{Kernel, Library, LoadOptions};
use cushim::{Context, Device, Error, Status};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry set() { ret; }\n";
const CHILD: &str = "CUSHIM_TEST_CHILD";

/// A compiler of this version in a file of its own.
fn nvrtc(file: &Path, version: u32, defines: &[&str]) -> PathBuf {
    std::fs::create_dir_all(file.parent().expect("it is in a folder")).expect("the folder is ours");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/nvrtc.c");
    let oldest = if defines.contains(&"OLDEST_ONLY") { "-DOLDEST_ONLY=1" } else { "-DOLDEST_ONLY=0" };
    let mut command = Command::new("cc");
    command
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", oldest])
        .arg(format!("-DVERSION={version}"));
    let status = command.arg(source).arg("-o").arg(file).status().expect("there is a compiler");
    assert!(status.success(), "{command:?}");
    file.to_owned()
}

/// A folder with a compiler, a cache and a trace: the parent makes it, and the child finds it by a variable.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// Runs the body in a child with these variables, and those for its own cache and trace.
    fn child(&self, test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
        let (cache, trace) = (self.path("cache"), self.path("trace"));
        let mut all = vec![("CUSHIM_CACHE", cache.as_str()), ("FAKE_NVRTC_TRACE", &trace)];
        all.extend_from_slice(variables);
        alone(test, &all, body);
    }

    /// The compilations until now, each with its options.
    fn compiled(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("trace")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Whether this is the child, which has no need of a scene of its own.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn context() -> Context {
    Device::get(&cushim::testing::driver(), 0).expect("a device").primary_context().expect("a context")
}

fn compile(source: &Source) -> Result<Compiled, Error> {
    let context = context();
    Compiler::find(context.driver())?.compile(source, context.device())
}

fn load(compiled: &Compiled, name: &str) -> Kernel {
    let library = Library::load(&context(), compiled.image().expect("no LTO IR"), &LoadOptions::default())
        .expect("it loads");
    library.kernel(name).expect("it is there")
}

#[test]
fn a_source_becomes_a_kernel() {
    const NAME: &str = "a_source_becomes_a_kernel";
    let scene = Scene::new();
    let library =
        if is_child() { PathBuf::new() } else { nvrtc(&scene.folder.path().join("n.so"), 12000, &[]) };
    scene.child(NAME, &[("CUSHIM_NVRTC", library.to_str().expect("UTF-8"))], || {
        let source = Source::new(PTX)
            .name("set.cu")
            .header("a.h", "")
            .option("--std=c++17")
            .name_expression("set<float>");
        let compiled = compile(&source).expect("it compiles");
        assert!(!compiled.was_cached());
        assert_eq!(compiled.log(), "set.cu: warning: 1 headers");
        assert_eq!(compiled.lowered_name("set<float>"), Some("_Z10set_float_"));
        assert_eq!(compiled.lowered_name("set<int>"), None);
        assert_eq!(load(&compiled, "set").name(), "set");
        let found = Compiler::find(context().driver()).expect("found");
        assert_eq!(found.version(), (12, 0));
        // It was loaded once, whoever asks, and however.
        let opened = Compiler::open(found.path()).expect("opened");
        assert_eq!(HashSet::from([found.clone(), opened]).len(), 1);
        assert_eq!(
            format!("{found} {found:?}"),
            format!("NVRTC 12.0 Compiler {{ version: (12, 0), path: {:?}, .. }}", found.path())
        );
    });
    if !is_child() {
        let options = scene.compiled().join("");
        assert_eq!(
            options.split_whitespace().collect::<Vec<_>>(),
            ["--std=c++17", "--gpu-architecture=compute_90"]
        );
    }
}

#[test]
fn what_was_compiled_is_taken_from_disk_while_nothing_has_changed() {
    const NAME: &str = "what_was_compiled_is_taken_from_disk_while_nothing_has_changed";
    let scene = Scene::new();
    let file = scene.folder.path().join("n.so");
    let variables = [("CUSHIM_NVRTC", file.to_str().expect("UTF-8")), ("SOFTCUDA_VERSION", "13.0")];
    let whole =
        || Source::new(PTX).name("set.cu").header("a.h", "//").option("-w").name_expression("set<float>");
    let variants = || {
        [
            whole(),
            whole().name("other.cu"),
            whole().option("--std=c++17"),
            whole().header("b.h", ""),
            whole().name_expression("set<int>"),
            Source::new(format!("{PTX}//"))
                .name("set.cu")
                .header("a.h", "//")
                .option("-w")
                .name_expression("set<float>"),
            Source::new(PTX).name("set.cu").header("a.h", "///").option("-w").name_expression("set<float>"),
        ]
    };
    let all = || variants().map(|source| compile(&source).expect("it compiles").was_cached());
    if is_child() {
        return scene.child(NAME, &variables, || {
            let found = all();
            let expected = std::env::var_os("CUSHIM_TEST_CACHED").is_some();
            assert_eq!(found, [expected; 7]);
            let reads = whole().option("-I/nowhere");
            assert!(
                !compile(&reads).expect("it compiles").was_cached()
                    && !compile(&reads).expect("again").was_cached()
            );
            assert!(!compile(&whole().cached(false)).expect("it compiles").was_cached());
            assert!(compile(&whole()).expect("it compiles").was_cached());
        });
    }
    let cached = [variables[0], variables[1], ("CUSHIM_TEST_CACHED", "1")];
    nvrtc(&file, 12000, &[]);
    scene.child(NAME, &variables, || ());
    scene.child(NAME, &cached, || ());
    // Another compiler at the same place.
    std::fs::remove_file(&file).expect("it is there");
    nvrtc(&file, 12040, &[]);
    scene.child(NAME, &variables, || ());
    // Files that are damaged.
    let files: Vec<_> = std::fs::read_dir(scene.path("cache")).expect("it is there").flatten().collect();
    assert_eq!(files.len(), 14, "one for each, and nothing else");
    for (index, file) in files.iter().enumerate() {
        let bytes = std::fs::read(file.path()).expect("readable");
        let damaged = if index % 2 == 0 { &bytes[..bytes.len() / 2] } else { &[0xff; 64][..] };
        std::fs::write(file.path(), damaged).expect("ours");
    }
    scene.child(NAME, &variables, || ());
    scene.child(NAME, &cached, || ());
}

#[test]
fn processes_share_the_disk() {
    const NAME: &str = "processes_share_the_disk";
    let scene = Scene::new();
    let file = scene.folder.path().join("n.so");
    let variables = [("CUSHIM_NVRTC", file.to_str().expect("UTF-8"))];
    if is_child() {
        return scene.child(NAME, &variables, || {
            for _ in 0..20 {
                assert_eq!(load(&compile(&Source::new(PTX)).expect("it compiles"), "set").name(), "set");
            }
        });
    }
    nvrtc(&file, 12000, &[]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| scene.child(NAME, &variables, || ()));
        }
    });
    assert_eq!(std::fs::read_dir(scene.path("cache")).expect("it is there").count(), 1);
}

/// A source that takes so many KiB on disk, with a text of its own.
fn large(number: u32) -> Source {
    Source::new(format!("{PTX}// {number}\n//{}\n", "x".repeat(100 << 10)))
}

#[test]
fn what_was_not_used_leaves_the_disk_first() {
    const NAME: &str = "what_was_not_used_leaves_the_disk_first";
    let scene = Scene::new();
    let file = scene.folder.path().join("n.so");
    let variables = [("CUSHIM_NVRTC", file.to_str().expect("UTF-8")), ("CUSHIM_CACHE_SIZE", "700K")];
    if !is_child() {
        nvrtc(&file, 12000, &[]);
    }
    // Each takes some 200 KiB: the text, and the code, which is the same.
    scene.child(NAME, &variables, || {
        let was_cached = |number: u32| {
            // Files that follow each other are to have times that do.
            std::thread::sleep(std::time::Duration::from_millis(20));
            compile(&large(number)).expect("it compiles").was_cached()
        };
        assert!([1, 2, 3].into_iter().all(|number| !was_cached(number)));
        assert!(was_cached(1), "all have room");
        assert!(!was_cached(4), "it takes the place of 2");
        assert!([1, 3, 4].into_iter().all(was_cached));
        assert!(!was_cached(2));
        let too_large = Source::new(format!("{PTX}//{}\n", "x".repeat(400 << 10)));
        for _ in 0..2 {
            assert!(
                !compile(&too_large).expect("it compiles").was_cached(),
                "it has more than there is room for"
            );
        }
        assert!([3, 4, 2].into_iter().all(was_cached), "nothing was removed for it");
    });
}

#[test]
fn processes_trim_the_disk_at_the_same_time() {
    const NAME: &str = "processes_trim_the_disk_at_the_same_time";
    let scene = Scene::new();
    let file = scene.folder.path().join("n.so");
    let variables = [("CUSHIM_NVRTC", file.to_str().expect("UTF-8")), ("CUSHIM_CACHE_SIZE", "700K")];
    if is_child() {
        return scene.child(NAME, &variables, || {
            for number in 0..20 {
                assert_eq!(load(&compile(&large(number)).expect("it compiles"), "set").name(), "set");
            }
        });
    }
    nvrtc(&file, 12000, &[]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| scene.child(NAME, &variables, || ()));
        }
    });
    let entries = std::fs::read_dir(scene.path("cache")).expect("it is there").flatten();
    let total: u64 = entries.map(|entry| entry.metadata().expect("it is there").len()).sum();
    assert!((1..=700 << 10).contains(&total), "{total}");
}

#[test]
fn errors_have_the_compilers_log() {
    const NAME: &str = "errors_have_the_compilers_log";
    let scene = Scene::new();
    let library =
        if is_child() { PathBuf::new() } else { nvrtc(&scene.folder.path().join("n.so"), 12000, &[]) };
    scene.child(NAME, &[("CUSHIM_NVRTC", library.to_str().expect("UTF-8"))], || {
        let error = compile(&Source::new("#error").name("wrong.cu")).expect_err("it is wrong");
        assert_eq!(error.status, Status::INVALID_ARGUMENT);
        assert_eq!(
            error.message,
            "NVRTC 12.0 found errors in wrong.cu: wrong.cu(1): error: #error directive: it is wrong"
        );
        assert!(error.driver_log.ends_with("1 error detected."), "{}", error.driver_log);
        let error = compile(&Source::new(PTX).option("--nonsense")).expect_err("no option");
        assert!(
            error.message.contains("did not compile source.cu: NVRTC_ERROR_INVALID_OPTION (5)"),
            "{error}"
        );
        let error = compile(&Source::new("a\0b")).expect_err("a NUL");
        assert!(error.message.contains("has a NUL inside"), "{error}");
    });
}

#[test]
fn a_compiler_that_does_not_fit_is_refused_by_name() {
    const NAME: &str = "a_compiler_that_does_not_fit_is_refused_by_name";
    let scene = Scene::new();
    let try_with = |library: &str, version: &str, says: &str| {
        let variables =
            [("CUSHIM_NVRTC", library), ("SOFTCUDA_VERSION", version), ("CUSHIM_TEST_SAYS", says)];
        scene.child(NAME, &variables, || {
            let error = compile(&Source::new(PTX)).expect_err("it does not fit");
            assert_eq!(error.status, Status::UNSUPPORTED);
            let says = std::env::var("CUSHIM_TEST_SAYS").expect("set");
            assert!(error.message.contains(&says) && error.message.contains("CUSHIM_NVRTC"), "{error}");
        });
    };
    if is_child() {
        return try_with("", "", "");
    }
    let newer = nvrtc(&scene.folder.path().join("newer.so"), 12080, &[]);
    let newer = newer.to_str().expect("UTF-8");
    try_with(newer, "12.4", "it is of CUDA 12.8, whose PTX a driver for CUDA 12.4 does not take");
    try_with("/nowhere/libnvrtc.so.12", "12.4", "/nowhere/libnvrtc.so.12");
    let other = std::env::current_exe().expect("a test knows its executable");
    try_with(other.to_str().expect("UTF-8"), "12.4", "name another library");
}

#[test]
fn packages_of_python_have_it() {
    const NAME: &str = "packages_of_python_have_it";
    let scene = Scene::new();
    let packages = scene.folder.path().join("lib/python3.11/site-packages/nvidia");
    let root = scene.folder.path().to_str().expect("UTF-8").to_owned();
    let try_as = |version: &str, expected: &str| {
        let variables = [
            ("VIRTUAL_ENV", root.as_str()),
            ("CUSHIM_NVRTC", ""),
            ("SOFTCUDA_VERSION", version),
            ("CUSHIM_TEST_EXPECTED", expected),
        ];
        scene.child(NAME, &variables, || {
            let found =
                Compiler::find(context().driver()).map(|compiler| format!("{:?}", compiler.version()));
            let expected = std::env::var("CUSHIM_TEST_EXPECTED").expect("set");
            match found {
                Ok(found) => assert_eq!(found, expected),
                Err(error) => assert!(error.message.contains(&expected), "{error}"),
            }
        });
    };
    if is_child() {
        return try_as("", "");
    }
    nvrtc(&packages.join("cuda_nvrtc/lib/libnvrtc.so.12"), 12040, &[]);
    nvrtc(&packages.join("cu13/lib/libnvrtc.so.13"), 13000, &[]);
    try_as("13.0", "(13, 0)");
    try_as("12.8", "(12, 4)");
    try_as("12.4", "(12, 4)");
    try_as("12.2", "pip install \"nvidia-cuda-nvrtc-cu12<=12.2.999\"");
    try_as("11.4", "it is of CUDA 12.4, whose PTX");
}

#[test]
fn a_device_that_is_too_old_is_refused() {
    const NAME: &str = "a_device_that_is_too_old_is_refused";
    let scene = Scene::new();
    let file = scene.folder.path().join("n.so");
    let library = if is_child() { PathBuf::new() } else { nvrtc(&file, 12000, &["OLDEST_ONLY"]) };
    scene.child(NAME, &[("CUSHIM_NVRTC", library.to_str().expect("UTF-8"))], || {
        let error = compile(&Source::new(PTX)).expect_err("it is too old");
        assert_eq!(error.status, Status::UNSUPPORTED);
        assert!(error.message.contains("compiles for compute capability 19.9 and newer"), "{error}");
        let named = Source::new(PTX).option("--gpu-architecture=compute_70");
        assert!(compile(&named).is_ok(), "who names an architecture knows");
    });
}

/// With a real one, whichever it is: templates, headers, and the code runs.
#[test]
fn a_real_compiler_compiles() {
    let Ok(real) = std::env::var("CUSHIM_TEST_NVRTC") else { return };
    let scene = Scene::new();
    scene.child("a_real_compiler_compiles", &[("CUSHIM_NVRTC", &real)], || {
        use cushim::kernel::LaunchConfig;
        use cushim::typed::{DeviceSlice, TypedKernel, Write};
        use cushim::{Stream, StreamOptions};
        const TEXT: &str = "#include \"number.h\"\ntemplate<class T> __global__ void set(T *to) { to[threadIdx.x] = NUMBER + threadIdx.x; }";
        let source = Source::new(TEXT).header("number.h", "#define NUMBER 7").name_expression("set<float>");
        for was_cached in [false, true] {
            let compiled = compile(&source).expect("it compiles");
            assert_eq!(compiled.was_cached(), was_cached);
            let kernel = load(&compiled, compiled.lowered_name("set<float>").expect("asked for"));
            let kernel = TypedKernel::<(Write<f32>,)>::new(&kernel).expect("its parameters");
            // SAFETY: it writes a number for each thread.
            let kernel = unsafe { kernel.vouch(|config, &(to,)| config.grid == [1; 3] && config.block[0] as usize <= to) };
            let stream = Stream::create(&context(), &StreamOptions::default()).expect("a stream");
            let mut numbers = DeviceSlice::zeroed(&stream, 3).expect("memory");
            kernel.launch(&stream, &LaunchConfig::new(1, 3), (&mut numbers,)).expect("launched");
            assert_eq!(numbers.to_vec(&stream).expect("copied"), [7.0, 8.0, 9.0]);
        }
        let error = compile(&Source::new("int x = ;").name("wrong.cu")).expect_err("it is wrong");
        assert!(error.message.contains("wrong.cu(1)") && error.driver_log.contains("expected an expression"), "{error:?}");
    });
}
