//! softcuda stands on floors. `docs/architecture.md` says what each of them is for.
//!
//! 1. A floor imports only floors below it (`FLOORS`); the engine for PTX imports nothing.
//! 2. There is no cycle: of the parts of a folder, files and folders, none uses another that uses it, however indirectly.
//!    A folder's `mod.rs` speaks for the folder: it may use the parts, and they it. Of the engine's own parts this
//!    holds for those of `ptx/lower`.
//!
//! Read are the paths in the sources that begin with `crate`, `super` or `self`, and in a `mod.rs` those that begin with a
//! part; not unit tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each floor, and those that it may use.
const FLOORS: [(&str, &[&str]); 7] = [
    ("interface", &["driver", "executor", "check", "instruments", "abi"]),
    ("driver", &["executor", "check", "ptx", "instruments", "abi"]),
    ("executor", &["check", "instruments"]),
    ("check", &["instruments"]),
    ("ptx", &[]),
    ("instruments", &["abi"]),
    ("abi", &[]),
];

/// What stands in `src` beside them.
const BESIDE: [&str; 2] = ["lib.rs", "locate.rs"];

/// A module by its path, from the root on.
type Module = Vec<String>;

/// The text of each module. A folder's is its `mod.rs`.
type Sources = BTreeMap<Module, String>;

/// Which module uses which.
type Imports = BTreeSet<(Module, Module)>;

fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// Reads every source below `folder`, except unit tests.
fn read(folder: &Path, root: &Path, sources: &mut Sources) {
    for entry in std::fs::read_dir(folder).expect("src is readable") {
        let path = entry.expect("src is readable").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        if path.is_dir() {
            read(&path, root, sources);
        } else if name.ends_with(".rs") && !["lib.rs", "tests.rs"].contains(&name) {
            let text = std::fs::read_to_string(&path).expect("src is readable");
            sources.insert(module(path.strip_prefix(root).expect("below").to_str().expect("UTF-8")), text);
        }
    }
}

/// The text without comments, and without the unit tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths of a `use` tree.
fn expand(prefix: &[&str], tree: &str, paths: &mut Vec<Module>) {
    let tree = tree.trim();
    let Some((start, rest)) = tree.split_once('{') else {
        let own = tree.split(" as ").next().unwrap_or_default().split("::").map(str::trim);
        let path = prefix.iter().copied().chain(own).filter(|part| !part.is_empty());
        return paths.push(path.map(str::to_owned).collect());
    };
    let start = start.split("::").map(str::trim).filter(|part| !part.is_empty());
    let prefix: Vec<&str> = prefix.iter().copied().chain(start).collect();
    let (mut depth, mut begin) = (0, 0);
    let inside = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    for (at, character) in inside.char_indices().chain([(inside.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[begin..at].trim().is_empty() {
                    expand(&prefix, &inside[begin..at], paths);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// Every path in a text: those of its `use` lines, and what else is written as one.
fn paths(text: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    let mut rest = String::new();
    for (at, part) in code(text).split("use ").enumerate() {
        match part.split_once(';') {
            Some((tree, after)) if at > 0 && !tree.contains(['(', '=', '"']) => {
                expand(&[], tree, &mut paths);
                rest.push_str(after);
            }
            _ => rest.push_str(part),
        }
        rest.push('\n');
    }
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = rest.split(|c: char| !is_path(c)).filter(|word| word.contains("::"));
    paths.extend(words.map(|word| word.split("::").map(str::to_owned).collect()));
    paths
}

/// The module that a path means, as seen from another; `None` if it is none of ours.
fn resolve(from: &Module, path: &[String], sources: &Sources) -> Option<Module> {
    let is_module = |module: &Module| sources.keys().any(|known| known.starts_with(module));
    let mut at = from.clone();
    let mut path = path.iter().peekable();
    match path.peek()?.as_str() {
        "crate" => {
            path.next();
            at.clear();
        }
        "super" => {
            while path.next_if(|part| *part == "super").is_some() {
                at.pop();
            }
        }
        "self" => {
            path.next();
        }
        part => {
            at.push(part.to_owned());
            return is_module(&at).then_some(at);
        }
    }
    for part in path {
        at.push(part.clone());
        if !is_module(&at) {
            at.pop();
            break;
        }
    }
    Some(at)
}

fn imports(sources: &Sources) -> Imports {
    let mut imports = Imports::new();
    for (from, text) in sources {
        let found = paths(text).into_iter().filter_map(|path| resolve(from, &path, sources));
        imports.extend(found.filter(|to| to != from).map(|to| (from.clone(), to)));
    }
    imports
}

/// Imports that do not go down.
fn upwards(imports: &Imports) -> Vec<String> {
    let allowed = |from: &str, to: &str| {
        from == to || FLOORS.iter().any(|(floor, below)| *floor == from && below.contains(&to))
    };
    let wrong = imports.iter().filter(|(from, to)| {
        let (Some(from), Some(to)) = (from.first(), to.first()) else { return false };
        !allowed(from, to)
    });
    wrong.map(|(from, to)| format!("{} imports {}", from.join("::"), to.join("::"))).collect()
}

/// Parts of one folder that use each other, round about.
fn cycles(imports: &Imports) -> Vec<String> {
    // Folder → part → the parts that it uses.
    let mut folders: BTreeMap<&[String], BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (from, to) in imports {
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if let (Some(part), Some(other)) = (from.get(common), to.get(common)) {
            let folder = folders.entry(&from[..common]).or_default();
            folder.entry(part).or_default().insert(other);
            folder.entry(other).or_default();
        }
    }
    folders
        .retain(|folder, _| folder.first().is_none_or(|floor| floor != "ptx") || *folder == ["ptx", "lower"]);
    let mut found = Vec::new();
    for (folder, mut parts) in folders {
        // What uses nothing that is left is in no cycle.
        while let Some(done) = parts.iter().find(|(_, uses)| uses.is_empty()).map(|(part, _)| *part) {
            parts.remove(done);
            parts.values_mut().for_each(|uses| uses.retain(|part| *part != done));
        }
        if !parts.is_empty() {
            found.push(format!("in src/{}: {parts:?}", folder.join("/")));
        }
    }
    found
}

fn all() -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Sources::new();
    read(&root, &root, &mut sources);
    sources
}

#[test]
fn imports_go_down() {
    let imports = imports(&all());
    assert!(imports.len() > 300, "only {} imports were read", imports.len());
    let wrong = upwards(&imports);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn there_is_no_cycle() {
    let cycles = cycles(&imports(&all()));
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn everything_stands_on_a_floor() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("readable") {
        let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
        let known = FLOORS.iter().any(|(floor, _)| *floor == name) || BESIDE.contains(&&*name);
        assert!(known, "src/{name} is on no floor");
    }
}

/// What the rules find in sources that are not as they should be.
fn found(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let sources = files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
    let imports = imports(&sources);
    (upwards(&imports), cycles(&imports))
}

#[test]
fn the_rules_can_fail() {
    let upwards = |path: &str, text: &str| {
        let floors = FLOORS.map(|(floor, _)| format!("{floor}/mod.rs"));
        let mut files: Vec<(&str, &str)> = floors.iter().map(|floor| (&**floor, "")).collect();
        files.push((path, text));
        found(&files).0.len()
    };
    assert_eq!(upwards("executor/a.rs", "use crate::driver::stream::Stream;"), 1);
    assert_eq!(upwards("executor/a.rs", "use crate::{instruments::log, driver::{a, b}, abi};"), 2);
    assert_eq!(upwards("instruments/a.rs", "fn f() { crate::executor::stop() }"), 1);
    assert_eq!(upwards("ptx/exec/a.rs", "use super::super::super::abi;"), 1);
    assert_eq!(upwards("driver/a/b.rs", "use crate::interface;\nuse crate::executor;"), 1);
    assert_eq!(upwards("interface/a.rs", "use crate::driver;\nuse crate::abi::sys;"), 0);
    assert_eq!(
        upwards("abi/a.rs", "// use crate::driver;\n#[cfg(test)]\nmod tests { use crate::driver; }"),
        0
    );

    let cycles = |files: &[(&str, &str)]| found(files).1.len();
    let two = [("driver/a.rs", "use super::b::B;"), ("driver/b.rs", "use crate::driver::a::A;")];
    assert_eq!(cycles(&two), 1);
    assert_eq!(cycles(&two[..1]), 0);
    let three = [
        ("driver/a/x.rs", "use crate::driver::b;"),
        ("driver/b.rs", "fn f() { super::c::g() }"),
        ("driver/c.rs", "use crate::driver::{a::{self, x as y}, d};"),
        ("driver/a/mod.rs", "mod x;"),
    ];
    assert_eq!(cycles(&three), 1, "round about, and into a folder");
    assert_eq!(cycles(&three[..2]), 0);
    let folder = [("driver/a/mod.rs", "use x::X;"), ("driver/a/x.rs", "use super::A;")];
    assert_eq!(cycles(&folder), 0, "a folder's mod.rs speaks for the folder");
    let floors = [("driver/a.rs", "use crate::executor;"), ("executor/mod.rs", "use crate::driver;")];
    assert_eq!(cycles(&floors), 1);
}
