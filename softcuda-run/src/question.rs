//! What libsoftcuda makes of the settings: it knows best what it accepts. A process reads them once, so another one asks, which is this
//! program again.

use crate::problem::Problem;
use crate::setting::Setting;
use crate::shown;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The first word of a command line that asks the library behind it.
pub(crate) const WORD: &str = "--answer-for";

/// What libsoftcuda answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// The version of CUDA that it supports, as in `12.8`.
    pub(crate) version: String,
    /// Bytes of memory of each device; `None` without a device.
    pub(crate) memory: Option<u64>,
    /// How many devices the machine has, and how many of them processes see.
    pub(crate) installed: u32,
    pub(crate) visible: u32,
}

/// What is not to be done by a question: a trace would be begun, and a report written.
const LEFT_OUT: [&str; 3] = ["SOFTCUDA_TRACE", "SOFTCUDA_LEAKS", "SOFTCUDA_CHECK_LOG"];

/// Asks a library, which is to have these settings beside those of the environment.
pub(crate) fn ask(library: &Path, settings: &[Setting]) -> Result<Driver, Problem> {
    ask_without(library, settings, &[])
}

/// The same, as if some variables were not set.
pub(crate) fn ask_without(library: &Path, settings: &[Setting], unset: &[&str]) -> Result<Driver, Problem> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(WORD).arg(library);
    command.envs(settings.iter().map(|setting| (setting.name, &setting.value)));
    for name in LEFT_OUT.iter().chain(unset) {
        command.env_remove(name);
    }
    let output = command.output();
    let output =
        output.map_err(|error| Problem::failed(format!("this program cannot start itself: {error}")))?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(driver) = read(&answer).filter(|_| output.status.success()) {
        return Ok(driver);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match said.lines().find_map(|line| line.strip_prefix("softcuda: ")) {
        // What it says of settings.
        Some(sentence) => Err(Problem::usage(sentence.trim_end_matches("; every call answers an error"))),
        None => Err(Problem::failed(format!("{} cannot be used: {}", shown(library), said.trim()))),
    }
}

/// A line such as `12080 2147483648 2 1`.
fn read(line: &str) -> Option<Driver> {
    let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [version, memory, installed, visible] = numbers[..] else { return None };
    Some(Driver {
        version: format!("{}.{}", version / 1000, version % 1000 / 10),
        memory: Some(memory).filter(|memory| *memory > 0),
        installed: u32::try_from(installed).ok()?,
        visible: u32::try_from(visible).ok()?,
    })
}

/// Answers the question, in the process that was started for it.
#[allow(clippy::print_stderr)] // for the process that asks
pub(crate) fn answer(library: &OsStr) -> ExitCode {
    match of_library(library) {
        Ok(line) => {
            let written = writeln!(std::io::stdout(), "{line}");
            if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// As `softcuda.h` declares it.
#[repr(C)]
struct Device {
    name: [c_char; 64],
    uuid: [u8; 16],
    pci: [u32; 3],
    ordinal: i32,
    numbers: [u32; 8],
    memory: u64,
    used: u64,
}

/// What `read` reads.
fn of_library(path: &OsStr) -> Result<String, String> {
    let name = CString::new(path.as_bytes()).map_err(|_| "its path has a zero in it".to_owned())?;
    // SAFETY: softcuda's library, whose loading has no conditions; the functions are called as `softcuda.h` declares them.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if library.is_null() {
            return Err(last_error());
        }
        let find = |name: &CStr| -> Result<*mut c_void, String> {
            let found = libc::dlsym(library, name.as_ptr());
            if found.is_null() {
                Err("it is not a libsoftcuda of this release".to_owned())
            } else {
                Ok(found)
            }
        };
        let version: extern "C" fn() -> c_int = std::mem::transmute(find(c"softcuda_version")?);
        let count: extern "C" fn() -> i64 = std::mem::transmute(find(c"softcuda_device_count")?);
        let get: extern "C" fn(u32, *mut Device) -> c_int =
            std::mem::transmute(find(c"softcuda_device_get")?);
        let version = version();
        if version < 0 {
            return Err(String::new());
        }
        let installed = u32::try_from(count()).unwrap_or(0);
        let (mut memory, mut visible) = (0, 0);
        for number in 0..installed {
            let mut device: Device = std::mem::zeroed();
            if get(number, &raw mut device) == 0 {
                memory = device.memory;
                visible += u32::from(device.ordinal >= 0);
            }
        }
        Ok(format!("{version} {memory} {installed} {visible}"))
    }
}

fn last_error() -> String {
    // SAFETY: NULL, or a terminated text that lasts until the next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "the loader refuses it".to_owned()
        } else {
            shown(OsStr::from_bytes(CStr::from_ptr(text).to_bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn lines() {
        let driver = read("12080 2147483648 2 1\n").expect("it is one");
        assert_eq!((driver.version.as_str(), driver.memory), ("12.8", Some(2 << 30)));
        assert_eq!((driver.installed, driver.visible), (2, 1));
        assert_eq!(read("11040 0 0 0").expect("it is one").memory, None);
        for line in ["", "12080", "12080 1 1", "12080 1 1 x", "a b c d"] {
            assert_eq!(read(line), None, "{line:?}");
        }
    }
}
