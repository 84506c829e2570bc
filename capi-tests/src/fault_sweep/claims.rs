//! What makes a program clean up that a failure stopped.

use crate::interface::{list, owned_kinds, text};
use serde_json::Value;
use std::fmt::Write as _;

/// `claims.inc`: included before everything else, it notes each claim and at the end of the program destroys those that are
/// left, and tells which memory is not the library's to free. It takes the place of the recorder, which defines the same names.
pub(crate) fn claims(interface: &Value) -> String {
    let mut out = format!("{CLAIMS}\nstatic void end_claim(char kind, void *handle) {{\n");
    for kind in owned_kinds(interface) {
        let destroy = format!("cushim_{kind}_destroy((cushim_{kind})handle)");
        line(&mut out, &format!("  if (kind == '{}' && {destroy}) leak_is_told();", letter(interface, kind)));
    }
    out.push_str("}\n");
    list(interface, "functions").iter().for_each(|function| write_wrapper(interface, function, &mut out));
    out
}

fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a text grows");
}

/// A character for each kind.
fn letter(interface: &Value, kind: &str) -> char {
    let at = list(interface, "handles").iter().position(|handle| handle["kind"] == kind);
    char::from(b'a' + u8::try_from(at.expect("a kind of the interface")).expect("there are few"))
}

fn write_wrapper(interface: &Value, function: &Value, out: &mut String) {
    let (name, parameters) = (text(function, "name"), list(function, "parameters"));
    let role = |role: &str| parameters.iter().position(|parameter| parameter["role"] == role);
    let declared: Vec<String> = parameters
        .iter()
        .enumerate()
        .map(|(index, parameter)| format!("{} a{index}", text(parameter, "type")))
        .collect();
    let given: Vec<String> = (0..parameters.len()).map(|index| format!("a{index}")).collect();
    let told = |attribute: &str| parameters.iter().position(|parameter| !parameter[attribute].is_null());
    let after = if let Some(at) = told("freed_by") {
        let value = if parameters[at]["direction"] == "out" { "*a" } else { "a" };
        format!("if (status == 0) memory_is_lent((uint64_t){value}{at});")
    } else if let Some(at) = told("freed") {
        format!("if (status == 0) memory_is_back((uint64_t)a{at});")
    } else if let Some(at) = role("owned") {
        let kind = letter(interface, text(&parameters[at], "kind"));
        format!("if (status == 0 && a{at} != NULL) claim_begins('{kind}', (void *)*a{at});")
    } else if let Some((at, count)) = owned_array(parameters) {
        let kind = letter(interface, text(&parameters[at], "kind"));
        format!(
            "for (size_t i = 0; status == 0 && a{at} != NULL && i < a{count}; i++) claim_begins('{kind}', (void *)a{at}[i]);"
        )
    } else if let Some(at) = role("ended") {
        format!("if (!claim_is_kept(status)) claim_ends((void *)a{at});\n  if (status != 0) leak_is_told();")
    } else {
        return;
    };
    let (declared, given) = (declared.join(", "), given.join(", "));
    line(out, &format!("static inline cushim_status claiming_{name}({declared}) {{"));
    line(out, &format!("  cushim_status status = {name}({given});\n  {after}\n  return status;\n}}"));
    line(out, &format!("#define {name}(...) claiming_{name}(__VA_ARGS__)"));
}

/// An array of owning handles that comes out, and which parameter says how many they are.
fn owned_array(parameters: &[Value]) -> Option<(usize, usize)> {
    let is_one = |parameter: &Value| parameter["role"] == "array" && parameter["owned"] == true;
    let at = parameters.iter().position(is_one)?;
    let count = parameters.iter().position(|parameter| parameter["name"] == parameters[at]["array"])?;
    Some((at, count))
}

/// What the wrappers call.
const CLAIMS: &str = include_str!("../../c/common/claims.h");
