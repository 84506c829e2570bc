//! The files of `catalogue/`, as far as NVIDIA's headers can confirm them.

use serde_json::Value;
use std::path::Path;

/// A row of `abis.csv`.
pub(crate) struct Abi {
    pub(crate) base: String,
    pub(crate) number: u32,
    pub(crate) exported: String,
    pub(crate) per_thread: Option<(String, u32)>,
    /// As a `CUDA_VERSION`; 11070 stands for that header or an older one.
    pub(crate) first_header: u32,
    /// Whether `cuda.h` 12.9 gives this ABI the plain name (or, for a younger function, its first header does).
    pub(crate) name_in_cuda_12: bool,
    is_plain_in_13: bool,
}

impl Abi {
    /// The entry of the table.
    pub(crate) fn entry(&self) -> String {
        format!("{}_{}", self.base, self.number)
    }

    /// The names that the driver exports for it.
    pub(crate) fn exports(&self) -> impl Iterator<Item = &str> {
        [Some(&self.exported), self.per_thread.as_ref().map(|(name, _)| name)]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// The type that NVIDIA's headers give a pointer to this function.
    pub(crate) fn pointer_type(&self) -> String {
        format!("PFN_{}_v{}", self.base, self.number)
    }

    /// The same for the variant of the per-thread default stream, with its exported name.
    pub(crate) fn per_thread_type(&self) -> Option<(String, &str)> {
        let (exported, number) = self.per_thread.as_ref()?;
        let (_, suffix) = exported.rsplit_once('_').expect("a per-thread name has a suffix");
        Some((format!("PFN_{}_v{number}_{suffix}", self.base), exported))
    }
}

/// A name of `types.json`, and the first header that declares it (0: none does).
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) since: u32,
}

/// A struct of `types.json`.
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) since: u32,
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) members: Vec<Member>,
}

/// A member of a struct.
pub(crate) struct Member {
    pub(crate) path: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// All of it.
pub(crate) struct Catalogue {
    pub(crate) abis: Vec<Abi>,
    /// Handles, callbacks, aliases and enumerations.
    pub(crate) types: Vec<Named>,
    pub(crate) structs: Vec<Struct>,
    pub(crate) enumerators: Vec<(String, i64)>,
    pub(crate) constants: Vec<String>,
}

impl Catalogue {
    pub(crate) fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue");
        let text =
            |file: &str| std::fs::read_to_string(folder.join(file)).expect("the catalogue is readable");
        let types: Value = serde_json::from_str(&text("types.json")).expect("types.json is JSON");
        let list = |key: &str| types[key].as_array().expect("a list").iter();
        // Where a kind of type has the number of its first header.
        let named = |key: &'static str, since: usize| {
            list(key).map(move |v| Named { name: string(&v[0]), since: number(&v[since]) as u32 })
        };
        let enumerators = list("enums").flat_map(|v| v[2].as_array().expect("a list of enumerators"));
        Self {
            abis: read_abis(&text("abis.csv")),
            types: named("handles", 2)
                .chain(named("callbacks", 1))
                .chain(named("aliases", 2))
                .chain(named("enums", 1))
                .collect(),
            structs: list("structs").map(read_struct).collect(),
            enumerators: enumerators
                .map(|v| (string(&v[0]), v[1].as_i64().expect("an enumerator")))
                .collect(),
            constants: list("constants").map(|v| string(&v[0])).collect(),
        }
    }

    pub(crate) fn members(&self) -> usize {
        self.structs.iter().map(|each| each.members.len()).sum()
    }

    pub(crate) fn signatures(&self) -> usize {
        self.abis.len() + self.abis.iter().filter(|abi| abi.per_thread.is_some()).count()
    }
}

fn read_abis(text: &str) -> Vec<Abi> {
    let mut abis: Vec<Abi> = text.lines().skip(1).map(read_abi).collect();
    let named: Vec<String> =
        abis.iter().filter(|abi| abi.name_in_cuda_12).map(|abi| abi.base.clone()).collect();
    for abi in abis.iter_mut().filter(|abi| abi.is_plain_in_13 && !named.contains(&abi.base)) {
        abi.name_in_cuda_12 = true;
    }
    abis
}

/// The columns before the parameters hold no comma of their own.
fn read_abi(line: &str) -> Abi {
    let columns: Vec<&str> = line.splitn(10, ',').collect();
    let [base, number, exported, per_thread, per_thread_number, first_header, _, _, plain, _] = columns[..]
    else {
        panic!("ten columns: {line}")
    };
    let (major, minor) = first_header.split_once('.').expect("a version");
    let digits = |text: &str| text.parse::<u32>().expect("a number");
    Abi {
        base: base.to_owned(),
        number: digits(number),
        exported: exported.to_owned(),
        per_thread: (!per_thread.is_empty()).then(|| (per_thread.to_owned(), digits(per_thread_number))),
        first_header: 1000 * digits(major) + 10 * digits(minor),
        name_in_cuda_12: plain.contains("12"),
        is_plain_in_13: plain.contains("13"),
    }
}

fn read_struct(value: &Value) -> Struct {
    let members = value[4].as_array().expect("a struct has members");
    Struct {
        name: string(&value[0]),
        since: number(&value[1]) as u32,
        size: number(&value[2]),
        align: number(&value[3]),
        members: members
            .iter()
            .map(|m| Member { path: string(&m[0]), offset: number(&m[1]), size: number(&m[2]) })
            .collect(),
    }
}

fn string(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}
