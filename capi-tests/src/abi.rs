//! The binary interface as `abi/libcushim.abi` keeps it, and what has changed since.
//!
//! libabigail understands what a C compiler says of types, so the dump is made of a library that defines every function of
//! the headers and does nothing. That the real one exports the same, with the same structs, other tests prove.

use crate::header::between;
use crate::interface::{list, text};
use crate::libraries::soname;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The committed dump, below the repository.
pub const DUMP: &str = "abi/libcushim.abi";

/// What writes it anew.
pub const REFRESH: &str = "cargo run -p capi-tests --bin abi";

/// The Debian package of the commands that this needs.
pub const PACKAGE: &str = "abigail-tools";

/// Whether libabigail is installed.
#[must_use]
pub fn is_possible() -> bool {
    ["abidw", "abidiff"].iter().all(|name| Command::new(name).arg("--version").output().is_ok())
}

/// A version of the interface: headers in a folder, and the functions that they declare.
pub struct Version<'a> {
    /// The folder of the headers.
    pub headers: &'a Path,
    /// `cushim.json`, for the functions.
    pub interface: &'a Value,
}

impl Version<'_> {
    /// Dumps the interface, in `folder`.
    ///
    /// # Errors
    /// What the compiler or libabigail said.
    pub fn dump(&self, folder: &Path) -> Result<String, String> {
        std::fs::write(folder.join("functions.c"), definitions(self.interface)).map_err(|e| e.to_string())?;
        let mut gcc = Command::new("gcc");
        // Freestanding, for the headers of the C library bring types of their own.
        gcc.args([
            "-std=c11",
            "-ffreestanding",
            "-g",
            "-fno-eliminate-unused-debug-types",
            "-shared",
            "-fPIC",
        ]);
        gcc.arg("-I").arg(self.headers).arg(format!("-Wl,-soname,{}", soname()));
        gcc.args(["functions.c", "-o", "functions.so"]);
        finish(&mut gcc, folder)?;
        let mut abidw = Command::new("abidw");
        abidw.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]);
        abidw.args(["--no-architecture", "--load-all-types", "--type-id-style", "hash", "functions.so"]);
        finish(&mut abidw, folder)
    }
}

/// A C source that defines every function.
fn definitions(interface: &Value) -> String {
    let mut out = String::from("#include <cushim.h>\n");
    for function in list(interface, "functions") {
        let parameter = |parameter| format!("{} {}", text(parameter, "type"), text(parameter, "name"));
        let parameters: Vec<String> = list(function, "parameters").iter().map(parameter).collect();
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let (result, name) = (text(&function["returns"], "type"), text(function, "name"));
        let body = if result == "void" { "" } else { "return 0;" };
        writeln!(out, "{result} {name}({parameters}) {{ {body} }}").expect("a text grows");
    }
    out
}

/// What `new` adds to `old`, in the words of `abidiff`; nothing if they are the same.
///
/// # Errors
/// What is gone or means something else, and what the commands said.
pub fn additions(old: &str, new: &str, interface: &Value, folder: &Path) -> Result<String, String> {
    let [before, after] = [("old.abi", old), ("new.abi", new)].map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the folder can be written to");
        path
    });
    let growing = folder.join("growing.suppr");
    std::fs::write(&growing, may_grow(interface)).map_err(|error| error.to_string())?;
    let strict = abidiff(&before, &after, Some(&growing))?;
    let mut wrong = moved(old, new);
    if counts(&strict).any(|(what, count)| what != "added" && count > 0) {
        wrong.push(strict);
    }
    if wrong.is_empty() { abidiff(&before, &after, None) } else { Err(wrong.join("\n")) }
}

/// Tells libabigail which structs may get members at their end: those that say how large they are, and the table, which a
/// program reads only as far as the header goes that it was compiled with.
fn may_grow(interface: &Value) -> String {
    let is_sized = |item: &&Value| text(&list(item, "fields")[0], "name") == "struct_size";
    let sized = list(interface, "structs").iter().filter(is_sized).map(|item| text(item, "name"));
    let names: Vec<&str> = sized.chain(["cushim_driver_table"]).collect();
    let names = names.join("|");
    format!(
        "[suppress_type]\ntype_kind = struct\nname_regexp = ^({names})$\nhas_data_member_inserted_at = end\n"
    )
}

fn abidiff(old: &Path, new: &Path, suppressions: Option<&PathBuf>) -> Result<String, String> {
    let mut abidiff = Command::new("abidiff");
    abidiff.arg("--non-reachable-types").arg(old).arg(new);
    if let Some(suppressions) = suppressions {
        abidiff.arg("--suppressions").arg(suppressions);
    }
    let output = abidiff.output().map_err(|error| format!("{abidiff:?}: {error}"))?;
    // The two lowest bits mean that it could not compare; the others, that there are differences.
    if output.status.code().is_none_or(|code| code & 3 != 0) {
        return Err(format!("{abidiff:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The numbers of a report's summary: `Functions changes summary: 0 Removed, 1 Changed (2 filtered out), 0 Added functions`.
fn counts(report: &str) -> impl Iterator<Item = (String, u32)> {
    let summaries = report.lines().filter_map(|line| line.split_once(" summary: "));
    summaries.flat_map(|(_, summary)| summary.split(", ")).filter_map(|item| {
        let (count, what) = item.split_once(' ')?;
        Some((what.split(' ').next()?.to_lowercase(), count.parse().ok()?))
    })
}

/// Members of our structs that are gone, or lie elsewhere: libabigail takes a member that is inserted where the struct used
/// to be padded for one at its end.
fn moved(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (members(old), members(new));
    let elsewhere = old.into_iter().filter(|(member, place)| new.get(member) != Some(place));
    elsewhere.map(|(member, _)| format!("{member} is gone or lies elsewhere")).collect()
}

/// Where each member of each struct of ours lies, in bits, by dump.
fn members(dump: &str) -> BTreeMap<String, String> {
    let value = |line: &str, name: &str| between(line, &format!("{name}='"), "'").to_owned();
    let (mut members, mut of, mut place) = (BTreeMap::new(), None, String::new());
    for line in dump.lines().map(str::trim_start) {
        if line.starts_with("<class-decl name='cushim_") {
            of = Some(value(line, "name"));
        } else if line.starts_with("</class-decl") || line.starts_with("<class-decl") {
            of = None;
        } else if line.starts_with("<data-member") && line.contains("layout-offset-in-bits") {
            place = value(line, "layout-offset-in-bits");
        } else if let (Some(of), true) = (&of, line.starts_with("<var-decl")) {
            members.insert(format!("{of}.{}", value(line, "name")), place.clone());
        }
    }
    members
}

fn finish(command: &mut Command, folder: &Path) -> Result<String, String> {
    let output = command.current_dir(folder).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
