//! The programs in `c/` and `cpp/`: which of them run where, built how. A program's name is its path in `c/` without the `.c`:
//! `objects/streams`; of one in `cpp/` its path with that: `cpp/streams`.
//!
//! `tests/programs/` runs all of these cases, each once.

use crate::build::{Build, Link};
use crate::matrix::{C11, CPP17, Compiler, ONE_VERSION, VERSIONS, compilers, tries};
use crate::repository;
use crate::run::Driver;
use std::path::Path;

/// The folders whose programs run on any driver, of any version, as they are.
const ON_ANY_DRIVER: &[&str] = &["raw", "objects", "memory", "managed", "kernels", GRAPHS, "sweep", "fuzz"];

/// The folder of those of them that look into the driver's table, which "none" has not.
const RAW: &str = "raw/";

/// The folder of those of them that are C++ programs, too.
const GRAPHS: &str = "graphs";

/// Those that only work as a shared library's programs do.
const SHARED_ONLY: &[&str] = &["raw/candidates"];

/// Programs that do the same thing very often: on one of the older versions and the newest, in C, with the shared library.
const LONG: &[&str] = &["graphs/flushed", "graphs/many", "graphs/often", "objects/bounds", "raw/handles"];

/// The programs that are run with the static library, too: those of what a process has once (the table, the environment, threads, its
/// end), the one that calls every function, and one of each other folder. `scripts/valgrind.sh` runs all of them in this way.
const ALONE: &[&str] = &[
    RAW,
    "sweep/sweep",
    "fuzz/",
    "objects/callbacks",
    "objects/errors",
    "objects/exit",
    "objects/streams",
    "objects/threads",
    "memory/memory",
    "managed/managed",
    "kernels/kernels",
    "graphs/builders",
    "graphs/exit",
];

/// The folder of the programs in C++, beside `c/`: over `cushim.hpp`, on the versions of which one lacks what another has.
const CPP: &str = "cpp";
const CPP_VERSIONS: &[&str] = &["11.4", "12.4", ONE_VERSION];

/// One version of the older ABIs, and the newest.
const OLD_AND_NEW: &[&str] = &["11.4", ONE_VERSION];

/// A program in which work uses the same memory without an order fails.
const RACES: &[(&str, &str)] = &[("SOFTCUDA_CHECK", "races"), ("SOFTCUDA_CHECK_EXIT", "7")];

/// Programs that need a driver of a certain state, or meet more than usual on one: under each version, with these variables.
const CONDITIONS: &[Condition] = &[
    Condition("softcuda/no_device", OLD_AND_NEW, &[("SOFTCUDA_DEVICES", "0")]),
    Condition("softcuda/no_pools", OLD_AND_NEW, &[("SOFTCUDA_MEMORY_POOLS", "0")]),
    Condition("softcuda/main_ended", OLD_AND_NEW, &[]),
    Condition("softcuda/pthread_exit", &["11.4", "12.4", "12.9", ONE_VERSION, "13.5"], &[]),
    Condition("softcuda/pthread_exit", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("softcuda/pthread_exit", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("softcuda/hot_calls", &["11.4", "12.2", ONE_VERSION, "13.5"], &[]),
    Condition("softcuda/soak", &[ONE_VERSION], &[]),
    Condition("softcuda/asleep", OLD_AND_NEW, &[]),
    Condition("softcuda/descriptors", OLD_AND_NEW, &[]),
    Condition("softcuda/labels", &["11.4", ONE_VERSION], &[("SOFTCUDA_CHECK", "races,leaks")]),
    Condition("softcuda/fabric", &["12.2", ONE_VERSION], &[]),
    Condition("softcuda/granularity", &["12.2", ONE_VERSION], &[]),
    Condition("memory/buffers", OLD_AND_NEW, &[("SOFTCUDA_DEVICES", "2")]),
    Condition("memory/virtual_memory", OLD_AND_NEW, &[("SOFTCUDA_DEVICES", "2")]),
    Condition("memory/pinned_pools", OLD_AND_NEW, &[("SOFTCUDA_DEVICES", "2")]),
    Condition("graphs/many", &[ONE_VERSION], &[("CHECK_NODES", "100000")]),
    // Nodes of two devices.
    Condition("graphs/contexts", OLD_AND_NEW, &[("SOFTCUDA_DEVICES", "2")]),
    // What is ordered is so however late, and in whatever order, everything else runs.
    Condition("memory/buffers", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("memory/buffers", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("memory/processes", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("memory/processes", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("memory/parts", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("memory/parts", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("memory/importers", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("memory/importers", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("memory/virtual_memory", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("memory/virtual_memory", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("memory/memory", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("memory/endpoints", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/builders", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/changes", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/conditionals", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/lifetimes", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/keeping", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/keeping", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("graphs/moving", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/rebinding", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("objects/peers", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("objects/peers", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    // What is asked for in the environment, and another device's memory.
    Condition("graphs/checked", OLD_AND_NEW, &[("CUSHIM_CHECK", "graphs"), ("SOFTCUDA_DEVICES", "2")]),
    Condition("graphs/recapture", &["13.5"], &[("CUSHIM_CHECK", "graphs")]),
    Condition("graphs/unordered", &["11.4", "12.2", ONE_VERSION, "13.5"], &[("CUSHIM_CHECK", "order")]),
    Condition(
        "graphs/unordered",
        &[ONE_VERSION],
        &[("CUSHIM_CHECK", "graphs,order"), ("SOFTCUDA_SCHEDULE", "lazy")],
    ),
    Condition("graphs/devices", &["11.4", "12.2", "12.4", ONE_VERSION, "13.5"], &[("SOFTCUDA_DEVICES", "2")]),
    Condition("graphs/two_devices", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/two_devices", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("graphs/two_devices", &[ONE_VERSION], &[("SOFTCUDA_DEVICES", "1")]),
    Condition("graphs/bodies", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/bodies", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    Condition("graphs/twice", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "lazy")]),
    Condition("graphs/twice", &[ONE_VERSION], &[("SOFTCUDA_SCHEDULE", "seeded")]),
    // Host and device may not use managed memory at the same time.
    Condition("managed/managed", OLD_AND_NEW, &[("SOFTCUDA_CONCURRENT_MANAGED", "0")]),
    Condition("managed/batches", OLD_AND_NEW, &[("SOFTCUDA_CONCURRENT_MANAGED", "0")]),
    Condition("managed/attached", OLD_AND_NEW, &[("SOFTCUDA_CONCURRENT_MANAGED", "0")]),
    // Everything that they do is ordered.
    Condition("memory/memory", &[ONE_VERSION], RACES),
    Condition("memory/batch_copy", &[ONE_VERSION], RACES),
    Condition("memory/memory_operations", &[ONE_VERSION], RACES),
    Condition("memory/virtual_memory", &[ONE_VERSION], RACES),
    Condition("memory/reservations", &[ONE_VERSION], RACES),
    Condition("memory/resources", &[ONE_VERSION], RACES),
    Condition("memory/dlpack", &[ONE_VERSION], RACES),
    Condition("graphs/cloned", &[ONE_VERSION], RACES),
];

/// Programs for which calls of the driver fail. What their functions return then is no proof that they would of themselves.
const FAULTS: &[Condition] = &[
    Condition(
        "softcuda/faults",
        OLD_AND_NEW,
        &[("SOFTCUDA_FAULT", "cuEventDestroy#1=999; cuStreamQuery#2=700/sticky")],
    ),
    // In a loop, and in calls for many of each form.
    Condition(
        "softcuda/batches_refused",
        &["11.4", "12.4"],
        &[("SOFTCUDA_FAULT", "cuMemPrefetchAsync#2=1; cuMemcpyHtoDAsync#2=1")],
    ),
    Condition(
        "softcuda/batches_refused",
        &["12.8"],
        &[("SOFTCUDA_FAULT", "cuMemPrefetchAsync#2=1; cuMemcpyBatchAsync#2=1")],
    ),
    Condition(
        "softcuda/batches_refused",
        &[ONE_VERSION],
        &[("SOFTCUDA_FAULT", "cuMemPrefetchBatchAsync#1=1; cuMemcpyBatchAsync#2=1")],
    ),
    // Nor is there a file for the record.
    Condition("softcuda/no_files", OLD_AND_NEW, &[]),
    Condition("softcuda/wake_fails", OLD_AND_NEW, &[("SOFTCUDA_FAULT", "cuMemcpyHtoDAsync#1=999")]),
    // Its own faults are allocations, and those of the next the driver's calls.
    Condition("softcuda/out_of_memory", &[ONE_VERSION], &[]),
    Condition("softcuda/graphs_out_of_memory", &[ONE_VERSION], &[]),
    Condition("softcuda/every_fault", &["11.4", ONE_VERSION, "13.5"], &[]),
    Condition("softcuda/graph_faults", &["11.4", "12.2", "12.4", ONE_VERSION], &[]),
    Condition("softcuda/keeping_faults", &["11.4", "12.2", ONE_VERSION, "13.5"], &[]),
    Condition("softcuda/capture_faults", &["11.4", "12.2", "12.4", ONE_VERSION, "13.5"], &[]),
    Condition("softcuda/ends_fail", &["11.4", "12.3", ONE_VERSION, "13.5"], &[]),
];

/// A program, versions, and what the driver finds in its environment.
struct Condition(&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

impl Condition {
    fn cases(&self) -> impl Iterator<Item = Case> {
        let &Self(program, versions, variables) = self;
        versions.iter().map(move |version| Case::new(program, Driver::Shell(version)).environment(variables))
    }
}

/// A program, built in some way and run on some driver.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it is called: `objects/streams on 12.4`.
    pub name: String,
    /// How the program is built.
    pub build: Build,
    /// What it runs on.
    pub driver: Driver<'static>,
    /// What else it finds in its environment.
    pub environment: &'static [(&'static str, &'static str)],
    /// Whether it counts what its functions return.
    pub is_recorded: bool,
}

impl Case {
    fn new(program: &str, driver: Driver<'static>) -> Self {
        let name = format!("{program} on {driver}");
        Self { name, build: Build::new(program), driver, environment: &[], is_recorded: true }
    }

    /// Built in another way, which the name tells.
    fn with(self, how: &str, build: impl FnOnce(Build) -> Build) -> Self {
        Self { name: format!("{}, {how}", self.name), build: build(self.build), ..self }
    }

    fn environment(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        let told = |name: String, (variable, value): &(&str, &str)| format!("{name}, {variable}={value}");
        Self { name: variables.iter().fold(self.name, told), environment: variables, ..self }
    }
}

/// The names of the programs that run on any driver.
#[must_use]
pub fn on_any_driver() -> Vec<String> {
    ON_ANY_DRIVER.iter().flat_map(|folder| programs(folder)).collect()
}

/// Those of them that can be linked with the static library.
pub fn standing_alone() -> impl Iterator<Item = String> {
    on_any_driver().into_iter().filter(|name| !SHARED_ONLY.contains(&name.as_str()))
}

/// Whether a program makes objects.
#[must_use]
pub fn uses_objects(program: &str) -> bool {
    !program.starts_with(RAW)
}

fn is_long(program: &str) -> bool {
    LONG.contains(&program)
}

fn versions() -> impl Iterator<Item = &'static str> {
    VERSIONS.iter().map(|(name, _)| *name)
}

/// Every case, so that neighbours are of different programs: those that build at the same time build different ones.
#[must_use]
pub fn cases() -> Vec<Case> {
    let programs = on_any_driver();
    let on = |version| {
        let is_tried = move |name: &&String| match is_long(name) {
            true => OLD_AND_NEW.contains(&version),
            false => tries(name, version),
        };
        programs.iter().filter(is_tried).map(move |program| Case::new(program, Driver::Shell(version)))
    };
    let mut cases: Vec<Case> = versions().flat_map(on).collect();
    cases.extend(programs.iter().filter(|name| uses_objects(name)).map(|name| Case::new(name, Driver::None)));
    let once = |name: &String| (!is_long(name)).then(|| Case::new(name, Driver::Shell(ONE_VERSION)));
    let tried_alone = |name: &String| ALONE.iter().any(|start| name.starts_with(start));
    let alone_too = standing_alone().filter(tried_alone);
    cases.extend(alone_too.filter_map(|name| once(&name)).map(|case| case.with("static", alone)));
    let in_cpp = |case: Case| case.with("C++", |build| build.standard(CPP17));
    cases.extend(self::programs(GRAPHS).iter().filter_map(once).map(in_cpp));
    cases.extend(cases_in_cpp());
    cases.extend(names());
    let two = Case::new("linking/units_a", Driver::Shell(ONE_VERSION));
    cases.push(two.with("linking/units_b", |build| build.and("linking/units_b")));
    cases.extend(CONDITIONS.iter().flat_map(Condition::cases));
    cases.extend(FAULTS.iter().flat_map(Condition::cases).map(|case| Case { is_recorded: false, ..case }));
    cases
}

/// The programs in C++ on `cushim.hpp`, by name, and how each is built.
#[must_use]
pub fn in_cpp() -> Vec<(String, Build)> {
    let folder = repository("capi-tests").join(CPP);
    let build = |name: &String| Build::cpp(&folder.join(format!("{name}.cpp")));
    sources(&folder, "cpp").iter().map(|name| (format!("{CPP}/{name}"), build(name))).collect()
}

/// Their cases. What they call is called by the header, and not recorded.
fn cases_in_cpp() -> Vec<Case> {
    let programs = in_cpp();
    let drivers = CPP_VERSIONS.iter().map(|version| Driver::Shell(version)).chain([Driver::None]);
    let case = |driver| {
        move |(name, build): &(String, Build)| {
            let build = build.clone();
            Case { build, is_recorded: false, ..Case::new(name, driver) }
        }
    };
    drivers.flat_map(|driver| programs.iter().map(case(driver)).collect::<Vec<_>>()).collect()
}

/// With the static library, whose debug information would be most of each program.
fn alone(build: Build) -> Build {
    build.link(Link::Static).option("-Wl,--strip-debug")
}

/// The familiar names: with a driver that the environment names, as a program for the thread's own default stream, with
/// every compiler as C and C++, and without a driver.
fn names() -> Vec<Case> {
    const PER_THREAD: &str = "-DCUDA_API_PER_THREAD_DEFAULT_STREAM";
    const MISSING: &str = "/nonexistent/libcuda.so.1";
    let case = |driver| Case::new("raw/names", driver);
    let mut cases: Vec<Case> = versions().map(|version| case(Driver::Software(version))).collect();
    let per_thread = |build: Build| build.option(PER_THREAD);
    cases.extend(versions().map(|version| case(Driver::Shell(version)).with(PER_THREAD, per_thread)));
    for standard in [C11, CPP17] {
        // With gcc as C it is one of those that run everywhere.
        let others = |compiler: &Compiler| standard != C11 || *compiler != Compiler::Gcc;
        for compiler in compilers(standard.language).into_iter().filter(others) {
            let build = |build: Build| build.compiler(compiler).standard(standard);
            let shared = case(Driver::Shell(ONE_VERSION)).with(compiler.command(standard.language), build);
            cases.extend([shared.clone().with("static", alone), shared]);
        }
    }
    let drop_in = |build: Build| build.drop_in().option("-DCUDA_H");
    for none in [
        Case::new("names/none", Driver::None),
        Case::new("names/none", Driver::Value(MISSING)).environment(&[("CHECK_MESSAGE", MISSING)]),
    ] {
        cases.extend([none.clone().with("cuda.h", drop_in), none]);
    }
    let older = ["11.4", "11.8", "12.0", "12.2", "12.3", "12.4", "12.8", ONE_VERSION]
        .map(|version| Case::new("names/older_driver", Driver::Shell(version)));
    let latest = |build: Build| build.drop_in().option("-DCUDA_VERSION=13050");
    cases.extend(older.clone().map(|case| case.with("cuda.h 13.5", latest)));
    cases.extend(older.map(|case| case.with("cuda.h", Build::drop_in)));
    cases
}

/// The programs of a folder of `c/`.
fn programs(folder: &str) -> Vec<String> {
    let names = sources(&repository("capi-tests/c").join(folder), "c");
    names.iter().map(|name| format!("{folder}/{name}")).collect()
}

/// The names of a folder's sources of a language, without their extension.
fn sources(path: &Path, language: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let files = entries.map(|entry| entry.expect("the folder is readable").path());
    let sources = files.filter(|file| file.extension().is_some_and(|extension| extension == language));
    let mut names: Vec<String> = sources.map(|source| stem(&source).to_owned()).collect();
    names.sort_unstable();
    names
}

fn stem(source: &Path) -> &str {
    source.file_stem().and_then(|stem| stem.to_str()).expect("sources have plain names")
}

#[cfg(test)]
mod tests {
    use super::{ALONE, CONDITIONS, FAULTS, LONG, ON_ANY_DRIVER, cases, on_any_driver, programs};
    use crate::repository;
    use std::collections::BTreeSet;

    /// The folders whose programs other tests run, or scripts: `c/README.md` says which.
    const ELSEWHERE: &[&str] = &["compile", "corpus", "forms", "gpu", "headers", "linking", "names", "pages"];

    #[test]
    fn no_program_is_forgotten() {
        let entries = std::fs::read_dir(repository("capi-tests/c")).expect("the folder is readable");
        for path in entries.map(|entry| entry.expect("the folder is readable").path()) {
            let name = path.file_name().and_then(|name| name.to_str()).expect("plain names");
            let is_known = ON_ANY_DRIVER.contains(&name) || ELSEWHERE.contains(&name) || name == "softcuda";
            let has_programs = path.is_dir() && !programs(name).is_empty();
            assert!(is_known || !has_programs, "{name} is a folder that no test knows");
            assert!(path.extension().is_none_or(|extension| extension != "c"), "{name} lies in no folder");
        }
        let run: BTreeSet<&str> = CONDITIONS.iter().chain(FAULTS).map(|condition| condition.0).collect();
        let programs_of_any = on_any_driver();
        for name in LONG.iter().chain(ALONE) {
            assert!(programs_of_any.iter().any(|program| program.starts_with(name)), "there is no {name}");
        }
        let forgotten: Vec<_> =
            programs("softcuda").into_iter().filter(|name| !run.contains(name.as_str())).collect();
        assert!(forgotten.is_empty(), "{forgotten:?} are in no table");
    }

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let cases = cases();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert!(cases.len() > 500 && names.len() == cases.len(), "{} of {}", names.len(), cases.len());
    }
}
