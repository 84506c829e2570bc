//! What holds for every script: it explains itself, refuses what it does not know, and names what it lacks.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let entries = std::fs::read_dir(folder).expect("the folder is readable");
    let paths = entries.map(|entry| entry.expect("the folder is readable").path());
    // What others source is no script by itself.
    let is_script = |path: &PathBuf| name(path).ends_with(".sh") && !name(path).ends_with(".inc.sh");
    let scripts: Vec<PathBuf> = paths.filter(is_script).collect();
    assert!(scripts.len() >= 8, "{scripts:?}");
    scripts
}

fn name(script: &Path) -> &str {
    script.file_name().and_then(OsStr::to_str).expect("names of scripts are text")
}

/// What the script needs on its command line before it does anything.
fn arguments(script: &Path, folder: &Path) -> Option<PathBuf> {
    let takes_a_folder = [
        "fetch-drivers.sh",
        "fetch-headers.sh",
        "fetch-nvjitlink.sh",
        "fetch-nvrtc.sh",
        "gpu-pack.sh",
        "install.sh",
        "release.sh",
        "wheel.sh",
    ];
    takes_a_folder.contains(&name(script)).then(|| folder.join("made"))
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn run(script: &Path, argument: &str) -> Output {
    Command::new(script).arg(argument).output().expect("the script starts")
}

#[test]
fn each_explains_itself() {
    for script in scripts() {
        let Output { status, stdout, .. } = run(&script, "--help");
        let help = said(&stdout);
        assert_eq!(status.code(), Some(0), "{}", name(&script));
        assert!(help.starts_with(&format!("usage: scripts/{}", name(&script))), "{help}");
        assert!(help.contains("Exit status: 0 ") && help.contains("2 wrong usage"), "{help}");
    }
}

#[test]
fn each_refuses_what_it_does_not_know() {
    for script in scripts() {
        let Output { status, stdout, stderr } = run(&script, "--no-such-option");
        assert_eq!(status.code(), Some(2), "{}", name(&script));
        let complaint = said(&stderr);
        assert!(complaint.contains("usage: ") || complaint.contains("--help"), "{complaint}");
        assert!(stdout.is_empty(), "{} writes to the wrong stream", name(&script));
    }
}

/// On a machine with a shell, and what comes with every system, alone.
#[test]
fn each_names_what_it_lacks() {
    let machine = tempfile::tempdir().expect("a folder can be made");
    let bin = machine.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder can be made");
    for tool in ["bash", "cat", "date", "dirname", "env", "mkdir", "nproc", "rm", "uname"] {
        let places = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        let place = places.iter().find(|place| place.exists()).expect("every system has it");
        symlink(place, bin.join(tool)).expect("a link can be made");
    }
    for script in scripts() {
        let mut command = Command::new(&script);
        command.args(arguments(&script, machine.path())).env("PATH", &bin);
        let Output { status, stderr, .. } = command.output().expect("the script starts");
        let complaint = said(&stderr);
        assert_eq!(status.code(), Some(69), "{}: {complaint}", name(&script));
        assert!(complaint.contains("needs "), "{}: {complaint}", name(&script));
    }
}

/// A language whose tools are missing is skipped, by name, and fails where all are required.
#[test]
fn a_language_that_is_missing() {
    let machine = tempfile::tempdir().expect("a folder can be made");
    let bin = machine.path().join("bin");
    let pkgconfig = machine.path().join("prefix/lib/pkgconfig");
    std::fs::create_dir_all(&bin).expect("a folder can be made");
    std::fs::create_dir_all(&pkgconfig).expect("a folder can be made");
    std::fs::write(pkgconfig.join("cushim.pc"), "").expect("the folder can be written");
    for tool in ["bash", "cat", "cut", "dirname", "env", "find", "mkdir", "mktemp", "paste", "rm"] {
        let places = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        let place = places.iter().find(|place| place.exists()).expect("every system has it");
        symlink(place, bin.join(tool)).expect("a link can be made");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/languages.sh");
    for (required, status) in [("", 0), ("all", 69)] {
        let mut command = Command::new(&script);
        command.args(["lua", "ruby", "--installed"]).arg(machine.path().join("prefix")).env("PATH", &bin);
        let output = command.env("CUSHIM_REQUIRE", required).output().expect("the script starts");
        let complaint = said(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{complaint}");
        for line in ["lua: skipped: needs luajit;", "ruby: skipped: needs ruby;"] {
            assert!(complaint.contains(line), "{complaint}");
        }
    }
}

/// The GPU pack as one file: it lists, runs what is asked for, says what failed, and leaves one archive with what was printed.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_pack_in_one_file() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let shell = |line: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", line]).current_dir(folder.path());
        command.env("SCRIPTS", Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"));
        let Output { status, stdout, stderr } = command.output().expect("bash is there");
        (status.code(), said(&stdout), said(&stderr))
    };
    let made = shell(
        "set -e; mkdir -p pack bin lib; cp $SCRIPTS/gpu-pack/run pack; echo abc > pack/commit
        printf '#!/bin/sh\\necho good on $CUSHIM_DRIVER\\n' > bin/c-good; printf '#!/bin/sh\\nexit 3\\n' > bin/c-bad
        chmod +x bin/*; ls bin > pack/programs; tar -cJf pack/bin.tar.xz bin lib
        $SCRIPTS/gpu-pack.sh --one-file verify pack",
    );
    assert_eq!(made.0, Some(0), "{made:?}");
    assert_eq!(shell("./verify --list"), (Some(0), "commit abc\nc-bad\nc-good\n".to_owned(), String::new()));
    assert_eq!(shell("./verify --unknown").0, Some(2));
    let good = shell("./verify good.tar.gz --only c-good");
    assert!(good.0 == Some(0) && good.1.contains("c-good") && !good.1.contains("c-bad"), "{good:?}");
    let both = shell("./verify both.tar.gz --only 'c-*' --driver software");
    assert!(both.0 == Some(1) && both.1.contains("FAIL 3") && both.1.contains("1 failed"), "{both:?}");
    let files =
        shell("tar -xzf both.tar.gz --strip-components=1 && cat table.txt results/c-bad.txt machine.txt").1;
    assert!(files.starts_with(&both.1) && files.contains("Linux"), "{files}");
    assert!(shell("ls").1.lines().all(|name| !name.starts_with("cushim-verify")), "something is left behind");
}
