//! The exported functions and their structs, as cbindgen finds them in `src/capi/`.

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, Style};
use std::path::Path;

/// The files whose exports `cushim_driver.h` declares.
pub(crate) const RAW: &[&str] = &[
    "error.rs",
    "driver/handle.rs",
    "driver/open.rs",
    "driver/table.rs",
    "driver/lookup.rs",
    "driver/report.rs",
];

/// The files whose exports `cushim.h` declares.
pub(crate) const OBJECTS: &[&str] = &[
    "error_object.rs",
    "handles.rs",
    "device.rs",
    "context.rs",
    "peer_access.rs",
    "stream.rs",
    "event.rs",
    "memory/place.rs",
    "memory/device.rs",
    "memory/copy.rs",
    "memory/fill.rs",
    "memory/pinned.rs",
    "memory/registration.rs",
    "memory/pointer.rs",
    "location.rs",
    "batch.rs",
    "memory/batch_copy.rs",
    "managed/range.rs",
    "managed/advise.rs",
    "managed/prefetch.rs",
    "managed/discard.rs",
    "managed/attributes.rs",
    "managed/accessed_by.rs",
    "callback.rs",
    "resource/handle.rs",
    "resource/create.rs",
    "resource/custom.rs",
    "resource/memory.rs",
    "resource/pool.rs",
    "buffer.rs",
    "dlpack.rs",
    "kernel/library.rs",
    "kernel/object.rs",
    "kernel/arguments.rs",
    "kernel/launch.rs",
    "kernel/occupancy.rs",
    "log.rs",
];

/// Declares in C what the named files of `src/capi/` export.
pub(crate) fn write(capi: &Path, files: &[&str]) -> String {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 118,
        tab_width: 2,
        no_includes: true,
        usize_is_size_t: true,
        enumeration: EnumConfig { enum_class: false, ..EnumConfig::default() },
        ..Config::default()
    };
    // Types that no function names: enumerations, whose parameters are plain integers, and what a pointer of no type means.
    let sources =
        files.iter().map(|file| std::fs::read_to_string(capi.join(file)).expect("src/capi is readable"));
    config.export.include = sources.flat_map(|text| types(&text)).collect();
    config.export.rename.insert("Table".to_owned(), "cushim_driver_table".to_owned());
    let builder =
        files.iter().fold(Builder::new().with_config(config), |b, file| b.with_src(capi.join(file)));
    let mut text = Vec::new();
    builder.generate().expect("cbindgen reads src/capi").write(&mut text);
    tidy(&String::from_utf8(text).expect("cbindgen writes UTF-8"))
}

fn types(text: &str) -> Vec<String> {
    let name = |line: &str| {
        let rest = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct "))?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    // What stands behind a handle has no body in C either.
    text.lines().filter_map(name).filter(|name| !name.ends_with("_s")).collect()
}

/// Leaves out what only concerns Rust: the `# Safety` sections.
fn tidy(text: &str) -> String {
    let mut out = String::new();
    let mut in_safety = false;
    for line in text.lines() {
        let comment = line.trim_start().strip_prefix("//");
        in_safety = comment.is_some_and(|c| in_safety || c.trim() == "# Safety" || c.trim() == "/ # Safety");
        if !in_safety {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
