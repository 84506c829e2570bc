//! What a driver is known to answer, and how a transcript differs from that.

use crate::transcript::{self, Line};
use cushim::driver::Version;
use std::collections::HashMap;
use std::fmt;

/// The answer of a line that nobody has put to the driver yet. Any answer is taken for it.
pub(crate) const UNKNOWN: &str = "?";
/// The answer of a line that cannot be put to the driver: it has crashed before in the same story. Any answer is taken for it,
/// and none is needed.
pub(crate) const UNREACHED: &str = "(crashed before)";

/// The answers of driver 580.159, which is for CUDA 13.0.
pub(crate) const DRIVER_580: &str = include_str!("../expect/580.txt");

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
/// A line is known by its section, the story in which it stands, its situation, and how many of the same name stand before it
/// there: lines that a crash keeps from being written move none of another story. `one or other` stands for what a driver
/// answers now and then: it looks at memory that it has freed.
pub(crate) fn compare(expected: &str, found: &str) -> Vec<Difference> {
    let (expected, found) = (keyed(expected), keyed(found));
    let in_found = |key: &Key| found.iter().any(|(other, _)| other == key);
    let was_run = |key: &Key| found.iter().any(|(other, _)| other.section == key.section);
    let differing = found.iter().filter_map(|(key, answer)| {
        let known = expected.iter().find(|(other, _)| other == key).map(|(_, known)| known);
        let fits = known.is_some_and(|known| {
            known == UNKNOWN
                || known == UNREACHED
                || known == answer
                || known.split(" or ").any(|one| one == answer)
        });
        (!fits).then(|| key.difference(known, Some(answer)))
    });
    let absent = expected
        .iter()
        .filter(|(key, known)| known != UNREACHED && was_run(key) && !in_found(key))
        .map(|(key, known)| key.difference(Some(known), None));
    differing.chain(absent).collect()
}

/// The questions of an expectation that have no answer yet: section and situation.
pub(crate) fn unknown(expected: &str) -> Vec<(String, String)> {
    let open = keyed(expected).into_iter().filter(|(_, answer)| answer == UNKNOWN);
    open.map(|(key, _)| (key.section, key.situation)).collect()
}

/// The expectation as it is after a transcript, whose answers it takes where none was known. Questions that it does not
/// have come after those that the transcript has before them.
pub(crate) fn learn(expected: &str, transcript: &str) -> String {
    let mut known = keyed(expected);
    let mut next = known.len();
    for (key, answer) in keyed(transcript) {
        match known.iter().position(|(other, _)| *other == key) {
            Some(at) => {
                if known[at].1 == UNKNOWN {
                    known[at].1 = answer;
                }
                next = at + 1;
            }
            None => {
                known.insert(next, (key, answer));
                next += 1;
            }
        }
    }
    let head = expected.lines().take_while(|line| line.starts_with('#'));
    let mut text: String = head.map(|line| format!("{line}\n")).collect();
    let mut section = String::new();
    for (key, answer) in known {
        if section != key.section {
            section = key.section;
            text += &format!("[{section}]\n");
        }
        text += &transcript::text(&key.situation, &answer);
    }
    text
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    section: String,
    /// The last line before an indented one that is not: its situation and the lines of that name before it.
    story: Option<(String, usize)>,
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
    let mut counts = HashMap::new();
    let mut story = None;
    for Line { section, situation, answer } in transcript::read(text) {
        if keyed.last().is_some_and(|(last, _)| last.section != section) {
            story = None;
        }
        let in_story = story.clone().filter(|_| situation.starts_with(' '));
        let mut key = Key { section, story: in_story, situation, before: 0 };
        let count = counts.entry(key.clone()).or_insert(0);
        key.before = *count;
        *count += 1;
        // A crash between two questions has no situation, and tells no story.
        if !key.situation.starts_with(' ') && !key.situation.is_empty() {
            story = Some((key.situation.clone(), key.before));
        }
        keyed.push((key, answer));
    }
    keyed
}

#[cfg(test)]
mod tests {
    use super::{DRIVER_580, UNKNOWN, UNREACHED, compare, keyed, learn, unknown};
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
    fn what_a_crash_keeps_from_being_asked_moves_no_other_answer() {
        let expected = "[a]\n  one  ?\n    runs  ?\n    ends  ?\n  two  ?\n    runs  ?\n    ends  ?\n  two  ?\n    ends  ?\n";
        let found = "[a]\n  one  1\n    runs  !! killed by signal 11\n  two  2\n    runs  3\n    ends  4\n  two  5\n    ends  6\n";
        let learned = learn(expected, found);
        let answers: Vec<String> = keyed(&learned).into_iter().map(|(_, answer)| answer).collect();
        assert_eq!(answers, ["1", "!! killed by signal 11", "?", "2", "3", "4", "5", "6"]);
        assert_eq!(differences(&learned, found), ["[a] ends: expected ?, found no such line"]);
        let unreached = learned.replace('?', UNREACHED);
        assert!(compare(&unreached, found).is_empty());
        let survived = found.replace("!! killed by signal 11", "0\n    ends  7");
        assert_eq!(
            differences(&unreached, &survived),
            ["[a] runs: expected !! killed by signal 11, found 0"]
        );
    }

    #[test]
    fn there_may_be_several_known_answers() {
        let expected = "[a]\n  one  1 or !! killed by signal 11\n";
        assert!(compare(expected, "[a]\n  one  1\n").is_empty());
        assert!(compare(expected, "[a]\n  one  !! killed by signal 11\n").is_empty());
        assert!(compare("[a]\n  said  one or none\n", "[a]\n  said  one or none\n").is_empty());
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
    fn an_expectation_learns_what_it_did_not_know() {
        let expected =
            "# head\n# of it\n[a]\n  one  1 or 2\n  two  ?\n    sub  ?\n  not asked  ?\n[b]\n  gone  1\n";
        let learned =
            learn(expected, "[a]\n  one  2\n  two   !! killed by signal 11\n    sub  4\n  new  5\n");
        assert!(learned.starts_with("# head\n# of it\n[a]\n  one "), "{learned}");
        let answers: Vec<String> = keyed(&learned).into_iter().map(|(_, answer)| answer).collect();
        assert_eq!(answers, ["1 or 2", "!! killed by signal 11", "4", "5", "?", "1"]);
        assert_eq!((unknown(expected).len(), unknown(&learned).len()), (3, 1));
    }

    /// The transcript of the driver itself, which nobody edits, and the expectation, which people do.
    const TRANSCRIPT_580: &str = include_str!("../../docs/verified/conformance-580.txt");

    /// Until a GPU has answered the newest questions, the transcript has fewer than the expectation, and perhaps some that
    /// are asked otherwise now; then they are the same.
    #[test]
    fn the_expectation_and_the_transcript_of_driver_580_say_the_same() {
        let (expected, transcript) = (keyed(DRIVER_580), keyed(TRANSCRIPT_580));
        for (key, answer) in &transcript {
            let Some((_, known)) = expected.iter().find(|(other, _)| other == key) else { continue };
            assert_ne!(known, UNKNOWN, "[{}] {}: the transcript says {answer}", key.section, key.situation);
        }
        let differing = compare(DRIVER_580, TRANSCRIPT_580);
        let newer_questions = !unknown(DRIVER_580).is_empty();
        let asked_of_both = |d: &&super::Difference| d.expected.is_some() && d.found.is_some();
        let wrong: Vec<String> = differing
            .iter()
            .filter(|difference| !newer_questions || asked_of_both(difference))
            .map(ToString::to_string)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn every_section_is_expected_and_every_expected_section_is_there() {
        let mut expected: Vec<String> =
            transcript::read(DRIVER_580).into_iter().map(|line| line.section).collect();
        expected.dedup();
        assert_eq!(expected, SECTIONS.iter().map(|section| section.name).collect::<Vec<_>>());
    }
}
