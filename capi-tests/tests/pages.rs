//! The documentation names what there is: functions, types and constants of the headers, and functions of the driver.
#![cfg(target_os = "linux")]

use capi_tests::build::Build;
use capi_tests::matrix::VERSIONS;
use capi_tests::run::{Driver, Run};
use capi_tests::{generated, header, repository};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

#[test]
fn every_name_on_a_page_is_in_a_header() {
    let known = identifiers(&(header::text() + &header::objects()));
    let mut unknown = BTreeSet::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("it can be read");
        // `cushim_node_set_…` stands for several.
        let names = identifiers(&text).into_iter();
        let names = names.filter(|name| name.starts_with("cushim_") && !name.ends_with('_'));
        unknown.extend(names.filter(|name| !known.contains(name)).map(|name| (page.clone(), name)));
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

/// The README prints the program that the tests of the examples run.
#[test]
fn the_readme_prints_its_example_as_it_is() {
    let printed = examples(&page("README.md")).concat();
    let example = fs::read_to_string(repository("examples/ordered.c")).expect("it can be read");
    assert_eq!(printed, example, "README.md and examples/ordered.c differ");
}

/// The examples of each of these pages are one program, which does what the page says.
#[test]
fn the_examples_of_the_pages_about_graphs_run() {
    for name in ["graphs", "capture"] {
        let path = format!("docs/{name}.md");
        let examples = examples(&page(&path));
        assert!(examples.len() > 4, "{} examples in {path}", examples.len());
        let head = repository("capi-tests/c/pages/graphs.h");
        let program = GRAPHS
            .replace("HEAD", head.to_str().expect("UTF-8"))
            .replace("PAGE", &path)
            .replace("EXAMPLES", &examples.concat());
        let build = Build::of(&generated::source(&format!("page_{name}.c"), &program)).input(head);
        let program = build.program().expect("the examples compile");
        for (version, number) in VERSIONS {
            // Conditions are newer than the rest.
            if *number >= 12030 {
                let output = Run::new(&program, Driver::Shell(version)).output();
                assert_eq!(output.as_deref(), Ok("done\n"), "{path} on {version}");
            }
        }
    }
}

/// What stands around the examples of a page about graphs.
const GRAPHS: &str = r#"#include "HEAD"

int main(void) {
cushim_driver driver;
cushim_device device;
cushim_context context;
cushim_stream stream;
cushim_library library;
cushim_kernel add_kernel, count_down;
check(cushim_driver_open(NULL, &driver));
check(cushim_driver_get_device(driver, 0, &device));
check(cushim_context_retain_primary(device, &context));
check(cushim_stream_create(context, NULL, &stream));
check(cushim_library_load(context, code, sizeof code, NULL, &library));
check(cushim_kernel_create(library, "add", &add_kernel));
check(cushim_kernel_create(library, "count_down", &count_down));
#line 1 "PAGE"
EXAMPLES
check(cushim_kernel_destroy(add_kernel));
check(cushim_kernel_destroy(count_down));
check(cushim_library_destroy(library));
check(cushim_stream_destroy(stream));
check(cushim_context_destroy(context));
check(cushim_driver_destroy(driver));
printf("done\n");
return 0;
}
"#;

/// The examples in C of a page.
fn examples(page: &str) -> Vec<String> {
    let after = page.split("```c\n").skip(1);
    after.map(|text| text.split("```").next().unwrap_or_default().to_owned()).collect()
}

fn page(path: &str) -> String {
    fs::read_to_string(repository(path)).expect("the page is there")
}

fn from_cuda() -> String {
    fs::read_to_string(repository("docs/from-cuda.md")).expect("the page is there")
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files(repository("docs"), "md");
    pages.push(repository("README.md"));
    pages
}

/// Where the library calls the driver.
fn calls() -> Vec<PathBuf> {
    let mut folders = vec![repository("src/driver/calls")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        found.extend(files(folder.clone(), "rs"));
        folders.extend(entries(folder).into_iter().filter(|path| path.is_dir()));
    }
    found
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
