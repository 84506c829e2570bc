//! Compiles C and C++ programs against the headers and libraries under test: each once for the same sources and options,
//! whoever asks.

use crate::kept::{Recipe, kept};
use crate::libraries::{installed, library};
use crate::matrix::{C11, CPP17, Compiler, Language, Standard};
use crate::{generated, repository};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

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

/// Of programs that use `cushim.hpp`, besides those of all programs. Debug information would take a quarter of the compiler's time.
const CPP_OPTIONS: &[&str] = &["-Wconversion", "-Wsign-conversion", "-Wshadow", "-g0"];

/// A compilation.
#[derive(Debug, Clone)]
#[must_use = "a build does nothing before `program`, `plug_in` or `check`"]
pub struct Build {
    sources: Vec<PathBuf>,
    compiler: Compiler,
    standard: Standard,
    link: Link,
    options: Vec<String>,
    /// What goes into it and the preprocessor does not see.
    inputs: Vec<PathBuf>,
}

impl Build {
    /// Of one source in `c/`, named without its `.c`: C11 with gcc, linked with the shared library.
    pub fn new(source: &str) -> Self {
        Self::of(&in_c(source))
    }

    /// Of a source elsewhere.
    pub fn of(source: &Path) -> Self {
        Self {
            sources: vec![source.to_owned()],
            compiler: Compiler::Gcc,
            standard: C11,
            link: Link::Shared,
            options: Vec::new(),
            inputs: Vec::new(),
        }
    }

    /// Of a source in C++ that uses `cushim.hpp`: C++17 with g++, at the warnings under which the header is clean.
    pub fn cpp(source: &Path) -> Self {
        CPP_OPTIONS.iter().copied().fold(Self::of(source).standard(CPP17), Self::option)
    }

    /// And of another source in `c/`.
    pub fn and(self, source: &str) -> Self {
        self.and_of(in_c(source))
    }

    /// And of another source elsewhere.
    pub fn and_of(mut self, source: PathBuf) -> Self {
        self.sources.push(source);
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

    /// As a program that includes `cuda.h`: ours.
    pub fn drop_in(self) -> Self {
        let folder = repository("include/cushim-cuda");
        self.option(format!("-I{}", folder.display()))
    }

    /// With one more option.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// With what another file holds, which no source includes.
    pub fn input(mut self, path: PathBuf) -> Self {
        self.inputs.push(path);
        self
    }

    /// Compiles without writing anything: whether the compiler has a word to say.
    ///
    /// # Errors
    /// The command and what the compiler said.
    pub fn check(self) -> Result<(), String> {
        let mut command = self.command();
        command.arg("-fsyntax-only");
        finish(command).map(drop)
    }

    /// The program.
    ///
    /// # Errors
    /// The command and what the compiler said.
    pub fn program(self) -> Result<PathBuf, String> {
        self.made()
    }

    /// The shared library.
    ///
    /// # Errors
    /// The command and what the compiler said.
    pub fn plug_in(self) -> Result<PathBuf, String> {
        self.option("-shared").option("-fPIC").made()
    }

    /// The file, made now or before.
    fn made(self) -> Result<PathBuf, String> {
        // A header that takes another's place changes nothing that is known of a file, but the list of them.
        let mut hasher = DefaultHasher::new();
        (format!("{self:?}"), self.compiler.version(self.standard.language), headers()).hash(&mut hasher);
        kept(&format!("{}-{:016x}", self.name(), hasher.finish()), &self)
    }

    /// What it is called among those that are kept: `objects-streams`, `examples-saxpy`.
    fn name(&self) -> String {
        let source = self.sources[0].with_extension("");
        let known = [repository("capi-tests/c"), repository(""), generated::folder().to_owned()];
        let path = known.iter().find_map(|folder| source.strip_prefix(folder).ok()).unwrap_or(&source);
        path.display().to_string().trim_start_matches('/').replace('/', "-")
    }

    fn command(&self) -> Command {
        let language = self.standard.language;
        let mut command = self.compile();
        command.args(["-x", if language == Language::C { "c" } else { "c++" }]).args(&self.sources);
        command
    }

    /// The compiler with the options, and no source.
    fn compile(&self) -> Command {
        let mut command = Command::new(self.compiler.command(self.standard.language));
        command.arg(format!("-std={}", self.standard.name));
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]);
        if self.is_usual_cpp() {
            command.arg("-I").arg(precompiled::folder());
        }
        for folder in [&repository("include"), &repository("capi-tests/c/common"), generated::folder()] {
            command.arg("-I").arg(folder);
        }
        command.args(&self.options);
        command
    }

    /// Whether it is what `cpp` makes, for which the header is there as the compiler has read it.
    fn is_usual_cpp(&self) -> bool {
        self.compiler == Compiler::Gcc && self.standard == CPP17 && self.options == CPP_OPTIONS
    }
}

impl Recipe for Build {
    fn inputs(&self) -> Result<Vec<PathBuf>, String> {
        let mut command = self.command();
        // Without a word: options for the linker are not used here.
        command.args(["-M", "-w"]);
        let mut inputs = prerequisites(&finish(command)?);
        inputs.extend_from_slice(&self.inputs);
        match self.link {
            Link::Shared => inputs.push(library("libcushim.so")),
            Link::Static => inputs.push(library("libcushim.a")),
            Link::Without => {}
        }
        Ok(inputs)
    }

    fn make(&self, path: &Path) -> Result<(), String> {
        if self.is_usual_cpp() {
            precompiled::prepare()?;
        }
        let mut command = self.command();
        command.arg("-o").arg(path);
        match self.link {
            Link::Shared => {
                let folder = installed().display();
                command.arg(format!("-L{folder}")).arg("-lcushim").arg(format!("-Wl,-rpath,{folder}"));
            }
            Link::Static => {
                // Marked as C or C++ like the sources otherwise.
                command.args(["-x", "none"]).arg(library("libcushim.a")).args(STATIC_LIBRARIES);
            }
            Link::Without => {}
        }
        command.args(["-pthread", "-ldl"]);
        finish(command).map(drop)
    }
}

/// `cushim.hpp` as g++ has read it, for the programs in C++: reading it anew would take half the compiler's time for each. A program that
/// it does not fit, for what it defines before, or because another header includes it first, reads the header.
mod precompiled {
    use super::{Build, finish, kept, repository};
    use crate::kept::{Recipe, folder as kept_folder, write};
    use std::path::{Path, PathBuf};

    /// The header by itself.
    struct Header(Build);

    impl Recipe for Header {
        fn inputs(&self) -> Result<Vec<PathBuf>, String> {
            self.0.inputs()
        }

        fn make(&self, path: &Path) -> Result<(), String> {
            let mut command = self.0.compile();
            command.args(["-x", "c++-header"]).args(&self.0.sources).arg("-o").arg(path);
            finish(command).map(drop)
        }
    }

    /// Where the compiler looks for it first.
    pub(super) fn folder() -> PathBuf {
        kept_folder().join("precompiled")
    }

    /// Has it there, beside a file of its name for who includes it again.
    pub(super) fn prepare() -> Result<(), String> {
        std::fs::create_dir_all(folder()).map_err(|error| error.to_string())?;
        let header = folder().join("cushim.hpp");
        write(&header, &format!("#include \"{}\"\n", repository("include/cushim.hpp").display()));
        kept("precompiled/cushim.hpp.gch", &Header(Build::cpp(&header))).map(drop)
    }
}

fn in_c(source: &str) -> PathBuf {
    repository("capi-tests/c").join(format!("{source}.c"))
}

/// The files that sources include, or could.
fn headers() -> &'static [PathBuf] {
    static HEADERS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let mut files = Vec::new();
        for folder in ["include", "include/cushim-cuda", "capi-tests/c", "capi-tests/cpp"] {
            add_headers(&repository(folder), &mut files);
        }
        files.sort();
        files
    });
    &HEADERS
}

fn add_headers(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("the folder is readable").path()) {
        if path.is_dir() {
            add_headers(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| ["h", "hpp", "inc"].iter().any(|name| extension == *name))
        {
            files.push(path);
        }
    }
}

/// The files that rules for make name: `a.o: a.c b.h \`, with `\` before a space that belongs to a name.
fn prerequisites(rules: &str) -> Vec<PathBuf> {
    let (mut words, mut word, mut escaped) = (Vec::new(), String::new(), false);
    for character in rules.chars() {
        match character {
            '\n' if escaped => {}
            ' ' | '\n' if !escaped => words.push(std::mem::take(&mut word)),
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            other => word.push(other),
        }
        escaped = false;
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty() && !word.ends_with(':')).map(PathBuf::from).collect()
}

/// What the command printed.
fn finish(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::prerequisites;
    use std::path::Path;

    #[test]
    fn names_with_spaces_and_lines_that_go_on() {
        let rules = "a.o: a.c \\\n  /usr/in\\ clude/b.h\nc.o: c.c\n";
        assert_eq!(prerequisites(rules), ["a.c", "/usr/in clude/b.h", "c.c"].map(Path::new));
    }
}
