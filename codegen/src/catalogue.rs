//! Reads the files of `catalogue/` (see `catalogue/README.md` for what each column means).

use serde_json::Value;
use std::path::Path;

/// One ABI of one driver function.
pub(crate) struct Abi {
    pub(crate) base: String,
    pub(crate) number: u32,
    pub(crate) exported: String,
    pub(crate) per_thread: Option<(String, u32)>,
    pub(crate) first_header: String,
    pub(crate) group: String,
    /// The major releases whose `cuda.h` declares this ABI to every program.
    pub(crate) declared_in: Vec<u32>,
    /// The major releases whose `cuda.h` gives this ABI the plain name.
    pub(crate) plain_in: Vec<u32>,
    pub(crate) params: Vec<Param>,
}

impl Abi {
    /// The name of this ABI's entry in the table: `cuMemAlloc_3020`.
    pub(crate) fn slot(&self) -> String {
        format!("{}_{}", self.base, self.number)
    }

    /// The first header that declares it, as a `CUDA_VERSION`.
    pub(crate) fn first_header_number(&self) -> u32 {
        let (major, minor) = self.first_header.split_once('.').expect("a version");
        let digits = |text: &str| text.parse::<u32>().expect("a number");
        1000 * digits(major) + 10 * digits(minor)
    }

    /// Which of NVIDIA's headers declares it.
    pub(crate) fn header(&self) -> &'static str {
        let of = |parts: &[&str]| parts.iter().any(|part| self.base.contains(part));
        match () {
            () if of(&["EGL", "Egl"]) => "cudaEGL.h",
            () if of(&["cuGL", "cuGraphicsGL"]) => "cudaGL.h",
            () if of(&["VDPAU"]) => "cudaVDPAU.h",
            () if of(&["cuProfiler"]) => "cudaProfiler.h",
            () => "cuda.h",
        }
    }
}

/// One parameter, as C spells it.
pub(crate) struct Param {
    pub(crate) ty: String,
    pub(crate) name: String,
}

/// An incomplete struct behind a typed pointer.
pub(crate) struct Handle {
    pub(crate) name: String,
    pub(crate) tag: String,
    pub(crate) since: u32,
}

/// A function pointer type that callers pass in.
pub(crate) struct Callback {
    pub(crate) name: String,
    pub(crate) since: u32,
    pub(crate) result: String,
    pub(crate) params: Vec<Param>,
}

/// A second name of a type.
pub(crate) struct Alias {
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) since: u32,
}

/// A C enumeration.
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) since: u32,
    pub(crate) values: Vec<(String, i64)>,
}

/// A C struct or union, its members flattened: a nested member is `outer.inner`.
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) since: u32,
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) fields: Vec<Field>,
}

/// One member of a struct.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) path: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The element type where the member is an array.
    pub(crate) ty: String,
}

/// A macro constant of `cuda.h`.
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// A result of the driver, with its meaning in cushim's own words.
pub(crate) struct ResultCode {
    pub(crate) code: i32,
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Everything the generated files are made from.
pub(crate) struct Catalogue {
    pub(crate) abis: Vec<Abi>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) callbacks: Vec<Callback>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) enums: Vec<Enum>,
    pub(crate) structs: Vec<Struct>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) results: Vec<ResultCode>,
}

impl Catalogue {
    /// The ABI of each function to which `cuda.h` of CUDA 12 gives the plain name, or `cuda.h` of CUDA 13 if the function is
    /// younger.
    pub(crate) fn named_in_cuda_12(&self) -> impl Iterator<Item = &Abi> {
        let has = |abi: &Abi, major| abi.plain_in.contains(&major);
        let is_younger =
            move |abi: &Abi| !self.abis.iter().any(|other| other.base == abi.base && has(other, 12));
        self.abis.iter().filter(move |abi| has(abi, 12) || (has(abi, 13) && is_younger(abi)))
    }

    pub(crate) fn read(folder: &Path) -> Self {
        let text =
            std::fs::read_to_string(folder.join("types.json")).expect("catalogue/types.json is readable");
        let types: Value = serde_json::from_str(&text).expect("catalogue/types.json is JSON");
        let list =
            |key: &str| types[key].as_array().unwrap_or_else(|| panic!("types.json has {key}")).clone();
        Self {
            abis: read_abis(folder),
            handles: list("handles")
                .iter()
                .map(|v| Handle { name: string(&v[0]), tag: string(&v[1]), since: number(&v[2]) as u32 })
                .collect(),
            callbacks: list("callbacks")
                .iter()
                .map(|v| Callback {
                    name: string(&v[0]),
                    since: number(&v[1]) as u32,
                    result: string(&v[2]),
                    params: parse_params(&string(&v[3])),
                })
                .collect(),
            aliases: list("aliases")
                .iter()
                .map(|v| Alias { name: string(&v[0]), target: string(&v[1]), since: number(&v[2]) as u32 })
                .collect(),
            enums: list("enums").iter().map(read_enum).collect(),
            structs: list("structs").iter().map(read_struct).collect(),
            constants: list("constants")
                .iter()
                .map(|v| Constant { name: string(&v[0]), value: string(&v[1]) })
                .collect(),
            results: read_results(folder),
        }
    }
}

fn read_results(folder: &Path) -> Vec<ResultCode> {
    let mut reader =
        csv::Reader::from_path(folder.join("results.csv")).expect("catalogue/results.csv is readable");
    reader
        .records()
        .map(|record| {
            let record = record.expect("catalogue/results.csv is CSV");
            let code = record[0].parse().expect("a code is a number");
            ResultCode { code, name: record[1].to_owned(), text: record[2].to_owned() }
        })
        .collect()
}

fn read_abis(folder: &Path) -> Vec<Abi> {
    let mut reader = csv::Reader::from_path(folder.join("abis.csv")).expect("catalogue/abis.csv is readable");
    reader
        .records()
        .map(|record| {
            let record = record.expect("catalogue/abis.csv is CSV");
            let column = |i: usize| record[i].to_owned();
            let integer =
                |i: usize| record[i].parse().unwrap_or_else(|_| panic!("a number in column {i}: {record:?}"));
            Abi {
                base: column(0),
                number: integer(1),
                exported: column(2),
                per_thread: (!record[3].is_empty()).then(|| (column(3), integer(4))),
                first_header: column(5),
                group: column(6),
                declared_in: majors(&record[7]),
                plain_in: majors(&record[8]),
                params: parse_params(&record[9]),
            }
        })
        .collect()
}

fn majors(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|major| major.parse().expect("a major release")).collect()
}

fn parse_params(text: &str) -> Vec<Param> {
    if text == "void" {
        return Vec::new();
    }
    text.split(',')
        .map(|param| {
            let param = param.trim();
            let cut = param
                .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                .expect("a parameter has type and name")
                + 1;
            Param { ty: param[..cut].trim().to_owned(), name: param[cut..].to_owned() }
        })
        .collect()
}

fn read_enum(value: &Value) -> Enum {
    let values = value[2].as_array().expect("an enum has values");
    Enum {
        name: string(&value[0]),
        since: number(&value[1]) as u32,
        values: values
            .iter()
            .map(|v| (string(&v[0]), v[1].as_i64().expect("an enumerator is a number")))
            .collect(),
    }
}

fn read_struct(value: &Value) -> Struct {
    Struct {
        name: string(&value[0]),
        since: number(&value[1]) as u32,
        size: number(&value[2]),
        align: number(&value[3]),
        fields: read_fields(&value[4]),
    }
}

/// The members of a struct.
pub(crate) fn read_fields(value: &Value) -> Vec<Field> {
    let fields = value.as_array().expect("a struct has fields").iter();
    let field = |f: &Value| Field {
        path: string(&f[0]),
        offset: number(&f[1]),
        size: number(&f[2]),
        ty: string(&f[3]),
    };
    fields.map(field).collect()
}

pub(crate) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a string: {value}")).to_owned()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}
