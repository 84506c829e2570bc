//! cushim's own headers: prose and functions, and in `include/cushim_driver.h` the generated types, table and names.

use crate::catalogue::{Abi, Alias, Catalogue, Param, Struct};
use crate::ctype;
use crate::structs::{self, Body, Member, Part};
use std::fmt::Write as _;
use std::path::Path;

fn part(parts: &Path, name: &str) -> String {
    std::fs::read_to_string(parts.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// `include/cushim_loader.h`: prose, and the functions that need no type of the driver's.
pub(crate) fn loader(parts: &Path, functions: &str) -> String {
    part(parts, "loader_head.h") + functions + &part(parts, "loader_tail.h")
}

/// `include/cushim_driver.h`.
pub(crate) fn write(catalogue: &Catalogue, parts: &Path) -> String {
    let mut out = part(parts, "head.h");
    types(catalogue, &mut out);
    table(catalogue, &mut out);
    out.push_str(&part(parts, "functions.h"));
    out.push_str(&part(parts, "names.h"));
    names(catalogue, &mut out);
    out.push_str(&part(parts, "tail.h"));
    out
}

/// `include/cushim.h`: prose and index, and the functions of the objects.
pub(crate) fn objects(parts: &Path, index: &str, functions: &str) -> String {
    part(parts, "objects_head.h")
        + index
        + &part(parts, "objects_begin.h")
        + functions
        + &part(parts, "objects_helpers.h")
        + &part(parts, "objects_tail.h")
}

/// Declares what the included `cuda.h` does not, in an order in which every type comes before its use.
fn types(catalogue: &Catalogue, out: &mut String) {
    let is_enum = |name: &str| catalogue.enums.iter().any(|e| e.name == root(catalogue, name));
    let mut guarded = Guarded { out, since: None };
    for h in &catalogue.handles {
        guarded.item(h.since, &format!("typedef struct {} *{};\n", h.tag, h.name));
    }
    for a in catalogue.aliases.iter().filter(|a| !is_struct(catalogue, &a.name) && !is_enum(&a.name)) {
        guarded.item(a.since, &format!("typedef {}{};\n", ctype::c(&a.target), a.name));
    }
    for e in &catalogue.enums {
        let values: Vec<String> = e.values.iter().map(|(name, number)| enumerator(name, *number)).collect();
        guarded
            .item(e.since, &format!("typedef enum {0}_enum {{\n{1}\n}} {0};\n", e.name, values.join(",\n")));
    }
    for a in catalogue.aliases.iter().filter(|a| is_enum(&a.name)) {
        guarded.item(a.since, &format!("typedef {} {};\n", a.target, a.name));
    }
    let (after, before): (Vec<_>, Vec<_>) =
        catalogue.callbacks.iter().partition(|c| c.params.iter().any(|p| names_struct(catalogue, &p.ty)));
    for c in before {
        guarded.item(c.since, &callback(c));
    }
    for s in structs::in_order(catalogue) {
        guarded.item(s.since, &shared(&s.name, &format!("{}\n", c_struct(catalogue, s))));
        for a in aliases_of(catalogue, &s.name) {
            guarded.item(a.since, &format!("typedef {} {};\n", a.target, a.name));
        }
    }
    for c in after {
        guarded.item(c.since, &callback(c));
    }
    guarded.end();
    out.push_str("struct CUeglStreamConnection_st;\n\n/* Macro constants of cuda.h. */\n");
    for c in &catalogue.constants {
        writeln!(out, "#ifndef {0}\n#define {0} {1}\n#endif", c.name, c.value).unwrap();
    }
}

/// The names that stand for a struct, each after those that it is made from.
pub(crate) fn aliases_of<'a>(catalogue: &'a Catalogue, name: &str) -> Vec<&'a Alias> {
    let mut aliases: Vec<_> = catalogue.aliases.iter().filter(|a| root(catalogue, &a.name) == name).collect();
    aliases.sort_by_key(|a| depth(catalogue, &a.name));
    aliases
}

/// The runtime's headers declare `CUuuid` as well, with the same body, unless this macro says that somebody did.
pub(crate) fn shared(name: &str, declaration: &str) -> String {
    match name {
        "CUuuid" => {
            let guard = "CU_UUID_HAS_BEEN_DEFINED";
            format!("#ifndef {guard}\n#define {guard}\n{declaration}#endif\n")
        }
        _ => declaration.to_owned(),
    }
}

/// Writes items inside `#if` sections, so that a type that the included `cuda.h` has is not declared again.
struct Guarded<'a> {
    out: &'a mut String,
    since: Option<u32>,
}

impl Guarded<'_> {
    /// `since` is the first `cuda.h` that has the item, 0 for one that none has.
    fn item(&mut self, since: u32, text: &str) {
        if self.since != Some(since) {
            self.end();
            if since > 0 {
                writeln!(self.out, "#if CUSHIM_CUDA_H < {since}").unwrap();
                self.since = Some(since);
            }
        }
        self.out.push_str(text);
    }

    fn end(&mut self) {
        if self.since.take().is_some() {
            self.out.push_str("#endif\n");
        }
    }
}

/// An enumerator; one that does not fit `int` is written as the number with the same bits.
pub(crate) fn enumerator(name: &str, number: i64) -> String {
    match number as i32 {
        i32::MIN => format!("  {name} = (-2147483647 - 1)"),
        bits => format!("  {name} = {bits}"),
    }
}

fn callback(c: &crate::catalogue::Callback) -> String {
    let result = c.result.as_str();
    format!("typedef {result} (CUSHIM_CUDA_CB *{})({});\n", c.name, parameters(&c.params))
}

pub(crate) fn parameters(params: &[Param]) -> String {
    if params.is_empty() {
        return "void".to_owned();
    }
    let list: Vec<String> = params.iter().map(|p| format!("{}{}", ctype::c(&p.ty), p.name)).collect();
    list.join(", ")
}

pub(crate) fn names_struct(catalogue: &Catalogue, ty: &str) -> bool {
    ty.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| is_struct(catalogue, word))
}

/// Whether the name is that of a struct, directly or through aliases.
pub(crate) fn is_struct(catalogue: &Catalogue, name: &str) -> bool {
    let root = root(catalogue, name);
    catalogue.structs.iter().any(|s| s.name == root)
}

/// The type that a chain of aliases ends at.
pub(crate) fn root<'a>(catalogue: &'a Catalogue, name: &'a str) -> &'a str {
    match catalogue.aliases.iter().find(|a| a.name == name) {
        Some(alias) => root(catalogue, &alias.target),
        None => name,
    }
}

/// How many aliases lie between the name and its type.
fn depth(catalogue: &Catalogue, name: &str) -> usize {
    catalogue.aliases.iter().find(|a| a.name == name).map_or(0, |a| 1 + depth(catalogue, &a.target))
}

fn c_struct(catalogue: &Catalogue, item: &Struct) -> String {
    let (keyword, align, text) = body_of(catalogue, item);
    format!("typedef {keyword} {align}{0}_st {{\n{text}}} {0};", item.name)
}

/// What a declaration of a struct is made of: the keyword, its alignment, the members.
pub(crate) fn body_of(catalogue: &Catalogue, item: &Struct) -> (&'static str, String, String) {
    let align = if item.align > 8 { format!("CUSHIM_ALIGN({}) ", item.align) } else { String::new() };
    let (keyword, text) = c_body(&structs::body(catalogue, item), 1);
    (keyword, align, text)
}

fn c_body(body: &Body, depth: usize) -> (&'static str, String) {
    let mut out = String::new();
    match body {
        Body::Union(members) => {
            members.iter().for_each(|m| member(m, depth, &mut out));
            ("union", out)
        }
        Body::Struct(parts) => {
            for part in parts {
                match part {
                    Part::One(m) => member(m, depth, &mut out),
                    Part::Shared { members, .. } => {
                        let indent = "  ".repeat(depth);
                        writeln!(out, "{indent}CUSHIM_EXTENSION union {{").unwrap();
                        members.iter().for_each(|m| member(m, depth + 1, &mut out));
                        writeln!(out, "{indent}}};").unwrap();
                    }
                }
            }
            ("struct", out)
        }
    }
}

fn member(m: &Member, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let count = m.count.map(|n| format!("[{n}]")).unwrap_or_default();
    match &m.inner {
        None => writeln!(out, "{indent}{}{}{count};", ctype::c(&m.ty), m.name).unwrap(),
        Some(body) => {
            let (keyword, text) = c_body(body, depth + 1);
            writeln!(out, "{indent}{keyword} {{\n{text}{indent}}} {}{count};", m.name).unwrap();
        }
    }
}

fn table(catalogue: &Catalogue, out: &mut String) {
    out.push_str(TABLE_HEAD);
    for abi in &catalogue.abis {
        let params = parameters(&abi.params);
        writeln!(out, "  CUresult (CUSHIM_CUDAAPI *{})({params}); /* {} */", abi.slot(), abi.exported)
            .unwrap();
    }
    out.push_str("};\n\n");
}

const TABLE_HEAD: &str = "
/*
 * The driver's functions: one entry per ABI, NULL if the driver does not have it.
 *
 * The name of an entry is the base name of the function and the number of its ABI, which is the CUDA version that
 * introduced it (1000 * major + 10 * minor): cuMemPrefetchAsync_8000 takes a device ordinal, cuMemPrefetchAsync_12020
 * a location. The comment after an entry is the name that libcuda exports for it.
 *
 * New entries are only ever added at the end; struct_size is the size of the table at hand. CUSHIM_HAS checks both. A
 * table is never freed and never changes, and any thread may read it. A call through an entry is the driver's own
 * call, as NVIDIA documents it: it may need cuInit or a current context. There is one exception: if the driver is
 * opened while the log is at level debug (CUSHIM_LOG=debug), cuInit is a function of cushim's that calls the
 * driver's, and then has the driver log to cushim's log (CUDA 12.9).
 */
struct cushim_driver_table {
  size_t struct_size; /* bytes of this struct in the library that filled it */
";

/// The familiar names, bound to the ABIs that cuda.h 12.9 gives them.
fn names(catalogue: &Catalogue, out: &mut String) {
    for abi in catalogue.named_in_cuda_12() {
        name(abi, &abi.base, out);
    }
    // Since 12.0 this plain name is a macro for the function of another base name.
    let instantiate =
        catalogue.abis.iter().find(|a| a.base == "cuGraphInstantiateWithFlags").expect("in the catalogue");
    name(instantiate, "cuGraphInstantiate", out);
}

fn name(abi: &Abi, plain: &str, out: &mut String) {
    let slot = abi.slot();
    let args: Vec<&str> = abi.params.iter().map(|p| p.name.as_str()).collect();
    let missing = format!("cushim_names_missing(cushim_names_table, \"{}\", {})", abi.base, abi.number);
    let otherwise = match plain {
        "cuGetErrorName" => {
            let name = "error == CUDA_SUCCESS ? \"CUDA_SUCCESS\" : cushim_status_name(CUSHIM_CAST(cushim_status, error))";
            format!("cushim_names_error(pStr, {name})")
        }
        "cuGetErrorString" => {
            "cushim_names_error(pStr, cushim_status_string(CUSHIM_CAST(cushim_status, error)))".to_owned()
        }
        _ => missing,
    };
    writeln!(
        out,
        "CUSHIM_INLINE CUresult cushim_12_{plain}({params}) {{\n  \
         const cushim_driver_table *cushim_names_table = CUSHIM_CUDA_TABLE;\n  \
         return CUSHIM_HAS(cushim_names_table, {slot}) ? cushim_names_table->{slot}({args}) : {otherwise};\n}}\n\
         #undef {plain}\n#define {plain} cushim_12_{plain}",
        params = parameters(&abi.params),
        args = args.join(", "),
    )
    .unwrap();
}
