//! Where softcuda answers otherwise than a real driver: on purpose, or because it does not answer yet.

use crate::expectation::{self, Difference};
use crate::transcript;
use std::fmt;

const SOFTCUDA: &str = include_str!("../expect/softcuda.txt");
const NOT_YET: &str = include_str!("../expect/softcuda_not_yet.txt");

/// What stands in a waiver for every situation of the section, or for every answer.
const ANY: &str = "*";

/// The reason of a difference that is not meant to stay.
const UNFINISHED: &str = "not yet";

/// One difference that is no complaint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Waiver {
    section: String,
    situation: String,
    answer: String,
    reason: String,
}

impl fmt::Display for Waiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { section, situation, answer, reason } = self;
        write!(f, "[{section}] {situation}: {answer} is waived ({reason}), but that is no difference")
    }
}

/// The differences of softcuda that are meant.
pub(crate) fn of_softcuda() -> Vec<Waiver> {
    read(SOFTCUDA)
}

/// What softcuda does not answer yet: whole sections, or questions of one.
pub(crate) fn not_yet() -> Vec<Waiver> {
    read_unfinished(NOT_YET)
}

/// Reads waivers: `section | situation | answer | reason`.
fn read(text: &str) -> Vec<Waiver> {
    let waiver = |line: &str| match *fields(line) {
        [section, situation, answer, reason] if !reason.is_empty() => Waiver {
            section: section.to_owned(),
            situation: situation.to_owned(),
            answer: answer.to_owned(),
            reason: reason.to_owned(),
        },
        _ => panic!("{line:?} is not section | situation | answer | reason"),
    };
    lines(text).map(waiver).collect()
}

/// Reads what is not answered yet: `section`, or `section | situation`.
fn read_unfinished(text: &str) -> Vec<Waiver> {
    let unfinished = |section: &str, situation: &str| Waiver {
        section: section.to_owned(),
        situation: situation.to_owned(),
        answer: ANY.to_owned(),
        reason: UNFINISHED.to_owned(),
    };
    let entry = |line: &str| match *fields(line) {
        [section] => unfinished(section, ANY),
        [section, situation] => unfinished(section, situation),
        _ => panic!("{line:?} is neither section nor section | situation"),
    };
    lines(text).map(entry).collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

fn fields(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

/// Complaints about a transcript: the differences that no waiver covers, and the waivers of its sections that cover
/// none.
///
/// A waiver of one situation may stand there before the answer that it is for is known.
pub(crate) fn complaints(expected: &str, waivers: &[Waiver], transcript: &str) -> Vec<String> {
    let differences = &expectation::compare(expected, transcript);
    let unknown = expectation::unknown(expected);
    let about = |waiver: &Waiver, section: &str, situation: &str| {
        waiver.section == section && (waiver.situation == ANY || waiver.situation == situation.trim())
    };
    let covers = |waiver: &Waiver, difference: &Difference| {
        about(waiver, &difference.section, &difference.situation)
            && difference.found.as_ref().is_some_and(|found| waiver.answer == ANY || waiver.answer == *found)
    };
    let unexpected =
        differences.iter().filter(|difference| !waivers.iter().any(|waiver| covers(waiver, difference)));
    let lines = transcript::read(transcript);
    let waits = |waiver: &Waiver| {
        waiver.situation != ANY
            && unknown.iter().any(|(section, situation)| about(waiver, section, situation))
    };
    let stale = waivers.iter().filter(|waiver| {
        lines.iter().any(|line| line.section == waiver.section)
            && !differences.iter().any(|difference| covers(waiver, difference))
            && !waits(waiver)
    });
    unexpected.map(ToString::to_string).chain(stale.map(ToString::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::{complaints, not_yet, of_softcuda, read, read_unfinished};
    use crate::sections::SECTIONS;

    const EXPECTED: &str = "[a]\n  one  1\n    two  2\n[b]\n  three  3\n";

    fn complaints_about(found: &str, waivers: &str) -> Vec<String> {
        complaints(EXPECTED, &read(waivers), found)
    }

    #[test]
    fn a_waiver_covers_one_answer_to_one_situation() {
        let waiver = "# comment\n\na | two | 9 | a reason\n";
        assert!(complaints_about("[a]\n  one  1\n    two  9\n", waiver).is_empty());
        assert_eq!(complaints_about("[a]\n  one  9\n    two  9\n", waiver), ["[a] one: expected 1, found 9"]);
    }

    #[test]
    fn a_waiver_without_a_difference_is_a_complaint() {
        let stale = ["[a] two: 9 is waived (a reason), but that is no difference"];
        assert_eq!(complaints_about("[a]\n  one  1\n    two  2\n", "a | two | 9 | a reason\n"), stale);
        assert!(complaints_about("[b]\n  three  3\n", "a | two | 9 | a reason\n").is_empty());
    }

    #[test]
    fn a_waiver_may_be_for_all_of_a_section() {
        assert!(complaints_about("[a]\n  one  8\n    two  9\n", "a | * | * | a reason\n").is_empty());
        assert_eq!(complaints_about("[a]\n  one  1\n    two  2\n", "a | * | * | a reason\n").len(), 1);
        assert_eq!(complaints_about("[b]\n  three  9\n", "a | * | * | a reason\n").len(), 1);
    }

    #[test]
    fn a_waiver_may_be_there_before_the_answer() {
        let waivers = read("a | one | 9 | a reason\n");
        assert!(complaints("[a]\n  one  ?\n", &waivers, "[a]\n  one  9\n").is_empty());
        assert!(complaints("[a]\n  one  1\n", &waivers, "[a]\n  one  9\n").is_empty());
        assert_eq!(complaints("[a]\n  one  9\n", &waivers, "[a]\n  one  9\n").len(), 1);
        let of_all = read("a | * | * | a reason\n");
        assert_eq!(complaints("[a]\n  one  ?\n  two  2\n", &of_all, "[a]\n  one  9\n  two  2\n").len(), 1);
    }

    #[test]
    fn what_is_not_answered_yet_hides_nothing_else_and_has_an_end() {
        let about = |found: &str, list: &str| complaints(EXPECTED, &read_unfinished(list), found);
        let found = "[a]\n  one  9\n    two  9\n[b]\n  three  9\n";
        assert_eq!(about(found, "# comment\na\n"), ["[b] three: expected 3, found 9"]);
        assert_eq!(about(found, "a | two\nb\n"), ["[a] one: expected 1, found 9"]);
        assert_eq!(about("[a]\n  one  9\n", "a\n"), ["[a] two: expected 2, found no such line"]);
        let answered = "[a]\n  one  1\n    two  2\n[b]\n  three  3\n";
        assert_eq!(
            about(answered, "a\nb | three\n"),
            [
                "[a] *: * is waived (not yet), but that is no difference",
                "[b] three: * is waived (not yet), but that is no difference"
            ]
        );
    }

    #[test]
    fn what_softcuda_does_not_answer_yet_is_asked() {
        for waiver in not_yet() {
            assert!(SECTIONS.iter().any(|section| section.name == waiver.section), "{waiver}");
        }
    }

    #[test]
    fn the_waivers_of_softcuda_can_be_read() {
        assert!(!of_softcuda().is_empty());
    }
}
