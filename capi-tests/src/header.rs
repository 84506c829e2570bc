//! What the headers declare, read out of them.

use crate::repository;
use std::collections::BTreeSet;

/// The text of `include/cushim_driver.h` and of `include/cushim_loader.h`, which it includes.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn text() -> String {
    let read =
        |name: &str| std::fs::read_to_string(repository("include").join(name)).expect("the header is there");
    read("cushim_loader.h") + &read("cushim_driver.h")
}

/// The text of `include/cushim.h`.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn objects() -> String {
    std::fs::read_to_string(repository("include/cushim.h")).expect("the header is there")
}

/// The texts of the headers in `include/cushim-cuda/`.
///
/// # Panics
/// If they cannot be read.
#[must_use]
pub fn cuda() -> String {
    let names = ["cuda.h", "cudaTypedefs.h", "cudaProfiler.h", "builtin_types.h"];
    let read = |name| std::fs::read_to_string(repository("include/cushim-cuda").join(name));
    names.map(|name| read(name).expect("the header is there")).concat()
}

/// The functions that the header declares: `cushim_driver_open` and so on.
#[must_use]
pub fn functions(header: &str) -> BTreeSet<String> {
    let inside = |line: &str| {
        line.starts_with(['/', ' ', '#', '}'])
            || ["static ", "CUSHIM_INLINE "].iter().any(|start| line.starts_with(start))
    };
    let outside = |line: &&str| !inside(line);
    let declared = header.lines().filter(outside).filter(|line| !line.starts_with("typedef "));
    declared
        .filter_map(|line| Some(word_before(line, line.find('(')?)))
        .filter(|name| name.starts_with("cushim_"))
        .collect()
}

fn word_before(line: &str, end: usize) -> String {
    let start = line[..end].rfind([' ', '*']).map_or(0, |space| space + 1);
    line[start..end].to_owned()
}

/// An entry of the table.
pub struct Entry {
    /// The function's base name.
    pub base: String,
    /// The number of the ABI.
    pub number: u32,
    /// The name under which libcuda exports it.
    pub exported: String,
}

/// The entries of the table, in order.
///
/// # Panics
/// If a line of the table reads otherwise than expected.
#[must_use]
pub fn entries(header: &str) -> Vec<Entry> {
    let table = between(header, "\nstruct cushim_driver_table {", "\n};");
    table
        .lines()
        .filter_map(|line| line.split_once("(CUSHIM_CUDAAPI *"))
        .map(|(_, rest)| entry(rest))
        .collect()
}

fn entry(line: &str) -> Entry {
    let (name, rest) = line.split_once(')').expect("the entry's name ends");
    let (base, number) = name.rsplit_once('_').expect("an entry is called after its ABI");
    Entry {
        base: base.to_owned(),
        number: number.parse().expect("an ABI has a number"),
        exported: between(rest, "/* ", " */").to_owned(),
    }
}

/// The entries as a C source includes them: `ENTRY(base, number, "exported")`.
#[must_use]
pub fn entries_as_c(header: &str) -> String {
    let line = |Entry { base, number, exported }| format!("ENTRY({base}, {number}, \"{exported}\")\n");
    entries(header).into_iter().map(line).collect()
}

/// The functions that `CUSHIM_CUDA_NAMES` defines, each with its parameters as the header writes them.
///
/// # Panics
/// If a function reads otherwise than expected.
#[must_use]
pub fn names(header: &str) -> Vec<(String, Vec<String>)> {
    let defined = header.lines().filter_map(|line| line.strip_prefix("CUSHIM_INLINE CUresult cushim_12_"));
    let name = |line: &str| {
        let (name, parameters) = line.split_once('(').expect("a function has parameters");
        let parameters = parameters.strip_suffix(") {").expect("the parameters end");
        let parameters = parameters.split(", ").filter(|parameter| *parameter != "void");
        (name.to_owned(), parameters.map(str::to_owned).collect())
    };
    defined.map(name).collect()
}

/// A C source that calls every such function with zeros for arguments, by way of a macro `CALL`.
///
/// The functions that answer otherwise without a driver are left out.
#[must_use]
pub fn calls_as_c(header: &str) -> String {
    let answers = ["cuGetErrorName", "cuGetErrorString", "cuInit"];
    let called = names(header).into_iter().filter(|(name, _)| !answers.contains(&name.as_str()));
    called.map(|(name, parameters)| call(&name, &parameters)).collect()
}

fn call(name: &str, parameters: &[String]) -> String {
    let arguments: Vec<_> =
        parameters.iter().map(|parameter| word_before(parameter, parameter.len())).collect();
    let declarations: String = parameters.iter().zip(&arguments).map(|(p, a)| zero(p, a)).collect();
    format!("{{ {declarations}CALL({name}({})); }}\n", arguments.join(", "))
}

fn zero(parameter: &str, argument: &str) -> String {
    // A parameter that is constant itself, rather than what it points to.
    let variable = if parameter.contains('*') { parameter } else { parameter.trim_start_matches("const ") };
    format!("{variable}; memset(&{argument}, 0, sizeof {argument}); ")
}

/// The part of a text between two marks.
///
/// # Panics
/// If it has not both.
#[must_use]
pub fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("{start:?} is missing"));
    rest.split_once(end).unwrap_or_else(|| panic!("{end:?} is missing after {start:?}")).0
}
