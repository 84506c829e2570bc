//! Compiles C and C++ programs against the headers and libraries under test.

use crate::libraries::{Workshop, library};
use crate::matrix::{C11, Compiler, Language, Standard};
use crate::repository;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a program gets the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// With `-lcushim`.
    Shared,
    /// With `libcushim.a`.
    Static,
    /// Not at all.
    Without,
}

/// What a program that links `libcushim.a` names besides, as the README does; a test holds both against the compiler.
pub const STATIC_LIBRARIES: &[&str] = &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// A compilation.
#[derive(Clone)]
#[must_use = "a build does nothing before `program`, `plug_in` or `check`"]
pub struct Build<'a> {
    workshop: &'a Workshop,
    sources: Vec<PathBuf>,
    compiler: Compiler,
    standard: Standard,
    link: Link,
    options: Vec<String>,
}

impl<'a> Build<'a> {
    /// Of one source in `c/`: C11 with gcc, linked with the shared library.
    pub fn new(workshop: &'a Workshop, source: &str) -> Self {
        let sources = vec![repository("capi-tests/c").join(source)];
        Self {
            workshop,
            sources,
            compiler: Compiler::Gcc,
            standard: C11,
            link: Link::Shared,
            options: Vec::new(),
        }
    }

    /// Of a source elsewhere.
    pub fn of(workshop: &'a Workshop, source: &Path) -> Self {
        Self { sources: vec![source.to_owned()], ..Self::new(workshop, "") }
    }

    /// And of another source in `c/`.
    pub fn and(mut self, source: &str) -> Self {
        self.sources.push(repository("capi-tests/c").join(source));
        self
    }

    /// With this compiler.
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = compiler;
        self
    }

    /// In this standard, and its language.
    pub fn standard(mut self, standard: Standard) -> Self {
        self.standard = standard;
        self
    }

    /// With the library linked in this way.
    pub fn link(mut self, link: Link) -> Self {
        self.link = link;
        self
    }

    /// With one more option.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Compiles without writing anything: whether the compiler has a word to say.
    ///
    /// # Errors
    /// The command and what the compiler said.
    pub fn check(self) -> Result<(), String> {
        let mut command = self.command();
        command.arg("-fsyntax-only");
        finish(command)
    }

    /// Makes the program `name`.
    ///
    /// # Errors
    /// The command and what the compiler said.
    pub fn program(self, name: &str) -> Result<PathBuf, String> {
        self.make(name, &[])
    }

    /// Makes the shared library `name`.
    ///
    /// # Errors
    /// The command and what the compiler said.
    pub fn plug_in(self, name: &str) -> Result<PathBuf, String> {
        self.make(name, &["-shared", "-fPIC"])
    }

    fn make(self, name: &str, options: &[&str]) -> Result<PathBuf, String> {
        let path = self.workshop.path().join(name);
        let mut command = self.command();
        command.args(options).arg("-o").arg(&path);
        match self.link {
            Link::Shared => {
                command.arg("-L").arg(self.workshop.lib()).arg("-lcushim");
                command.arg(format!("-Wl,-rpath,{}", self.workshop.lib().display()));
            }
            Link::Static => {
                // Marked as C or C++ like the sources otherwise.
                command.args(["-x", "none"]).arg(library("libcushim.a")).args(STATIC_LIBRARIES);
            }
            Link::Without => {}
        }
        command.args(["-pthread", "-ldl"]);
        finish(command).map(|()| path)
    }

    fn command(&self) -> Command {
        let language = self.standard.language;
        let mut command = Command::new(self.compiler.command(language));
        command.arg(format!("-std={}", self.standard.name));
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]);
        command.arg("-I").arg(repository("include")).arg("-I").arg(self.workshop.path());
        command.args(&self.options);
        command.args(["-x", if language == Language::C { "c" } else { "c++" }]).args(&self.sources);
        command
    }
}

fn finish(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
