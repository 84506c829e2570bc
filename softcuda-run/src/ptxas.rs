//! `ptxas`, as the command finds it in PATH: it makes no machine code, but an image that has the PTX inside, as NVRTC and nvJitLink do
//! under `softcuda-run`. What is wrong with the PTX is found when it is loaded.

use softcuda_compilers::cubin::{self, Text};
use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The name of the program.
pub(crate) const NAME: &str = "ptxas";

/// The status with which NVIDIA's ends if it cannot go on.
const FATAL: u8 = 255;

const HELP: &str = "\
ptxas of softcuda-run: makes images that softcuda loads, with the PTX inside
usage: ptxas [options] FILE   FILE is - for the standard input

-o, --output-file FILE        where the image goes (default: elf.o)
-arch, --gpu-name NAME        the architecture that the image names, as sm_90 (default: that of the PTX)
-maxrregcount N               the most registers of a kernel
-V, --version; -h, --help
Other options are accepted, and change nothing.
";

/// What a command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    inputs: Vec<PathBuf>,
    output: Option<PathBuf>,
    architecture: Option<String>,
    most_registers: Option<String>,
    version: bool,
    help: bool,
}

/// Runs as that program.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    let asked = read(words);
    if asked.help {
        return said(HELP);
    }
    if asked.version {
        // Programs read the version that stands behind the word `release`.
        let version = std::env::var("SOFTCUDA_VERSION").unwrap_or_else(|_| "13.0".into());
        return said(&format!(
            "ptxas: of softcuda-run, for the CUDA driver in software\nCuda compilation tools, release {version}, V{version}.0\n"
        ));
    }
    match make(&asked) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            let _ = writeln!(std::io::stderr(), "ptxas fatal   : {sentence}");
            ExitCode::from(FATAL)
        }
    }
}

/// The end of a call that only tells something.
fn said(text: &str) -> ExitCode {
    let written = std::io::stdout().write_all(text.as_bytes());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(FATAL) }
}

/// Reads a command line. Values are behind `=`, in the next word, or of some options in the same.
fn read(words: &[OsString]) -> Asked {
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if !bytes.starts_with(b"-") || bytes == b"-" {
            asked.inputs.push(word.into());
            continue;
        }
        let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
        let same = bytes.get(end + 1..).map(|value| OsStr::from_bytes(value).to_owned());
        let mut value = || same.clone().or_else(|| words.next().cloned());
        let text = |value: Option<OsString>| value.map(|value| value.to_string_lossy().into_owned());
        match &bytes[..end] {
            b"-o" | b"--output-file" => asked.output = value().map(Into::into),
            b"-arch" | b"--gpu-name" => asked.architecture = text(value()),
            b"-maxrregcount" | b"--maxrregcount" => asked.most_registers = text(value()),
            b"-V" | b"--version" => asked.version = true,
            b"-h" | b"--help" => asked.help = true,
            option if TAKE_VALUES.contains(&option) => drop(value()),
            _ => {}
        }
    }
    asked
}

/// Options that have a value, and no meaning here.
const TAKE_VALUES: [&[u8]; 15] = [
    b"-O",
    b"--opt-level",
    b"-m",
    b"--machine",
    b"-e",
    b"--entry",
    b"-dlcm",
    b"--def-load-cache",
    b"-dscm",
    b"--def-store-cache",
    b"-fmad",
    b"--fmad",
    b"-split-compile",
    b"--split-compile",
    b"--device-function-maxrregcount",
];

/// Makes the image.
fn make(asked: &Asked) -> Result<(), String> {
    if asked.inputs.is_empty() {
        return Err("no input file was given".into());
    }
    let most_registers = asked.most_registers.as_deref().map(registers).transpose()?;
    let texts: Vec<Text> = asked
        .inputs
        .iter()
        .map(|input| Ok(Text { ptx: ptx_of(input)?, most_registers }))
        .collect::<Result<_, String>>()?;
    let architecture = match &asked.architecture {
        Some(name) => number(name, "sm_").or_else(|| number(name, "compute_")).ok_or_else(|| {
            format!("the value {name} of the option gpu-name names no architecture, such as sm_90")
        })?,
        None => target(&texts[0].ptx).ok_or("the PTX has no .target with an architecture")?,
    };
    let output = asked.output.as_deref().unwrap_or(Path::new("elf.o"));
    let written = std::fs::write(output, cubin::pack(&texts, architecture));
    written.map_err(|error| format!("{}: {error}", output.display()))
}

/// A limit of registers; 0 is none.
fn registers(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>();
    number
        .map(|most| if most == 0 { u32::MAX } else { most })
        .map_err(|_| format!("the value {text} of the option maxrregcount is no number"))
}

/// The PTX of a file.
fn ptx_of(input: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = if input == Path::new("-") {
        std::io::stdin().read_to_end(&mut text).map(drop)
    } else {
        std::fs::read(input).map(|read| text = read)
    };
    read.map_err(|error| format!("{}: {error}", input.display()))?;
    while text.last() == Some(&0) {
        text.pop();
    }
    let is_text = text.windows(8).any(|part| part == b".version") && !text.contains(&0);
    if is_text { Ok(text) } else { Err(format!("{} is no PTX", input.display())) }
}

/// The architecture that a text is for.
fn target(ptx: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(ptx);
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?.to_owned();
    line.split([',', ' ', '\t']).find_map(|word| number(word, "sm_"))
}

/// The number of an architecture: of `sm_90a` it is 90.
fn number(name: &str, begin: &str) -> Option<u32> {
    let digits: String = name.strip_prefix(begin)?.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Asked, read, target};

    #[test]
    fn command_lines() {
        let of = |line: &str| read(&line.split(' ').map(Into::into).collect::<Vec<_>>());
        // As Triton, JAX and nvcc call it.
        for line in [
            "-lineinfo -v --fmad=false --gpu-name=sm_90a a.ptx -o a.cubin",
            "-v a.ptx --output-file=a.cubin -arch=sm_90a -O3",
            "-arch=sm_90a -m64 --opt-level 3 a.ptx -o a.cubin",
            "-arch sm_90a a.ptx -O 3 --output-file a.cubin",
        ] {
            let expected = Asked {
                inputs: vec!["a.ptx".into()],
                output: Some("a.cubin".into()),
                architecture: Some("sm_90a".into()),
                ..Asked::default()
            };
            assert_eq!(of(line), expected, "{line}");
        }
        assert!(of("--version").version && of("-h").help);
        assert_eq!(of("-maxrregcount 32 -").most_registers.as_deref(), Some("32"));
    }

    #[test]
    fn targets() {
        assert_eq!(target(b".version 7.0\n.target sm_80, debug\n"), Some(80));
        assert_eq!(target(b".version 7.0\n"), None);
    }
}
