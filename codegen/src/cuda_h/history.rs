//! Reads `catalogue/history.json`: what `cuda.h` of older releases declared otherwise than `types.json` says.

use crate::catalogue::{Struct, number, read_fields, string};
use serde_json::Value;
use std::path::Path;

/// The releases in which something holds: from `since`, and before `until` unless that is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) since: u32,
    pub(crate) until: u32,
}

/// The oldest header whose contents are known; older ones are taken to be the same.
const OLDEST: u32 = 11070;

impl Span {
    pub(crate) fn from(since: u32) -> Self {
        Self { since, until: 0 }
    }

    /// What a preprocessor has to ask within releases since `known`; nothing if the answer is always yes.
    pub(crate) fn condition(self, known: u32) -> String {
        let mut tests = Vec::new();
        if self.since > known.max(OLDEST) {
            tests.push(format!("CUDA_VERSION >= {}", self.since));
        }
        if self.until > 0 {
            tests.push(format!("CUDA_VERSION < {}", self.until));
        }
        tests.join(" && ")
    }
}

/// An enumeration that no signature names.
pub(crate) struct OtherEnum {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) values: Vec<(String, i64)>,
}

/// What a `PFN_` name without a number stands for.
pub(crate) struct PointerName {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) target: String,
    pub(crate) per_thread: String,
}

pub(crate) struct History {
    /// What only programs with `__CUDA_API_VERSION_INTERNAL` see.
    internal: Vec<String>,
    /// Tags of structs and enumerations that are not the name and `_st` or `_enum`.
    tags: Vec<(String, String)>,
    /// Where enumerators and constants appeared later than their enumeration, or disappeared.
    names: Vec<(String, Span)>,
    /// Enumerators whose value changed, with the values and since when.
    values: Vec<(String, Vec<(u32, i64)>)>,
    /// Older forms of structs, each until the release that changed it.
    structs: Vec<(Struct, u32)>,
    pub(crate) enums: Vec<OtherEnum>,
    pub(crate) constants: Vec<(String, String)>,
    /// Names that stood for another type until a release.
    pub(crate) aliases: Vec<(String, u32, String)>,
    /// Types that had another name until a release.
    renamed: Vec<(String, u32, String)>,
    pub(crate) pointer_names: Vec<PointerName>,
}

impl History {
    pub(crate) fn read(folder: &Path) -> Self {
        let text =
            std::fs::read_to_string(folder.join("history.json")).expect("catalogue/history.json is readable");
        let history: Value = serde_json::from_str(&text).expect("catalogue/history.json is JSON");
        let list =
            |key: &str| history[key].as_array().unwrap_or_else(|| panic!("history.json has {key}")).clone();
        let changed = |v: &Value| (string(&v[0]), number(&v[1]) as u32, string(&v[2]));
        Self {
            internal: list("internal").iter().map(string).collect(),
            tags: list("tags").iter().map(|v| (string(&v[0]), string(&v[1]))).collect(),
            names: list("names").iter().map(|v| (string(&v[0]), span(v))).collect(),
            values: list("values").iter().map(|v| (string(&v[0]), numbers(&v[1]))).collect(),
            structs: list("structs").iter().map(read_older).collect(),
            enums: list("enums").iter().map(read_enum).collect(),
            constants: list("constants").iter().map(|v| (string(&v[0]), string(&v[1]))).collect(),
            aliases: list("aliases").iter().map(changed).collect(),
            renamed: list("renamed").iter().map(changed).collect(),
            pointer_names: list("pointer_names").iter().map(read_pointer_name).collect(),
        }
    }

    /// What a preprocessor has to ask for a name, within releases since `known`.
    pub(crate) fn condition(&self, name: &str, span: Span, known: u32) -> String {
        let version = span.condition(known);
        match (self.internal.iter().any(|internal| internal == name), version.as_str()) {
            (false, _) => version,
            (true, "") => "CUSHIM_CUDA_ALL".to_owned(),
            (true, _) => format!("{version} && CUSHIM_CUDA_ALL"),
        }
    }

    /// The tag of a struct or an enumeration.
    pub(crate) fn tag(&self, name: &str, suffix: &str) -> String {
        let own = self.tags.iter().find(|(tagged, _)| tagged == name);
        own.map_or_else(|| format!("{name}{suffix}"), |(_, tag)| tag.clone())
    }

    /// The releases that have an enumerator or a constant, if they are not all that have its enumeration.
    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, span)| *span)
    }

    /// The values of an enumerator, each with the releases that have it.
    pub(crate) fn values(&self, name: &str) -> Option<Vec<(Span, i64)>> {
        let (_, values) = self.values.iter().find(|(known, _)| known == name)?;
        let ends = values.iter().skip(1).map(|(since, _)| *since).chain([0]);
        let spans =
            values.iter().zip(ends).map(|((since, value), until)| (Span { since: *since, until }, *value));
        Some(spans.collect())
    }

    /// The older forms of a struct, oldest first, and the release that ended each.
    pub(crate) fn older(&self, name: &str) -> impl Iterator<Item = (&Struct, u32)> {
        self.structs.iter().filter(move |(item, _)| item.name == name).map(|(item, until)| (item, *until))
    }

    /// The older name of a type, and the release that changed it.
    pub(crate) fn older_name(&self, name: &str) -> Option<(&str, u32)> {
        self.renamed.iter().find(|(now, ..)| now == name).map(|(_, until, then)| (then.as_str(), *until))
    }

    /// The release in which a name came to stand for what it stands for now, if it was something else before.
    pub(crate) fn changed(&self, name: &str) -> Option<u32> {
        let aliases = self.aliases.iter().filter(|(known, ..)| known == name).map(|(_, until, _)| *until);
        let enums = self.enums.iter().filter(|known| known.name == name).map(|known| known.span.until);
        aliases.chain(enums).chain(self.older(name).map(|(_, until)| until)).max()
    }
}

fn span(value: &Value) -> Span {
    Span { since: number(&value[1]) as u32, until: number(&value[2]) as u32 }
}

fn numbers(value: &Value) -> Vec<(u32, i64)> {
    let pairs = value.as_array().expect("a list").iter();
    pairs.map(|v| (number(&v[0]) as u32, v[1].as_i64().expect("a value"))).collect()
}

fn read_older(value: &Value) -> (Struct, u32) {
    let item = Struct {
        name: string(&value[0]),
        since: 0,
        size: number(&value[2]),
        align: number(&value[3]),
        fields: read_fields(&value[4]),
    };
    (item, number(&value[1]) as u32)
}

fn read_enum(value: &Value) -> OtherEnum {
    let values = value[3].as_array().expect("a list").iter();
    let values = values.map(|v| (string(&v[0]), v[1].as_i64().expect("a value"))).collect();
    OtherEnum { name: string(&value[0]), span: span(value), values }
}

fn read_pointer_name(value: &Value) -> PointerName {
    PointerName {
        name: string(&value[0]),
        span: span(value),
        target: string(&value[3]),
        per_thread: string(&value[4]),
    }
}
