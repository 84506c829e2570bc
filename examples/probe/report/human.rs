//! The report for people: one section after the other, the verdict last.

use super::Report;
use super::page::Page;
use crate::calls;
use crate::devices::{Device, Kind};
use crate::host::Host;
use crate::kernel_module::{KernelModule, release_of_library};
use crate::operations::{self, Route};
use crate::process::Process;
use crate::program::{Program, Wanted};
use crate::selfcheck::Check;
use crate::subject::{self, Init, Subject};
use cushim::driver::catalogue::Group;
use cushim::driver::{Driver, Kind as DriverKind, Status, Symbol};

/// Longer values of variables are cut.
const LONGEST_VALUE: usize = 100;

pub(crate) fn render(report: &Report, all_symbols: bool) -> String {
    let mut page = Page::new(&format!("cushim probe {}", env!("CARGO_PKG_VERSION")));
    host(&mut page, &report.host);
    environment(&mut page, report);
    if let Some(of) = &report.process {
        process(&mut page, of);
    }
    candidates(&mut page, &report.subject);
    driver(&mut page, report);
    if let Ok(driver) = &report.subject.opened {
        devices(&mut page, &report.subject);
        operations(&mut page, driver);
        groups(&mut page, driver);
        if all_symbols {
            symbols(&mut page, "Every ABI", driver.symbols());
            symbols(&mut page, "Every ABI for the per-thread default stream", driver.per_thread_symbols());
        }
    }
    self_check(&mut page, report);
    if let Some(of) = &report.program {
        program(&mut page, of, report.subject.opened.as_ref().ok());
    }
    if !report.notes.is_empty() {
        page.heading("Notes");
        report.notes.iter().for_each(|note| page.line(note));
    }
    let verdict = &report.verdict;
    page.heading(&format!("Verdict: {} (exit code {})", verdict.summary, verdict.exit_code));
    page.end(&format!("What to do: {}", verdict.action))
}

/// The same for an issue in Markdown.
pub(crate) fn render_to_paste(report: &Report, all_symbols: bool) -> String {
    let text = render(report, all_symbols);
    format!(
        "<details><summary>cushim-probe --report: {}</summary>\n\n```text\n{text}```\n\n</details>\n",
        report.verdict.summary
    )
}

fn host(page: &mut Page, host: &Host) {
    page.heading("Host");
    let kernel = host.kernel.as_deref().unwrap_or("of unknown release");
    let libc = host.libc.as_ref().map(|libc| format!(", {libc}")).unwrap_or_default();
    page.fact("system", &format!("{}, kernel {kernel}, {}{libc}", host.system, host.architecture));
    page.fact("container", host.container.as_deref().unwrap_or("no"));
    page.fact("WSL", if host.is_wsl { "yes" } else { "no" });
    page.fact("Jetson", host.jetson.as_deref().unwrap_or("no"));
    page.fact("kernel module", &host.kernel_module.as_ref().map_or("none".to_owned(), kernel_module));
    let files = host.device_files.join(" ");
    page.fact("device files", if files.is_empty() { "none" } else { &files });
}

fn kernel_module(module: &KernelModule) -> String {
    let flavour = match module.is_open {
        Some(true) => ", the open one",
        Some(false) => ", the closed one",
        None => "",
    };
    format!("nvidia {}{flavour}", module.release)
}

fn environment(page: &mut Page, report: &Report) {
    page.heading("Environment");
    let environment = &report.environment;
    for (name, value) in &environment.variables {
        let cut = value.chars().count() > LONGEST_VALUE;
        let shown: String = value.chars().take(LONGEST_VALUE).collect();
        page.line(&format!("{name}={shown}{}", if cut { "…" } else { "" }));
    }
    for (folder, files) in &environment.folders {
        page.line(&format!("LD_LIBRARY_PATH has {} with {}", folder.display(), files.join(", ")));
    }
    if environment.variables.is_empty() && environment.folders.is_empty() {
        page.line("nothing that matters is set");
    }
}

fn process(page: &mut Page, process: &Process) {
    page.heading("Process");
    page.fact("arguments", &process.command.join(" "));
    page.fact("build", &process.build);
    process.facts.iter().for_each(|(name, value)| page.fact(name, value));
    process.mapped.iter().for_each(|file| page.fact("mapped", file));
    process.device_files.iter().for_each(|(file, permissions)| page.fact(file, permissions));
    for (path, link) in &process.copies {
        let link = link.as_ref().map_or(String::new(), |link| format!(" -> {}", link.display()));
        page.fact("libcuda", &format!("{}{link}", path.display()));
    }
}

fn program(page: &mut Page, program: &Program, driver: Option<&Driver>) {
    page.heading(&format!("Program {}", program.path.display()));
    let linked =
        if program.links.is_empty() { "no library of CUDA".to_owned() } else { program.links.join(" ") };
    page.fact("linked with", &linked);
    page.fact(
        "starts",
        match program.links_driver() {
            true => "only where the loader finds libcuda.so.1",
            false if !program.imports.is_empty() => {
                "only where something else has loaded the driver, with which it is not linked"
            }
            false => "without a driver, as far as its own linking goes",
        },
    );
    page.fact(
        "needs",
        &program.needs().map_or("nothing of the driver that it imports".to_owned(), |version| {
            format!("a driver for CUDA {version}, for {}", program.newest().join(", "))
        }),
    );
    if program.has_runtime_inside {
        page.fact("has inside", "the CUDA runtime, which needs a driver of its major version or newer");
    }
    if let Some(version) = program.names_up_to() {
        page.fact("may use", &format!("functions up to CUDA {version}, which it looks up by name"));
    }
    functions(page, "imports", program.imports.iter());
    functions(page, "names", program.names.iter());
    page.list(
        "imports, and is not known here:",
        &program.unknown.iter().map(String::as_str).collect::<Vec<&str>>(),
    );
    if let Some(driver) = driver.filter(|driver| driver.kind() != DriverKind::None) {
        functions(page, "imports, and this driver has not,", program.missing(driver).into_iter());
        functions(page, "names, and this driver has not,", program.unnamed(driver).into_iter());
    }
}

/// Functions, with the version from which on there are drivers that have them.
fn functions<'a>(page: &mut Page, name: &str, all: impl Iterator<Item = &'a Wanted>) {
    let shown: Vec<String> = all.map(|wanted| format!("{} ({})", wanted.name, wanted.since())).collect();
    let items: Vec<&str> = shown.iter().map(String::as_str).collect();
    page.list(&format!("{name} {}:", items.len()), &items);
}

fn candidates(page: &mut Page, subject: &Subject) {
    page.heading("Candidates");
    let names: Vec<String> =
        subject.candidates().iter().map(|candidate| candidate.name.display().to_string()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    for (candidate, name) in subject.candidates().iter().zip(&names) {
        let outcome = subject::reason(candidate).unwrap_or("opened");
        page.line(&format!("{name:<width$}  {:<14}  {}", candidate.origin.name(), outcome));
    }
    if names.is_empty() {
        page.line("none was tried");
    }
}

fn driver(page: &mut Page, report: &Report) {
    page.heading("Driver");
    let Ok(driver) = &report.subject.opened else {
        page.line("none");
        return;
    };
    page.fact("file", &driver.path().map_or("none".to_owned(), |path| path.display().to_string()));
    page.fact("kind", driver.kind().name());
    let release = driver.path().and_then(release_of_library);
    if let Some(version) = driver.version() {
        let release = release.map(|release| format!(", release {release}")).unwrap_or_default();
        page.fact("version", &format!("CUDA {version}{release}"));
    }
    page.fact("kernel module", &beside_module(driver, release, report.host.kernel_module.as_ref()));
    page.fact("symbols by", driver.getter().name());
    page.fact("cuInit", &init(&report.subject.init));
}

fn beside_module(driver: &Driver, release: Option<&str>, module: Option<&KernelModule>) -> String {
    match (driver.kind(), release, module) {
        (DriverKind::Software | DriverKind::None, ..) => "not needed".to_owned(),
        (_, _, None) => "none".to_owned(),
        (_, Some(release), Some(module)) if release == module.release => {
            format!("{release}, the same release")
        }
        (_, Some(_), Some(module)) => format!("{}, another release than the library's", module.release),
        (_, None, Some(module)) => module.release.clone(),
    }
}

fn init(init: &Init) -> String {
    match init {
        Init::NotCalled => "not called".to_owned(),
        Init::Failed(failure) => failure.to_string(),
        Init::Done(Ok(_)) => calls::name(0),
        Init::Done(Err(failure)) => format!("{}, but then {failure}", calls::name(0)),
    }
}

fn devices(page: &mut Page, subject: &Subject) {
    if matches!(subject.init, Init::NotCalled) {
        return;
    }
    page.heading("Devices");
    for (ordinal, one) in subject.devices().iter().enumerate() {
        device(page, ordinal, one);
    }
    if subject.devices().is_empty() {
        page.line("none");
    }
}

fn device(page: &mut Page, ordinal: usize, device: &Device) {
    let facts = [
        Some(device.name.clone().unwrap_or_else(|| "unnamed".to_owned())),
        device.compute_capability.map(|(major, minor)| format!("compute capability {major}.{minor}")),
        device.memory.map(|bytes| format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)),
        device.pci_bus_id.clone(),
        device.uuid.clone(),
    ];
    page.line(&format!("{ordinal}  {}", facts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    let features = |wanted: Option<bool>| -> Vec<&str> {
        let all = device.attributes().filter(|(attribute, _)| attribute.kind == Kind::Feature);
        let chosen = all.filter(|(_, value)| value.map(|value| value != 0) == wanted);
        chosen.map(|(attribute, _)| attribute.words).collect()
    };
    page.list("has:", &features(Some(true)));
    page.list("has not:", &features(Some(false)));
    page.list("unknown to the driver:", &features(None));
    let numbers = device.attributes().filter(|(attribute, _)| attribute.kind == Kind::Number);
    let numbers: Vec<String> = numbers
        .filter_map(|(attribute, value)| {
            Some(format!("{} {}", attribute.words, number(attribute.key, value?)))
        })
        .collect();
    page.list("numbers:", &numbers.iter().map(String::as_str).collect::<Vec<_>>());
}

/// A number in the words of whoever set it.
fn number(key: &str, value: i32) -> String {
    match (key, value) {
        ("host_numa_id" | "numa_id", ..0) => "none".to_owned(),
        ("compute_mode", 0) => "default".to_owned(),
        ("compute_mode", 2) => "prohibited".to_owned(),
        ("compute_mode", 3) => "exclusive process".to_owned(),
        ("pool_handle_types", mask) => format!("{mask:#x}"),
        _ => value.to_string(),
    }
}

fn operations(page: &mut Page, driver: &Driver) {
    page.heading("Operations, and the ABI that serves each on this driver");
    for (operation, route) in operations::list(driver) {
        let how = match route {
            Route::Through(form, symbol) => {
                let function = format!("{} {}", form.base, form.abi);
                let note = if form.note.is_empty() { String::new() } else { format!("  {}", form.note) };
                format!("{function:<40}{note}{}", by_name(symbol)).trim_end().to_owned()
            }
            Route::NeedsNewer(version) => format!("not available (needs {version})"),
            Route::Missing(symbol) => {
                format!("not available ({} {}: {})", symbol.row.base, symbol.abi, symbol.status)
            }
        };
        page.line(&format!("{:<28} {how}", operation.name));
    }
}

/// Worth a word only where the driver's own getter did not give it though there is one.
fn by_name(symbol: &Symbol) -> String {
    match symbol.via {
        Some(cushim::driver::Via::Dlsym) => "  (by dlsym)".to_owned(),
        _ => String::new(),
    }
}

fn groups(page: &mut Page, driver: &Driver) {
    let found = |symbols: &[Symbol]| symbols.iter().filter(|symbol| symbol.status == Status::Found).count();
    let (plain, variants) = (driver.symbols(), driver.per_thread_symbols());
    page.heading(&format!(
        "Symbols: {} of {} ABIs, {} of {} for the per-thread default stream",
        found(plain),
        plain.len(),
        found(variants),
        variants.len()
    ));
    for group in Group::ALL {
        let count = |wanted: fn(Status) -> bool| {
            plain.iter().filter(|symbol| symbol.row.group == *group && wanted(symbol.status)).count()
        };
        let (all, newer) = (count(|_| true), count(|status| status == Status::NewerThanDriver));
        let newer = if newer == 0 { String::new() } else { format!(", {newer} newer than the driver") };
        let there = count(|status| status == Status::Found);
        page.line(&format!("{:<14} {there:>3} of {all:>3}{newer}", group.name()));
    }
    let is_missing = |symbol: &&Symbol| !matches!(symbol.status, Status::Found | Status::NewerThanDriver);
    let missing: Vec<&str> = plain.iter().filter(is_missing).map(|symbol| symbol.exported).collect();
    if driver.version().is_some() {
        page.list("missing though old enough:", &missing);
    }
}

fn symbols(page: &mut Page, heading: &str, symbols: &[Symbol]) {
    page.heading(heading);
    for symbol in symbols {
        let outcome = match symbol.via {
            Some(via) => format!("found by {via}"),
            None => symbol.status.to_string(),
        };
        let (name, abi, group) = (symbol.row.base, symbol.abi, symbol.row.group.name());
        page.line(&format!("{name:<48} {abi:>5}  {:<44} {group:<12} {outcome}", symbol.exported));
    }
}

fn self_check(page: &mut Page, report: &Report) {
    match &report.stand_in {
        Some(stand_in) => {
            page.heading("Self-check on softcuda, the driver in software: it says nothing about a GPU");
            match &stand_in.opened {
                Ok(driver) => {
                    page.fact("file", &driver.path().map_or(String::new(), |path| path.display().to_string()))
                }
                Err(_) => page.line("softcuda could not be opened"),
            }
            if let Init::Failed(failure) = &stand_in.init {
                page.line(&failure.to_string());
            }
        }
        None if report.subject.checks.is_empty() => return,
        None => page.heading("Self-check"),
    }
    checks(page, &report.checked().checks);
}

/// One line for each device; what failed has its own.
fn checks(page: &mut Page, checks: &[Check]) {
    for of_device in checks.chunk_by(|one, other| one.device == other.device) {
        let passed: Vec<&str> = of_device.iter().filter(|check| check.ok).map(|check| check.name).collect();
        let device = of_device[0].device;
        if !passed.is_empty() {
            page.line(&format!("device {device} ok: {}", passed.join(", ")));
        }
        for Check { name, detail, .. } in of_device.iter().filter(|check| !check.ok) {
            page.line(&format!("device {device} FAILED: {name}: {detail}"));
        }
    }
}
