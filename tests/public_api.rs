//! The Rust interface against the committed list, `abi/cushim.rust.txt`: additions are told, and whatever is gone or changed
//! fails.
//!
//! Left out is what is made of `catalogue/`, where nothing but additions happens: the driver's types in `driver::sys`, and
//! the fields of its table.

use public_api::{Builder, PublicApi};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = "abi/cushim.rust.txt";
const REFRESH: &str = "CUSHIM_REFRESH=1 cargo test --test public_api";

/// What rustdoc says of the library as Rust programs use it. Rust 1.95 says it only when it is told to be an unstable one.
fn rustdoc() -> PathBuf {
    let this = std::env::current_exe().expect("the test program knows where it is");
    let deps = this.parent().and_then(Path::parent).and_then(Path::parent).expect("target/<profile>/deps");
    let target = deps.join("public-api");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["rustdoc", "--locked", "--lib", "--target-dir"]).arg(&target);
    cargo.args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env("RUSTC_BOOTSTRAP", "1");
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{cargo:?}\n{}", String::from_utf8_lossy(&output.stderr));
    target.join("doc/cushim.json")
}

/// The items of the interface; `None` where this Rust says it in a format that the tests do not read.
fn items() -> Option<Vec<String>> {
    let builder = Builder::from_rustdoc_json(rustdoc()).omit_blanket_impls(true).omit_auto_trait_impls(true);
    match builder.omit_auto_derived_impls(true).build() {
        Ok(api) => Some(list(&api)),
        Err(error) => {
            let required = std::env::var_os("CUSHIM_REQUIRE").is_some_and(|value| value == "all");
            assert!(!required, "{error}; take the `public-api` that reads what this Rust writes");
            None
        }
    }
}

fn list(api: &PublicApi) -> Vec<String> {
    api.items().map(ToString::to_string).filter(|item| !is_made(item)).collect()
}

/// Whether the first thing that the item names, which is the item itself, is made of the catalogue.
fn is_made(item: &str) -> bool {
    let own = item.split_once("cushim::driver::").filter(|(before, _)| !before.contains("cushim::"));
    own.is_some_and(|(_, path)| path.starts_with("sys::") || path.starts_with("Table::cu"))
}

/// What one list has that the other has not, with a sign before it.
fn beyond(sign: &str, these: &[String], those: &[String]) -> Vec<String> {
    these.iter().filter(|item| !those.contains(item)).map(|item| format!("{sign} {item}")).collect()
}

#[test]
fn nothing_is_gone_or_changed() {
    let Some(items) = items() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    if std::env::var_os("CUSHIM_REFRESH").is_some() {
        std::fs::write(&path, items.join("\n") + "\n").expect("the list is written");
    }
    let listed = std::fs::read_to_string(&path).expect("the list is there");
    let listed: Vec<String> = listed.lines().map(str::to_owned).collect();
    let (gone, new) = (beyond("-", &listed, &items), beyond("+", &items, &listed));
    assert!(
        gone.is_empty(),
        "what {LIST} names is gone or changed. If that is meant, and the changelog says so: {REFRESH}\n{}\n{}",
        gone.join("\n"),
        new.join("\n")
    );
    if !new.is_empty() {
        let new = new.join("\n");
        writeln!(std::io::stderr(), "{LIST} is without these additions: {REFRESH}\n{new}").expect("written");
    }
}

/// How objects are shared is no part of the interface. Labels are texts that are shared, and what nodes have in common are plain parameters.
#[test]
fn handles_show_no_arc() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    let list = std::fs::read_to_string(list).expect("the list is there");
    let shows_object = |line: &&str| line.replace("alloc::sync::Arc<str>", "").contains("Arc<");
    let showing = list.lines().filter(shows_object);
    let showing = showing.filter(|line| !line.starts_with("pub cushim::op::node::Parameters::"));
    assert_eq!(showing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_is_made_of_the_catalogue_is_left_out() {
    let made = "pub cushim::driver::Table::cuInit_2000: core::option::Option<fn()>";
    let used = "pub fn cushim::Device::native(&self) -> cushim::driver::sys::CUdevice";
    assert!(is_made(made) && !is_made(used));
    let (old, new) = ([made.to_owned()], [made.to_owned(), used.to_owned()]);
    assert_eq!(beyond("+", &new, &old), [format!("+ {used}")]);
    assert!(beyond("-", &old, &new).is_empty());
}
