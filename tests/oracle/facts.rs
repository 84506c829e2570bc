//! What a C++ compiler makes of a header: every fact about it that the ABI depends on, taken by compiling
//! `facts.hpp` behind it.

use super::catalogue::Catalogue;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Facts of one header by name: `struct CUuuid` → `16 1`, `field CUuuid.bytes` → `0 16 i`, and so on as `facts.hpp` has it.
pub(crate) type Facts = BTreeMap<String, String>;

/// NVIDIA's headers of one release, on top of each other.
const NVIDIA: &str = "\
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaGL.h>
#include <cudaGLTypedefs.h>
#include <cudaEGL.h>
#include <cudaEGLTypedefs.h>
#include <vdpau/vdpau.h>
#include <cudaVDPAU.h>
#include <cudaVDPAUTypedefs.h>
";
/// Makes `cuda.h` declare every function under the name that the driver exports, and the types of old ABIs.
const INTERNAL: &str = "#define __CUDA_API_VERSION_INTERNAL\n";
const OURS: &str = "#include \"cushim_driver.h\"\n";

/// Our name of the one struct that `cuda.h` itself does not declare, and NVIDIA's in `cudaEGL.h`.
pub(crate) const EGL_FRAME: (&str, &str) = ("cushim_egl_frame", "CUeglFrame_v1");

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a compiler with the folders that every program here wants.
pub(crate) fn compiler(name: &str, arguments: &[&str], headers: Option<&Path>, input: &Path) -> Output {
    let mut command = Command::new(name);
    command.args(arguments).arg("-I").arg(here("include")).arg("-I").arg(here("tests/oracle"));
    if let Some(headers) = headers {
        command.arg("-isystem").arg(headers).arg("-isystem").arg(here("tests/oracle/stand-ins"));
    }
    command.arg(input).output().unwrap_or_else(|error| panic!("{name} runs: {error}"))
}

/// Writes a source file into `folder`.
pub(crate) fn source(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the scratch folder takes a file");
    path
}

pub(crate) fn succeeded(output: Output, what: &str) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    let start: Vec<&str> = errors.lines().take(30).collect();
    assert!(output.status.success(), "{what}: {}\n{}", output.status, start.join("\n"));
    String::from_utf8(output.stdout).expect("text")
}

/// The text that the preprocessor makes of NVIDIA's headers, and of `tail` behind them.
fn preprocess(folder: &Path, headers: &Path, head: &str, tail: &str) -> String {
    let input = source(folder, "preprocess.cpp", &format!("{head}{NVIDIA}{tail}"));
    succeeded(
        compiler("g++", &["-std=c++17", "-E", "-P"], Some(headers), &input),
        "preprocessing NVIDIA's headers",
    )
}

/// Every identifier in a preprocessed text: a name that is not there is not declared.
pub(crate) fn identifiers(text: &str) -> HashSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect()
}

/// Compiles a list of `facts.hpp`'s macros behind `head`, runs it and reads what it prints.
pub(crate) fn take(folder: &Path, headers: Option<&Path>, head: &str, list: &str) -> Facts {
    let text = format!("{head}#include \"facts.hpp\"\nint main() {{\n{list}}}\n");
    let input = source(folder, "facts.cpp", &text);
    let program = folder.join("facts");
    let arguments = ["-std=c++17", "-w", "-o", program.to_str().expect("a path in UTF-8")];
    succeeded(
        compiler("g++", &arguments, headers, &input),
        "compiling the program that takes a header apart",
    );
    let output = Command::new(&program).output().expect("the program runs");
    let text = succeeded(output, "the program that takes a header apart");
    text.lines()
        .map(|line| line.split_once('\t').expect("a fact has a value"))
        .map(|(k, v)| (k.into(), v.into()))
        .collect()
}

/// What our own header declares.
pub(crate) fn of_ours(folder: &Path, catalogue: &Catalogue) -> Facts {
    let mut list = String::new();
    types(&mut list, catalogue, Some);
    for abi in &catalogue.abis {
        let entry = abi.entry();
        writeln!(list, "SIGNATURE(\"{entry}\", decltype(cushim_driver_table::{entry}))")
            .expect("a string takes text");
    }
    take(folder, None, OURS, &list)
}

/// What NVIDIA's headers in `headers` declare of the catalogue.
pub(crate) fn of_nvidia(folder: &Path, headers: &Path, catalogue: &Catalogue) -> Facts {
    let text = preprocess(folder, headers, INTERNAL, "");
    let declared = identifiers(&text);
    let mut list = "VALUE(CUDA_VERSION)\n".to_owned();
    let (our_frame, their_frame) = EGL_FRAME;
    types(&mut list, catalogue, |name| {
        let name = if name == our_frame { their_frame } else { name };
        declared.contains(name).then_some(name)
    });
    for abi in &catalogue.abis {
        functions(&mut list, &abi.entry(), &abi.pointer_type(), &abi.exported, &declared);
        if let Some((pointer_type, exported)) = abi.per_thread_type() {
            functions(&mut list, &format!("{} per thread", abi.entry()), &pointer_type, exported, &declared);
        }
    }
    let mut facts = take(folder, Some(headers), &format!("{INTERNAL}{NVIDIA}"), &list);
    facts.extend(
        unknown(&text, &declared, catalogue)
            .into_iter()
            .map(|name| (format!("unknown {name}"), String::new())),
    );
    facts
}

/// The function pointer types and exported functions that the catalogue does not know.
fn unknown<'a>(text: &'a str, declared: &HashSet<&'a str>, catalogue: &Catalogue) -> Vec<&'a str> {
    let mut known = HashSet::new();
    for abi in &catalogue.abis {
        known.extend(abi.exports().map(str::to_owned));
        known.insert(abi.pointer_type());
        known.extend(abi.per_thread_type().map(|(pointer_type, _)| pointer_type));
    }
    let pointer_types = declared.iter().copied().filter(|name| is_pointer_type(name));
    pointer_types.chain(functions_in(text)).filter(|name| !known.contains(*name)).collect()
}

/// The functions that a preprocessed text declares: `CUresult`, a name and a parenthesis.
fn functions_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("CUresult").skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let (name, rest) = rest.split_at(end);
        (name.starts_with("cu") && rest.trim_start().starts_with('(')).then_some(name)
    })
}

/// `PFN_cuInit_v2000` is one; the plain `PFN_cuInit` only names the newest of them.
fn is_pointer_type(name: &str) -> bool {
    let name = name.trim_end_matches("_ptds").trim_end_matches("_ptsz");
    let number = name.rsplit_once("_v").map(|(_, number)| number);
    name.starts_with("PFN_cu")
        && number.is_some_and(|n| n.len() >= 4 && n.bytes().all(|b| b.is_ascii_digit()))
}

fn functions(list: &mut String, name: &str, pointer_type: &str, exported: &str, declared: &HashSet<&str>) {
    if declared.contains(pointer_type) {
        writeln!(list, "SIGNATURE(\"{name}\", {pointer_type})").expect("a string takes text");
        if declared.contains(exported) {
            writeln!(list, "EXPORT(\"{name}\", {exported}, {pointer_type})").expect("a string takes text");
        }
    }
}

/// The macros for all that `types.json` declares; `find` gives the name that a header has for ours.
fn types<'a>(list: &mut String, catalogue: &'a Catalogue, find: impl Fn(&'a str) -> Option<&'a str>) {
    let mut line =
        |macro_name: &str, rest: &str| writeln!(list, "{macro_name}({rest})").expect("a string takes text");
    catalogue.types.iter().filter_map(|each| find(&each.name)).for_each(|name| line("TYPE", name));
    for each in &catalogue.structs {
        if let Some(name) = find(&each.name) {
            line("STRUCT", name);
            each.members.iter().for_each(|member| line("FIELD", &format!("{name}, {}", member.path)));
        }
    }
    catalogue.enumerators.iter().filter_map(|(name, _)| find(name)).for_each(|name| line("VALUE", name));
    for name in &catalogue.constants {
        list.push_str(&format!("#ifdef {name}\nCONSTANT({name})\n#endif\n"));
    }
}

/// The exported name behind each plain name of a function, as the macros of these headers have it.
pub(crate) fn plain_names(folder: &Path, headers: &Path, catalogue: &Catalogue) -> BTreeMap<String, String> {
    let lines: String = catalogue.abis.iter().map(|abi| format!("@ \"{0}\" {0}\n", abi.base)).collect();
    let text = preprocess(folder, headers, "", &lines);
    let declared = identifiers(text.split('@').next().expect("a first part"));
    let pairs = text.lines().filter_map(|line| line.strip_prefix("@ ")?.split_once(' '));
    pairs
        .filter(|(_, expanded)| declared.contains(expanded))
        .map(|(base, expanded)| (base.trim_matches('"').to_owned(), expanded.to_owned()))
        .collect()
}

/// For each ABI that a program may name with these headers, whether its entry in our table has NVIDIA's own type when
/// our header comes after theirs.
pub(crate) fn same_types(folder: &Path, headers: &Path, catalogue: &Catalogue) -> Facts {
    let text = preprocess(folder, headers, "", "");
    let declared = identifiers(&text);
    let mut list = String::new();
    for abi in &catalogue.abis {
        let (entry, pointer_type) = (abi.entry(), abi.pointer_type());
        if declared.contains(pointer_type.as_str()) {
            writeln!(list, "SAME(\"{entry}\", decltype(cushim_driver_table::{entry}), {pointer_type})")
                .expect("a string takes text");
        }
    }
    take(folder, Some(headers), &format!("{NVIDIA}{OURS}"), &list)
}
