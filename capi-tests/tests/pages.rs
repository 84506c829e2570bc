//! The documentation names what there is: functions, types and constants of the headers, and functions of the driver.
#![cfg(target_os = "linux")]

#[path = "pages/examples.rs"]
mod examples;

use capi_tests::{header, repository};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// What no header declares: variables of the environment, and an example.
const ELSEWHERE: &[&str] = &[
    "CUSHIM_CACHE",
    "CUSHIM_CHECK",
    "CUSHIM_DRIVER",
    "CUSHIM_LOG",
    "CUSHIM_NVRTC",
    "CUSHIM_REFRESH",
    "CUSHIM_REQUIRE",
    "CUSHIM_SOFTCUDA",
    "CUSHIM_TEST_NVRTC",
    "softcuda_faults",
    // Variables of the CMake package and of the Python package.
    "cushim_SOFTCUDA",
    "CUSHIM_LIBRARY",
];

#[test]
fn every_name_on_a_page_is_in_a_header() {
    let headers = below(repository("include"), "h").into_iter().chain(below(repository("include"), "hpp"));
    let known: BTreeSet<_> =
        headers.flat_map(|path| identifiers(&fs::read_to_string(path).expect("it can be read"))).collect();
    let ours = |name: &String| {
        ["cushim_", "CUSHIM_", "softcuda_", "CU_", "CUDA_ERROR_"].iter().any(|it| name.starts_with(it))
    };
    let mut unknown = BTreeSet::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("it can be read");
        // `cushim_node_set_…` stands for several.
        let names = identifiers(&text).into_iter();
        let names =
            names.filter(|name| ours(name) && !name.ends_with('_') && !ELSEWHERE.contains(&name.as_str()));
        unknown.extend(names.filter(|name| !known.contains(name)).map(|name| (page.clone(), name)));
    }
    assert_eq!(unknown, BTreeSet::new());
}

/// A row after an empty line is text with bars in it.
#[test]
fn every_row_is_in_a_table() {
    for path in pages() {
        let text = fs::read_to_string(&path).expect("it can be read");
        let lines: Vec<&str> = text.lines().collect();
        for (at, around) in lines.windows(3).enumerate() {
            let begins = !around[0].starts_with('|') && around[1].starts_with('|');
            assert!(!begins || around[2].starts_with("|-"), "{}:{}", path.display(), at + 2);
        }
    }
}

/// What the CMake package and the pkg-config files are called is said where build systems are shown, and what is installed where that is.
#[test]
fn every_name_for_build_systems_is_on_its_page() {
    let read = |path: &str| fs::read_to_string(repository(path)).expect("it can be read");
    let (page, package) = (read("docs/start/build.md"), read("packaging/cushim-config.cmake.in"));
    let targets =
        package.lines().filter_map(|line| Some(line.trim().strip_prefix("add_library(")?.split_once(' ')?.0));
    let variables = package
        .lines()
        .filter_map(|line| line.trim().strip_prefix("set(cushim_SOFT").map(|_| "cushim_SOFTCUDA"));
    let files = fs::read_dir(repository("packaging")).expect("a folder");
    let files = files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    let files: Vec<String> = files.filter_map(|file| Some(file.strip_suffix(".pc.in")?.to_owned())).collect();
    let all: Vec<&str> = targets.chain(variables).chain(files.iter().map(String::as_str)).collect();
    assert_eq!(all.len(), 8, "{all:?}");
    let unnamed: Vec<_> = all.iter().filter(|name| !page.contains(&format!("| `{name}` |"))).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
    assert!(read("docs/start/install.md").contains("`cushim/`"));
}

/// The variables that a source names are those of a page's table.
#[test]
fn every_variable_is_on_its_page() {
    for (page, sources) in [
        (
            "docs/environment.md",
            [
                "src/driver/environment.rs",
                "src/object/logging.rs",
                "src/testing.rs",
                "src/compile/find.rs",
                "src/compile/cache.rs",
                "src/compile/trim.rs",
                "python/cushim/_library.py",
            ]
            .as_slice(),
        ),
        (
            "softcuda/README.md",
            [
                "softcuda/src/instruments/settings.rs",
                "softcuda/src/instruments/setup.rs",
                "softcuda/src/instruments/checks.rs",
            ]
            .as_slice(),
        ),
    ] {
        let read = |path: &str| fs::read_to_string(repository(path)).expect("it can be read");
        let of = |text: &str| {
            text.split_once('_').is_some_and(|(first, _)| first == "CUSHIM" || first == "SOFTCUDA")
        };
        let page_text = read(page);
        let rows = page_text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let named: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).filter(|name| of(name)).collect();
        let text: String = sources.iter().map(|source| read(source)).collect();
        let mut known = identifiers(&text);
        known.retain(|name| of(name) && text.contains(&format!("\"{name}\"")));
        // Programs' own.
        known.retain(|name| !name.starts_with("CUSHIM_TEST_"));
        // The library only says it in an error; softcuda reads it.
        if page.starts_with("docs/") {
            known.remove("SOFTCUDA_VERSION");
        }
        assert_eq!(named, known, "{page}");
    }
}

/// Libraries and languages of NVIDIA's, and a name that stands for any.
const NO_FUNCTIONS: &[&str] = &["cuBLAS", "cuDNN", "cuFFT", "cuFile", "cuName", "cuPy", "cuRAND"];

/// A page names functions of the driver as `cuMemAlloc`, as an entry of the table, `cuMemAlloc_3020`, or as they are exported.
#[test]
fn every_function_of_the_driver_on_a_page_exists() {
    let known = identifiers(&header::text());
    let exported: BTreeSet<_> =
        header::entries(&header::text()).into_iter().map(|entry| entry.exported).collect();
    let mut unknown = BTreeSet::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("it can be read");
        let whole = patterns(&text).into_iter().fold(text.clone(), |text, pattern| text.replace(pattern, ""));
        let names =
            identifiers(&whole).into_iter().filter(|name| is_of_the_driver(name) && !name.ends_with('_'));
        let names = names.filter(|name| !known.contains(name) && !exported.contains(name));
        let names = names.filter(|name| !NO_FUNCTIONS.contains(&name.as_str()));
        unknown.extend(names.map(|name| (page.clone(), name)));
    }
    assert_eq!(unknown, BTreeSet::new());
}

#[test]
fn the_page_for_readers_of_cuda_h_names_what_there_is() {
    let known = identifiers(&(header::text() + &header::objects()));
    let ours =
        |name: &String| ["cushim_", "CUSHIM_", "CU_", "CUDA_ERROR_"].iter().any(|it| name.starts_with(it));
    let page = from_cuda();
    let whole = patterns(&page).into_iter().fold(page.clone(), |page, pattern| page.replace(pattern, ""));
    let unknown: Vec<String> = identifiers(&whole)
        .into_iter()
        .filter(|name| (ours(name) && !name.ends_with('_')) || is_of_the_driver(name))
        .filter(|name| !known.contains(name))
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
}

/// What the library calls a program need not call; so the page says what to call instead.
#[test]
fn the_page_has_each_function_of_the_driver_that_the_library_calls() {
    let page = identifiers(&from_cuda());
    let called: BTreeSet<String> = calls().iter().flat_map(called_in).collect();
    assert!(called.len() > 100, "{} functions of the driver are called", called.len());
    assert_eq!(called.difference(&page).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// It has all functions of the driver: with what replaces them, or among those that nothing replaces, by a pattern such as `cuTex*`.
#[test]
fn the_page_has_each_function_of_the_driver() {
    let page = from_cuda();
    let (named, patterns) = (identifiers(&page), patterns(&page));
    let entries = identifiers(&header::text());
    let functions: BTreeSet<_> = entries.iter().filter_map(|entry| base_of_entry(entry)).collect();
    assert!(functions.len() > 500, "{} functions", functions.len());
    let is_there =
        |name: &&str| named.contains(*name) || patterns.iter().any(|pattern| matches(pattern, name));
    let missing: Vec<_> = functions.iter().filter(|name| !is_there(name)).collect();
    assert_eq!(missing, Vec::<&&str>::new());
    let idle: Vec<_> = patterns.iter().filter(|it| !functions.iter().any(|name| matches(it, name))).collect();
    assert_eq!(idle, Vec::<&&str>::new(), "these stand for nothing");
}

/// What stands in backticks and has a `*`.
fn patterns(page: &str) -> Vec<&str> {
    page.split('`').skip(1).step_by(2).filter(|code| code.starts_with("cu") && code.contains('*')).collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|start| name.strip_prefix(start)) else { return false };
    parts.try_fold(rest, |rest, part| rest.find(part).map(|at| &rest[at + part.len()..])).is_some()
}

/// Each heading of the page about messages is a message of the library's, with `…` for what differs.
#[test]
fn the_page_about_messages_has_the_words_of_the_library() {
    let page = page("docs/troubleshooting.md");
    let headings: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    assert!(headings.len() > 20, "{} headings", headings.len());
    let said: String = sources(repository("src")).iter().map(words_of).collect();
    let missing: Vec<_> =
        headings.iter().filter(|it| !it.split('…').all(|part| said.contains(part.trim()))).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}

/// A source, with each text in one line.
fn words_of(file: &PathBuf) -> String {
    let text = fs::read_to_string(file).expect("it can be read");
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start()).replace("\\\"", "\"")
}

/// The README prints the program that the tests of the examples run.
#[test]
fn the_readme_prints_its_example_as_it_is() {
    let printed: String = examples::of(&page("README.md")).into_iter().map(|it| it.text).collect();
    let example = fs::read_to_string(repository("examples/ordered.c")).expect("it can be read");
    assert_eq!(printed, example, "README.md and examples/ordered.c differ");
}

fn page(path: &str) -> String {
    fs::read_to_string(repository(path)).expect("the page is there")
}

fn from_cuda() -> String {
    fs::read_to_string(repository("docs/from-cuda.md")).expect("the page is there")
}

/// All pages but those that tell of the past: `docs/verified/`, and the list of changes.
fn pages() -> Vec<PathBuf> {
    let mut pages =
        vec![repository("README.md"), repository("CONTRIBUTING.md"), repository("softcuda/README.md")];
    pages.extend(
        below(repository("docs"), "md")
            .into_iter()
            .filter(|path| !path.starts_with(repository("docs/verified"))),
    );
    pages
}

/// Where the library calls the driver.
fn calls() -> Vec<PathBuf> {
    sources(repository("src/driver/calls"))
}

/// The sources in Rust in a folder, and in those in it.
fn sources(folder: PathBuf) -> Vec<PathBuf> {
    below(folder, "rs")
}

/// The files with an ending in a folder, and in those in it.
fn below(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let folders = entries(folder.clone()).into_iter().filter(|path| path.is_dir());
    files(folder, ending).into_iter().chain(folders.flat_map(|folder| below(folder, ending))).collect()
}

fn files(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.extension().is_some_and(|it| it == ending)).collect()
}

fn entries(folder: PathBuf) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()).collect()
}

/// The base names of the table's entries in a file: `cuMemAlloc` for `cuMemAlloc_3020`.
fn called_in(file: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(file).expect("it can be read");
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    identifiers(&code).iter().filter_map(|name| base_of_entry(name)).map(str::to_owned).collect()
}

/// The base name of an entry of the table.
fn base_of_entry(name: &str) -> Option<&str> {
    let (base, number) = name.split_once('_')?;
    (is_of_the_driver(base) && number.parse::<u32>().is_ok()).then_some(base)
}

fn is_of_the_driver(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn identifiers(text: &str) -> BTreeSet<String> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    text.split(ends).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A page of `docs/languages/` shows parts of the program that it is about, as they stand there but for the indentation.
#[test]
fn the_code_of_a_language_is_that_of_its_program() {
    let unindented = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut shown = 0;
    for path in below(repository("docs/languages"), "md") {
        let page = fs::read_to_string(&path).expect("it can be read");
        let program = page.split("](../../examples/ffi/").nth(1).and_then(|rest| rest.split(')').next());
        let program = program.unwrap_or_else(|| panic!("{} names no program", path.display()));
        let program = repository("examples/ffi").join(program);
        let text = unindented(&fs::read_to_string(&program).expect("the program is there"));
        for (kind, line, block) in examples::blocks(&page) {
            let stands = match kind {
                "sh" => continue,
                "text" => {
                    fs::read_to_string(repository("examples/ffi/output.txt")).expect("it is there") == block
                }
                _ => text.contains(&unindented(&block)),
            };
            assert!(stands, "{}:{line} is not in {}", path.display(), program.display());
            shown += 1;
        }
    }
    assert!(shown >= 24, "{shown}");
}
