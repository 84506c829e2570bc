//! `include/cushim.cdef.h`: the interface for parsers of C that are no compilers, such as cffi, LuaJIT's and PHP's FFI.
//!
//! It is one list of declarations: no directive, no comment, no function with a body, no anonymous struct. Numbers of fixed size are defined
//! in it, because some of these parsers know none, and those that do accept the same definition again.

use super::{Callback, Enum, Function, Interface, Struct, json};
use std::fmt::Write as _;

/// The numbers that C has in `<stdint.h>` and `<stddef.h>`, as they are on every 64-bit platform.
const NUMBERS: [(&str, &str); 8] = [
    ("signed char", "int8_t"),
    ("unsigned char", "uint8_t"),
    ("short", "int16_t"),
    ("unsigned short", "uint16_t"),
    ("int", "int32_t"),
    ("unsigned int", "uint32_t"),
    ("long long", "int64_t"),
    ("unsigned long long", "uint64_t"),
];

/// The text of the file.
pub(crate) fn write(interface: &Interface) -> String {
    let mut out = String::new();
    for (c, name) in NUMBERS {
        define(&mut out, c, name);
    }
    define(&mut out, "unsigned long long", "size_t");
    plain_types(interface, &mut out);
    for handle in &interface.handles {
        define(&mut out, &format!("struct cushim_{}_s *", handle.kind), &format!("cushim_{}", handle.kind));
    }
    interface.enums.iter().for_each(|item| enumeration(item, &mut out));
    for item in &interface.structs {
        define(&mut out, &format!("struct {}", item.name), &item.name);
    }
    interface.callbacks.iter().for_each(|item| callback(item, &mut out));
    interface.structs.iter().for_each(|item| structure(item, &mut out));
    interface.functions.iter().for_each(|item| function(item, &mut out));
    out
}

fn define(out: &mut String, c: &str, name: &str) {
    let space = if c.ends_with('*') { "" } else { " " };
    writeln!(out, "typedef {c}{space}{name};").unwrap();
}

/// The names that stand for plain types. Enumerations are among them: C leaves it open how large those are, the interface does not.
fn plain_types(interface: &Interface, out: &mut String) {
    let enums = interface.enums.iter().map(|item| (item.name.as_str(), "int32_t".to_owned()));
    let mut types = json::types(interface);
    types.extend(enums);
    for (name, plain) in types {
        match plain.as_str() {
            "void" => define(out, &format!("struct {name}"), name),
            plain => define(out, plain, name),
        }
    }
}

fn enumeration(item: &Enum, out: &mut String) {
    let values = item.values.iter().map(|value| format!("  {} = {}", value.name, value.value));
    writeln!(out, "enum {{\n{}\n}};", values.collect::<Vec<_>>().join(",\n")).unwrap();
}

fn callback(item: &Callback, out: &mut String) {
    let parameters = item.parameters.iter().map(|(name, ty)| variable(ty, name));
    writeln!(out, "typedef {};", signature(&item.result, &format!("(*{})", item.name), parameters)).unwrap();
}

fn structure(item: &Struct, out: &mut String) {
    writeln!(out, "struct {} {{", item.name).unwrap();
    for field in &item.fields {
        let count = field.count.map(|count| format!("[{count}]")).unwrap_or_default();
        writeln!(out, "  {}{count};", variable(&field.c_type, &field.name)).unwrap();
    }
    out.push_str("};\n");
}

fn function(item: &Function, out: &mut String) {
    let parameters = item.parameters.iter().map(|parameter| variable(&parameter.c_type, &parameter.name));
    writeln!(out, "{};", signature(&item.result, &item.name, parameters)).unwrap();
}

fn signature(result: &str, name: &str, parameters: impl Iterator<Item = String>) -> String {
    let parameters: Vec<String> = parameters.collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    format!("{}({parameters})", variable(result, name))
}

fn variable(ty: &str, name: &str) -> String {
    let space = if ty.ends_with('*') { "" } else { " " };
    format!("{ty}{space}{name}")
}
