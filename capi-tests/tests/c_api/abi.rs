//! The binary interface against the committed dump: additions are told, and whatever is gone or changed fails.

use capi_tests::abi::{DUMP, PACKAGE, REFRESH, Version, additions, is_possible};
use capi_tests::{interface, repository, say, skip};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Whether there is something to compare with.
fn possible() -> bool {
    let possible = is_possible();
    if !possible {
        skip(format_args!("abidw and abidiff are not installed; apt install {PACKAGE}"));
    }
    possible
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn now() -> String {
    let version = Version { headers: &repository("include"), interface: &interface::read() };
    version.dump(folder().path()).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn nothing_is_gone_or_changed() {
    if !possible() {
        return;
    }
    let committed = std::fs::read_to_string(repository(DUMP)).expect("the dump is there");
    match additions(&committed, &now(), &interface::read(), folder().path()) {
        Ok(added) if added.is_empty() => {}
        Ok(added) => say(format_args!("{added}\n{DUMP} is without these additions: {REFRESH}")),
        Err(changed) => panic!(
            "{changed}\nPrograms that were compiled with {DUMP} break. If nobody has released it, or the SONAME changes \
             with it: {REFRESH}"
        ),
    }
}

/// The headers, with one thing in them replaced by another.
fn edited(file: &str, from: &str, to: &str) -> TempDir {
    let folder = folder();
    for name in ["cushim.h", "cushim_driver.h", "cushim_loader.h"] {
        let text = std::fs::read_to_string(repository("include").join(name)).expect("the header is there");
        let text = if name == file {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        } else {
            text
        };
        std::fs::write(folder.path().join(name), text).expect("the header is written");
    }
    folder
}

/// What is said of an interface with these headers and functions.
fn verdict(headers: &Path, functions: &Value) -> Result<String, String> {
    let new = Version { headers, interface: functions }.dump(folder().path())?;
    additions(&now(), &new, functions, folder().path())
}

const OPTIONS: &str = "typedef struct cushim_context_options {";
const EXTENT: &str = "typedef struct cushim_extent {";

#[test]
fn additions_are_told() {
    if !possible() {
        return;
    }
    let interface = interface::read();
    let same = verdict(&repository("include"), &interface);
    assert_eq!(same.as_deref(), Ok(""));
    let new_type = format!("typedef struct cushim_fresh {{ int more; }} cushim_fresh;\n{EXTENT}");
    let told = verdict(edited("cushim.h", EXTENT, &new_type).path(), &interface);
    assert!(told.as_ref().is_ok_and(|told| told.contains("cushim_fresh")), "{told:?}");
    let grown =
        edited("cushim_driver.h", "/* cuTensorMapSetAllocationClass */\n", "/* */ int (*more)(void);\n");
    let told = verdict(grown.path(), &interface);
    assert!(told.as_ref().is_ok_and(|told| told.contains("more")), "{told:?}");
}

#[test]
fn changes_are_refused() {
    if !possible() {
        return;
    }
    let interface = interface::read();
    for (file, from, to, word) in [
        ("cushim.h", "CUSHIM_ENDPOINT_AUTO = 4", "CUSHIM_ENDPOINT_AUTO = 5", "CUSHIM_ENDPOINT_AUTO"),
        ("cushim.h", EXTENT, "typedef struct cushim_extent { int first;", "cushim_extent"),
        ("cushim.h", OPTIONS, "typedef struct cushim_context_options { size_t first;", "struct_size"),
        ("cushim.h", "*cushim_stream;", "**cushim_stream;", "cushim_stream"),
    ] {
        let refused = verdict(edited(file, from, to).path(), &interface).expect_err(to);
        assert!(refused.contains(word), "{refused}");
    }
    let mut fewer = interface;
    let functions = fewer["functions"].as_array_mut().expect("a list");
    functions.retain(|function| function["name"] != "cushim_stream_ref");
    let refused = verdict(&repository("include"), &fewer).expect_err("a function is gone");
    assert!(refused.contains("cushim_stream_ref"), "{refused}");
}

/// A member where the struct used to be padded moves those behind it.
#[test]
fn a_member_in_the_middle_is_refused() {
    if !possible() {
        return;
    }
    let header = std::fs::read_to_string(repository("include/cushim.h")).expect("the header is there");
    let start = header.find(OPTIONS).expect("the struct is there");
    let length = header[start..].find('}').expect("it ends");
    let text = &header[start..start + length];
    let inserted = text.replace("uint32_t reserved;", "uint64_t more; uint32_t reserved;");
    let refused = verdict(edited("cushim.h", text, &inserted).path(), &interface::read());
    assert!(
        refused.as_ref().is_err_and(|why| why.contains("cushim_context_options.reserved")),
        "{refused:?}"
    );
}
