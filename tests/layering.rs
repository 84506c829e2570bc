//! Imports go downwards only: capi → objects → driver. CONTRIBUTING.md says why.

use std::path::{Path, PathBuf};

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

fn layer(path: &str) -> &'static str {
    match path {
        p if p.starts_with("capi/") => "capi",
        p if p.starts_with("driver/") => "driver",
        "lib.rs" => "root",
        _ => "objects",
    }
}

/// The first segment of each `crate::` path in the text, also of those in braces.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    text.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(group) => {
            group.split_once('}').map_or(group, |(inside, _)| inside).split(',').map(first).collect()
        }
        None => vec![first(rest)],
    })
}

/// The identifier that the text begins with.
fn first(path: &str) -> &str {
    let path = path.trim_start();
    path.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(path, |end| &path[..end])
}

fn may_import(file: &str, module: &str) -> bool {
    match (layer(file), module) {
        ("driver", module) => module == "driver",
        ("objects", module) => module != "capi",
        ("capi", "driver") => file.starts_with("capi/driver"),
        _ => true,
    }
}

#[test]
fn imports_go_downwards() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for path in rust_files(&src) {
        let file = path.strip_prefix(&src).expect("below src").to_str().expect("UTF-8").replace('\\', "/");
        let text = std::fs::read_to_string(&path).expect("src is readable");
        for module in imports(&text) {
            seen += 1;
            if !may_import(&file, module) {
                wrong.push(format!("src/{file} imports crate::{module}"));
            }
        }
    }
    assert!(seen > 0, "no import was read");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_rule_can_fail() {
    assert!(!may_import("driver/open.rs", "error"));
    assert!(!may_import("error.rs", "capi"));
    assert!(!may_import("capi/error.rs", "driver"));
    assert!(may_import("capi/driver/open.rs", "driver"));
    let text = "use crate::error::Error; use crate::{capi, driver::Table};";
    assert_eq!(imports(text).collect::<Vec<_>>(), ["error", "capi", "driver"]);
}

#[test]
fn unsafe_stands_where_it_may() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed = ["capi/", "driver/", "handle/", "callback/"];
    for path in rust_files(&src) {
        let file = path.strip_prefix(&src).expect("below src").to_str().expect("UTF-8").replace('\\', "/");
        let text = std::fs::read_to_string(&path).expect("src is readable");
        let here = allowed.iter().any(|prefix| file.starts_with(prefix));
        // Examples in the documentation are the reader's code.
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        assert!(here || !code.any(|line| line.contains("unsafe {")), "src/{file} has an unsafe block");
    }
}
