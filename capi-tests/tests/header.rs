//! The header in every standard, with every compiler, at `-Wall -Wextra -Wpedantic -Werror`.

use capi_tests::build::{Build, Link};
use capi_tests::header;
use capi_tests::libraries::Workshop;
use capi_tests::matrix::{Language, compilers, standards};
use capi_tests::parallel::for_each;
use capi_tests::repository;
use std::path::PathBuf;

/// Alone and twice; with the familiar names; first without and then with them; first with and then without.
#[test]
fn it_compiles_everywhere() {
    let workshop = Workshop::new();
    workshop.write("calls.inc", &header::calls_as_c(&header::text()));
    let ours = ["alone.c", "names.c", "names_first.c"].map(|name| repository("capi-tests/c").join(name));
    let examples = ["ordered.c", "managed.c", "raw.c", "porting/after.c"];
    let examples = examples.map(|name| repository("examples").join(name));
    let mut builds: Vec<Build<'_>> = Vec::new();
    for (compiler, standard) in standards() {
        let examples = examples.iter().filter(|_| standard.language == Language::C);
        let sources: Vec<&PathBuf> = ours.iter().chain(examples).collect();
        let build = |source: &PathBuf| Build::of(&workshop, source).compiler(compiler).standard(standard);
        builds.extend(sources.into_iter().map(build));
    }
    for_each(builds, Build::check);
}

/// The runtime's headers declare `CUuuid` too; whoever comes second leaves it to the first.
#[test]
fn it_shares_a_type_with_the_runtime() {
    let workshop = Workshop::new();
    for_each(standards(), |(compiler, standard)| {
        ["-DRUNTIME_FIRST=1", "-DRUNTIME_FIRST=0"].into_iter().try_for_each(|order| {
            let build = Build::new(&workshop, "runtime_types.c").compiler(compiler).standard(standard);
            build.option(order).check()
        })
    });
}

/// A compiler that optimises sees more, and says so.
#[test]
fn it_compiles_optimised() {
    let workshop = Workshop::new();
    for_each(compilers(Language::C), |compiler| {
        let name = format!("optimised-{compiler:?}");
        let build = Build::new(&workshop, "names_first.c").compiler(compiler).option("-O2");
        build.plug_in(&name).map(drop)
    });
}

/// The familiar names are no symbols: a program that uses them exports and wants none of the driver's.
#[test]
fn the_familiar_names_are_no_symbols() {
    let workshop = Workshop::new();
    let object =
        Build::new(&workshop, "names_first.c").link(Link::Without).plug_in("names.so").expect("it compiles");
    let output = std::process::Command::new("nm").arg("-D").arg(object).output().expect("nm is there");
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    let named = |line: &str| line.split_whitespace().last().unwrap_or_default().to_owned();
    let symbols: Vec<String> = symbols.lines().map(named).collect();
    assert!(symbols.iter().any(|name| name == "cushim_driver_default_table"), "{symbols:?}");
    assert!(symbols.iter().all(|name| !name.starts_with("cu") || name.starts_with("cushim_")), "{symbols:?}");
}

/// What the other tests read out of the header is all there.
#[test]
fn it_reads_as_expected() {
    let header = header::text();
    let functions = header::functions(&header);
    assert!(
        functions.contains("cushim_driver_open") && functions.contains("cushim_symbol_count"),
        "{functions:?}"
    );
    let entries = header::entries(&header);
    assert_eq!(entries.len(), cushim::driver::catalogue::ROWS.len());
    for (entry, row) in entries.iter().zip(cushim::driver::catalogue::ROWS) {
        assert_eq!(
            (entry.base.as_str(), entry.number, entry.exported.as_str()),
            (row.base, row.abi, row.exported)
        );
    }
    let names = header::names(&header);
    assert!(names.len() > 500, "{} names", names.len());
    let create = names.iter().find(|(name, _)| name == "cuCtxCreate").expect("it is one of them");
    assert_eq!(create.1.len(), 3, "{create:?}");
}
