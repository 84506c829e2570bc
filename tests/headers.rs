//! Proves the catalogue and `include/cushim_driver.h` against NVIDIA's own headers.
//!
//! The headers are fetched by `scripts/fetch-headers.sh` into the target folder. Each is taken apart by a program that
//! is compiled behind it (`oracle/facts.hpp`), and so is ours; then the two are compared. Run it by hand with
//! `cargo test --test headers`.
#![cfg(target_os = "linux")]

mod oracle {
    pub(crate) mod catalogue;
    pub(crate) mod compare;
    pub(crate) mod drop_in;
    mod exceptions;
    pub(crate) mod facts;
    pub(crate) mod fetch;
    pub(crate) mod history;
}

use oracle::catalogue::Catalogue;
use oracle::compare::{self, Findings, Release};
use oracle::drop_in::{self, Side, Whose};
use oracle::facts;
use oracle::fetch::{fetch, say, skip};
use oracle::history::History;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use tempfile::TempDir;

/// The folders of NVIDIA's headers, oldest release first; `None` where the tests cannot be run.
fn headers() -> Option<&'static [PathBuf]> {
    static HEADERS: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();
    let fetched = HEADERS.get_or_init(|| {
        let compilers =
            ["gcc", "g++"].iter().all(|name| Command::new(name).arg("--version").output().is_ok());
        if !compilers {
            skip(format_args!("comparing headers needs gcc and g++"));
            return None;
        }
        fetch("fetch-headers.sh")
    });
    fetched.as_deref()
}

fn scratch() -> TempDir {
    TempDir::new().expect("a scratch folder can be made")
}

fn take_apart(headers: &Path, catalogue: &Catalogue) -> Release {
    let folder = scratch();
    let folder = folder.path();
    let facts = facts::of_nvidia(folder, headers, catalogue);
    let version = facts["value CUDA_VERSION"].parse().expect("CUDA_VERSION is a number");
    let plain_names = facts::plain_names(folder, headers, catalogue);
    let same_types = facts::same_types(folder, headers, catalogue);
    Release { version, facts, plain_names, same_types }
}

#[test]
fn the_catalogue_agrees_with_nvidias_headers() {
    let Some(headers) = headers() else { return };
    let catalogue = Catalogue::read();
    let ours = facts::of_ours(scratch().path(), &catalogue);
    // The compiler takes a second or two for each.
    let releases: Vec<Release> = thread::scope(|scope| {
        let taking = headers.iter().map(|path| scope.spawn(|| take_apart(path, &catalogue)));
        let taking: Vec<_> = taking.collect();
        taking.into_iter().map(|release| release.join().expect("the headers are taken apart")).collect()
    });
    assert!(releases.is_sorted_by_key(|release| release.version), "the headers come oldest first");

    let mut findings = Findings::default();
    compare::ours(&catalogue, &ours, &mut findings);
    compare::declarations(&catalogue, &ours, &releases, &mut findings);
    compare::first_headers(&catalogue, &releases, &mut findings);
    compare::functions(&catalogue, &ours, &releases, &mut findings);
    compare::types_of_entries(&releases, &mut findings);
    compare::plain_names(&catalogue, &releases, &mut findings);
    findings.check_exceptions();
    report(&catalogue, &releases);
    assert!(
        findings.wrong.is_empty(),
        "{} disagreements:\n{}",
        findings.wrong.len(),
        findings.wrong.join("\n")
    );
}

/// A program that includes `cuda.h` sees the same behind ours as behind NVIDIA's of the same version: names, signatures,
/// values, layouts and macros, as it is, with the per-thread default stream, and with every ABI by its exported name.
#[test]
fn the_cuda_h_of_ours_declares_what_nvidias_does() {
    let Some(headers) = headers() else { return };
    let (catalogue, history) = (Catalogue::read(), History::read());
    let compared = |path: &PathBuf| {
        let folder = scratch();
        let version = version_of(path);
        if version > NEWEST {
            return (version, 0, Vec::new());
        }
        let (mut count, mut wrong) = (0, Vec::new());
        for (name, mode) in drop_in::MODES {
            let side = |whose| Side::of(whose, folder.path(), mode, &catalogue, &history);
            let (theirs, ours) = (side(Whose::Theirs(path)), side(Whose::Ours(version)));
            drop_in::compare(&catalogue, (version, name), &theirs, &ours, &mut wrong);
            count += drop_in::count(&theirs);
        }
        (version, count, wrong)
    };
    let compared = &compared;
    let compared: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = headers.iter().map(|path| scope.spawn(move || compared(path))).collect();
        all.into_iter().map(|one| one.join().expect("the headers are compared")).collect()
    });
    for (version, count, _) in &compared {
        say(format_args!("our cuda.h as {version}: {count} facts like NVIDIA's"));
    }
    let wrong: Vec<String> = compared.into_iter().flat_map(|(_, _, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// The newest version that our `cuda.h` stands for.
const NEWEST: u32 = 13050;

fn version_of(headers: &Path) -> u32 {
    let text = std::fs::read_to_string(headers.join("cuda.h")).expect("the header is readable");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("#define CUDA_VERSION "));
    line.and_then(|number| number.trim().parse().ok()).expect("cuda.h says its version")
}

fn report(catalogue: &Catalogue, releases: &[Release]) {
    let (structs, members, enumerators) =
        (catalogue.structs.len(), catalogue.members(), catalogue.enumerators.len());
    let signatures = catalogue.signatures();
    say(format_args!(
        "{structs} structs, {members} fields, {enumerators} enumerators, {signatures} signatures × {} headers",
        releases.len()
    ));
    for release in releases {
        let count = |sort| release.facts_of(sort).count();
        say(format_args!(
            "  cuda.h {}.{}: {} structs, {} fields, {} enumerators, {} signatures, {} exported names",
            release.version / 1000,
            release.version % 1000 / 10,
            count("struct "),
            count("field "),
            // One value is CUDA_VERSION.
            count("value ") - 1,
            count("signature "),
            count("export "),
        ));
        let unknown: Vec<&str> = release.facts_of("unknown ").collect();
        if !unknown.is_empty() {
            say(format_args!("  not compared, the catalogue lacks them: {}", unknown.join(", ")));
        }
    }
    let entries = catalogue.abis.iter().map(|abi| abi.entry());
    let missing: Vec<String> = entries
        .filter(|entry| {
            !releases.iter().any(|release| release.facts.contains_key(&format!("signature {entry}")))
        })
        .collect();
    if !missing.is_empty() {
        say(format_args!("  not compared, no header declares them: {}", missing.join(", ")));
    }
}

/// A program as one would write it against `cuda.h` 12, and one that uses the table.
const USE: &str = "
int main(void) {
  CUcontext context = NULL;
  CUdeviceptr memory = 0;
  CUresult result = CUDA_SUCCESS;
#ifdef CUSHIM_CUDA_NAMES
  result = cuInit(0);
  if (result == CUDA_SUCCESS) result = cuCtxCreate(&context, 0, 0);
  if (result == CUDA_SUCCESS) result = cuMemAlloc(&memory, 16);
  if (result == CUDA_SUCCESS) result = cuMemAdvise(memory, 16, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
#else
  const cushim_driver_table *table = cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM);
  if (CUSHIM_HAS(table, cuCtxCreate_3020)) result = table->cuCtxCreate_3020(&context, 0, 0);
  if (CUSHIM_HAS(table, cuMemAlloc_3020)) result = table->cuMemAlloc_3020(&memory, 16);
#endif
  return (int)result;
}
";

#[test]
fn our_header_compiles_behind_every_cuda_h() {
    let Some(headers) = headers() else { return };
    let folder = scratch();
    let mut compiled = 0;
    for path in headers {
        for names in ["", "#define CUSHIM_CUDA_NAMES\n"] {
            let text = format!("#include <cuda.h>\n{names}#include \"cushim_driver.h\"\n{USE}");
            for (compiler, standard, file) in [("gcc", "-std=c11", "use.c"), ("g++", "-std=c++17", "use.cpp")]
            {
                let input = facts::source(folder.path(), file, &text);
                let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", standard];
                let output = facts::compiler(compiler, &warnings, Some(path), &input);
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(
                    output.status.success(),
                    "{compiler} {standard}, {}, {names}:\n{errors}",
                    path.display()
                );
                compiled += 1;
            }
        }
    }
    say(format_args!(
        "cushim_driver.h compiles behind {} releases of cuda.h, in {compiled} ways",
        headers.len()
    ));
}
