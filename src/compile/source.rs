//! What is compiled.

use super::compiled::CodeKind;

/// CUDA C++ to be compiled, with what goes with it.
///
/// ```
/// use cushim::compile::Source;
///
/// let source = Source::new("#include \"number.h\"\ntemplate<class T> __global__ void set(T *to) { *to = NUMBER; }")
///     .name("set.cu") // as messages call it
///     .header("number.h", "#define NUMBER 7")
///     .option("--std=c++17")
///     .name_expression("set<float>");
/// # drop(source);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub(super) text: String,
    pub(super) name: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) options: Vec<String>,
    pub(super) name_expressions: Vec<String>,
    pub(super) is_cached: bool,
    kind: Option<CodeKind>,
}

impl Source {
    /// A source of this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            name: "source.cu".to_owned(),
            headers: Vec::new(),
            options: Vec::new(),
            name_expressions: Vec::new(),
            is_cached: true,
            kind: None,
        }
    }

    /// What messages of the compiler call it; `source.cu` by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A header that the source includes by this name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// An option of NVRTC's: `--use_fast_math`. One that names an architecture takes the place of the device's.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// A kernel or variable by an expression of C++, which the compiler instantiates: `add<float>`.
    /// [`Compiled::lowered_name`](super::Compiled::lowered_name) says what it is called in the code.
    #[must_use]
    pub fn name_expression(mut self, expression: impl Into<String>) -> Self {
        self.name_expressions.push(expression.into());
        self
    }

    /// Whether what comes of it is kept on disk, and taken from there; yes by default.
    #[must_use]
    pub fn cached(mut self, cached: bool) -> Self {
        self.is_cached = cached;
        self
    }

    /// In which form the code is to be; by default machine code of the device, where the driver and the compiler have that, or else PTX.
    #[must_use]
    pub fn kind(mut self, kind: CodeKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// In which form the code is to be, if that is said.
    pub(super) fn asked_kind(&self) -> Option<CodeKind> {
        self.kind.or_else(|| self.asks_for_lto_ir().then_some(CodeKind::LtoIr))
    }

    /// Whether an option asks for LTO IR.
    pub(super) fn asks_for_lto_ir(&self) -> bool {
        self.options.iter().any(|option| ["-dlto", "--dlink-time-opt"].contains(&option.as_str()))
    }

    /// The architecture that an option names: `sm_90`.
    pub(super) fn architecture(&self) -> Option<&str> {
        architecture_of(&self.options)
    }

    /// Whether all that it is made of is known here: no option reads a file, and no file is included but the headers here and, in
    /// angle brackets, CUDA's own.
    pub(super) fn is_whole(&self) -> bool {
        let reads = ["-I", "--include-path", "-include", "--pre-include", "@", "--options-file", "-optf"];
        let is_plain = |option: &String| !reads.iter().any(|start| option.starts_with(start));
        let texts = std::iter::once(&self.text).chain(self.headers.iter().map(|(_, text)| text));
        self.options.iter().all(is_plain)
            && texts.flat_map(|text| text.lines()).all(|line| self.is_known(line))
    }

    /// Whether a line includes nothing, or what is known.
    fn is_known(&self, line: &str) -> bool {
        let Some(rest) = line.trim_start().strip_prefix('#') else { return true };
        let Some(rest) = rest.trim_start().strip_prefix("include") else { return true };
        let rest = rest.trim_start();
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        match quoted {
            Some((name, _)) => self.headers.iter().any(|(header, _)| header == name),
            None => rest.starts_with('<'),
        }
    }
}

/// The architecture that one of the options names: `sm_90`.
pub(super) fn architecture_of(options: &[String]) -> Option<&str> {
    let mut options = options.iter();
    while let Some(option) = options.next() {
        for start in ["--gpu-architecture", "-arch"] {
            match option.strip_prefix(start) {
                Some("") => return options.next().map(String::as_str),
                Some(rest) if rest.starts_with('=') => return Some(&rest[1..]),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_may_name_the_architecture() {
        let of = |options: &[&str]| {
            let source = options.iter().fold(Source::new(""), |source, option| source.option(*option));
            source.architecture().map(str::to_owned)
        };
        assert_eq!(of(&["--std=c++17"]), None);
        assert_eq!(of(&["--gpu-architecture=compute_80"]).as_deref(), Some("compute_80"));
        assert_eq!(of(&["-dw", "-arch", "sm_90"]).as_deref(), Some("sm_90"));
        assert_eq!(of(&["-arch=sm_75"]).as_deref(), Some("sm_75"));
    }

    #[test]
    fn what_reads_other_files_is_not_whole() {
        let with = |text: &str| Source::new(text).header("a.h", "#include <cuda_fp16.h>\n");
        assert!(with("int x;\n # include \"a.h\" // mine\n#define includes\n").is_whole());
        for text in ["#include \"b.h\"", "#include NAME", "#  include \"", "int x;\n\t#include \"dir/a.h\""] {
            assert!(!with(text).is_whole(), "{text}");
        }
        for option in ["-I/opt", "--include-path=/opt", "-include", "--pre-include=a.h", "@file"] {
            assert!(!with("").option(option).is_whole(), "{option}");
        }
        assert!(with("").option("--std=c++17").is_whole());
    }
}
