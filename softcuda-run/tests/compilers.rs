//! Compilers under `softcuda-run`: what they hand out in place of machine code. They are made here, with the names and the habits of NVRTC
//! and nvJitLink.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // each file of tests uses some of it
mod common;

use common::Machine;
use std::process::Command;

/// Compiles every program to the same PTX, with the options in a comment, and for a real architecture to machine code, too.
const NVRTC: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct program { char ptx[4000]; int real; };
int nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 9, 0; }
int nvrtcCreateProgram(struct program **p, const char *s, const char *n, int c, const char **h, const char **i) {
    (void)s, (void)n, (void)c, (void)h, (void)i;
    return *p = calloc(1, sizeof **p), 0;
}
int nvrtcDestroyProgram(struct program **p) { return free(*p), *p = 0, 0; }
int nvrtcCompileProgram(struct program *p, int count, const char *const *options) {
    strcpy(p->ptx, "//");
    for (int i = 0; i < count; i++) {
        strcat(strcat(p->ptx, " "), options[i]);
        p->real |= strstr(options[i], "sm_") != 0;
        if (!strcmp(options[i], "--nonsense")) return 5;
    }
    strcat(p->ptx, "\n.version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n");
    return 0;
}
int nvrtcGetPTXSize(struct program *p, size_t *size) { return *size = strlen(p->ptx) + 1, 0; }
int nvrtcGetPTX(struct program *p, char *to) { return strcpy(to, p->ptx), 0; }
int nvrtcGetCUBINSize(struct program *p, size_t *size) { return *size = p->real ? 64 : 0, 0; }
int nvrtcGetCUBIN(struct program *p, char *to) { return p->real ? memcpy(to, "\177ELF", 4), 0 : 7; }
"#;

/// Links to machine code, or to PTX if it is asked to.
const LINKER: &str = r#"
#include <stdlib.h>
#include <string.h>
struct linker { int ptx, kinds[8], count; };
int nvJitLinkCreate(struct linker **l, unsigned count, const char **options) {
    *l = calloc(1, sizeof **l);
    for (unsigned i = 0; i < count; i++) (*l)->ptx |= !strcmp(options[i], "-ptx");
    return 0;
}
int nvJitLinkDestroy(struct linker **l) { return free(*l), *l = 0, 0; }
int nvJitLinkAddData(struct linker *l, int kind, const void *data, size_t size, const char *name) {
    (void)name;
    if (kind == 1 && size > 16 && !memcmp((const char *)data + 8, "\007softlnk", 8)) return 3;
    return l->kinds[l->count++] = kind, 0;
}
int nvJitLinkAddFile(struct linker *l, int kind, const char *name) { (void)name; return l->kinds[l->count++] = kind, 0; }
int nvJitLinkComplete(struct linker *l) { return l->count ? 0 : 3; }
static const char text[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry optimised() { ret; }\n";
int nvJitLinkGetLinkedPtxSize(struct linker *l, size_t *size) { return l->ptx ? *size = sizeof text, 0 : 3; }
int nvJitLinkGetLinkedPtx(struct linker *l, char *to) { return l->ptx ? memcpy(to, text, sizeof text), 0 : 3; }
int nvJitLinkGetLinkedCubinSize(struct linker *l, size_t *size) { return l->ptx ? 3 : (*size = 64, 0); }
int nvJitLinkGetLinkedCubin(struct linker *l, char *to) { return l->ptx ? 3 : (memcpy(to, "\177ELF", 4), 0); }
int __nvJitLinkCreate_12_4(struct linker **l, unsigned count, const char **options) { return nvJitLinkCreate(l, count, options); }
int nvJitLinkVersion(unsigned *major, unsigned *minor) { return *major = 12, *minor = 9, 0; }
"#;

/// Loads an image into the driver, and looks for a kernel.
const DRIVER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *cuda;
static int (*driver(const char *name))() { return (int (*)())dlsym(cuda, name); }
static int start(void) {
    int device = 0;
    void *context = 0;
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda) return 1;
    return driver("cuInit")(0) || driver("cuDeviceGet")(&device, 0) || driver("cuDevicePrimaryCtxRetain")(&context, device)
        || driver("cuCtxSetCurrent")(context);
}
static void load(const char *what, const void *image, const char *kernel) {
    void *module = 0, *function = 0;
    int result = driver("cuModuleLoadData")(&module, image);
    printf("%s %d %d\n", what, result, result ? -1 : driver("cuModuleGetFunction")(&function, module, kernel));
}
"#;

/// Compiles for an architecture, by the NVRTC at each path.
const COMPILES: &str = r#"
int main(int count, char **words) {
    if (start()) return 2;
    for (int i = 2; i < count; i++) {
        const char *options[] = { words[1], "-maxrregcount", "32" };
        void *nvrtc = dlopen(words[i], RTLD_NOW | RTLD_GLOBAL), *program = 0;
        if (!nvrtc) return printf("%s\n", dlerror()), 2;
        int (*find)() = 0;
#define CALL(name, ...) (find = (int (*)())dlsym(nvrtc, #name), find ? find(__VA_ARGS__) : -1)
        int major = 0, minor = 0;
        size_t ptx = 0, cubin = 0;
        CALL(nvrtcVersion, &major, &minor);
        CALL(nvrtcCreateProgram, &program, "", "", 0, 0, 0);
        int result = CALL(nvrtcCompileProgram, program, 3, options);
        CALL(nvrtcGetPTXSize, program, &ptx);
        char *text = malloc(ptx), *image = 0;
        CALL(nvrtcGetPTX, program, text);
        printf("%d.%d %d %.*s\n", major, minor, result, (int)strcspn(text, "\n"), text);
        result = CALL(nvrtcGetCUBINSize, program, &cubin);
        image = calloc(1, cubin + 64);
        result = result ? result : CALL(nvrtcGetCUBIN, program, image);
        printf("cubin %d %s %d\n", result, !memcmp(image, "\177ELF", 4) ? "ELF" : "-", image[48]);
        if (!result) load("load", image, "k");
        CALL(nvrtcDestroyProgram, &program);
        printf("%s\n", dlsym(RTLD_DEFAULT, "nvJitLinkCreate") || dlsym(RTLD_DEFAULT, "la_version") ? "others" : "alone");
    }
    return 0;
}
"#;

struct Compilers {
    machine: Machine,
    nvrtc: String,
}

impl Compilers {
    fn new() -> Self {
        let machine = Machine::new();
        let nvrtc = library(&machine, "libnvrtc.so.12", NVRTC);
        Self { machine, nvrtc }
    }

    fn program(&self, name: &str, text: &str) -> String {
        self.machine.program(name, &[DRIVER, text].concat(), &["-ldl", "-Wno-incompatible-pointer-types"])
    }
}

/// A library of this name, in a folder of the machine's.
fn library(machine: &Machine, name: &str, text: &str) -> String {
    let (source, path) = (machine.write("library.c", text), machine.path(name));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}"), "-o", &path, &source]);
    assert!(compiler.status().expect("a C compiler is there").success());
    path
}

const REAL: &str = "12.9 0 // -arch=compute_90 -maxrregcount 32\ncubin 0 ELF 90\nload 0 0\nalone\n";

#[test]
fn nvrtc_compiles_to_ptx_for_real_architectures() {
    let compilers = Compilers::new();
    let program = compilers.program("compiles.c", COMPILES);
    let before = std::fs::read(&compilers.nvrtc).expect("it is there");
    let (run, nvrtc) = (|words: &[&str]| compilers.machine.run(words), compilers.nvrtc.as_str());
    let output = run(&[&program, "-arch=sm_90", nvrtc]);
    assert_eq!(output.out, REAL, "{output:?}");
    // By its name; by its name and its path.
    let mut command =
        compilers.machine.command(&[&program, "-arch=sm_90", "libnvrtc.so.12", nvrtc, "libnvrtc.so.12"]);
    command.env("LD_LIBRARY_PATH", compilers.machine.folder());
    let output = common::output(command);
    assert_eq!(output.out, REAL.repeat(3), "{output:?}");
    let output = run(&[&program, "-arch=sm_90", nvrtc, "libnvrtc.so.12"]);
    assert_eq!(output.out, REAL.repeat(2), "{output:?}");
    // A second one.
    let other = library(&compilers.machine, "libnvrtc.so.13", NVRTC);
    let output = run(&[&program, "-arch=sm_90", nvrtc, &other]);
    assert_eq!(output.out, REAL.repeat(2), "{output:?}");
    // What makes no machine code, and what does not compile, is NVRTC's own affair.
    let output = run(&[&program, "-arch=compute_90", nvrtc]);
    assert_eq!(output.out, "12.9 0 // -arch=compute_90 -maxrregcount 32\ncubin 7 - 0\nalone\n", "{output:?}");
    let output = run(&[&program, "--nonsense", nvrtc]);
    assert_eq!(output.out, "12.9 5 // --nonsense\ncubin 7 - 0\nalone\n", "{output:?}");
    assert_eq!(std::fs::read(nvrtc).expect("it is there"), before);
    compilers.machine.is_empty();
}

/// A program that is linked with NVRTC.
#[test]
fn a_program_that_is_linked_with_nvrtc() {
    let compilers = Compilers::new();
    let source = compilers.machine.write(
        "linked.c",
        "int nvrtcCreateProgram(), nvrtcCompileProgram(), nvrtcGetCUBINSize(); int printf(const char *, ...);\n\
         int main(void) { void *p; unsigned long size = 0; const char *option = \"-arch=sm_80\";\n\
         nvrtcCreateProgram(&p, \"\", \"\", 0, 0, 0); nvrtcCompileProgram(p, 1, &option);\n\
         nvrtcGetCUBINSize(p, &size); return printf(\"%d\\n\", size > 64) < 0; }",
    );
    let (program, folder) = (compilers.machine.path("linked"), compilers.machine.folder().display());
    let mut compiler = Command::new("cc");
    compiler.args(["-o", &program, &source, &compilers.nvrtc, &format!("-Wl,-rpath,{folder}")]);
    assert!(compiler.status().expect("a C compiler is there").success());
    let output = compilers.machine.run(&[&program]);
    assert_eq!(output.out, "1\n", "{output:?}");
    // Without softcuda-run it has what it had.
    let output = common::output(Command::new(&program));
    assert_eq!(output.out, "0\n", "{output:?}");
}

#[test]
fn nvjitlink_hands_out_the_texts_of_its_inputs() {
    let compilers = Compilers::new();
    let linker = library(&compilers.machine, "libnvJitLink.so.12", LINKER);
    let program = compilers.program(
        "links.c",
        r#"
int main(int count, char **words) {
    const char *options[] = { "-arch=sm_90", "-lto", "-ptx" };
    void *library = dlopen(words[1], RTLD_NOW), *handle = 0;
    if (start() || !library) return 2;
    int (*create)() = (int (*)())dlsym(library, "__nvJitLinkCreate_12_4");
#define CALL(name, ...) ((int (*)())dlsym(library, #name))(__VA_ARGS__)
    const char text[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";
    char *image = 0;
    size_t size = 0;
    for (int i = 2; i < count; i++) {
        int result = create(&handle, !strcmp(words[i], "asks") ? 3 : 2, options);
        for (char *kind = words[i]; *kind && strcmp(words[i], "asks"); kind++) {
            const void *data = *kind == '2' ? (const void *)text : *kind == '1' ? (const void *)image : "abcdefgh";
            result |= CALL(nvJitLinkAddData, handle, *kind - '0', data, *kind == '2' ? sizeof text : *kind == '1' ? size : (size_t)8, "n");
        }
        if (!strcmp(words[i], "asks")) result |= CALL(nvJitLinkAddData, handle, 3, "abcdefgh", (size_t)8, "n");
        result = result ? result : CALL(nvJitLinkComplete, handle);
        int sized = CALL(nvJitLinkGetLinkedCubinSize, handle, &size);
        if (!sized) image = calloc(1, size + 64), sized = CALL(nvJitLinkGetLinkedCubin, handle, image);
        printf("%s %d %d\n", words[i], result, sized);
        if (!sized) load("k", image, "k"), load("optimised", image, "optimised");
        CALL(nvJitLinkDestroy, &handle);
    }
    return 0;
}
"#,
    );
    let output = compilers.machine.run(&[&program, &linker, "2", "1", "13", "3", "5", "asks"]);
    let expected = "2 0 0\nk 0 0\noptimised 0 500\n\
                    1 0 0\nk 0 0\noptimised 0 500\n\
                    13 0 0\nk 0 0\noptimised 0 0\n\
                    3 0 0\nk 0 500\noptimised 0 0\n\
                    5 0 0\nk 209 -1\noptimised 209 -1\n\
                    asks 0 3\n";
    assert_eq!(output.out, expected, "{output:?}");
    compilers.machine.is_empty();
}

/// By its name, and by the variables that Triton reads.
#[test]
fn ptxas_makes_images_of_ptx() {
    let machine = Machine::new();
    let loads = r#"
int main(int count, char **words) {
    if (start() || count < 3) return 2;
    FILE *file = fopen(words[1], "rb");
    char *image = calloc(1, 1 << 16);
    if (!file || !fread(image, 1, 1 << 16, file)) return 3;
    printf("%s %d\n", memcmp(image, "\177ELF", 4) ? "-" : "ELF", image[48]);
    load("load", image, words[2]);
    return 0;
}
"#;
    let options = ["-ldl", "-Wno-incompatible-pointer-types"];
    let program = machine.program("loads.c", &[DRIVER, loads].concat(), &options);
    machine.write("k.ptx", ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n");
    machine.write(
        "bad.ptx",
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { nonsense; }\n",
    );
    machine.write("other", "hello");
    let shell = |line: &str| machine.run(&["--cuda", "12.8", "sh", "-c", line]);

    let output =
        shell(&format!("ptxas -lineinfo -v --gpu-name=sm_90a k.ptx -o k.cubin && {program} k.cubin k"));
    assert_eq!((output.out.as_str(), output.err.as_str()), ("ELF 90\nload 0 0\n", ""), "{output:?}");
    let triton = "for it in \"$TRITON_PTXAS_PATH\" \"$TRITON_PTXAS_BLACKWELL_PATH\"; do \"$it\" --version | grep -o 'release 12.8'; done";
    assert_eq!(shell(triton).out, "release 12.8\nrelease 12.8\n");
    // Without an architecture it is that of the PTX; the file has ptxas' own name.
    let output = shell(&format!("ptxas - < k.ptx && {program} elf.o k"));
    assert_eq!(output.out, "ELF 52\nload 0 0\n", "{output:?}");
    // What is wrong in the PTX is found when it is loaded.
    let output = shell(&format!("ptxas -arch sm_80 bad.ptx -o bad.cubin && {program} bad.cubin k"));
    assert_eq!(output.out, "ELF 80\nload 218 -1\n", "{output:?}");
    for (line, sentence) in [
        ("ptxas", "no input file"),
        ("ptxas nowhere.ptx", "nowhere.ptx: No such file"),
        ("ptxas other", "other is no PTX"),
        ("ptxas -arch=sm k.ptx", "the value sm of the option gpu-name"),
        ("ptxas -maxrregcount x k.ptx", "the value x of the option maxrregcount"),
    ] {
        let output = shell(line);
        assert_eq!(output.status, Some(255), "{line}: {output:?}");
        assert!(
            output.err.starts_with("ptxas fatal   : ") && output.err.contains(sentence),
            "{line}: {output:?}"
        );
    }
    machine.is_empty();
}

/// NVIDIA's calls `ptxas` by its name, and looks first where its profile says; so does this one.
const NVCC: &str = r#"#!/bin/sh
here=$(dirname "$0")
while read -r name way value; do
    [ "$name $way" = "PATH +=" ] && PATH=$(echo "$value" | sed "s#\$(_HERE_)#$here#")$PATH
done < "$here/nvcc.profile"
test -f "$here/crt/link.stub" || exit 7
exec ptxas -arch=sm_90 -m64 "$1" -o a.cubin
"#;

#[test]
fn nvcc_calls_our_ptxas() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    machine.write("k.ptx", ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n");
    let toolkit = machine.folder().join("toolkit");
    for folder in ["bin/crt", "include"] {
        std::fs::create_dir_all(toolkit.join(folder)).expect("it can be made");
    }
    for (file, text) in [
        ("bin/nvcc", NVCC),
        ("bin/ptxas", "#!/bin/sh\necho machine code > a.cubin\n"),
        ("bin/nvcc.profile", "TOP = $(_HERE_)/..\nPATH += $(_HERE_):\n"),
        ("bin/crt/link.stub", ""),
        ("include/cuda.h", "here\n"),
    ] {
        std::fs::write(toolkit.join(file), text).expect("it can be written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(toolkit.join(file), mode).expect("it is ours");
    }
    let path = std::env::var("PATH").expect("there is one");
    let run = |line: &str, folder: &std::path::Path| {
        let mut command = machine.command(&["sh", "-c", line]);
        command.env("PATH", format!("{}:{path}", folder.display()));
        common::output(command)
    };
    let bin = toolkit.join("bin");
    let output = run("nvcc k.ptx && grep -c 'entry k' a.cubin", &bin);
    assert_eq!((output.out.as_str(), output.status), ("1\n", Some(0)), "{output:?}");
    // Whoever looks for the toolkit around it finds that.
    let output = run("cat \"$(dirname \"$(command -v nvcc)\")/../include/cuda.h\"", &bin);
    assert_eq!(output.out, "here\n", "{output:?}");
    // By its full path it calls its own.
    let output = run("toolkit/bin/nvcc k.ptx && cat a.cubin", &bin);
    assert_eq!(output.out, "machine code\n", "{output:?}");
    // Without a profile, as where it is a script that calls another one, it stays what it is.
    std::fs::remove_file(bin.join("nvcc.profile")).expect("it is there");
    let output = run("command -v nvcc", &bin);
    assert_eq!(output.out, format!("{}\n", bin.join("nvcc").display()), "{output:?}");
    machine.is_empty();
}
