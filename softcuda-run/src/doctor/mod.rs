//! `--doctor`: what was found on this machine, and what will not work here.
//!
//! - `driver`: softcuda itself, its settings and their memory;
//! - `program`: the command, and other drivers that it may find;
//! - `compilers`: what makes machine code, and the CUDA runtime;
//! - `elf`: what the file of a program says of how it is loaded.

mod compilers;
mod driver;
mod elf;
mod program;

use crate::arguments::Arguments;
use crate::libraries::Libraries;
use crate::problem::Problem;
use crate::setting;
use compilers::Handed;
use std::fmt::Write as _;
use std::process::ExitCode;

/// What one looked at means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// As it should be.
    Fine,
    /// Some programs will have trouble.
    Warning,
    /// In the way of all.
    Problem,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// Something that was looked at.
#[derive(Debug)]
struct Finding {
    topic: &'static str,
    level: Level,
    text: String,
}

/// What was found so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn fine(&mut self, topic: &'static str, text: impl Into<String>) {
        self.0.push(Finding { topic, level: Level::Fine, text: text.into() });
    }

    fn warning(&mut self, topic: &'static str, text: impl Into<String>) {
        self.0.push(Finding { topic, level: Level::Warning, text: text.into() });
    }

    fn problem(&mut self, topic: &'static str, text: impl Into<String>) {
        self.0.push(Finding { topic, level: Level::Problem, text: text.into() });
    }

    fn has_problems(&self) -> bool {
        self.0.iter().any(|finding| finding.level == Level::Problem)
    }
}

/// Looks at everything, and says what was found.
pub(crate) fn examine(arguments: &Arguments, json: bool) -> Result<ExitCode, Problem> {
    let mut findings = Findings::default();
    let settings = setting::of(&arguments.options)?;
    let libraries = Libraries::find();
    match &libraries {
        Ok(libraries) => driver::examine(libraries, &settings, &arguments.options, &mut findings),
        Err(problem) => findings.problem("softcuda", problem.sentence()),
    }
    let program = program::examine(&arguments.command, libraries.as_ref().ok(), &mut findings);
    let handed = match &program {
        Some(program) if program::is_for_musl(program) => Handed::ByMusl,
        _ if libraries.is_ok_and(|libraries| libraries.compilers().is_some()) => Handed::Ptx,
        _ => Handed::Nothing,
    };
    compilers::examine(program.as_deref(), handed, &mut findings);
    crate::print(&if json { in_json(&findings) } else { in_words(&findings) })?;
    Ok(ExitCode::from(u8::from(findings.has_problems())))
}

fn in_words(findings: &Findings) -> String {
    let mut text = String::new();
    for Finding { topic, level, text: sentence } in &findings.0 {
        writeln!(text, "{:<8} {topic}: {sentence}", level.word()).expect("a String takes text");
    }
    let count = |level| findings.0.iter().filter(|finding| finding.level == level).count();
    let last = match (count(Level::Problem), count(Level::Warning)) {
        (0, 0) => "softcuda works here".to_owned(),
        (0, warnings) => format!("softcuda works here; for some programs, mind the warnings ({warnings})"),
        (problems, _) => format!("softcuda does not work here yet: solve the problems ({problems})"),
    };
    text + &last + "\n"
}

fn in_json(findings: &Findings) -> String {
    let each = findings.0.iter().map(|Finding { topic, level, text }| {
        format!("{{\"topic\":{},\"level\":\"{}\",\"text\":{}}}", quoted(topic), level.word(), quoted(text))
    });
    let (version, works) = (quoted(env!("CARGO_PKG_VERSION")), !findings.has_problems());
    let each = each.collect::<Vec<_>>().join(",");
    format!("{{\"version\":{version},\"works\":{works},\"findings\":[{each}]}}\n")
}

/// A string of JSON's.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => {
                write!(quoted, "\\u{:04x}", control as u32).expect("a String takes text");
            }
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::{Findings, in_json, in_words};

    #[test]
    fn reports() {
        let mut findings = Findings::default();
        findings.fine("memory", "a \"b\" \\ \n");
        assert!(in_words(&findings).ends_with("softcuda works here\n"));
        findings.warning("compilers", "c");
        assert!(in_words(&findings).contains("warning  compilers: c\nsoftcuda works here; for some"));
        findings.problem("settings", "d");
        assert!(in_words(&findings).contains("problem  settings: d\nsoftcuda does not work here yet"));
        let json = in_json(&findings);
        assert!(
            json.contains(
                r#""works":false,"findings":[{"topic":"memory","level":"ok","text":"a \"b\" \\ \u000a"},"#
            ),
            "{json}"
        );
    }
}
