//! Holds `include/cushim-cuda/` against NVIDIA's headers of the same version: the same probes, compiled behind either.

use super::catalogue::Catalogue;
use super::facts::{Facts, compiler, identifiers, source, succeeded, take};
use super::history::History;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What a program includes, of either.
const HEADERS: &str = "#include <cuda.h>\n#include <cudaTypedefs.h>\n#include <cudaProfiler.h>\n";

/// The ways in which a program may be compiled.
pub(crate) const MODES: [(&str, &str); 3] = [
    ("", ""),
    ("per thread", "#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n"),
    ("internal", "#define __CUDA_API_VERSION_INTERNAL\n"),
];

/// Macros that keep a header from being read twice; ours has the same, but that of a header which is not in the wheels.
const GUARDS: &[&str] = &["CUDA_PROFILER_H"];

/// Names without a number in NVIDIA's cudaTypedefs.h that name no type, or are misspelt.
const BROKEN: &[&str] =
    &["PFN_cuStreamGetId", "PFN_cuGraphBatchMemOpNodeSetParams", "PFN_cuGraphConditionalHandleCreate"];

/// Types that ours has longer: NVIDIA's have it since 12.0 with `__CUDA_API_VERSION_INTERNAL` only.
const KEPT: &str = "PFN_cuGraphInstantiate_v11000";

/// Whose headers.
#[derive(Clone, Copy)]
pub(crate) enum Whose<'a> {
    Theirs(&'a Path),
    Ours(u32),
}

impl Whose<'_> {
    fn head(self, mode: &str) -> String {
        match self {
            Self::Theirs(_) => format!("{mode}{HEADERS}"),
            Self::Ours(version) => format!("#define CUDA_VERSION {version}\n{mode}{HEADERS}"),
        }
    }

    fn folder(self) -> PathBuf {
        match self {
            Self::Theirs(path) => path.to_owned(),
            Self::Ours(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("include/cushim-cuda"),
        }
    }

    fn preprocessed(self, scratch: &Path, mode: &str, tail: &str, option: &str) -> String {
        let input = source(scratch, "names.cpp", &format!("{}{tail}", self.head(mode)));
        let folder = self.folder();
        succeeded(
            compiler("g++", &["-std=c++17", "-E", "-P", option], Some(&folder), &input),
            "preprocessing",
        )
    }

    /// What the headers define as macros, and what each becomes.
    fn macros(self, scratch: &Path, mode: &str) -> BTreeMap<String, String> {
        let defined = self.preprocessed(scratch, mode, "", "-dM");
        let names =
            defined.lines().filter_map(|line| line.strip_prefix("#define ")?.split([' ', '(']).next());
        let names: BTreeSet<&str> = names.filter(|name| is_of_cuda(name) && !GUARDS.contains(name)).collect();
        let lines: String = names.iter().map(|name| format!("@ \"{name}\" {name}\n")).collect();
        let text = self.preprocessed(scratch, mode, &lines, "-P");
        let pairs = text.lines().filter_map(|line| line.strip_prefix("@ \"")?.split_once('"'));
        pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
    }
}

fn is_of_cuda(name: &str) -> bool {
    ["cu", "CU", "PFN_", "RESOURCE_ABI", "__CUDA", "__cuda", "NVCL"]
        .iter()
        .any(|start| name.starts_with(start))
        && !name.starts_with("CUSHIM_")
        && !name.starts_with("cushim_")
}

/// What one side declares, in one mode.
pub(crate) struct Side {
    macros: BTreeMap<String, String>,
    names: BTreeSet<String>,
    facts: Facts,
}

impl Side {
    pub(crate) fn of(
        whose: Whose<'_>,
        scratch: &Path,
        mode: &str,
        list: &Catalogue,
        history: &History,
    ) -> Self {
        let text = whose.preprocessed(scratch, mode, "", "-P");
        // Ours names functions in texts, too.
        let code: String = text.split('"').step_by(2).collect();
        let declared = identifiers(&code);
        // The types are the same in each mode; what differs are the names of functions.
        let facts = match mode {
            "" => take(scratch, Some(&whose.folder()), &whose.head(mode), &probes(list, history, &declared)),
            _ => Facts::new(),
        };
        let names = declared.into_iter().filter(|name| is_of_cuda(name)).map(str::to_owned).collect();
        Self { macros: whose.macros(scratch, mode), names, facts }
    }
}

/// What is asked of everything that is declared.
fn probes(list: &Catalogue, history: &History, declared: &HashSet<&str>) -> String {
    let mut probes = "VALUE(CUDA_VERSION)\n".to_owned();
    let mut probe = |text: String| writeln!(probes, "{text}").expect("a string takes text");
    let is_declared = |name: &&str| declared.contains(name);
    for name in list.types.iter().map(|each| each.name.as_str()).filter(is_declared) {
        probe(format!("NAMED({name})"));
    }
    for each in list.structs.iter().filter(|each| declared.contains(each.name.as_str())) {
        probe(format!("STRUCT({0})\nNAMED({0})", each.name));
        let members = each.members.iter().map(|member| member.path.as_str());
        let members: BTreeSet<&str> = members.chain(history.older_members(&each.name)).collect();
        members.into_iter().for_each(|path| probe(format!("FIELD({}, {path})", each.name)));
    }
    let enumerators = list.enumerators.iter().map(|(name, _)| name.as_str()).chain(history.enumerators());
    let enumerators: BTreeSet<&str> = enumerators.filter(is_declared).collect();
    enumerators.into_iter().for_each(|name| probe(format!("VALUE({name})")));
    list.constants.iter().for_each(|name| probe(format!("#ifdef {name}\nCONSTANT({name})\n#endif")));
    for name in functions(list).into_iter().filter(|name| declared.contains(name.as_str())) {
        probe(format!("FUNCTION(\"{name}\", {name})"));
    }
    for name in pointer_types(list).into_iter().filter(|name| declared.contains(name.as_str())) {
        probe(format!("NAMED({name})"));
    }
    probes
}

/// Every name under which a function may be declared.
fn functions(list: &Catalogue) -> BTreeSet<String> {
    let mut all: BTreeSet<String> =
        list.abis.iter().flat_map(|abi| abi.exports().map(str::to_owned)).collect();
    all.extend(["cuGetProcAddress_ptsz", "cuGetProcAddress_v2_ptsz"].map(str::to_owned));
    all
}

fn pointer_types(list: &Catalogue) -> BTreeSet<String> {
    let plain = list.abis.iter().map(super::catalogue::Abi::pointer_type);
    plain.chain(list.abis.iter().filter_map(|abi| Some(abi.per_thread_type()?.0))).collect()
}

/// Says what differs.
pub(crate) fn compare(
    list: &Catalogue,
    (version, mode): (u32, &str),
    theirs: &Side,
    ours: &Side,
    wrong: &mut Vec<String>,
) {
    let mut say = |what: &str, name: &str, theirs: Option<&String>, ours: Option<&String>| {
        let of = |value: Option<&String>| value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
        wrong.push(format!("cuda.h {version} {mode}: {what} {name} is {}, ours {}", of(theirs), of(ours)));
    };
    for (name, value) in &theirs.macros {
        let mine = ours.macros.get(name);
        // What NVIDIA defines as itself.
        let is_itself = mine.is_none() && value == name;
        // Constants are compared by value.
        let is_constant = mine.is_some() && list.constants.contains(name);
        if mine != Some(value) && !is_itself && !is_constant && !BROKEN.contains(&name.as_str()) {
            say("macro", name, Some(value), mine);
        }
    }
    for (name, value) in &ours.macros {
        if !theirs.macros.contains_key(name) && !BROKEN.contains(&name.as_str()) {
            say("macro", name, None, Some(value));
        }
    }
    for (fact, value) in &theirs.facts {
        if ours.facts.get(fact) != Some(&with_our_stand_ins(value)) {
            say("the", fact, Some(value), ours.facts.get(fact));
        }
    }
    let is_more = |fact: &str| !theirs.facts.contains_key(fact) && !fact.ends_with(KEPT);
    for (fact, value) in ours.facts.iter().filter(|(fact, _)| is_more(fact)) {
        say("the", fact, None, Some(value));
    }
    for name in theirs.names.difference(&ours.names).filter(|name| !is_local(name)) {
        say("the name", name, Some(name), None);
    }
    let (functions, pointers) = (functions(list), pointer_types(list));
    for name in ours
        .names
        .difference(&theirs.names)
        .filter(|name| *name != KEPT && (functions.contains(*name) || pointers.contains(*name)))
    {
        say("the name", name, None, Some(name));
    }
}

/// A type as our header has it, in which void stands for the structs of before CUDA 3.2, and an integer for the mode of the profiler.
fn with_our_stand_ins(spelled: &str) -> String {
    let old = ["ARRAY3D_DESCRIPTOR", "ARRAY_DESCRIPTOR", "MEMCPY2D", "MEMCPY3D"];
    let spelled = spelled.replace("CUoutput_mode_enum", "int");
    old.iter().fold(spelled, |spelled, name| spelled.replace(&format!("CUDA_{name}_v1_st"), "void"))
}

/// Tags of nested structs, and names of parameters.
fn is_local(name: &str) -> bool {
    let is_tag = ["_st", "_union", "_struct"].iter().any(|end| name.ends_with(end));
    is_tag || name.starts_with("cuda") || name.starts_with("cubin")
}

/// How much was compared.
pub(crate) fn count(side: &Side) -> usize {
    side.facts.len() + side.macros.len() + side.names.len()
}
