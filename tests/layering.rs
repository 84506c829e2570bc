//! Imports go downwards only, and no two modules import each other: read from the paths in `src` that begin with `crate`,
//! `super` or `self`. CONTRIBUTING.md says why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules of the crate, from the bottom up. Each imports only what stands above it in this list; `object` so imports
/// nothing but `driver`, and `capi` imports `driver` only in `capi/driver*`, which export the raw tier.
const HOUSE: [(&str, &str); 22] = [
    ("driver", "the only part that knows libcuda: find it, open it, resolve it, call it"),
    ("object", "what every object shares: handles, errors, callbacks, releases; it knows no object"),
    ("check", "what nothing orders, where somebody wants to know"),
    ("feature", "what a device can do, by name"),
    ("device", "devices"),
    ("testing", "drivers for tests"),
    ("location", "where memory is, or should be"),
    ("context", "contexts: which is current, and whether it is valid"),
    ("pointer", "what the driver knows of an address"),
    ("stream", "streams"),
    ("event", "events"),
    ("order", "the stream in whose order something is given back"),
    ("kernel", "code that was loaded, and how it is launched"),
    ("compile", "CUDA C++ compiled at run time: NVRTC is found, told, and what came of it is kept"),
    ("op", "what streams are asked to do, as values"),
    ("graphics", "buffers and images of OpenGL, while CUDA has them"),
    ("memory", "where memory comes from, and buffers that free themselves"),
    ("managed", "what is said of managed memory"),
    ("scratch", "buffers that begin as a copy"),
    ("graph", "operations as nodes: definitions, and what is instantiated from them"),
    ("typed", "slices and kernels whose types make them safe"),
    ("capi", "the C ABI: check arguments, look handles up, call, translate errors"),
];

/// A file of `src`, the module that it is, and the modules that its paths lead to.
struct Module {
    file: String,
    path: Vec<String>,
    imports: Vec<Vec<String>>,
    text: String,
}

type Edges = BTreeMap<String, BTreeSet<String>>;

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Rust file below `folder`.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("src is readable") {
        let path = entry.expect("src is readable").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("src is readable");
    // What comments link to is no import.
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// All modules but the root.
fn modules() -> Vec<Module> {
    let (src, reexports) = (src(), reexports(&read(&src().join("lib.rs"))));
    let files = rust_files(&src).into_iter().filter(|path| !path.ends_with("lib.rs"));
    files
        .map(|path| {
            let file =
                path.strip_prefix(&src).expect("below src").to_str().expect("UTF-8").replace('\\', "/");
            let module = module_of(&file);
            let text = read(&path);
            let imports = imports(&text, &module, &reexports);
            Module { file, path: module, imports, text }
        })
        .collect()
}

/// The module that a file is: `memory/buffer/mod.rs` is `memory::buffer`.
fn module_of(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// What the root gives other names to: `Stream` is of `stream`, and `error` of `object`.
fn reexports(root: &str) -> BTreeMap<String, String> {
    let trees = root.split(';').filter_map(|statement| statement.rsplit_once("use "));
    let paths = trees.flat_map(|(_, tree)| expand(tree)).filter(|path| path.len() > 1);
    paths.map(|path| (path[path.len() - 1].clone(), path[0].clone())).collect()
}

/// The modules that the paths in the text lead to, from the root on.
fn imports(text: &str, module: &[String], reexports: &BTreeMap<String, String>) -> Vec<Vec<String>> {
    paths(text).into_iter().filter_map(|path| resolve(&path, module, reexports)).collect()
}

/// Every path in the text that begins with `crate`, `super` or `self`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let starts = ["crate::", "super::", "self::"].into_iter().flat_map(|root| text.match_indices(root));
    let begins = |at: &usize| !text[..*at].ends_with(|c: char| is_of_name(c) || c == ':');
    starts.map(|(at, _)| at).filter(begins).flat_map(|at| expand(&text[at..])).collect()
}

/// The paths of a tree: `a::{b, c::d}` is `a::b` and `a::c::d`. The text may go on behind it.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim_start();
    if let Some(group) = tree.strip_prefix('{') {
        return split(group).into_iter().flat_map(expand).collect();
    }
    let name = &tree[..tree.find(|c: char| !is_of_name(c)).unwrap_or(tree.len())];
    let rest = tree[name.len()..].strip_prefix("::").filter(|_| !name.is_empty());
    let ends = rest.map_or_else(|| vec![Vec::new()], expand);
    let start = Some(name).filter(|name| !name.is_empty()).map(str::to_owned);
    ends.into_iter().map(|end| start.clone().into_iter().chain(end).collect()).collect()
}

/// The parts of a group, which commas separate, up to the brace that closes it.
fn split(group: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    parts
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A path from the root on; `None` if it leads to nothing but the root itself.
fn resolve(path: &[String], module: &[String], reexports: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let (base, rest) = match path[0].as_str() {
        "crate" => (&[][..], &path[1..]),
        "self" => (module, &path[1..]),
        // A module within a file goes up once to its own file.
        _ => (&module[..module.len().saturating_sub(ups)], &path[ups..]),
    };
    let mut whole = [base, rest].concat();
    let first = whole.first()?.clone();
    if let Some(home) = reexports.get(&first).filter(|_| base.is_empty()) {
        whole.insert(0, home.clone());
    }
    Some(whole)
}

fn floor(module: &str) -> Option<usize> {
    HOUSE.iter().position(|(name, _)| *name == module)
}

/// Whether a file may have a path into that module.
fn may_import(file: &str, module: &str) -> bool {
    let own = module_of(file)[0].clone();
    match (floor(&own), floor(module)) {
        _ if own == module => true,
        (Some(_), Some(0)) if own == "capi" => file.starts_with("capi/driver"),
        (Some(own), Some(other)) => other < own,
        // No module, but something that the root has.
        _ => true,
    }
}

/// Which modules of those at `depth` below `root` import which others of them.
fn edges(modules: &[Module], root: &[&str]) -> Edges {
    let depth = root.len();
    let below = |path: &[String]| (path.len() > depth && path[..depth] == *root).then(|| path[depth].clone());
    let all: BTreeSet<String> = modules.iter().filter_map(|module| below(&module.path)).collect();
    let mut edges: Edges = all.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
    for module in modules {
        let Some(from) = below(&module.path) else { continue };
        let to = module.imports.iter().filter_map(|path| below(path));
        let others = to.filter(|to| *to != from && all.contains(to));
        edges.entry(from.clone()).or_default().extend(others);
    }
    edges
}

/// The modules that import each other, directly or by way of others, and those that lead there; none if no two do.
fn cycles(mut edges: Edges) -> Edges {
    loop {
        let ends: Vec<String> =
            edges.iter().filter(|(_, to)| to.is_empty()).map(|(from, _)| from.clone()).collect();
        if ends.is_empty() {
            return edges;
        }
        edges.retain(|from, _| !ends.contains(from));
        edges.values_mut().for_each(|to| to.retain(|to| !ends.contains(to)));
    }
}

/// Which files below `root` name which others of them: by a path from the root or upwards, and a file that has others below it, by
/// their names. What a file only passes on (`pub use`) it does not need, nor what its tests and comments name.
fn file_edges(modules: &[Module], root: &str) -> Edges {
    let files: Vec<&Module> = modules.iter().filter(|module| module.path[0] == root).collect();
    let file_of = |path: &[String]| {
        let is_above = |file: &&&Module| path.starts_with(&file.path);
        let nearest = files.iter().filter(is_above).max_by_key(|file| file.path.len());
        nearest.map(|file| file.path.join("/"))
    };
    let mut edges = Edges::new();
    for module in files.iter().filter(|module| !module.path.ends_with(&["tests".to_owned()])) {
        let text = needed(&module.text);
        let upwards = imports(&text, &module.path, &BTreeMap::new());
        let below = files.iter().filter(|other| other.path.len() == module.path.len() + 1);
        let below = below.filter(|other| other.path.starts_with(&module.path));
        let below = below.filter(|other| names(&text, other.path.last().expect("a file has a name")));
        let all = upwards.into_iter().chain(below.map(|other| other.path.clone()));
        let to = all.filter_map(|path| file_of(&path));
        let own = module.path.join("/");
        let others = to.filter(|to| *to != own).collect();
        edges.insert(own, others);
    }
    edges
}

/// What a file needs: its text without comments, what it passes on, and its tests.
fn needed(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().expect("a text has a start");
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().expect("as above")).collect();
    let code = code.join("\n").replace("pub(in crate", "pub(in ");
    let passes_on = |statement: &str| {
        ["pub use ", "pub(crate) use ", "pub(super) use "].iter().find_map(|start| statement.find(start))
    };
    let mut needed = String::new();
    for statement in code.split_inclusive(';') {
        needed.push_str(&statement[..passes_on(statement).unwrap_or(statement.len())]);
    }
    needed
}

/// Whether the text has a path that begins with this name.
fn names(text: &str, module: &str) -> bool {
    let starts = text.match_indices(&format!("{module}::")).map(|(at, _)| at).collect::<Vec<_>>();
    starts.into_iter().any(|at| !text[..at].ends_with(|c: char| is_of_name(c) || c == ':'))
}

#[test]
fn every_module_has_its_floor() {
    let modules: BTreeSet<String> = modules().into_iter().map(|module| module.path[0].clone()).collect();
    let house: BTreeSet<String> = HOUSE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(modules, house);
}

#[test]
fn imports_go_downwards() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for Module { file, imports, .. } in modules() {
        for import in imports {
            seen += 1;
            if !may_import(&file, &import[0]) {
                wrong.push(format!("src/{file} imports {}", import.join("::")));
            }
        }
    }
    assert!(seen > 500, "{seen} imports were read");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_modules_import_each_other() {
    let modules = modules();
    for (root, least) in [(&[][..], HOUSE.len()), (&["object"][..], 10)] {
        let edges = edges(&modules, root);
        let imports: usize = edges.values().map(BTreeSet::len).sum();
        assert!(edges.len() >= least && imports >= least, "too few were read: {edges:#?}");
        let cycles = cycles(edges);
        assert!(cycles.is_empty(), "{cycles:#?}");
    }
}

#[test]
fn no_files_of_the_calls_or_the_loader_import_each_other() {
    let mut edges = file_edges(&modules(), "driver");
    let is_meant = |file: &String| file.starts_with("driver/calls/") || file.starts_with("driver/library");
    edges.retain(|from, _| is_meant(from));
    edges.values_mut().for_each(|to| to.retain(is_meant));
    let imports: usize = edges.values().map(BTreeSet::len).sum();
    assert!(edges.len() > 25 && imports > 15, "too few were read: {edges:#?}");
    let cycles = cycles(edges);
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn no_files_of_a_graph_import_each_other() {
    let edges = file_edges(&modules(), "graph");
    let imports: usize = edges.values().map(BTreeSet::len).sum();
    assert!(edges.len() > 60 && imports > 300, "too few were read: {edges:#?}");
    let cycles = cycles(edges);
    assert!(cycles.is_empty(), "{cycles:#?}");
}

/// A file with this text, as the tests read it.
fn module(file: &str, text: &str) -> Module {
    let root = "\nuse object::{callback, error};\npub use object::error::{Error, Status};\npub use stream::Stream;\n";
    let path = module_of(file);
    let imports = imports(text, &path, &reexports(root));
    Module { file: file.to_owned(), path, imports, text: text.to_owned() }
}

#[test]
fn paths_are_understood() {
    let read = |file: &str, text: &str| -> Vec<String> {
        module(file, text).imports.iter().map(|import| import.join("::")).collect()
    };
    assert_eq!(read("event.rs", "use crate::stream::Stream;"), ["stream::Stream"]);
    assert_eq!(
        read("event.rs", "use crate::{driver::{sys, Table}, op};"),
        ["driver::sys", "driver::Table", "op"]
    );
    assert_eq!(
        read("event.rs", "crate::error::Error crate::Stream"),
        ["object::error::Error", "stream::Stream"]
    );
    assert_eq!(read("object/native.rs", "use super::registry::Registry;"), ["object::registry::Registry"]);
    assert_eq!(read("object/handle/mod.rs", "use super::error;"), ["object::error"]);
    assert_eq!(
        read("object/handle/slots.rs", "use super::super::native::{end, listed};"),
        ["object::native::end", "object::native::listed"]
    );
    assert_eq!(
        read("object/handle/mod.rs", "self::slots::Slot::<u8>::new()"),
        ["object::handle::slots::Slot"]
    );
    assert_eq!(read("driver/sys.rs", "$crate::driver::call!(a) supercrate::op"), ["driver::call"]);
}

#[test]
fn the_rules_can_fail() {
    for (file, module) in [
        ("driver/open.rs", "object"),
        ("object/error.rs", "context"),
        ("context/state.rs", "stream"),
        ("op/copy.rs", "memory"),
        ("managed/range.rs", "scratch"),
        ("memory/buffer/mod.rs", "capi"),
        ("capi/error.rs", "driver"),
    ] {
        assert!(!may_import(file, module), "{file} may not import {module}");
    }
    for (file, module) in [
        ("capi/driver/open.rs", "driver"),
        ("capi/driver_types.rs", "driver"),
        ("object/error.rs", "driver"),
        ("memory/buffer/mod.rs", "op"),
        ("op/mod.rs", "op"),
    ] {
        assert!(may_import(file, module), "{file} may import {module}");
    }
    // `a` and `b` import each other by way of `c`; `d` only leads there, and `e` is led to.
    let of = |name: &str, text: &str| module(&format!("object/{name}"), text);
    let modules = [
        of("a.rs", "use super::b::B; use super::e;"),
        of("b/mod.rs", "use inner::Inner;"),
        of("b/inner.rs", "use crate::object::c;"),
        of("c.rs", "fn f() { super::a::call() }"),
        of("d.rs", "use super::{a, e};"),
        of("e.rs", ""),
    ];
    let found: Vec<String> = cycles(edges(&modules, &["object"])).into_keys().collect();
    assert_eq!(found, ["a", "b", "c", "d"]);
    assert!(cycles(edges(&modules[3..], &["object"])).is_empty());
}

/// Which files import each other if these are all that there are.
fn files_in_cycles(files: &[(&str, &str)]) -> Vec<String> {
    let modules: Vec<Module> = files.iter().map(|(file, text)| module(file, text)).collect();
    cycles(file_edges(&modules, "graph")).into_keys().collect()
}

#[test]
fn files_that_import_each_other_are_found() {
    assert_eq!(
        files_in_cycles(&[
            ("graph/a.rs", "use super::b::{B, C};"),
            ("graph/b.rs", "fn f() { crate::graph::a::g() }")
        ]),
        ["graph/a", "graph/b"]
    );
    // A file and one below it, which it names without saying where that is.
    assert_eq!(
        files_in_cycles(&[
            ("graph/exec/mod.rs", "fn f() { set::g() }"),
            ("graph/exec/set.rs", "use super::Exec;")
        ]),
        ["graph/exec", "graph/exec/set"]
    );
    // What is passed on, and what comments and tests name, is not needed.
    let passed_on = [
        ("graph/mod.rs", "#[cfg(feature = \"capi\")]\npub(crate) use a::A;\npub(in crate::graph) struct G;"),
        ("graph/a.rs", "use super::G; // super::b::B"),
        ("graph/b.rs", "use super::a::A;\n#[cfg(test)]\nmod tests { use crate::graph::b::B; }"),
    ];
    assert_eq!(files_in_cycles(&passed_on), [""; 0]);
}
