//! `softcuda-run`, as a user calls it: what the command sees, how it ends, and what is left.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // each file of tests uses some of it
mod common;

use common::{Machine, PROGRAM};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A C program that opens the driver as programs do.
#[test]
fn a_program_finds_the_driver_of_each_version() {
    let machine = Machine::new();
    let program = machine.program("asks.c", common::ASKS, &["-ldl"]);
    for (version, number) in softcuda::VERSIONS {
        let output = machine.run(&["--cuda", version, "--devices", "2", "--memory", "64M", &program]);
        let libraries = if *number >= 12_000 { "cuGetProcAddress_v2 yes" } else { "cuGetProcAddress_v2 no" };
        assert_eq!(
            output.out,
            format!("version {number}\ndevices 2\nmemory 67108864\n{libraries}\n"),
            "{output:?}"
        );
    }
    let output = machine.run(&[&program]);
    let first: Vec<&str> = output.out.lines().take(2).collect();
    assert_eq!(first, ["version 13000", "devices 1"], "{output:?}");
    let memory =
        output.out.lines().nth(2).and_then(|line| line.strip_prefix("memory ")).map(str::parse::<u64>);
    assert!(matches!(memory, Some(Ok(bytes)) if (1 << 20..=2 << 30).contains(&bytes)), "{output:?}");
    machine.is_empty();
}

/// As the CUDA runtime does, which makes nothing of it but an error.
#[test]
fn who_asks_for_private_tables_is_told_once() {
    let machine = Machine::new();
    let program = machine.program("private.c", common::PRIVATE, &["-ldl"]);
    let output = machine.run(&[&program, "another"]);
    assert_eq!((output.out.as_str(), output.err.as_str()), ("500 500 500\n", ""), "{output:?}");
    let output = machine.run(&[&program, "runtime"]);
    assert_eq!(output.out, "500 500 500\n", "{output:?}");
    let [line] = output.err.lines().collect::<Vec<_>>()[..] else { panic!("one line: {output:?}") };
    assert!(
        line.starts_with("softcuda: the CUDA runtime (libcudart) is in this process, and asks"),
        "{line}"
    );
    assert!(line.ends_with("(docs/tasks/testing.md, \"The CUDA runtime\")"), "{line}");
}

/// What the environment says counts where no option does.
#[test]
fn options_come_before_variables() {
    let machine = Machine::new();
    let program = machine.program("asks.c", common::ASKS, &["-ldl"]);
    let mut command = machine.command(&["--devices=3", &program]);
    command.envs([("SOFTCUDA_DEVICES", "7"), ("SOFTCUDA_VERSION", "12.2"), ("SOFTCUDA_MEMORY", "32M")]);
    let output = common::output(command);
    assert_eq!(
        output.out, "version 12020\ndevices 3\nmemory 33554432\ncuGetProcAddress_v2 yes\n",
        "{output:?}"
    );
}

/// A program that is linked with -lcuda, and a script that starts others: they are of the same tree.
#[test]
fn the_whole_tree_has_the_driver() {
    let machine = Machine::new();
    let source = machine.write("linked.c", common::LINKED);
    let linked = machine.path("linked");
    let script =
        format!("cc -o {linked} {source} -lcuda && sh -c {linked} && sh -c 'echo \"$CUSHIM_DRIVER\"'");
    let output = machine.run(&["--cuda=12.4", "sh", "-c", &script]);
    assert_eq!(output.out, "12040\nsoftware\n", "{output:?}");
    machine.is_empty();
}

#[test]
fn lists_of_folders_keep_what_they_had() {
    let machine = Machine::new();
    let mut command = machine.command(&[
        "sh",
        "-c",
        "echo \"$LD_LIBRARY_PATH\" \"$LIBRARY_PATH\"; ls \"${LD_LIBRARY_PATH%%:*}\"",
    ]);
    command.env("LD_LIBRARY_PATH", "/mine:/other").env("LIBRARY_PATH", "");
    let output = common::output(command);
    let (lists, files) = output.out.split_once('\n').expect("two lines");
    let (loader, linker) = lists.split_once(' ').expect("two lists");
    let folder = loader.strip_suffix(":/mine:/other").expect("the own folder, and those before");
    assert!(folder.starts_with(machine.path("softcuda-run.").as_str()) && linker == folder, "{output:?}");
    for name in ["libcuda.so", "libcuda.so.1", "libsoftcuda.so"] {
        assert!(files.lines().any(|file| file == name), "{output:?}");
    }
    machine.is_empty();
}

#[test]
fn the_schedule_the_faults_and_the_trace() {
    let machine = Machine::new();
    let program = machine.program("asks.c", common::ASKS, &["-ldl"]);
    let script = "echo $SOFTCUDA_SCHEDULE $SOFTCUDA_SEED $SOFTCUDA_BOUNDS";
    for (rule, shown) in
        [("lazy", "lazy"), ("seeded=7", "seeded 7"), ("in-order", "in-order"), ("eager", "eager")]
    {
        let output = machine.run(&["--schedule", rule, "--bounds", "allocation", "sh", "-c", script]);
        assert_eq!(output.out, format!("{shown} allocation\n"), "{output:?}");
    }
    let output = machine.run(&["--fault", "cuDeviceGetCount=801", &program]);
    assert_eq!((output.status, output.out.as_str()), (Some(1), "cuDeviceGetCount 801\n"), "{output:?}");
    // Wherever the process is that writes it.
    let mut command = machine.command(&["--trace", "calls.jsonl", "sh", "-c", &format!("cd / && {program}")]);
    command.current_dir(machine.folder());
    assert_eq!(common::output(command).status, Some(0));
    let trace = std::fs::read_to_string(machine.path("calls.jsonl")).expect("it was written");
    assert!(trace.contains("\"function\":\"cuDeviceGetCount\""), "{trace}");
    let written = trace.lines().filter(|line| line.contains("\"function\":\"cuInit\"")).count();
    assert_eq!(written, 1, "{trace}");
}

/// The options of checks are variables, with files that are found from everywhere.
#[test]
fn what_is_checked_and_where_reports_go() {
    let machine = Machine::new();
    std::fs::write(machine.path("list"), "race: *\n").expect("it is written");
    let script = "echo $SOFTCUDA_CHECK $SOFTCUDA_CHECK_EXIT $SOFTCUDA_CHECK_LOG $SOFTCUDA_CHECK_SUPPRESSIONS";
    let words = ["--check", "races", "--check-exit", "3", "--check-log", "log", "--suppress", "list"];
    let mut command = machine.command(&[&words[..], &["sh", "-c", script]].concat());
    command.current_dir(machine.folder());
    let output = common::output(command);
    let [log, list] = ["log", "list"].map(|name| machine.path(name));
    assert_eq!(output.out, format!("races 3 {log} {list}\n"), "{output:?}");
}

#[test]
fn wrong_usage_is_2_and_says_what_is_right() {
    let machine = Machine::new();
    for (words, says) in [
        (&["--cuda", "12.7", "true"][..], "--cuda=12.7 is not one of 11.4, "),
        (&["--devices=65", "true"], "--devices=65 is not a number from 0 to 64"),
        (&["--memory=lots", "true"], "--memory=lots is not bytes from 1M to 1024G"),
        (&["--schedule=fast", "true"], "--schedule=fast is not eager, lazy, seeded or in-order"),
        (&["--schedule=seeded=x", "true"], "--schedule seeded=x is not a number from 0 to"),
        (&["--fault=cuInit", "true"], "--fault=cuInit is not a list of faults"),
        (&["--bounds=2M", "true"], "--bounds=2M is not exact or allocation"),
        (&["--trace=/no/such/folder/f", "true"], "--trace /no/such/folder/f cannot be written"),
        (&["--check=race", "true"], "--check=race is not a list of races, memory, uninitialised and leaks"),
        (&["--check-exit=256", "true"], "--check-exit=256 is not a status from 0 to 255"),
        (&["--check-log=/no/such/folder/f", "true"], "--check-log /no/such/folder/f cannot be written"),
        (&["--suppress=/no/such/file", "true"], "--suppress /no/such/file cannot be read"),
        (&["--check-exit=3", "true"], "--check-exit belongs to --check; see --help"),
        (&["--check-log=log", "true"], "--check-log belongs to --check; see --help"),
        (&["--suppress=/dev/null", "true"], "--suppress belongs to --check; see --help"),
        (&["--nonsense", "true"], "there is no option --nonsense; see --help"),
        (&["--memory"], "--memory needs a value"),
        (&[], "there is no COMMAND to run; see --help"),
    ] {
        let output = machine.run(words);
        assert_eq!((output.status, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
        assert!(output.err.starts_with(&format!("softcuda-run: {says}")), "{words:?} {output:?}");
        assert_eq!(output.err.lines().count(), 1, "{output:?}");
    }
    let mut command = machine.command(&["true"]);
    command.env("SOFTCUDA_FAULTS", "cuInit=2");
    let output = common::output(command);
    assert_eq!(output.status, Some(2), "{output:?}");
    assert!(
        output.err.contains("SOFTCUDA_FAULTS is no variable of softcuda's; SOFTCUDA_FAULT is near it"),
        "{output:?}"
    );
    machine.is_empty();
}

#[test]
fn help_and_version() {
    let machine = Machine::new();
    let output = machine.run(&["--help"]);
    assert!(output.status == Some(0) && output.out.starts_with("usage: softcuda-run "), "{output:?}");
    let version = machine.run(&["--version"]);
    assert_eq!(version.out, format!("softcuda-run {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_command_that_cannot_be_run_is_126_or_127() {
    let machine = Machine::new();
    let plain = machine.write("plain", "echo no");
    for (command, status, says) in [
        ("no-such-command-anywhere", 127, "command not found"),
        ("/no/such/file", 127, "no such file"),
        (plain.as_str(), 126, "cannot be run: "),
        ("/", 126, "cannot be run: "),
    ] {
        let output = machine.run(&[command]);
        assert_eq!(output.status, Some(status), "{output:?}");
        assert!(
            output.err.starts_with(&format!("softcuda-run: {command}")) && output.err.contains(says),
            "{output:?}"
        );
    }
    machine.is_empty();
}

#[test]
fn the_end_of_the_command_is_the_program_s() {
    let machine = Machine::new();
    for status in [0, 1, 2, 42, 255] {
        assert_eq!(machine.run(&["sh", "-c", &format!("exit {status}")]).status, Some(status));
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGABRT, libc::SIGPIPE] {
        let output = machine.run(&["sh", "-c", &format!("kill -{signal} $$")]);
        assert_eq!((output.status, output.signal), (None, Some(signal)), "{output:?}");
    }
    machine.is_empty();
}

/// A signal that nobody handles does not end the first process of a container.
#[test]
#[allow(clippy::print_stderr)] // what was not tried
fn the_first_process_of_a_container_tells_a_signal_by_its_status() {
    let machine = Machine::new();
    let mut command = Command::new("sh");
    command.args(["-c", "\"$@\"; exit $?", "sh", PROGRAM, "sh", "-c", "kill -SEGV $$"]);
    command.env("TMPDIR", machine.folder());
    // SAFETY: the closure makes a system call only: what the shell starts first is the first process of a container.
    unsafe {
        command.pre_exec(|| match libc::unshare(libc::CLONE_NEWPID) {
            0 => Ok(()),
            _ => match libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            },
        });
    }
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), said.as_ref()), (Some(128 + libc::SIGSEGV), ""));
        }
        Err(error) if std::env::var("CUSHIM_REQUIRE").is_err() => {
            eprintln!("not tried, for this system makes no containers: {error}");
        }
        Err(error) => panic!("no container: {error}"),
    }
    machine.is_empty();
}

/// The loader takes a colon for the end of a folder's name, and looks nowhere then.
#[test]
fn the_folder_for_temporary_files_may_have_any_name() {
    let machine = Machine::new();
    let program = machine.program("asks.c", common::ASKS, &["-ldl"]);
    for name in ["with space", "with:colon", "with;semicolon", "with${ORIGIN}"] {
        let folder = machine.path(name);
        std::fs::create_dir(&folder).expect("it can be made");
        let mut command = machine.command(&[&program]);
        command.env("TMPDIR", &folder).env_remove("LD_LIBRARY_PATH");
        let output = common::output(command);
        assert!(output.out.starts_with("version 13000\n"), "{name}: {output:?}");
        std::fs::remove_dir(&folder).expect("nothing is left in it");
    }
    machine.is_empty();
}

/// Compilers have libraries with many thread-local variables, which are part of the program: rustc could not start.
#[test]
fn programs_may_have_many_thread_local_variables() {
    let machine = Machine::new();
    let library = "static __thread char many[24000] __attribute__((tls_model(\"initial-exec\")));
char *first(void) { return many; }
";
    let library = machine.program("many.c", library, &["-shared", "-fPIC"]);
    let there = machine.path("libmany.so");
    std::fs::rename(library, &there).expect("it is ours");
    let source = "char *first(void); int main(void) { return first()[23999]; }\n";
    let program = machine.program("uses.c", source, &[&there]);
    for tunables in ["", "glibc.malloc.check=0"] {
        let mut command = machine.command(&[&program]);
        command.env("GLIBC_TUNABLES", tunables);
        let output = common::output(command);
        assert_eq!((output.status, output.err.as_str()), (Some(0), ""), "{output:?}");
    }
}

/// Then the C library looks in its usual folders.
#[test]
fn without_a_path_programs_are_found() {
    let machine = Machine::new();
    let mut command = machine.command(&["ls", "/"]);
    command.env_remove("PATH");
    let output = common::output(command);
    assert_eq!(output.status, Some(0), "{output:?}");
}

#[test]
fn signals_reach_the_command() {
    let machine = Machine::new();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
        // One that answers, and one that dies.
        let answers =
            format!("trap 'echo got {signal}; exit 7' {signal}; echo ready; while :; do sleep 0.05; done");
        let output = machine.signalled(&["sh", "-c", &answers], signal);
        assert_eq!(
            (output.status, output.out.as_str()),
            (Some(7), format!("ready\ngot {signal}\n").as_str()),
            "{output:?}"
        );
        let output = machine.signalled(&["sh", "-c", "echo ready; exec sleep 60"], signal);
        assert_eq!((output.status, output.signal), (None, Some(signal)), "{output:?}");
    }
    machine.is_empty();
}

/// Nobody can hand on the signal that kills; the command does not stay behind. What does is removed by the next one.
#[test]
fn who_kills_the_program_kills_the_command() {
    let machine = Machine::new();
    let output = machine.signalled(&["sh", "-c", "echo ready; echo $$ > pid; exec sleep 60"], libc::SIGKILL);
    assert_eq!(output.signal, Some(libc::SIGKILL));
    let pid = std::fs::read_to_string(machine.path("pid")).expect("it was written");
    let (alive, begin) = (format!("/proc/{}/stat", pid.trim()), Instant::now());
    let is_alive = || std::fs::read_to_string(&alive).is_ok_and(|stat| !stat.contains(") Z "));
    while is_alive() {
        assert!(begin.elapsed() < Duration::from_secs(20), "the command lives");
        std::thread::sleep(Duration::from_millis(10));
    }
    let left = machine.folders();
    assert_eq!(left.len(), 1);
    // One that is in use, and has been for long.
    let mut other = machine.command(&["sh", "-c", "echo; read line"]);
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    common::read_line(other.stdout.as_mut().expect("piped"));
    let hour = std::time::SystemTime::now() - Duration::from_secs(3600);
    for folder in machine.folders() {
        std::fs::File::open(folder).and_then(|folder| folder.set_modified(hour)).expect("it is ours");
    }
    assert_eq!(machine.run(&["true"]).status, Some(0));
    let still = machine.folders();
    assert!(still.len() == 1 && still != left, "{left:?} {still:?}");
    drop(other.stdin.take());
    other.wait().expect("it ends");
    machine.is_empty();
}

#[test]
fn the_library_may_be_said() {
    let machine = Machine::new();
    let program = machine.program("asks.c", common::ASKS, &["-ldl"]);
    let copy = machine.path("copy-of-program");
    std::fs::copy(PROGRAM, &copy).expect("it can be copied");
    let run = |library: Option<&std::path::Path>| {
        let mut command = machine.command_of(&copy, &["--cuda=12.8", &program]);
        command.env_remove("LD_LIBRARY_PATH");
        if let Some(library) = library {
            command.env("CUSHIM_SOFTCUDA", library);
        }
        common::output(command)
    };
    let core = softcuda::library_path().expect("it is built");
    let shell = softcuda::shell_path("13.0").expect("it is built");
    for library in [&core, &shell] {
        assert!(run(Some(library)).out.starts_with("version 12080\n"), "{:?}", run(Some(library)));
    }
    for (library, says) in [
        (None, "libsoftcuda.so is neither beside this program"),
        (
            Some("/no/such/libsoftcuda.so"),
            "CUSHIM_SOFTCUDA is /no/such/libsoftcuda.so, which cannot be opened",
        ),
        (Some(program.as_str()), "and there is no libsoftcuda.so beside it"),
    ] {
        let output = run(library.map(std::path::Path::new));
        assert!(output.status == Some(69) && output.err.contains(says), "{output:?}");
    }
    // Within itself, and another version.
    let output = machine.run(&["--cuda=11.4", PROGRAM, "--cuda=12.8", &program]);
    assert!(output.out.starts_with("version 12080\n"), "{output:?}");
    machine.is_empty();
}
