//! What `c/objects_fuzz.c` knows of the interface: `fuzz.inc`, made from `cushim.json`.

use crate::interface::{list, text};
use serde_json::Value;
use std::fmt::Write as _;

/// The text of `fuzz.inc`: the kinds of handles, and every function that returns a status, to be called with its arguments
/// as numbers.
#[must_use]
pub fn as_c(interface: &Value) -> String {
    let mut out = kinds(interface);
    let functions = list(interface, "functions").iter().filter(|function| returns_status(function));
    let functions: Vec<&Value> = functions.collect();
    for function in &functions {
        write_call(function, &mut out);
        write_parameters(function, &mut out);
    }
    out.push_str("static const struct fuzz_function fuzz_functions[] = {\n");
    for function in functions {
        let (name, count) = (text(function, "name"), list(function, "parameters").len());
        let reaches = i32::from(reaches_driver(function));
        let lacks =
            i32::from(function["driver_errors"] == true || names(function, "CUSHIM_ERROR_UNSUPPORTED"));
        line(
            &mut out,
            &format!("  {{\"{name}\", call_{name}, parameters_{name}, {count}, {reaches}, {lacks}}},"),
        );
    }
    out.push_str("};\n");
    out
}

fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a text grows");
}

fn returns_status(function: &Value) -> bool {
    text(&function["returns"], "type") == "cushim_status"
}

/// Whether it may answer what the driver says. What is refused inside the driver's own callbacks does.
fn reaches_driver(function: &Value) -> bool {
    function["driver_errors"] == true || names(function, "CUSHIM_ERROR_IN_CALLBACK")
}

/// Whether its documentation names the status.
fn names(function: &Value, status: &str) -> bool {
    list(function, "errors").iter().filter_map(Value::as_str).any(|error| error == status)
}

/// `enum fuzz_kind`, the names, and a destroy for all of them.
fn kinds(interface: &Value) -> String {
    let kinds: Vec<&str> = list(interface, "handles").iter().map(|handle| text(handle, "kind")).collect();
    let mut out = String::from("enum fuzz_kind { FUZZ_none, FUZZ_any");
    kinds.iter().for_each(|kind| write!(out, ", FUZZ_{kind}").expect("a text grows"));
    out.push_str(" };\nstatic const char *const fuzz_kind_names[] = {\"\", \"any\"");
    kinds.iter().for_each(|kind| write!(out, ", \"{kind}\"").expect("a text grows"));
    out.push_str(
        "};\nstatic cushim_status fuzz_destroy(enum fuzz_kind kind, uint64_t handle) {\n  switch (kind) {\n",
    );
    for kind in kinds {
        let call = format!("cushim_{kind}_destroy((cushim_{kind})(uintptr_t)handle)");
        line(&mut out, &format!("  case FUZZ_{kind}: return {call};"));
    }
    out.push_str("  case FUZZ_none:\n  case FUZZ_any: break;\n  }\n  return CUSHIM_ERROR_INTERNAL;\n}\n");
    out
}

fn write_call(function: &Value, out: &mut String) {
    let name = text(function, "name");
    line(out, &format!("static cushim_status call_{name}(const uint64_t *a) {{"));
    let argument = |(index, parameter): (usize, &Value)| match text(parameter, "type") {
        ty if is_number(parameter) => format!("({ty})a[{index}]"),
        ty => format!("({ty})(uintptr_t)a[{index}]"),
    };
    let arguments: Vec<String> = list(function, "parameters").iter().enumerate().map(argument).collect();
    let unused = if arguments.is_empty() { "  (void)a;\n" } else { "" };
    line(out, &format!("{unused}  return {name}({});\n}}", arguments.join(", ")));
}

fn is_number(parameter: &Value) -> bool {
    role(parameter) == "VALUE"
}

fn write_parameters(function: &Value, out: &mut String) {
    line(out, &format!("static const struct fuzz_parameter parameters_{}[] = {{", text(function, "name")));
    let parameters = list(function, "parameters");
    for parameter in parameters {
        let (name, ty, role) = (text(parameter, "name"), text(parameter, "type"), role(parameter));
        let to = ty.strip_suffix('*').map_or(ty, str::trim).trim_start_matches("const ");
        let size = match role {
            "VALUE" | "HANDLE" | "ENDED" | "PASSED" | "TEXT" => "0".to_owned(),
            "BUFFER" => "1".to_owned(),
            _ if to == "void" => "1".to_owned(),
            // A pointer to a constant thing is a pointer like any other.
            _ if to.ends_with('*') => "sizeof(void *)".to_owned(),
            _ => format!("sizeof({to})"),
        };
        let kind = parameter["kind"].as_str().unwrap_or("none");
        let nullable = i32::from(parameter["nullable"] == true);
        line(out, &format!("  {{\"{name}\", \"{to}\", {role}, FUZZ_{kind}, {nullable}, {size}}},"));
    }
    if parameters.is_empty() {
        line(out, "  {\"\", \"\", VALUE, FUZZ_none, 0, 0},");
    }
    line(out, "};");
}

fn role(parameter: &Value) -> &'static str {
    match (text(parameter, "role"), text(parameter, "direction")) {
        ("value", "in") => "VALUE",
        ("value", _) => "PLACE",
        ("handle", _) => "HANDLE",
        ("ended", _) => "ENDED",
        ("passed", _) => "PASSED",
        ("text", _) => "TEXT",
        ("read", _) => "READ",
        ("options", _) => "OPTIONS",
        ("claim", _) => "CLAIMED",
        ("borrowed", _) => "LENT",
        ("struct", _) => "FILLED",
        ("buffer", _) => "BUFFER",
        ("array", _) => "ARRAY",
        (other, _) => panic!("{other} is a role that the fuzzer does not know"),
    }
}
