//! What the programs are tried with: driver versions, language standards, compilers.

use crate::skip;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The driver versions, as `SOFTCUDA_VERSION` spells them, with their numbers. There is no other list.
pub use softcuda::VERSIONS;

/// The version that tests use which try one only.
pub const ONE_VERSION: &str = "13.0";

/// C or C++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// A language standard, as `-std=` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standard {
    /// What follows `-std=`.
    pub name: &'static str,
    /// The language.
    pub language: Language,
}

const fn c(name: &'static str) -> Standard {
    Standard { name, language: Language::C }
}

const fn cpp(name: &'static str) -> Standard {
    Standard { name, language: Language::Cpp }
}

/// The standards. There is no other list.
pub const STANDARDS: &[Standard] = &[
    c("c99"),
    c("c11"),
    c("c17"),
    c("c2x"),
    cpp("c++11"),
    cpp("c++14"),
    cpp("c++17"),
    cpp("c++20"),
    cpp("c++2b"),
];

/// What C was before 1999, in which the headers compile as well, but not their helpers, nor the examples.
pub const OLDEST_C: [Standard; 3] = [c("c89"), c("gnu89"), c("iso9899:199409")];
/// The same of C++ before 2011.
pub const OLDEST_CPP: [Standard; 2] = [cpp("c++98"), cpp("gnu++98")];
/// The standard that programs are written in.
pub const C11: Standard = c("c11");
/// The standard that C++ programs are run with.
pub const CPP17: Standard = cpp("c++17");

/// A compiler, which speaks both languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// GCC.
    Gcc,
    /// Clang.
    Clang,
}

impl Compiler {
    /// The command that compiles a language.
    #[must_use]
    pub fn command(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Gcc, Language::C) => "gcc",
            (Self::Gcc, Language::Cpp) => "g++",
            (Self::Clang, Language::C) => "clang",
            (Self::Clang, Language::Cpp) => "clang++",
        }
    }

    /// What the compiler says of itself; nothing if it is not there.
    #[must_use]
    pub fn version(self, language: Language) -> Option<String> {
        static VERSIONS: Mutex<BTreeMap<&str, Option<String>>> = Mutex::new(BTreeMap::new());
        let command = self.command(language);
        let ask = || {
            let output = Command::new(command).arg("--version").output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let mut versions = VERSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        versions.entry(command).or_insert_with(ask).clone()
    }

    /// Whether the compiler is there for the language; says so if not.
    fn is_installed(self, language: Language) -> bool {
        let installed = self.version(language).is_some();
        if !installed {
            let command = self.command(language);
            skip(format_args!("no {command}: apt install {}", command.replace("clang++", "clang")));
        }
        installed
    }
}

/// The compilers of the language that are installed; the others have been skipped aloud.
#[must_use]
pub fn compilers(language: Language) -> Vec<Compiler> {
    [Compiler::Gcc, Compiler::Clang].into_iter().filter(|compiler| compiler.is_installed(language)).collect()
}

/// Whether everything is tried with everything, as `CUSHIM_MATRIX=full` asks for (`scripts/matrix.sh`). Otherwise what is in between is
/// tried in part, so that the tests take half the time.
#[must_use]
pub fn is_full() -> bool {
    std::env::var_os("CUSHIM_MATRIX").is_some_and(|value| value == "full")
}

/// Whether a program is tried on a version: on the oldest, on that of most tests and on the newest, and on a third of the others,
/// each program on other ones; of a full matrix on all.
#[must_use]
pub fn tries(program: &str, version: &str) -> bool {
    let at = VERSIONS.iter().position(|(name, _)| *name == version).unwrap_or_default();
    let is_of_all = at == 0 || at + 1 == VERSIONS.len() || version == ONE_VERSION;
    let turn = program.bytes().map(usize::from).sum::<usize>();
    is_of_all || (at + turn).is_multiple_of(3) || is_full()
}

/// Standards between the oldest, those that programs are written in, and the newest.
const BETWEEN: &[&str] = &["c17", "c++14", "c++20"];

/// Every standard with every compiler for it that is installed; those in between only of a full matrix.
#[must_use]
pub fn standards() -> Vec<(Compiler, Standard)> {
    let is_tried = |standard: &&Standard| is_full() || !BETWEEN.contains(&standard.name);
    let with = |compilers: Vec<Compiler>, language| {
        let standards =
            STANDARDS.iter().filter(is_tried).filter(move |standard| standard.language == language);
        standards
            .flat_map(move |standard| compilers.clone().into_iter().map(|compiler| (compiler, *standard)))
    };
    let (c, cpp) = (compilers(Language::C), compilers(Language::Cpp));
    with(c, Language::C).chain(with(cpp, Language::Cpp)).collect()
}
