//! `include/cushim.json`: the interface as data.

use crate::repository;
use serde_json::Value;
use std::fmt::Write as _;

/// The whole file.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn read() -> Value {
    let text = std::fs::read_to_string(repository("include/cushim.json")).expect("the file is there");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The members of an array of the file.
///
/// # Panics
/// If it is none.
pub fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

/// A text of the file.
///
/// # Panics
/// If it is none.
pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is a text"))
}

/// The kinds of handles of which there are owning ones: those that a function destroys.
pub fn owned_kinds(interface: &Value) -> impl Iterator<Item = &str> {
    let is_owned = |kind: &&str| {
        let destroy = format!("cushim_{kind}_destroy");
        list(interface, "functions").iter().any(|function| function["name"] == destroy)
    };
    list(interface, "handles").iter().map(|handle| text(handle, "kind")).filter(is_owned)
}

/// A C or C++ source that does not compile unless the headers say what the file does: sizes, offsets, numbers, signatures.
#[must_use]
pub fn as_c(interface: &Value) -> String {
    let mut out = String::from(
        "#ifdef __cplusplus\n#define INTERFACE_HAS(name, condition) static_assert(condition, #name)\n#else\n\
         #define INTERFACE_HAS(name, condition) extern char interface_##name[(condition) ? 1 : -1]\n#endif\n",
    );
    list(interface, "structs").iter().for_each(|item| structure(item, &mut out));
    for item in list(interface, "enums").iter().flat_map(|item| list(item, "values")) {
        let (name, value) = (text(item, "name"), &item["value"]);
        writeln!(out, "INTERFACE_HAS({name}, {name} == {value});").expect("a text grows");
    }
    list(interface, "functions").iter().for_each(|item| signature(item, &mut out));
    out
}

fn structure(item: &Value, out: &mut String) {
    let (name, size) = (text(item, "name"), &item["size"]);
    writeln!(out, "INTERFACE_HAS({name}_size, sizeof({name}) == {size});").expect("a text grows");
    for field in list(item, "fields") {
        let (member, offset, size) = (text(field, "name"), &field["offset"], &field["size"]);
        writeln!(
            out,
            "INTERFACE_HAS({name}_{member}, offsetof({name}, {member}) == {offset} && sizeof((({name} *)0)->{member}) == {size});"
        )
        .expect("a text grows");
    }
}

fn signature(item: &Value, out: &mut String) {
    let parameters: Vec<&str> =
        list(item, "parameters").iter().map(|parameter| text(parameter, "type")).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let (name, result) = (text(item, "name"), text(&item["returns"], "type"));
    writeln!(out, "extern {result} (*const interface_of_{name})({parameters});").expect("a text grows");
    writeln!(out, "{result} (*const interface_of_{name})({parameters}) = &{name};").expect("a text grows");
}
