//! The variables of the command: what the options say in softcuda's words, and where softcuda is.

use crate::arguments::Options;
use crate::folder::Folder;
use crate::libraries::Libraries;
use crate::problem::Problem;
use crate::question::Driver;
use crate::shown;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::path::Path;

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) value: OsString,
}

impl Setting {
    fn new(name: &'static str, value: impl Into<OsString>) -> Self {
        Self { name, value: value.into() }
    }
}

/// Bytes of memory of a device where nobody says how many: a program that takes all there is for its own would take the machine's.
pub(crate) const USUAL_MEMORY: u64 = 2 << 30;

/// Where programs are where `PATH` is not set, to the C library.
pub(crate) const USUAL_PROGRAMS: &str = "/bin:/usr/bin";

/// Settings of the C library.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// How many bytes of thread-local variables the libraries may have that are not there when the first threads' are laid out. Where the loader is
/// asked, those are all that a program is linked with: a library with more, as rustc has one with 23 KiB, would not be loaded. Each thread's stack
/// gives as much.
const ROOM: &str = "glibc.rtld.optional_static_tls";
const ROOM_BYTES: usize = 32 << 10;

/// What the options set.
pub(crate) fn of(options: &Options) -> Result<Vec<Setting>, Problem> {
    let mut settings = Vec::new();
    for (name, value) in [
        ("SOFTCUDA_VERSION", &options.cuda),
        ("SOFTCUDA_DEVICES", &options.devices),
        ("SOFTCUDA_MEMORY", &options.memory),
        ("SOFTCUDA_FAULT", &options.fault),
        ("SOFTCUDA_BOUNDS", &options.bounds),
        ("SOFTCUDA_CHECK", &options.check),
        ("SOFTCUDA_CHECK_EXIT", &options.check_exit),
    ] {
        settings.extend(value.as_ref().map(|value| Setting::new(name, value)));
    }
    if let Some(rule) = &options.schedule {
        let (rule, seed) = seed_of(rule);
        settings.push(Setting::new("SOFTCUDA_SCHEDULE", rule));
        settings.extend(seed.map(|seed| Setting::new("SOFTCUDA_SEED", seed)));
    }
    if let Some(file) = &options.trace {
        let file = if file == "-" { file.to_owned() } else { written("--trace", file)? };
        settings.push(Setting::new("SOFTCUDA_TRACE", file));
    }
    if let Some(file) = &options.check_log {
        settings.push(Setting::new("SOFTCUDA_CHECK_LOG", written("--check-log", file)?));
    }
    if let Some(file) = &options.suppress {
        let wrong = |error| Problem::usage(format!("--suppress {} cannot be read: {error}", shown(file)));
        std::fs::read_to_string(file).map_err(wrong)?;
        settings.push(Setting::new("SOFTCUDA_CHECK_SUPPRESSIONS", std::path::absolute(file).map_err(wrong)?));
    }
    Ok(settings)
}

/// A rule, and the seed behind it.
fn seed_of(rule: &OsStr) -> (OsString, Option<OsString>) {
    match rule.to_str().and_then(|rule| rule.strip_prefix("seeded=")) {
        Some(seed) if !seed.is_empty() => ("seeded".into(), Some(seed.into())),
        _ => (rule.to_owned(), None),
    }
}

/// A file that is written, wherever the processes that write it are. That it can be is tried here.
fn written(option: &str, file: &OsStr) -> Result<OsString, Problem> {
    let wrong = |error| Problem::usage(format!("{option} {} cannot be written: {error}", shown(file)));
    OpenOptions::new().append(true).create(true).open(file).map_err(wrong)?;
    std::path::absolute(file).map(Into::into).map_err(wrong)
}

/// Refuses an option that says what becomes of reports where nothing is checked: a run without reports would look like one that was checked.
pub(crate) fn has_its_checks(options: &Options) -> Result<(), Problem> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if options.check.is_some() || is_set("SOFTCUDA_CHECK") {
        return Ok(());
    }
    let of_reports = [
        ("--check-log", &options.check_log),
        ("--check-exit", &options.check_exit),
        ("--suppress", &options.suppress),
    ];
    match of_reports.iter().find(|(_, value)| value.is_some()) {
        Some((option, _)) => Err(Problem::usage(format!("{option} belongs to --check; see --help"))),
        None => Ok(()),
    }
}

/// What softcuda says of a variable, in the words of the option that has set it.
pub(crate) fn in_words_of_options(problem: Problem, options: &Options) -> Problem {
    for (option, name, value) in [
        ("--cuda", "SOFTCUDA_VERSION", &options.cuda),
        ("--devices", "SOFTCUDA_DEVICES", &options.devices),
        ("--memory", "SOFTCUDA_MEMORY", &options.memory),
        ("--schedule", "SOFTCUDA_SCHEDULE", &options.schedule),
        ("--schedule seeded", "SOFTCUDA_SEED", &options.schedule),
        ("--fault", "SOFTCUDA_FAULT", &options.fault),
        ("--bounds", "SOFTCUDA_BOUNDS", &options.bounds),
        ("--check", "SOFTCUDA_CHECK", &options.check),
        ("--check-exit", "SOFTCUDA_CHECK_EXIT", &options.check_exit),
    ] {
        if let Some(rest) = problem.sentence().strip_prefix(name).and_then(|rest| rest.strip_prefix('='))
            && value.is_some()
        {
            return Problem::usage(format!("{option}={rest}"));
        }
    }
    problem
}

/// All that the command gets beside what the environment has.
pub(crate) fn for_command(
    mut settings: Vec<Setting>,
    libraries: &Libraries,
    driver: &Driver,
    folder: &Folder,
) -> Vec<Setting> {
    let path = folder.path();
    let own = libraries.shell(&driver.version).unwrap_or_else(|| libraries.core.clone());
    settings.retain(|setting| setting.name != "SOFTCUDA_VERSION");
    settings.push(Setting::new("SOFTCUDA_VERSION", &driver.version));
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let memory_is_said = settings.iter().any(|setting| setting.name == "SOFTCUDA_MEMORY");
    if let Some(memory) = driver.memory.filter(|_| !memory_is_said && !is_set("SOFTCUDA_MEMORY")) {
        settings.push(Setting::new("SOFTCUDA_MEMORY", memory.min(USUAL_MEMORY).to_string()));
    }
    settings.extend([
        Setting::new("CUSHIM_DRIVER", "software"),
        Setting::new("CUSHIM_SOFTCUDA", own),
        Setting::new("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", path)),
        // For compilers that link with -lcuda.
        Setting::new("LIBRARY_PATH", before("LIBRARY_PATH", path)),
        // Triton asks ldconfig first, which knows only what is installed.
        Setting::new("TRITON_LIBCUDA_PATH", path),
    ]);
    let ptxas = folder.programs().join(crate::ptxas::NAME);
    if ptxas.is_file() {
        let programs = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PROGRAMS.into());
        settings.push(Setting::new("PATH", with_first(&folder.programs(), &programs)));
        // Triton has one of its own, which it takes unless one of these says otherwise.
        settings.push(Setting::new("TRITON_PTXAS_PATH", &ptxas));
        settings.push(Setting::new("TRITON_PTXAS_BLACKWELL_PATH", &ptxas));
    }
    if let Some(auditor) = folder.auditor() {
        settings.push(Setting::new("LD_AUDIT", before("LD_AUDIT", &auditor)));
        settings.push(Setting::new(TUNABLES, with_room(&std::env::var_os(TUNABLES).unwrap_or_default())));
    }
    settings
}

/// What the C library is to do otherwise, with room for thread-local variables unless it says how much already.
fn with_room(tunables: &OsStr) -> OsString {
    let mut all = tunables.to_owned();
    if !tunables.to_string_lossy().contains(ROOM) {
        all.push(if all.is_empty() { "" } else { ":" });
        all.push(format!("{ROOM}={ROOM_BYTES}"));
    }
    all
}

/// The list of files that a variable has, with one more at its beginning.
fn before(list: &str, file: &Path) -> OsString {
    with_first(file, &std::env::var_os(list).unwrap_or_default())
}

/// A list of files with one more at its beginning. An empty list is none: an empty entry would be the current folder.
fn with_first(file: &Path, others: &OsStr) -> OsString {
    let mut files = file.as_os_str().to_owned();
    if !others.is_empty() {
        files.push(":");
        files.push(others);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{Setting, of, with_room};
    use crate::arguments::Options;

    #[test]
    fn tunables_stay() {
        let room = "glibc.rtld.optional_static_tls=32768";
        for (before, after) in [
            ("", room.to_owned()),
            ("glibc.malloc.check=1", format!("glibc.malloc.check=1:{room}")),
            ("glibc.rtld.optional_static_tls=4096", "glibc.rtld.optional_static_tls=4096".to_owned()),
        ] {
            assert_eq!(with_room(before.as_ref()), *after);
        }
    }

    #[test]
    fn options_are_variables() {
        let some = |text: &str| Some(text.into());
        let options = Options {
            schedule: some("seeded=7"),
            cuda: some("12.8"),
            trace: some("-"),
            check: some("races"),
            check_exit: some("3"),
            ..Options::default()
        };
        let expected = [
            ("SOFTCUDA_VERSION", "12.8"),
            ("SOFTCUDA_CHECK", "races"),
            ("SOFTCUDA_CHECK_EXIT", "3"),
            ("SOFTCUDA_SCHEDULE", "seeded"),
            ("SOFTCUDA_SEED", "7"),
            ("SOFTCUDA_TRACE", "-"),
        ];
        let expected = expected.map(|(name, value)| Setting::new(name, value));
        assert_eq!(of(&options).expect("they are right"), expected);
        for rule in ["seeded", "seeded=", "lazy"] {
            let options = Options { schedule: some(rule), ..Options::default() };
            assert_eq!(of(&options).expect("they are right"), [Setting::new("SOFTCUDA_SCHEDULE", rule)]);
        }
    }
}
