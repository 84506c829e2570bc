//! What a driver is known to answer, and how a transcript differs from that.

use crate::transcript::{self, Line};
use std::fmt;

/// The answer of a line that nobody has put to the driver yet.
pub const UNKNOWN: &str = "?";

/// The answers of driver 580.159, which is for CUDA 13.0, on an H100.
const DRIVER_580: &str = include_str!("../expect/580.txt");

/// The known answers of a driver for this version of CUDA, if there are any.
#[must_use]
pub fn of_version(version: u32) -> Option<&'static str> {
    (version == 13000).then_some(DRIVER_580)
}

/// A line that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub section: String,
    /// Of which line.
    pub situation: String,
    /// What is known; `None` if the line is not in the expectation.
    pub expected: Option<String>,
    /// What was answered; `None` if the line is not in the transcript.
    pub found: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |answer: &Option<String>| answer.clone().unwrap_or_else(|| "(no such line)".to_owned());
        let Self { section, situation, .. } = self;
        write!(
            f,
            "[{section}] {}: expected {}, found {}",
            situation.trim(),
            text(&self.expected),
            text(&self.found)
        )
    }
}

/// Every line whose answer is not the expected one. A line is known by its section, its situation and how many of the
/// same name stand before it. Sections that are not in the transcript at all are left out.
#[must_use]
pub fn compare(expected: &str, found: &str) -> Vec<Difference> {
    let (mut expected, found) = (keyed(expected), keyed(found));
    expected.retain(|(key, _)| found.iter().any(|(other, _)| other.0 == key.0));
    let mut differences = Vec::new();
    let mut note = |key: &Key, expected: Option<&String>, found: Option<&String>| {
        differences.push(Difference {
            section: key.0.clone(),
            situation: key.1.clone(),
            expected: expected.cloned(),
            found: found.cloned(),
        });
    };
    for (key, answer) in &found {
        match expected.iter().find(|(other, _)| other == key) {
            Some((_, known)) if known == answer || known == UNKNOWN => {}
            other => note(key, other.map(|(_, known)| known), Some(answer)),
        }
    }
    for (key, known) in expected.iter().filter(|(key, _)| !found.iter().any(|(other, _)| other == key)) {
        note(key, Some(known), None);
    }
    differences
}

/// Section, situation, and the number of lines before it that have the same.
type Key = (String, String, usize);

fn keyed(text: &str) -> Vec<(Key, String)> {
    let mut keyed: Vec<(Key, String)> = Vec::new();
    for Line { section, situation, answer } in transcript::read(text) {
        let before = keyed.iter().filter(|(key, _)| key.0 == section && key.1 == situation).count();
        keyed.push(((section, situation, before), answer));
    }
    keyed
}
