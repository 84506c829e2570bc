//! Every function was seen to succeed, and to return each status that its documentation names: by the C programs on
//! softcuda and "none", or on a GPU in the transcript that is committed.

use capi_tests::interface::{self, list, text};
use capi_tests::repository;
use cushim::Status;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What was seen: functions and statuses.
type Seen = BTreeSet<(String, i32)>;

/// What programs in C on Linux do not see.
const ELSEWHERE: &[(&str, &str)] = &[
    // Linux has it, and a program without descriptors cannot record; `tests/callback_c.rs` sees the second.
    ("cushim_drain_fd", "CUSHIM_ERROR_UNSUPPORTED"),
    ("cushim_drain_fd", "CUSHIM_ERROR_INTERNAL"),
    // Programs in Rust with a logger of their own; `tests/logging.rs` sees it.
    ("cushim_log_set_callback", "CUSHIM_ERROR_UNSUPPORTED"),
    ("cushim_log_set_pull", "CUSHIM_ERROR_UNSUPPORTED"),
    // No driver that lacks the function has an allocation that could be exported.
    ("cushim_allocation_export", "CUSHIM_ERROR_UNSUPPORTED"),
    // No image is mapped where the function is missing that tells its arrays.
    ("cushim_graphics_get_array", "CUSHIM_ERROR_UNSUPPORTED"),
    // softcuda has no adapters; `memory/direct` sees both on a GPU that has them.
    ("cushim_buffer_export_dma_buf", "success"),
    ("cushim_context_flush_direct_writes", "success"),
];

/// Looks at what the programs have recorded, and a GPU before them.
pub(crate) fn is_complete(record: &Path) -> Result<String, String> {
    let interface = interface::read();
    let mut seen = read(record)?;
    seen.extend(read(&repository("docs/verified/record-580.txt"))?);
    let functions = list(&interface, "functions");
    let missing: Vec<String> =
        functions.iter().flat_map(|function| unseen(&interface, function, &seen)).collect();
    if missing.is_empty() {
        return Ok(String::new());
    }
    Err(format!("{} were never seen:\n{}", missing.len(), missing.join("\n")))
}

/// The lines that the recorder wrote: `cushim_stream_query 0`. One that begins with # says where they come from.
fn read(path: &Path) -> Result<Seen, String> {
    let written = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = |line: &str| {
        let (function, status) = line.split_once(' ').expect("a function and a status");
        (function.to_owned(), status.parse().expect("a number"))
    };
    Ok(written.lines().filter(|line| !line.starts_with('#')).map(line).collect())
}

/// What a function says that it returns and was not seen to.
fn unseen(interface: &Value, function: &Value, seen: &Seen) -> Vec<String> {
    let name = text(function, "name");
    let errors = list(function, "errors").iter().map(|error| error.as_str().expect("a name"));
    let statuses = errors.map(|error| (error, number(interface, error))).chain([("success", 0)]);
    let is_missing = |(_, status): &(&str, i32)| !seen.contains(&(name.to_owned(), *status));
    let is_due = |(error, _): &(&str, i32)| !ELSEWHERE.contains(&(name, error));
    statuses.filter(is_missing).filter(is_due).map(|(error, _)| format!("{name}: {error}")).collect()
}

/// The number of a status.
fn number(interface: &Value, status: &str) -> i32 {
    let own = list(interface, "enums").iter().flat_map(|item| list(item, "values"));
    let own = own.into_iter().find(|value| text(value, "name") == status);
    let of_driver = || {
        (1..1000).find(|code| Status(*code).name().is_some_and(|name| name.to_bytes() == status.as_bytes()))
    };
    let found = own.and_then(|value| i32::try_from(value["value"].as_i64()?).ok()).or_else(of_driver);
    found.unwrap_or_else(|| panic!("{status} is no status"))
}
