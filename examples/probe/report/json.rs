//! The report for programs. `schema_version` grows when a field changes its meaning or goes; new fields may come at any
//! time. Every field is always there; what does not apply is null or empty. 64-bit values are strings in hexadecimal,
//! because many readers take a JSON number for a double.

use super::Report;
use crate::calls::{self, Failure};
use crate::devices::{Attribute, Device, Kind};
use crate::host::Host;
use crate::kernel_module::release_of_library;
use crate::operations::{self, Route};
use crate::process::Process;
use crate::program::{Program, Wanted};
use crate::selfcheck::Check;
use crate::subject::{Init, Subject};
use crate::verdict::Verdict;
use cushim::driver::catalogue::Group;
use cushim::driver::{Candidate, Driver, Status, Symbol};
use serde_json::{Map, Value, json};

const SCHEMA_VERSION: u32 = 1;

pub(crate) fn render(report: &Report) -> String {
    let subject = &report.subject;
    let driver = subject.opened.as_ref().ok();
    let symbols = driver.map_or(&[][..], Driver::symbols);
    let value = json!({
        "schema_version": SCHEMA_VERSION,
        "probe_version": env!("CARGO_PKG_VERSION"),
        "host": host(&report.host),
        "environment": {
            "variables": report.environment.variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Value>(),
            "library_path": report.environment.folders.iter().map(|(folder, files)| json!({"folder": folder.to_string_lossy(), "files": files})).collect::<Value>(),
        },
        "process": report.process.as_ref().map(process),
        "program": report.program.as_ref().map(|of| program(of, driver)),
        "candidates": candidates(subject),
        "driver": self::driver(subject),
        "init": init(subject),
        "devices": devices(subject),
        "groups": Group::ALL.iter().map(|group| counts(*group, symbols)).collect::<Value>(),
        "operations": driver.map_or_else(|| json!([]), operations),
        "symbols": symbols.iter().map(symbol).collect::<Value>(),
        "per_thread_symbols": driver.map_or(&[][..], Driver::per_thread_symbols).iter().map(symbol).collect::<Value>(),
        "selfcheck_driver": report.checked().opened.as_ref().ok().filter(|_| !report.checked().checks.is_empty()).map(|driver| driver.kind().name()),
        "selfcheck": report.checked().checks.iter().map(check).collect::<Value>(),
        "stand_in": report.stand_in.as_ref().map(|stand_in| json!({
            "candidates": candidates(stand_in),
            "driver": self::driver(stand_in),
            "init": init(stand_in),
            "devices": devices(stand_in),
        })),
        "notes": report.notes,
        "verdict": verdict(&report.verdict),
    });
    format!("{value:#}\n")
}

fn program(program: &Program, driver: Option<&Driver>) -> Value {
    let driver = driver.filter(|driver| driver.version().is_some());
    let wanted = |wanted: &Wanted| {
        json!({
            "name": wanted.name,
            "function": wanted.row.base,
            // Of a name that has several ABIs the program passes the number.
            "abi": wanted.is_exact.then_some(wanted.row.abi),
            "per_thread": wanted.is_per_thread,
            "since": wanted.since().to_string(),
            "here": driver.map(|driver| wanted.is_in(driver)),
        })
    };
    json!({
        "path": program.path.to_string_lossy(),
        "links": program.links,
        "links_driver": program.links_driver(),
        "runtime": program.runtime(),
        "runtime_inside": program.has_runtime_inside,
        "needs": program.needs().map(|version| version.to_string()),
        "needs_for": program.newest(),
        "names_up_to": program.names_up_to().map(|version| version.to_string()),
        "served": driver.map(|driver| program.is_served_by(driver)),
        "imports": program.imports.iter().map(wanted).collect::<Value>(),
        "names": program.names.iter().map(wanted).collect::<Value>(),
        "unknown": program.unknown,
    })
}

fn host(host: &Host) -> Value {
    json!({
        "system": host.system,
        "kernel": host.kernel,
        "architecture": host.architecture,
        "libc": host.libc,
        "container": host.container,
        "wsl": host.is_wsl,
        "jetson": host.jetson,
        "device_files": host.device_files,
        "kernel_module": host.kernel_module.as_ref().map(|module| json!({
            "release": module.release,
            "open": module.is_open,
            "source": module.source,
        })),
    })
}

/// What `--report` adds.
fn process(process: &Process) -> Value {
    json!({
        "arguments": process.command,
        "build": process.build,
        "facts": process.facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<Map<_, _>>(),
        "mapped": process.mapped,
        "device_files": process.device_files.iter().map(|(path, permissions)| json!({"path": path, "permissions": permissions})).collect::<Value>(),
        "libcuda_files": process.copies.iter().map(|(path, link)| json!({
            "path": path.to_string_lossy(),
            "link": link.as_ref().map(|link| link.to_string_lossy()),
        })).collect::<Value>(),
    })
}

fn candidates(subject: &Subject) -> Value {
    let one = |candidate: &Candidate| {
        json!({
            "path": candidate.name.to_string_lossy(),
            "origin": candidate.origin.name(),
            "real_path": candidate.path.as_ref().map(|path| path.to_string_lossy()),
            "kind": candidate.kind.map(|kind| kind.name()),
            "outcome": candidate.outcome.name(),
            "error": candidate.error,
        })
    };
    subject.candidates().iter().map(one).collect()
}

fn driver(subject: &Subject) -> Value {
    let driver = subject.opened.as_ref().ok();
    let path = driver.and_then(Driver::path);
    let version = driver.and_then(Driver::version);
    json!({
        "path": path.map(|path| path.to_string_lossy()),
        "version": version.map(|version| version.to_string()),
        "version_number": version.map(|version| version.number()),
        "kind": driver.map(|driver| driver.kind().name()),
        "release": path.and_then(release_of_library),
        "getter": driver.map(|driver| driver.getter().name()),
        "older_than_supported": driver.map(Driver::is_older_than_supported),
        "error": subject.opened.as_ref().err().map(ToString::to_string),
    })
}

fn init(subject: &Subject) -> Value {
    let (called, failure) = match &subject.init {
        Init::NotCalled => (false, None),
        Init::Failed(failure) | Init::Done(Err(failure)) => (true, Some(failure)),
        Init::Done(Ok(_)) => (true, None),
    };
    // What succeeded has the result 0; what was not called, or does not exist, has none.
    let code = if called { failure.map_or(Some(0), Failure::code) } else { None };
    json!({
        "called": called,
        "result": code,
        "name": code.map(calls::name),
        "error": failure.map(ToString::to_string),
    })
}

fn devices(subject: &Subject) -> Value {
    subject.devices().iter().enumerate().map(|(ordinal, one)| device(ordinal, one)).collect()
}

fn device(ordinal: usize, device: &Device) -> Value {
    let value = |(attribute, value): (&Attribute, Option<i32>)| {
        let value = match attribute.kind {
            Kind::Feature => json!(value.map(|value| value != 0)),
            Kind::Number => json!(value),
        };
        (attribute.key.to_owned(), value)
    };
    json!({
        "ordinal": ordinal,
        "name": device.name,
        "uuid": device.uuid,
        "pci_bus_id": device.pci_bus_id,
        "compute_capability": device.compute_capability.map(|(major, minor)| format!("{major}.{minor}")),
        "memory": device.memory.map(|bytes| format!("{bytes:#x}")),
        "attributes": device.attributes().map(value).collect::<Map<_, _>>(),
    })
}

fn counts(group: Group, symbols: &[Symbol]) -> Value {
    let count = |wanted: fn(Status) -> bool| {
        symbols.iter().filter(|symbol| symbol.row.group == group && wanted(symbol.status)).count()
    };
    json!({
        "group": group.name(),
        "total": count(|_| true),
        "found": count(|status| status == Status::Found),
        "newer_than_driver": count(|status| status == Status::NewerThanDriver),
    })
}

fn operations(driver: &Driver) -> Value {
    let one = |(operation, route): (&operations::Operation, Route)| {
        let (form, symbol, needs) = match route {
            Route::Through(form, symbol) => (Some(form), Some(symbol), None),
            Route::NeedsNewer(version) => (None, None, Some(version)),
            Route::Missing(symbol) => (None, Some(symbol), None),
        };
        json!({
            "name": operation.name,
            "available": form.is_some(),
            "function": symbol.map(|symbol| symbol.row.base),
            "abi": symbol.map(|symbol| symbol.abi),
            "note": form.map(|form| form.note),
            "needs": needs.map(|version| version.to_string()),
            "status": symbol.map(|symbol| symbol.status.name()),
        })
    };
    operations::list(driver).map(one).collect()
}

fn symbol(symbol: &Symbol) -> Value {
    json!({
        "name": symbol.row.base,
        "abi": symbol.abi,
        "exported": symbol.exported,
        "status": symbol.status.name(),
        "group": symbol.row.group.name(),
        "via": symbol.via.map(|via| via.name()),
    })
}

fn check(check: &Check) -> Value {
    json!({
        "device": check.device,
        "name": check.name,
        "ok": check.ok,
        "detail": check.detail,
        "result": check.code,
    })
}

fn verdict(verdict: &Verdict) -> Value {
    json!({
        "name": verdict.name(),
        "exit_code": verdict.exit_code,
        "summary": verdict.summary,
        "action": verdict.action,
    })
}
