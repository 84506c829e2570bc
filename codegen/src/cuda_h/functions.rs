//! The functions of `cuda.h`, of every release, and the macros that give them their plain names.

use super::history::Span;
use super::older;
use super::sections::Sections;
use crate::catalogue::{Abi, Catalogue};
use crate::ctype;
use crate::header::parameters;

/// Defined where a program wants every ABI under its exported name (`__CUDA_API_VERSION_INTERNAL`).
const ALL: &str = "CUSHIM_CUDA_ALL";
const LEGACY: &str = "CUSHIM_TABLE_LEGACY_STREAM";
const PER_THREAD: &str = "defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)";

/// A function of one of NVIDIA's headers, with its place in the table.
pub(super) struct Function<'a> {
    row: usize,
    pub(super) abi: &'a Abi,
}

/// The functions that one of NVIDIA's headers declares.
pub(super) fn of<'a>(catalogue: &'a Catalogue, header: &str) -> Vec<Function<'a>> {
    let all = catalogue.abis.iter().enumerate().map(|(row, abi)| Function { row, abi });
    all.filter(|function| function.abi.header() == header).collect()
}

/// Defines the functions.
pub(super) fn definitions(functions: &[Function<'_>]) -> String {
    let mut out = Sections::default();
    for function in functions {
        if let Some(name) = older::name(function.abi) {
            out.add(&since(function.abi), &function.definition(name, "CUSHIM_CUDA_STREAM"));
        }
        let visible = join(&since(function.abi), &or(&public(function.abi), ALL));
        out.add(&visible, &function.definition(function.stream_name(), "CUSHIM_CUDA_STREAM"));
        if function.abi.per_thread.is_some() {
            let both = join(&since(function.abi), ALL);
            out.add(&both, &function.definition(function.abi.exported.clone(), LEGACY));
        }
    }
    out.finish()
}

/// Defines the plain names, which programs use, as the names that the driver exports.
pub(super) fn plain_names(functions: &[Function<'_>]) -> String {
    let mut out = Sections::default();
    for function in functions {
        let abi = function.abi;
        let target = function.stream_name();
        // A function whose plain name is its own needs none, but for its variant.
        let condition = |name: &str| if name == abi.exported { PER_THREAD } else { "" };
        let is_its_own = abi.base == abi.exported && abi.per_thread.is_none();
        if !abi.plain_in.is_empty() && !is_its_own {
            let named = join(&since(abi), &in_majors(&abi.plain_in));
            out.add(&join(&named, condition(&abi.base)), &define(&abi.base, &target));
        }
        // One that is declared beside another of the plain name is known by its own; this one still in 12.
        let mut beside = abi.declared_in.clone();
        beside.retain(|major| !abi.plain_in.contains(major) || abi.exported == "cuStreamGetCaptureInfo_v2");
        if !beside.is_empty() && abi.per_thread.is_some() {
            let declared = join(&since(abi), &in_majors(&beside));
            out.add(&join(&declared, PER_THREAD), &define(&abi.exported, &target));
        }
        // Since 12.0 this plain name stands for the function of another base name.
        if abi.base == "cuGraphInstantiateWithFlags" {
            out.add("CUDA_VERSION >= 12000", &define("cuGraphInstantiate", &target));
        }
    }
    out.finish()
}

impl Function<'_> {
    /// Its name, in a program that uses the default stream it was compiled for.
    fn stream_name(&self) -> String {
        let exported = &self.abi.exported;
        match &self.abi.per_thread {
            Some((name, _)) if name.ends_with("_ptds") => format!("__CUDA_API_PTDS({exported})"),
            Some(_) => format!("__CUDA_API_PTSZ({exported})"),
            None => exported.clone(),
        }
    }

    fn definition(&self, name: String, stream: &str) -> String {
        let abi = self.abi;
        let stream = if abi.per_thread.is_some() { stream } else { LEGACY };
        let types: Vec<String> = abi.params.iter().map(|p| ctype::c(&p.ty).trim_end().to_owned()).collect();
        let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
        let values: Vec<&str> = abi.params.iter().map(|p| p.name.as_str()).collect();
        let values = values.join(", ");
        let call = format!("{stream}, {}, \"{}\", {}, ({types}), ({values})", self.row, abi.base, abi.number);
        let older = older::of(&abi.exported);
        let body = match abi.base.as_str() {
            _ if older.is_some() => format!("CUSHIM_CUDA_ELSE({call}, {})", older.unwrap_or_default()),
            "cuGetErrorName" => format!(
                "CUSHIM_CUDA_TEXT({call}, error == CUDA_SUCCESS ? \"CUDA_SUCCESS\" : cushim_status_name(CUSHIM_CAST(cushim_status, error)))"
            ),
            "cuGetErrorString" => {
                format!("CUSHIM_CUDA_TEXT({call}, cushim_status_string(CUSHIM_CAST(cushim_status, error)))")
            }
            _ => format!("CUSHIM_CUDA_CALL({call})"),
        };
        format!("CUSHIM_CUDA_FUNCTION {name}({}) {{\n  {body};\n}}\n", parameters(&abi.params))
    }
}

fn define(name: &str, target: &str) -> String {
    format!("#define {name} {target}\n")
}

fn since(abi: &Abi) -> String {
    Span::from(abi.first_header_number()).condition(0)
}

/// The releases whose programs see the function without asking for all.
fn public(abi: &Abi) -> String {
    if abi.declared_in.is_empty() { "0".to_owned() } else { in_majors(&abi.declared_in) }
}

/// The condition for neighbouring major releases, 11 to 13 being all.
pub(super) fn in_majors(majors: &[u32]) -> String {
    let (first, last) = (majors[0], majors[majors.len() - 1]);
    let mut tests = Vec::new();
    if first > 11 {
        tests.push(format!("CUDA_VERSION >= {}", first * 1000));
    }
    if last < 13 {
        tests.push(format!("CUDA_VERSION < {}", (last + 1) * 1000));
    }
    tests.join(" && ")
}

fn or(condition: &str, other: &str) -> String {
    match condition {
        "" => String::new(),
        "0" => other.to_owned(),
        _ if condition.contains("&&") => format!("(({condition}) || {other})"),
        _ => format!("({condition} || {other})"),
    }
}

/// Both conditions, without one that says what the other does.
pub(super) fn join(one: &str, other: &str) -> String {
    match (one, other) {
        ("", rest) | (rest, "") => rest.to_owned(),
        _ if other.starts_with(one) => other.to_owned(),
        _ => format!("{one} && {other}"),
    }
}
