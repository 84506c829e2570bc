//! What `c/fuzz/` knows of the interface: `fuzz.inc`, made from `cushim.json`.

use crate::interface::{list, owned_kinds, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The text of `fuzz.inc`: the kinds of handles, and every function that returns a status, to be called with its arguments
/// as numbers.
#[must_use]
pub fn as_c(interface: &Value) -> String {
    let mut out = kinds(interface);
    write_memory_kinds(interface, &mut out);
    list(interface, "enums").iter().for_each(|item| write_values(item, &mut out));
    let functions = list(interface, "functions").iter().filter(|it| returns_status(it));
    let functions: Vec<&Value> = functions.collect();
    for function in &functions {
        write_call(function, &mut out);
        write_parameters(interface, function, &mut out);
    }
    out.push_str("static const struct fuzz_function fuzz_functions[] = {\n");
    for function in functions {
        let (name, count) = (text(function, "name"), list(function, "parameters").len());
        let reaches = i32::from(reaches_driver(function));
        let lacks =
            i32::from(function["driver_errors"] == true || names(function, "CUSHIM_ERROR_UNSUPPORTED"));
        line(
            &mut out,
            &format!(
                "  {{\"{name}\", call_{name}, parameters_{name}, {count}, {reaches}, {lacks}, {}}},",
                i32::from(is_of_graphs(function))
            ),
        );
    }
    out.push_str("};\n");
    out
}

fn line(out: &mut String, line: &str) {
    writeln!(out, "{line}").expect("a text grows");
}

/// Functions of these names are called by `c/fuzz/graphs.c` alone: the model of `c/fuzz/fuzz.c` does not know what graphs keep
/// alive, and until when.
const OF_GRAPHS: [&str; 8] = [
    "cushim_graph",
    "cushim_node",
    "cushim_exec",
    "cushim_condition",
    "cushim_builder",
    "_graph_memory",
    "_create_graph",
    "_arena",
];

fn is_of_graphs(function: &Value) -> bool {
    let name = text(function, "name");
    !name.starts_with("cushim_graphics") && OF_GRAPHS.iter().any(|part| name.contains(part))
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
    for kind in owned_kinds(interface) {
        let call = format!("cushim_{kind}_destroy((cushim_{kind})(uintptr_t)handle)");
        line(&mut out, &format!("  case FUZZ_{kind}: return {call};"));
    }
    out.push_str("  default: break;\n  }\n  return CUSHIM_ERROR_INTERNAL;\n}\n");
    out
}

/// `enum memory_kind`: memory, by what frees it.
fn write_memory_kinds(interface: &Value, out: &mut String) {
    let parameters = list(interface, "functions").iter().flat_map(|function| list(function, "parameters"));
    let names: BTreeSet<&str> = parameters.filter_map(|parameter| parameter["freed_by"].as_str()).collect();
    out.push_str("enum memory_kind { NO_MEMORY");
    names.iter().for_each(|name| write!(out, ", FREED_BY_{name}").expect("a text grows"));
    out.push_str(" };\nstruct fuzz_values {\n  int count;\n  const int32_t *values;\n};\n");
    out.push_str(PARAMETER);
}

/// What there is to know of a function.
const PARAMETER: &str = "\
struct fuzz_parameter {
  const char *name;
  const char *type; /* what a pointer points to, or the type itself */
  enum fuzz_role role;
  int kind;     /* an enum fuzz_kind, of a handle */
  int nullable;
  size_t size; /* of what it points to */
  int sized_by; /* the parameter that says how much it points to, or -1 */
  enum memory_kind lends, frees;
  int is_address, is_flags, on_failure;
  const struct fuzz_values *values; /* enumerators */
  uint64_t example;
};
struct fuzz_function {
  const char *name;
  cushim_status (*call)(const uint64_t *arguments);
  const struct fuzz_parameter *parameters;
  int parameter_count;
  int reaches_driver;
  int may_lack; /* it may need what the driver has not */
  int of_graphs;
};
";

/// The enumerators of an enumeration.
fn write_values(item: &Value, out: &mut String) {
    let (name, values) = (text(item, "name"), list(item, "values"));
    let numbers: Vec<String> = values.iter().map(|value| value["value"].to_string()).collect();
    line(out, &format!("static const int32_t numbers_{name}[] = {{{}}};", numbers.join(", ")));
    line(
        out,
        &format!("static const struct fuzz_values values_{name} = {{{}, numbers_{name}}};", values.len()),
    );
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

fn write_parameters(interface: &Value, function: &Value, out: &mut String) {
    let function_name = text(function, "name");
    line(out, &format!("static const struct fuzz_parameter parameters_{function_name}[] = {{"));
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
        // One that may be NULL where a size is 0 is drawn together with that.
        let nullable = i32::from(parameter["nullable"] == true);
        let sized_by = sized_by(parameters, parameter);
        let lends = memory_kind(parameter["freed_by"].as_str());
        let frees = memory_kind((parameter["freed"] == true).then_some(function_name));
        let is = |attribute: &str| i32::from(parameter[attribute] == true);
        let (is_address, on_failure) = (is("address"), is("on_failure"));
        let is_flags = i32::from(!parameter["flags"].is_null());
        let values = parameter["enum"].as_str().filter(|name| is_known(interface, name));
        let values = values.map_or("NULL".to_owned(), |name| format!("&values_{name}"));
        let example = if role == "VALUE" { example(parameter) } else { "0".to_owned() };
        line(
            out,
            &format!(
                "  {{\"{name}\", \"{to}\", {role}, FUZZ_{kind}, {nullable}, {size}, {sized_by}, {lends}, {frees}, \
                 {is_address}, {is_flags}, {on_failure}, {values}, {example}}},"
            ),
        );
    }
    if parameters.is_empty() {
        line(out, "  {\"\", \"\", VALUE, FUZZ_none, 0, 0, -1, NO_MEMORY, NO_MEMORY, 0, 0, 0, NULL, 0},");
    }
    line(out, "};");
}

/// Which parameter says how much this one points to.
fn sized_by(parameters: &[Value], parameter: &Value) -> i64 {
    let size = ["array", "bytes", "nullable_if_zero"].iter().find_map(|name| parameter[name].as_str());
    let at = size.and_then(|size| parameters.iter().position(|other| text(other, "name") == size));
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

fn memory_kind(function: Option<&str>) -> String {
    function.map_or("NO_MEMORY".to_owned(), |name| format!("FREED_BY_{name}"))
}

fn is_known(interface: &Value, name: &str) -> bool {
    list(interface, "enums").iter().any(|item| text(item, "name") == name)
}

fn example(parameter: &Value) -> String {
    match &parameter["example"] {
        Value::String(text) => format!("(uint64_t)({text})"),
        Value::Number(number) => number.to_string(),
        _ => "0".to_owned(),
    }
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
        ("owned", _) => "CLAIMED",
        ("borrowed", _) => "LENT",
        ("struct", _) => "FILLED",
        ("buffer", _) => "BUFFER",
        ("array", _) => "ARRAY",
        (other, _) => panic!("{other} is a role that the fuzzer does not know"),
    }
}
