//! What the tests share: a folder for temporary files of its own, in which nothing may be left, and programs in C.

use std::fmt::Debug;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_softcuda-run");

/// Opens the driver by name, and says what it is.
pub(crate) const ASKS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stddef.h>
static void *cuda;
static int call(const char *name, void *first, int second) {
    int (*function)(void *, int) = 0;
    *(void **)&function = dlsym(cuda, name);
    int result = function ? function(first, second) : -1;
    if (result) printf("%s %d\n", name, result);
    return result;
}
int main(void) {
    int version = 0, count = 0;
    size_t memory = 0;
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda) return printf("%s\n", dlerror()), 2;
    int (*init)(unsigned) = 0;
    *(void **)&init = dlsym(cuda, "cuInit");
    if (!init || init(0)) return printf("cuInit\n"), 1;
    if (call("cuDriverGetVersion", &version, 0) || call("cuDeviceGetCount", &count, 0)) return 1;
    if (call("cuDeviceTotalMem_v2", &memory, 0)) return 1;
    printf("version %d\ndevices %d\nmemory %zu\n", version, count, memory);
    printf("cuGetProcAddress_v2 %s\n", dlsym(cuda, "cuGetProcAddress_v2") ? "yes" : "no");
    return 0;
}
"#;

/// Asks for private tables: those that the runtime wants first, or one that nobody has.
pub(crate) const PRIVATE: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
    unsigned char runtime[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*ask)(const void **, const void *) = 0;
    const void *table = "";
    *(void **)&ask = dlsym(cuda, "cuGetExportTable");
    if (count < 2 || !ask) return 1;
    if (strcmp(words[1], "runtime")) runtime[15] = 0;
    int first = ask(&table, runtime), second = ask(&table, runtime);
    printf("%d %d %d\n", first, second, ask(&table, 0));
    return table != 0;
}
"#;

/// Is linked with the driver.
pub(crate) const LINKED: &str = r#"
#include <stdio.h>
int cuDriverGetVersion(int *);
int main(void) {
    int version = 0;
    int result = cuDriverGetVersion(&version);
    printf("%d\n", version);
    return result;
}
"#;

/// How a command has ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn output(mut command: Command) -> Output {
    let output = command.output().expect("the program starts");
    Output {
        status: output.status.code(),
        signal: output.status.signal(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Reads until the first line has ended.
pub(crate) fn read_line(from: &mut impl std::io::Read) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while from.read(&mut byte).expect("it can be read") == 1 {
        line.push(byte[0]);
        if byte[0] == b'\n' {
            break;
        }
    }
    String::from_utf8(line).expect("text")
}

/// A machine on which nothing of softcuda's is set, with a folder for temporary files.
pub(crate) struct Machine(TempDir);

impl Machine {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder().join(name).to_str().expect("UTF-8").to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("the folder can be written");
        path
    }

    /// Compiles a program in C.
    pub(crate) fn program(&self, name: &str, text: &str, options: &[&str]) -> String {
        let (source, program) = (self.write(name, text), self.path(name.trim_end_matches(".c")));
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Wextra", "-o", &program, &source]).args(options);
        assert!(compiler.status().expect("a C compiler is there").success());
        program
    }

    /// A call of the program.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_of(PROGRAM, words)
    }

    /// The same of a copy of it.
    pub(crate) fn command_of(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["SOFTCUDA_", "CUSHIM_", "CUDA_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.args(words).env("TMPDIR", self.folder()).current_dir(self.folder());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        output(self.command(words))
    }

    /// Starts it, and sends the program a signal when the command has written a line.
    pub(crate) fn signalled(&self, words: &[&str], signal: i32) -> Output {
        let mut command = self.command(words);
        // Who began the tests may ignore a signal, as a shell does for what it starts beside itself, and no shell traps such a one.
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            command.pre_exec(move || match libc::signal(signal, libc::SIG_DFL) {
                libc::SIG_ERR if signal != libc::SIGKILL => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            })
        };
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut out = read_line(child.stdout.as_mut().expect("piped"));
        // The line is the command's, and comes before it is done with what follows.
        std::thread::sleep(std::time::Duration::from_millis(100));
        // SAFETY: sends a signal to a child that was not waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        let status = child.wait().expect("it ends");
        let mut err = String::new();
        // After SIGKILL others may still hold the other ends for a moment.
        child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        child.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
        Output { status: status.code(), signal: status.signal(), out, err }
    }

    /// The folders that the program has made.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder()).expect("it is readable").flatten();
        let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("softcuda-run."));
        own.map(|entry| entry.path()).collect()
    }

    /// Nothing of the program's is left.
    #[track_caller]
    pub(crate) fn is_empty(&self) {
        assert_eq!(self.folders(), [] as [PathBuf; 0]);
    }
}
