//! What a driver is known to answer, and how a transcript differs from that.

use crate::transcript::{self, Line};
use cushim::driver::Version;
use std::fmt;

/// The answer of a line that nobody has put to the driver yet. Any answer is taken for it.
pub(crate) const UNKNOWN: &str = "?";

/// The answers of driver 580.159, which is for CUDA 13.0.
const DRIVER_580: &str = include_str!("../expect/580.txt");

/// The known answers of a driver for this version of CUDA, if there are any.
pub(crate) fn of_version(version: Version) -> Option<&'static str> {
    (version.number() == 13000).then_some(DRIVER_580)
}

/// A line that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) section: String,
    pub(crate) situation: String,
    /// What is known; `None` if the line is not in the expectation.
    pub(crate) expected: Option<String>,
    /// What was answered; `None` if the line is not in the transcript.
    pub(crate) found: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { section, situation, expected, found } = self;
        let text = |answer: &Option<String>| answer.clone().unwrap_or_else(|| "no such line".to_owned());
        write!(f, "[{section}] {}: expected {}, found {}", situation.trim(), text(expected), text(found))
    }
}

/// Every line whose answer is not the expected one, of the sections that the transcript has.
///
/// A line is known by its section, its situation, and how many of the same name stand before it. `one or other` stands for
/// what a driver answers now and then: it looks at memory that it has freed.
pub(crate) fn compare(expected: &str, found: &str) -> Vec<Difference> {
    let (expected, found) = (keyed(expected), keyed(found));
    let in_found = |key: &Key| found.iter().any(|(other, _)| other == key);
    let was_run = |key: &Key| found.iter().any(|(other, _)| other.section == key.section);
    let differing = found.iter().filter_map(|(key, answer)| {
        let known = expected.iter().find(|(other, _)| other == key).map(|(_, known)| known);
        let fits =
            known.is_some_and(|known| known == UNKNOWN || known.split(" or ").any(|one| one == answer));
        (!fits).then(|| key.difference(known, Some(answer)))
    });
    let absent = expected
        .iter()
        .filter(|(key, _)| was_run(key) && !in_found(key))
        .map(|(key, known)| key.difference(Some(known), None));
    differing.chain(absent).collect()
}

#[derive(PartialEq)]
struct Key {
    section: String,
    situation: String,
    /// Lines before it that have the same name.
    before: usize,
}

impl Key {
    fn difference(&self, expected: Option<&String>, found: Option<&String>) -> Difference {
        Difference {
            section: self.section.clone(),
            situation: self.situation.clone(),
            expected: expected.cloned(),
            found: found.cloned(),
        }
    }
}

fn keyed(text: &str) -> Vec<(Key, String)> {
    let mut keyed: Vec<(Key, String)> = Vec::new();
    for Line { section, situation, answer } in transcript::read(text) {
        let before =
            keyed.iter().filter(|(key, _)| key.section == section && key.situation == situation).count();
        keyed.push((Key { section, situation, before }, answer));
    }
    keyed
}

#[cfg(test)]
mod tests {
    use super::{DRIVER_580, compare};
    use crate::sections::SECTIONS;
    use crate::transcript;

    fn differences(expected: &str, found: &str) -> Vec<String> {
        compare(expected, found).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn answers_are_compared_line_by_line() {
        let expected = "[a]\n  one  1\n  two  2\n    sub  3\n  two  4\n  open  ?\n[b]\n  not run  1\n";
        let found = "[a]\n  one  1\n  two  2\n    sub  4\n  two  5\n  open  9\n  new  6\n";
        assert_eq!(
            differences(expected, found),
            [
                "[a] sub: expected 3, found 4",
                "[a] two: expected 4, found 5",
                "[a] new: expected no such line, found 6"
            ]
        );
    }

    #[test]
    fn a_line_that_is_not_there_differs_even_if_its_answer_is_unknown() {
        assert_eq!(
            differences("[a]\n  one  1\n  two  ?\n", "[a]\n  one  1\n"),
            ["[a] two: expected ?, found no such line"]
        );
    }

    #[test]
    fn there_may_be_several_known_answers() {
        let expected = "[a]\n  one  1 or !! killed by signal 11\n";
        assert!(compare(expected, "[a]\n  one  1\n").is_empty());
        assert!(compare(expected, "[a]\n  one  !! killed by signal 11\n").is_empty());
        assert_eq!(
            differences(expected, "[a]\n  one  2\n"),
            ["[a] one: expected 1 or !! killed by signal 11, found 2"]
        );
    }

    #[test]
    fn a_crash_differs_from_an_answer() {
        let found = "[a]\n  one   !! killed by signal 11\n  !! killed by signal 6\n";
        assert_eq!(
            differences("[a]\n  one  1\n", found),
            [
                "[a] one: expected 1, found !! killed by signal 11",
                "[a] : expected no such line, found !! killed by signal 6"
            ]
        );
    }

    #[test]
    fn every_section_is_expected_and_every_expected_section_is_there() {
        let mut expected: Vec<String> =
            transcript::read(DRIVER_580).into_iter().map(|line| line.section).collect();
        expected.dedup();
        assert_eq!(expected, SECTIONS.iter().map(|section| section.name).collect::<Vec<_>>());
    }
}
