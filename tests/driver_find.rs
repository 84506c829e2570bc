//! Finding and opening the driver: places, their order, refusals, and the environment.
#![cfg(target_os = "linux")]

mod fakes;

use cushim::driver::{Choice, Driver, Kind, LoadReport, OpenError, OpenOptions, Origin, Outcome, Version};
use fakes::{Child, Fake, given};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn open(path: &Path) -> Driver {
    OpenOptions::new().path(path).open().unwrap_or_else(|error| panic!("{error}"))
}

/// Opens a path that must be refused, and gives the refusal of the one candidate. That there is but one is the proof that
/// nothing else was tried.
fn refusal(path: &Path) -> String {
    let error = OpenOptions::new().path(path).open().expect_err("it is not a usable driver");
    assert!(matches!(error, OpenError::Unusable(_)), "{error:?}");
    let report = error.report().expect("the search began");
    assert_eq!((report.kind, report.version, &report.path), (None, None, &None));
    let [candidate] = &report.candidates[..] else { panic!("{:?}", report.candidates) };
    assert_eq!((candidate.name.as_path(), candidate.origin), (path, Origin::Options));
    let reason = candidate.error.clone().expect("a reason");
    let outcome = if path.symlink_metadata().is_ok() { Outcome::Refused } else { Outcome::Absent };
    assert_eq!(candidate.outcome, outcome, "{reason}");
    assert!(error.to_string().contains(&candidate.to_string()), "{error}");
    reason
}

/// The reason must be plain, and end in words of the loader's own.
fn assert_reason(reason: &str, plain: &str) {
    let (ours, loaders) =
        reason.split_once("; the loader says: ").unwrap_or_else(|| panic!("no loader in: {reason}"));
    assert!(ours.contains(plain), "{plain:?} is not in: {reason}");
    assert!(!loaders.trim().is_empty(), "{reason}");
}

#[test]
fn the_same_library_is_the_same_driver() {
    let folder = fakes::folder();
    let path = Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    let link = folder.path().join("link.so");
    symlink(&path, &link).expect("a link");
    let first = open(&path);
    let second = open(&link);
    assert_eq!(first, second);
    assert!(std::ptr::eq(first.table(), second.table()));
    assert_eq!(second.path(), Some(path.canonicalize().expect("it exists").as_path()));
    assert_eq!(second.report().candidates[0].name, link);
    let other = open(&Fake::new(12080).build(folder.path().join("other.so")));
    assert_ne!(first, other);
}

#[test]
fn threads_that_open_at_once_get_one_driver() {
    let folder = fakes::folder();
    let path = Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    let drivers: Vec<Driver> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| open(&path))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    assert!(drivers.iter().all(|driver| *driver == drivers[0]));
}

#[test]
fn the_report_of_a_success() {
    let folder = fakes::folder();
    let path = Fake::new(12080).build(folder.path().join("libcuda.so.570.1"));
    let driver = open(&path);
    let LoadReport { choice, chosen_by, candidates, path: real, kind, version, getter, .. } = driver.report();
    let asked = path.clone();
    let path = path.canonicalize().expect("it exists");
    assert_eq!(
        (real.as_ref(), *kind, *version),
        (Some(&path), Some(Kind::Native), Some(Version::from_number(12080)))
    );
    assert_eq!(*getter, Some(driver.getter()));
    assert_eq!((choice.as_ref(), *chosen_by), (Some(&Choice::Path(asked)), Some(Origin::Options)));
    assert_eq!(candidates.len(), 1);
    assert_eq!(candidates[0].outcome, Outcome::Opened);
    assert_eq!((candidates[0].error.as_deref(), candidates[0].kind), (None, Some(Kind::Native)));
    assert_eq!(candidates[0].path.as_ref(), Some(&path));
}

#[test]
fn a_file_that_is_not_there() {
    assert!(refusal(Path::new("/nonexistent/libcuda.so.1")).contains("/nonexistent/libcuda.so.1: "));
    let folder = fakes::folder();
    let link = folder.path().join("libcuda.so");
    symlink("/nonexistent/libcuda.so.1", &link).expect("a link");
    assert_reason(&refusal(&link), "a symbolic link to a file that does not exist");
}

#[test]
fn a_text_file() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so");
    fs::write(&path, "INPUT(libcuda.so.1)\n").expect("written");
    assert_reason(&refusal(&path), "a text file");
    fs::write(&path, [0x80; 100]).expect("written");
    assert_reason(&refusal(&path), "another format");
    fs::write(&path, "").expect("written");
    assert_reason(&refusal(&path), "empty");
    fs::write(&path, b"\x7fELF\x02").expect("written");
    assert_reason(&refusal(&path), "cut off");
}

#[test]
fn a_directory() {
    let folder = fakes::folder();
    assert_reason(&refusal(folder.path()), "a directory");
}

#[test]
fn a_pipe_is_not_waited_for() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    assert!(refusal(&path).contains("a pipe"));
}

/// The loader takes a library that is in the process by its path, whatever stands there now; so no file is looked at, either.
#[test]
#[cfg(target_os = "linux")]
fn a_library_in_the_process_needs_no_file() {
    let folder = fakes::folder();
    let path = Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    // SAFETY: the library's initialisers do nothing.
    std::mem::forget(unsafe { libloading::Library::new(&path) }.expect("it loads"));
    fs::remove_file(&path).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    let opened = path.clone();
    assert_eq!(in_time(move || open(&opened)).path(), Some(path.as_path()));
}

/// The loader maps segments past the end of such a file, and whoever touches them is ended by a signal.
#[test]
fn a_library_that_is_cut_off() {
    let folder = fakes::folder();
    let path = Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    let size = fs::metadata(&path).expect("it was built").len();
    for left in [size / 4, size / 2] {
        shorten(&path, left);
        let words = refusal(&path);
        assert!(words.contains("it is cut off") && words.contains(&format!("has {left};")), "{words}");
    }
}

fn shorten(path: &Path, left: u64) {
    fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(left)).expect("cut off");
}

/// A driver of which half is there.
fn cut_off(path: &Path) {
    Fake::new(12080).build(path);
    shorten(path, fs::metadata(path).expect("it was built").len() / 2);
}

/// A copy of a driver with other bytes in its header.
fn patched(folder: &Path, at: usize, bytes: &[u8]) -> PathBuf {
    let path = Fake::new(12080).build(folder.join("libcuda.so"));
    let mut file = fs::read(&path).expect("readable");
    file[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(&path, file).expect("writable");
    path
}

#[test]
fn a_library_of_another_machine() {
    let folder = fakes::folder();
    let (machine, name) = if cfg!(target_arch = "aarch64") { (62_u16, "x86_64") } else { (183, "aarch64") };
    let reason = refusal(&patched(folder.path(), 18, &machine.to_le_bytes()));
    assert_reason(
        &reason,
        &format!("64-bit library for {name}, and this process is 64-bit {}", std::env::consts::ARCH),
    );
    let reason = refusal(&patched(folder.path(), 4, &[1]));
    assert_reason(&reason, "32-bit library");
    let reason = refusal(&patched(folder.path(), 16, &[1, 0]));
    assert_reason(&reason, "an object file");
}

#[test]
fn no_permission() {
    let name = "no_permission";
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so.1");
    if !fakes::is_child() {
        Fake::new(12080).build(&path);
        fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("its permissions are ours");
    }
    Child::new(name).env("LIBRARY", &path).run(|| {
        // SAFETY: both only set the identity of this process, which has no other thread that minds. The superuser may
        // read every file, so the child becomes somebody else.
        let changed = unsafe { libc::geteuid() != 0 || libc::seteuid(65534) == 0 };
        assert!(changed, "the superuser could not become another user: {}", std::io::Error::last_os_error());
        assert_reason(&refusal(&given("LIBRARY")), "may not read it");
    });
}

#[test]
fn a_library_that_is_no_driver() {
    let folder = fakes::folder();
    let path = fakes::other_library(folder.path().join("libother.so"));
    assert!(refusal(&path).contains("exports no cuDriverGetVersion"));
    // It was not kept.
    // SAFETY: the library has no initialisers.
    assert!(unsafe { Library::open(Some(&path), RTLD_NOW | libc::RTLD_NOLOAD) }.is_err());
}

#[test]
fn a_driver_that_cannot_tell_its_version() {
    let folder = fakes::folder();
    let path = Fake::new(12080).define("VERSION_RESULT", 999).build(folder.path().join("a.so"));
    assert!(refusal(&path).contains("its cuDriverGetVersion answers CUDA_ERROR_UNKNOWN (999)"));
    let path = Fake::new(12080).define("VERSION_RESULT", 12345).build(folder.path().join("c.so"));
    assert!(refusal(&path).contains("an unknown error (12345)"));
    let path = Fake::new(0).build(folder.path().join("b.so"));
    assert!(refusal(&path).contains("answers 0, which is no version"));
}

fn stub(path: &Path) -> PathBuf {
    Fake::new(12080).define("VERSION_RESULT", 34).soname("libcuda.so.1").build(path)
}

#[test]
fn a_stub_that_was_asked_for() {
    let folder = fakes::folder();
    let path = stub(&folder.path().join("libcuda.so"));
    let error = OpenOptions::new().path(&path).open().expect_err("a stub is no driver");
    let OpenError::Stub(report) = &error else { panic!("{error:?}") };
    let [candidate] = &report.candidates[..] else { panic!("{:?}", report.candidates) };
    assert_eq!(candidate.kind, Some(Kind::Stub));
    assert_eq!(candidate.path, Some(path.canonicalize().expect("it exists")));
    let text = error.to_string();
    assert!(text.contains("Name the driver's library in the options instead"), "{text}");
    assert!(text.contains("stub") && !text.contains("LD_LIBRARY_PATH"), "nobody searched there: {text}");
    // Nobody who asks for libcuda.so.1 later is to get the stub because of us.
    // SAFETY: the library has no initialisers.
    assert!(unsafe { Library::open(Some("libcuda.so.1"), RTLD_NOW | libc::RTLD_NOLOAD) }.is_err());
}

#[test]
fn an_old_stub_that_says_nothing() {
    let folder = fakes::folder();
    let stubs = folder.path().join("stubs");
    fs::create_dir(&stubs).expect("a folder");
    let error =
        OpenOptions::new().path(Fake::new(0).build(stubs.join("libcuda.so"))).open().expect_err("a stub");
    assert!(matches!(error, OpenError::Stub(_)), "{error:?}");
}

#[test]
fn a_path_with_nothing_in_it() {
    for path in ["", "lib\0cuda.so"] {
        let error = OpenOptions::new().path(path).open().expect_err("no file has such a name");
        assert!(matches!(error, OpenError::InvalidOption(_)) && error.report().is_none(), "{error:?}");
    }
}

#[test]
fn auto_prefers_the_numbered_name() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        Fake::new(12080).build(folder.path().join("libcuda.so.1"));
        Fake::new(12020).build(folder.path().join("libcuda.so"));
    }
    Child::new("auto_prefers_the_numbered_name").env("LD_LIBRARY_PATH", folder.path()).run(|| {
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.path(), Some(given("LD_LIBRARY_PATH").join("libcuda.so.1").as_path()));
        let tried: Vec<_> = driver.report().candidates.iter().map(|c| (c.name.to_str(), c.origin)).collect();
        assert!(
            driver.report().candidates[0].to_string().contains("no such library is loaded in this process")
        );
        assert_eq!(
            tried,
            [
                (Some("libcuda.so.1"), Origin::Loaded),
                (Some("libcuda.so"), Origin::Loaded),
                (Some("libcuda.so.1"), Origin::Loader)
            ]
        );
    });
}

#[test]
fn auto_goes_on_after_a_stub() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        stub(&folder.path().join("libcuda.so.1"));
        Fake::new(12020).build(folder.path().join("libcuda.so"));
    }
    Child::new("auto_goes_on_after_a_stub").env("LD_LIBRARY_PATH", folder.path()).run(|| {
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        let folder = given("LD_LIBRARY_PATH");
        assert_eq!(driver.path(), Some(folder.join("libcuda.so").as_path()));
        let stub = &driver.report().candidates[2];
        assert_eq!((stub.origin, stub.kind), (Origin::Loader, Some(Kind::Stub)));
        assert_eq!(stub.path, Some(folder.join("libcuda.so.1")));
        assert!(stub.error.as_ref().is_some_and(|reason| reason.contains("stub")));
        // The stub did not stay: the next search finds no copy of that name in the process, but the driver.
        let again = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, driver);
        let tried: Vec<_> = again.report().candidates.iter().map(|c| (c.origin, c.kind)).collect();
        assert_eq!(tried, [(Origin::Loaded, None), (Origin::Loaded, Some(Kind::Native))]);
    });
}

#[test]
fn auto_goes_on_after_a_text_file() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        fs::write(folder.path().join("libcuda.so.1"), "INPUT(libcuda.so.2)\n").expect("written");
        Fake::new(12020).build(folder.path().join("libcuda.so"));
    }
    Child::new("auto_goes_on_after_a_text_file").env("LD_LIBRARY_PATH", folder.path()).run(|| {
        let driver = OpenOptions::new().choice(Choice::Auto).open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.path(), Some(given("LD_LIBRARY_PATH").join("libcuda.so").as_path()));
        let broken = &driver.report().candidates[2];
        assert_eq!(broken.outcome, Outcome::Refused);
        let words = broken.error.clone().expect("a text file is no library");
        assert!(words.contains("libcuda.so.1"), "{words}");
    });
}

#[test]
fn auto_says_when_there_is_only_a_stub() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        stub(&folder.path().join("libcuda.so.1"));
    }
    Child::new("auto_says_when_there_is_only_a_stub").env("LD_LIBRARY_PATH", folder.path()).run(|| {
        let opened = Driver::open();
        let report = match &opened {
            Ok(driver) => driver.report(), // this machine has a driver elsewhere
            Err(OpenError::Stub(report)) => {
                let text = opened.as_ref().expect_err("a stub").to_string();
                assert!(text.contains("Take its folder out of LD_LIBRARY_PATH"), "{text}");
                report
            }
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(report.candidates[2].kind, Some(Kind::Stub));
        assert!(report.candidates.len() > 3, "the search went on");
    });
}

/// What `auto` says where a libcuda that cannot be used is the only one, or goes before the machine's own.
fn assert_refused(words: &str) {
    let opened = Driver::open();
    let report = match &opened {
        Ok(driver) => driver.report(), // this machine has a driver elsewhere
        Err(error @ OpenError::Refused(report)) => {
            let text = error.to_string();
            assert!(text.contains("(libcuda.so.1) was found and cannot be used. Repair"), "{text}");
            for candidate in &report.candidates {
                assert!(text.contains(&format!("\n  {candidate}")), "{text}");
            }
            assert_eq!(cushim::Error::from(error.clone()).status, cushim::Status::DRIVER_UNUSABLE);
            report
        }
        Err(error) => panic!("{error:?}"),
    };
    let refused = report.candidates.iter().find(|candidate| candidate.outcome == Outcome::Refused);
    let refused = refused.expect("the file is there");
    assert_eq!((refused.name.to_str(), refused.origin), (Some("libcuda.so.1"), Origin::Loader));
    assert!(refused.error.as_ref().is_some_and(|error| error.contains(words)), "{refused}");
    assert!(report.candidates[..2].iter().all(|candidate| candidate.outcome == Outcome::Absent));
}

#[test]
fn auto_says_that_there_is_a_broken_driver() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        fs::write(folder.path().join("libcuda.so.1"), "not a library").expect("written");
    }
    let child = Child::new("auto_says_that_there_is_a_broken_driver");
    child.env("LD_LIBRARY_PATH", folder.path()).run(|| assert_refused("libcuda.so.1: file too short"));
}

/// The loader maps such a file as if it were whole, and the process ends by a signal.
#[test]
fn auto_does_not_load_a_driver_that_is_cut_off() {
    let (folder, empty) = (fakes::folder(), fakes::folder());
    if !fakes::is_child() {
        cut_off(&folder.path().join("libcuda.so.1"));
    }
    let path = format!("{}:{};/nonexistent", empty.path().display(), folder.path().display());
    let child = Child::new("auto_does_not_load_a_driver_that_is_cut_off");
    child.env("LD_LIBRARY_PATH", path).run(|| {
        let name = given("LD_LIBRARY_PATH");
        let folder = name.to_str().and_then(|path| path.split([':', ';']).nth(1)).expect("the second");
        assert_refused(&format!("{folder}/libcuda.so.1: it is cut off: it needs "));
    });
}

/// The loader opens a pipe, for which it waits, even if it is only asked for what is loaded.
#[test]
fn auto_does_not_wait_for_a_pipe() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so.1");
    if !fakes::is_child() {
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
    }
    let child = Child::new("auto_does_not_wait_for_a_pipe");
    child
        .env("LD_LIBRARY_PATH", folder.path())
        .run(|| in_time(|| assert_refused("libcuda.so.1: it is a pipe")));
}

/// What the loader does not take keeps nothing from being found.
#[test]
fn auto_goes_past_what_the_loader_passes_over() {
    let (other, good, bad) = (fakes::folder(), fakes::folder(), fakes::folder());
    if !fakes::is_child() {
        let machine = if cfg!(target_arch = "aarch64") { 62_u16 } else { 183 };
        let path = patched(other.path(), 18, &machine.to_le_bytes());
        fs::rename(path, other.path().join("libcuda.so.1")).expect("renamed");
        shorten(&other.path().join("libcuda.so.1"), 4096);
        Fake::new(12080).build(good.path().join("libcuda.so.1"));
        cut_off(&bad.path().join("libcuda.so.1"));
    }
    let path = [other.path(), good.path(), bad.path()].map(|path| path.display().to_string()).join(":");
    let child = Child::new("auto_goes_past_what_the_loader_passes_over").env("GOOD", good.path());
    child.env("LD_LIBRARY_PATH", path).run(|| {
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.path(), Some(given("GOOD").join("libcuda.so.1").as_path()));
    });
}

/// Whatever is wrong with the library that the loader comes to first: it stops there, and the search goes on to those behind it.
#[test]
fn auto_goes_on_to_the_next_folder() {
    type Make = fn(&Path);
    let kinds: [(&str, Make); 15] = [
        ("empty", |path| fs::write(path, "").expect("written")),
        ("a link to itself", |path| symlink(path, path).expect("a link")),
        ("a folder", |path| fs::create_dir(path).expect("made")),
        ("a linker script", |path| fs::write(path, "INPUT(libcuda.so.2)\n").expect("written")),
        ("zeros", |path| fs::write(path, [0; 8192]).expect("written")),
        ("cut off", cut_off),
        ("cut off in its header", |path| shorten_to(path, 40)),
        ("nothing but its header", |path| shorten_to(path, 64)),
        ("without its last byte of code", |path| shorten_to(path, 4097)),
        ("a pipe", |path| assert!(std::process::Command::new("mkfifo").arg(path).status().is_ok())),
        ("another byte order", |path| drop(fs::rename(patched(folder_of(path), 5, &[2]), path))),
        ("no driver", |path| drop(fakes::other_library(path))),
        ("no functions but the version", |path| {
            Fake::new(13000).getter(0).exports(|_| false).build(path);
        }),
        ("an unresolved symbol", |path| drop(fakes::unresolved_library(path))),
        ("a stub", |path| drop(stub(path))),
    ];
    for (kind, make) in kinds {
        let (bad, good) = (fakes::folder(), fakes::folder());
        if !fakes::is_child() {
            make(&bad.path().join("libcuda.so.1"));
            Fake::new(12080).build(good.path().join("libcuda.so.1"));
        }
        let path = format!("{}:{}", bad.path().display(), good.path().display());
        let child = Child::new("auto_goes_on_to_the_next_folder").env("LD_LIBRARY_PATH", path);
        child.env("KIND", kind).env("BAD", bad.path()).env("GOOD", good.path()).run(|| {
            let driver = in_time(Driver::open).unwrap_or_else(|error| panic!("{:?}: {error}", given("KIND")));
            assert_eq!(
                driver.path(),
                Some(given("GOOD").join("libcuda.so.1").as_path()),
                "{:?}",
                given("KIND")
            );
            let tried = &driver.report().candidates;
            let bad = given("BAD").join("libcuda.so.1");
            let bad = tried.iter().find(|tried| tried.name == bad).expect("the report names the file");
            assert_eq!((bad.outcome, bad.origin), (Outcome::Refused, Origin::Loader), "{bad}");
            assert!(bad.error.as_ref().is_some_and(|error| error.len() > 10), "{bad}");
        });
        if fakes::is_child() {
            return;
        }
    }
}

fn shorten_to(path: &Path, bytes: u64) {
    Fake::new(12080).build(path);
    shorten(path, bytes);
}

fn folder_of(path: &Path) -> &Path {
    path.parent().expect("it is in a folder")
}

/// A copy that is in the process is joined, whatever lies where the loader would look otherwise.
#[test]
fn auto_joins_a_copy_in_the_process_beside_a_pipe() {
    let (elsewhere, on_path) = (fakes::folder(), fakes::folder());
    let loaded = elsewhere.path().join("libcuda.so.555.1");
    if !fakes::is_child() {
        Fake::new(12050).soname("libcuda.so.1").build(&loaded);
        let pipe = on_path.path().join("libcuda.so.1");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().expect("mkfifo runs").success());
    }
    let child = Child::new("auto_joins_a_copy_in_the_process_beside_a_pipe").env("LOADED", &loaded);
    child.env("LD_LIBRARY_PATH", on_path.path()).run(|| {
        // SAFETY: the library has no initialisers.
        let _held = unsafe { Library::open(Some(given("LOADED")), RTLD_NOW | RTLD_LOCAL) }.expect("it loads");
        let driver = in_time(Driver::open).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.path(), Some(given("LOADED").as_path()));
        assert_eq!(driver.report().candidates[0].origin, Origin::Loaded);
    });
}

/// The loader's words are those for a file that is not there, but it is another file that is missing.
#[test]
fn a_driver_that_lacks_a_library_is_there() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so.1");
    if !fakes::is_child() {
        let needed = fakes::other_library(folder.path().join("libother.so"));
        Fake::new(12080).needs(&needed).build(&path);
        fs::remove_file(needed).expect("it was there");
    }
    let child = Child::new("a_driver_that_lacks_a_library_is_there").env("LIBRARY", &path);
    child.env("LD_LIBRARY_PATH", folder.path()).run(|| {
        assert_refused("libother.so");
        assert!(refusal(&given("LIBRARY")).contains("libother.so"));
    });
}

#[test]
fn stubs_are_not_to_blame_where_there_is_more() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        fs::write(folder.path().join("libcuda.so.1"), "not a library").expect("written");
        stub(&folder.path().join("libcuda.so"));
    }
    let child = Child::new("stubs_are_not_to_blame_where_there_is_more");
    child.env("LD_LIBRARY_PATH", folder.path()).run(|| assert_refused("libcuda.so.1"));
}

#[test]
fn a_path_below_a_file_is_absent() {
    let folder = fakes::folder();
    fs::write(folder.path().join("file"), "").expect("written");
    refusal(&folder.path().join("file/libcuda.so.1"));
}

/// Runs `hook` whenever the library at `path`, one of the fakes, is asked for its version.
fn hook(path: &Path, hook: extern "C" fn()) {
    // SAFETY: the fake has no initialisers, and exports a variable of this type that only its own code reads.
    unsafe {
        let library = Library::new(path).expect("the fake loads");
        let place = library.get::<*mut extern "C" fn()>("fake_version_hook").expect("the fake has it");
        place.as_raw_ptr().cast::<extern "C" fn()>().write(hook);
        std::mem::forget(library);
    }
}

/// Does what may never return, for as long as a busy machine may take.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(std::time::Duration::from_secs(120)).expect("it hangs")
}

static OUTER: OnceLock<PathBuf> = OnceLock::new();
static INNER: OnceLock<PathBuf> = OnceLock::new();

extern "C" fn open_the_inner_one() {
    open(INNER.get().expect("the test has set it"));
}

extern "C" fn open_the_outer_one() {
    let reason = refusal(OUTER.get().expect("the test has set it"));
    assert!(reason.contains("it is this library that looks for a driver"), "{reason}");
}

/// A library that stands in for the driver may look for the real one when it is first called.
#[test]
fn a_driver_may_open_a_driver_while_it_is_opened() {
    let folder = fakes::folder();
    let outer = OUTER.get_or_init(|| Fake::new(12080).build(folder.path().join("outer.so")));
    let inner = INNER.get_or_init(|| Fake::new(12020).build(folder.path().join("inner.so")));
    hook(outer, open_the_inner_one);
    // The inner one finds out that the way back is closed.
    hook(inner, open_the_outer_one);
    let driver = in_time(|| open(OUTER.get().expect("set above")));
    assert_eq!(driver.version(), Some(Version::from_number(12080)));
    assert_eq!(open(inner).version(), Some(Version::from_number(12020)));
    assert_eq!(open(outer), driver);
}

#[test]
fn auto_joins_a_copy_in_the_process() {
    let (elsewhere, on_path) = (fakes::folder(), fakes::folder());
    let loaded = elsewhere.path().join("libcuda.so.555.1");
    if !fakes::is_child() {
        Fake::new(12050).soname("libcuda.so.1").build(&loaded);
        Fake::new(12080).build(on_path.path().join("libcuda.so"));
    }
    let child = Child::new("auto_joins_a_copy_in_the_process").env("LOADED", &loaded);
    child.env("LD_LIBRARY_PATH", on_path.path()).run(|| {
        let loaded = given("LOADED");
        // SAFETY: the library has no initialisers.
        let library = unsafe { Library::open(Some(&loaded), RTLD_NOW | RTLD_LOCAL) }.expect("the fake loads");
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.path(), Some(loaded.as_path()));
        assert_eq!(driver.report().candidates.len(), 1);
        assert_eq!(driver.report().candidates[0].origin, Origin::Loaded);
        // Whoever loaded it may let go: the driver stays.
        library.close().expect("one reference is given back");
        // SAFETY: as above.
        unsafe { Library::open(Some(&loaded), RTLD_NOW | libc::RTLD_NOLOAD) }.expect("still loaded");
    });
}

/// What `auto` gives on the machine at hand: its driver, or the error of a machine without one.
fn machine() -> Result<Driver, Box<LoadReport>> {
    match Driver::open() {
        Ok(driver) => Ok(driver),
        Err(OpenError::NotFound(report) | OpenError::Stub(report) | OpenError::Refused(report)) => {
            Err(report)
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn auto_never_falls_back_to_software() {
    let folder = fakes::folder();
    let software = folder.path().join("libsoftcuda.so");
    if !fakes::is_child() {
        Fake::new(12080).define("SOFTWARE", 1).build(&software);
    }
    let child = Child::new("auto_never_falls_back_to_software").env("LD_LIBRARY_PATH", folder.path());
    child.env("CUSHIM_SOFTCUDA", &software).run(|| {
        let report = match machine() {
            Ok(driver) => {
                assert_ne!(driver.kind(), Kind::Software);
                driver.report().clone()
            }
            Err(report) => {
                let text = OpenError::NotFound(report.clone()).to_string();
                for candidate in &report.candidates {
                    assert!(candidate.error.is_some(), "{candidate:?}");
                    assert!(text.contains(&format!("\n  {candidate}")), "{text}");
                }
                assert!(
                    text.contains("Install the NVIDIA driver") && text.contains("CUSHIM_DRIVER"),
                    "{text}"
                );
                let names: Vec<_> = report.candidates.iter().map(|c| c.name.to_string_lossy()).collect();
                assert!(names.iter().any(|name| name.as_ref() == "libcuda.so.1"), "{names:?}");
                assert!(
                    names.iter().any(|name| name.as_ref() == "/run/opengl-driver/lib/libcuda.so.1"),
                    "{names:?}"
                );
                *report
            }
        };
        assert!(
            report.candidates.iter().all(|c| !c.name.to_string_lossy().contains("softcuda")),
            "{report:?}"
        );
    });
}

#[test]
fn the_environment_chooses() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so.1");
    if !fakes::is_child() {
        Fake::new(12080).build(&path);
    }
    Child::new("the_environment_chooses").env("CUSHIM_DRIVER", &path).run(|| {
        let path = given("CUSHIM_DRIVER");
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.path(), Some(path.as_path()));
        let report = driver.report();
        assert_eq!(report.candidates[0].origin, Origin::Environment("CUSHIM_DRIVER"));
        assert!(report.environment_read && !report.privileged);
        assert_eq!(report.variables.len(), 1);
        assert_eq!(
            (report.variables[0].name, &report.variables[0].value),
            ("CUSHIM_DRIVER", &path.into_os_string())
        );
        // What the caller says goes before it.
        assert_eq!(
            OpenOptions::new().choice(Choice::None).open().expect("nothing can fail").kind(),
            Kind::None
        );
    });
}

#[test]
fn a_choice_of_the_environment_that_fails_is_the_error() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    }
    let child = Child::new("a_choice_of_the_environment_that_fails_is_the_error");
    child.env("LD_LIBRARY_PATH", folder.path()).env("CUSHIM_DRIVER", "sotfware").run(|| {
        let error = Driver::open().expect_err("there is no such library");
        let OpenError::Unusable(report) = &error else { panic!("{error:?}") };
        assert_eq!(report.candidates.len(), 1);
        let text = error.to_string();
        assert_eq!(report.candidates[0].outcome, Outcome::Absent);
        assert_eq!(report.chosen_by, Some(Origin::Environment("CUSHIM_DRIVER")));
        for part in ["sotfware", "Set CUSHIM_DRIVER to", "unset it", "\"software\"", "no other was tried"] {
            assert!(text.contains(part), "{part:?} is not in: {text}");
        }
    });
}

/// The advice is not to be one that nobody would hear: the option goes before the variable.
#[test]
fn whoever_asks_by_option_is_answered_by_option() {
    let child = Child::new("whoever_asks_by_option_is_answered_by_option");
    child.env("CUSHIM_DRIVER", "software").run(|| {
        if let Err(error @ OpenError::NotFound(_)) = OpenOptions::new().choice(Choice::Auto).open() {
            let text = error.to_string();
            assert!(text.contains("in the options") && !text.contains("CUSHIM_DRIVER"), "{text}");
        }
        let named = OpenOptions::new().path("/nonexistent/libcuda.so").open().expect_err("no such file");
        let text = named.to_string();
        assert!(text.contains("in the options") && !text.contains("CUSHIM_DRIVER"), "{text}");
    });
}

#[test]
fn a_stub_in_the_variable() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so");
    if !fakes::is_child() {
        stub(&path);
    }
    Child::new("a_stub_in_the_variable").env("CUSHIM_DRIVER", &path).run(|| {
        let error = Driver::open().expect_err("a stub is no driver");
        assert!(matches!(error, OpenError::Stub(_)), "{error:?}");
        assert!(error.to_string().contains("Name the driver's library in CUSHIM_DRIVER instead"), "{error}");
    });
}

#[test]
fn the_environment_says_none() {
    Child::new("the_environment_says_none").env("CUSHIM_DRIVER", "none").run(|| {
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((driver.kind(), driver.version()), (Kind::None, None));
        assert!(driver.report().candidates.is_empty());
    });
}

#[test]
fn the_environment_says_auto() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    }
    let child = Child::new("the_environment_says_auto").env("LD_LIBRARY_PATH", folder.path());
    child.env("CUSHIM_DRIVER", "auto").run(|| {
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(driver.report().candidates.last().map(|c| c.origin), Some(Origin::Loader));
    });
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let folder = fakes::folder();
    if !fakes::is_child() {
        Fake::new(12080).build(folder.path().join("libcuda.so.1"));
    }
    let child = Child::new("an_empty_variable_is_an_unset_one").env("LD_LIBRARY_PATH", folder.path());
    child.env("CUSHIM_DRIVER", "").run(|| {
        let driver = Driver::open().unwrap_or_else(|error| panic!("{error}"));
        assert!(driver.report().environment_read && driver.report().variables.is_empty());
        assert_eq!(driver.report().candidates.last().map(|c| c.origin), Some(Origin::Loader));
    });
}

#[test]
fn the_environment_is_ignored_when_the_options_say_so() {
    let child = Child::new("the_environment_is_ignored_when_the_options_say_so");
    child.env("CUSHIM_DRIVER", "/nonexistent/libcuda.so").run(|| {
        assert!(matches!(Driver::open(), Err(OpenError::Unusable(_))));
        let opened = OpenOptions::new().environment(false).open();
        let report = match &opened {
            Ok(driver) => driver.report(),
            Err(OpenError::NotFound(report)) => {
                let text = opened.as_ref().expect_err("not found").to_string();
                assert!(!text.contains("CUSHIM_DRIVER"), "nobody would read it: {text}");
                report
            }
            Err(error) => panic!("{error:?}"),
        };
        assert!(!report.environment_read && !report.privileged && report.variables.is_empty());
        assert!(report.candidates.len() > 1 || report.kind.is_some(), "{report:?}");
    });
}

/// In a process that has more rights than the user who started it, that user's environment is not trusted.
#[test]
fn a_privileged_process_reads_no_environment() {
    let name = "a_privileged_process_reads_no_environment";
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        fs::copy(std::env::current_exe().expect("the test program knows where it is"), &program)
            .expect("copied");
        privilege(&program);
    }
    Child::of_program(name, &program).env("CUSHIM_DRIVER", "/nonexistent/libcuda.so").run(|| {
        let report = match machine() {
            Ok(driver) => driver.report().clone(),
            Err(report) => *report,
        };
        assert!(report.privileged, "the folder for temporary files must not be mounted nosuid; set TMPDIR");
        assert!(!report.environment_read && report.variables.is_empty());
        assert!(report.candidates.iter().all(|c| c.origin != Origin::Environment("CUSHIM_DRIVER")));
    });
}

/// Where looking for a driver finds softcuda, somebody has put it there; in such a process that must be who wrote the program.
#[test]
fn a_privileged_process_opens_softcuda_only_by_its_options() {
    let name = "a_privileged_process_opens_softcuda_only_by_its_options";
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        fs::copy(std::env::current_exe().expect("the test program knows where it is"), &program)
            .expect("copied");
        privilege(&program);
        let fake = Fake::new(12080).define("SOFTWARE", 1).soname("libcuda.so.1");
        fake.build(folder.path().join("libcuda.so.1"));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
    }
    Child::of_program(name, &program).env("FOLDER", folder.path()).run(|| {
        let path = given("FOLDER").join("libcuda.so.1");
        // The first that is looked for is one that is in the process already.
        // SAFETY: a fake driver, whose loading has no conditions.
        let _held = unsafe { libloading::Library::new(&path) }.expect("it loads");
        let report = match machine() {
            Ok(driver) => driver.report().clone(),
            Err(report) => *report,
        };
        assert!(report.privileged, "the folder for temporary files must not be mounted nosuid; set TMPDIR");
        let first = report.candidates.first().expect("it was tried");
        assert_eq!((first.origin, first.outcome), (Origin::Loaded, Outcome::Refused));
        let reason = first.error.as_deref().unwrap_or_default();
        assert!(reason.contains("it is softcuda") && reason.contains("options"), "{reason}");
        assert_ne!(report.kind, Some(Kind::Software));
        let driver = OpenOptions::new().choice(Choice::Path(path)).open();
        assert_eq!(driver.unwrap_or_else(|error| panic!("{error}")).kind(), Kind::Software);
    });
}

/// Makes a program run as another user or group than the one who starts it.
fn privilege(program: &Path) {
    // SAFETY: reads the identity of the process.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::fs::chown(program, Some(65534), Some(65534)).expect("the superuser may");
        fs::set_permissions(program, Permissions::from_mode(0o4755)).expect("the superuser may");
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
    fs::set_permissions(program, Permissions::from_mode(0o2755)).expect("the file is ours");
}

fn software(path: &Path, version: u32) -> PathBuf {
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
    Fake::new(version).define("SOFTWARE", 1).build(path)
}

/// A copy of this program in `folder`, so that it finds there what lies beside it.
fn program_in(folder: &Path) -> PathBuf {
    let program = folder.join("program");
    fs::create_dir_all(folder).expect("a folder");
    fs::copy(std::env::current_exe().expect("the test program knows where it is"), &program).expect("copied");
    program
}

/// Opens softcuda and says where, below `FOLDER`, it was found, and how.
fn found_software() -> (PathBuf, Origin) {
    let driver = OpenOptions::new().choice(Choice::Software).open().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(driver.kind(), Kind::Software);
    let folder = given("FOLDER").canonicalize().expect("it exists");
    let path =
        driver.path().expect("a library was loaded").strip_prefix(&folder).expect("it is one of the fakes");
    (path.to_owned(), driver.report().candidates.last().expect("it was tried").origin)
}

#[test]
fn software_beside_the_program() {
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
        software(&folder.path().join("libsoftcuda.so"), 12080);
        software(&folder.path().join("deps/libsoftcuda.so"), 12080);
    }
    // Under a name that says nothing about where the program lies.
    let child = Child::of_program("software_beside_the_program", program)
        .arg0("program")
        .env("FOLDER", folder.path());
    child.run(|| assert_eq!(found_software(), ("libsoftcuda.so".into(), Origin::Module)));
}

#[test]
fn software_in_deps() {
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
        software(&folder.path().join("deps/libsoftcuda.so"), 12080);
    }
    let child = Child::of_program("software_in_deps", program).env("FOLDER", folder.path());
    child.run(|| assert_eq!(found_software(), ("deps/libsoftcuda.so".into(), Origin::Module)));
}

#[test]
fn software_in_deps_beside_the_folder_of_an_example() {
    let folder = fakes::folder();
    let program = folder.path().join("examples/program");
    if !fakes::is_child() {
        program_in(&folder.path().join("examples"));
        software(&folder.path().join("deps/libsoftcuda.so"), 12080);
    }
    let child = Child::of_program("software_in_deps_beside_the_folder_of_an_example", program);
    let child = child.env("FOLDER", folder.path()).env("CUSHIM_DRIVER", "software");
    child.run(|| {
        assert_eq!(found_software(), ("deps/libsoftcuda.so".into(), Origin::Module));
        assert_eq!(Driver::open().unwrap_or_else(|error| panic!("{error}")).kind(), Kind::Software);
    });
}

#[test]
fn software_by_the_loader() {
    let (folder, libraries) = (fakes::folder(), fakes::folder());
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
        software(&libraries.path().join("libsoftcuda.so"), 12080);
    }
    let child = Child::of_program("software_by_the_loader", program).env("FOLDER", libraries.path());
    child.env("LD_LIBRARY_PATH", libraries.path()).run(|| {
        assert_eq!(found_software(), ("libsoftcuda.so".into(), Origin::Loader));
    });
}

#[test]
fn software_prefers_the_shell_of_its_version() {
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
        software(&folder.path().join("libsoftcuda.so"), 12080);
        // It exports what a driver of that version exports, and no more.
        Fake::new(11040).build(folder.path().join("libsoftcuda-11.4.so"));
    }
    let child = Child::of_program("software_prefers_the_shell_of_its_version", program);
    child.env("FOLDER", folder.path()).env("SOFTCUDA_VERSION", "11.4").run(|| {
        assert_eq!(found_software(), ("libsoftcuda-11.4.so".into(), Origin::Module));
    });
}

#[test]
fn software_takes_nothing_but_a_version_into_a_file_name() {
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
        software(&folder.path().join("libsoftcuda.so"), 12080);
        software(&folder.path().join("libsoftcuda-/../evil.so"), 12080);
    }
    let child = Child::of_program("software_takes_nothing_but_a_version_into_a_file_name", program);
    child.env("FOLDER", folder.path()).env("SOFTCUDA_VERSION", "/../evil").run(|| {
        assert_eq!(found_software(), ("libsoftcuda.so".into(), Origin::Module));
    });
}

#[test]
fn software_at_a_path() {
    let folder = fakes::folder();
    let path = folder.path().join("somewhere.so");
    if !fakes::is_child() {
        software(&path, 12080);
    }
    let child = Child::new("software_at_a_path").env("FOLDER", folder.path()).env("CUSHIM_SOFTCUDA", &path);
    child.run(|| {
        assert_eq!(found_software(), ("somewhere.so".into(), Origin::Environment("CUSHIM_SOFTCUDA")));
    });
}

#[test]
fn software_at_a_path_that_is_not_softcuda() {
    let folder = fakes::folder();
    let path = folder.path().join("libcuda.so.1");
    if !fakes::is_child() {
        Fake::new(12080).build(&path);
    }
    let child = Child::new("software_at_a_path_that_is_not_softcuda").env("CUSHIM_SOFTCUDA", &path);
    child.run(|| {
        let error = OpenOptions::new().choice(Choice::Software).open().expect_err("it is another driver");
        assert!(matches!(error, OpenError::Unusable(_)), "{error:?}");
        assert!(error.to_string().contains("not softcuda"), "{error}");
    });
}

#[test]
fn software_at_a_path_where_nothing_is() {
    let child = Child::new("software_at_a_path_where_nothing_is");
    child.env("CUSHIM_SOFTCUDA", "/nonexistent").env("CUSHIM_DRIVER", "software").run(|| {
        let error = Driver::open().expect_err("there is nothing");
        assert!(matches!(error, OpenError::Unusable(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("Correct or unset CUSHIM_SOFTCUDA."), "{text}");
        assert!(!text.contains("CUSHIM_DRIVER"), "that one is right: {text}");
    });
}

#[test]
fn software_that_refuses_its_settings() {
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
        let path = folder.path().join("libsoftcuda.so");
        Fake::new(12080).define("SOFTWARE", 1).define("VERSION_RESULT", 802).build(path);
    }
    let child = Child::of_program("software_that_refuses_its_settings", program);
    child.env("CUSHIM_DRIVER", "software").run(|| {
        let error = Driver::open().expect_err("it answers an error");
        let OpenError::Refused(report) = &error else { panic!("{error:?}") };
        assert_eq!(report.choice, Some(Choice::Software));
        let text = error.to_string();
        for part in ["softcuda (", "SOFTCUDA_", "CUSHIM_SOFTCUDA", "CUDA_ERROR_SYSTEM_NOT_READY (802)"] {
            assert!(text.contains(part), "{part:?} is not in: {text}");
        }
        assert!(!text.contains("NVIDIA"), "{text}");
    });
}

#[test]
fn software_that_is_nowhere() {
    let folder = fakes::folder();
    let program = folder.path().join("program");
    if !fakes::is_child() {
        program_in(folder.path());
    }
    Child::of_program("software_that_is_nowhere", program).env("CUSHIM_DRIVER", "software").run(|| {
        let error = Driver::open().expect_err("there is none");
        let OpenError::SoftwareNotFound(report) = &error else { panic!("{error:?}") };
        // Three folders and the loader.
        assert_eq!(report.candidates.len(), 4);
        assert!(error.to_string().contains("CUSHIM_SOFTCUDA"), "{error}");
    });
}
