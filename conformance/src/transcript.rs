//! Transcripts: how they are written, line by line, and read again.
//!
//! ```text
//! [events]
//!   query never-recorded                                        CUDA_SUCCESS
//! ```

use crate::driver::{Answer, Stop};
use std::fmt;
use std::io::Write;

/// What stands before something that is no answer: a crash, or a section that could not go on.
pub(crate) const TROUBLE: &str = "!!";
/// What a process writes before a story, for its parent: it is no part of the transcript.
pub(crate) const STORY: &str = "story";
/// The column where answers begin.
const COLUMN: usize = 66;

/// Writes lines as they happen, so that what was said before a crash is not lost.
pub(crate) struct Transcript<W> {
    out: W,
    /// How many questions are still to be left out: another process has answered them.
    left_out: usize,
    /// The same of stories.
    stories_left_out: usize,
    /// What is done after each question.
    afterwards: Option<Box<dyn Fn()>>,
}

/// What the sections write to.
pub(crate) type Lines = Transcript<Box<dyn Write>>;

impl<W: Write> Transcript<W> {
    /// To this writer, without the first so many questions.
    pub(crate) const fn new(out: W, left_out: usize) -> Self {
        Self { out, left_out, stories_left_out: 0, afterwards: None }
    }

    /// Without the first so many stories.
    pub(crate) const fn without_stories(&mut self, left_out: usize) {
        self.stories_left_out = left_out;
    }

    /// Begins a story: questions that follow from one another. It is not told if another process has come to it.
    pub(crate) fn begins_story(&mut self) -> bool {
        if self.stories_left_out > 0 {
            self.stories_left_out -= 1;
            return false;
        }
        self.comment(STORY);
        true
    }

    /// After each question that is put from now on, this is done.
    pub(crate) fn after_each(&mut self, afterwards: impl Fn() + 'static) {
        self.afterwards = Some(Box::new(afterwards));
    }

    /// One line: the situation, and what `ask` answers in it.
    ///
    /// The situation is written before the question is put: if that is the end of the process, it can be seen where.
    pub(crate) fn line<A: Into<Answer>>(&mut self, situation: &str, ask: impl FnOnce() -> A) {
        // Two spaces stand before the answer.
        assert!(situation.len() + 2 <= COLUMN - 2, "{situation:?} is too long for a line");
        if self.left_out > 0 {
            self.left_out -= 1;
            return;
        }
        self.write(format_args!("  {situation:<width$}", width = COLUMN - 2));
        let answer = ask().into();
        self.write(format_args!("{answer}\n"));
        if let Some(afterwards) = &self.afterwards {
            afterwards();
        }
    }

    /// Ends the process with a situation that has no answer yet: how the process ended, which its parent adds.
    pub(crate) fn last(&mut self, situation: &str) -> ! {
        self.write(format_args!("  {situation:<width$}", width = COLUMN - 2));
        std::process::exit(0)
    }

    /// Something about the transcript, which is no answer.
    pub(crate) fn comment(&mut self, text: &str) {
        self.write(format_args!("# {text}\n"));
    }

    /// The section ends here, because something that it needs did not work.
    pub(crate) fn stop(&mut self, Stop(reason): &Stop) {
        self.write(format_args!("  {TROUBLE} cannot go on: {reason}\n"));
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        self.out.write_fmt(text).and_then(|()| self.out.flush()).expect("the transcript can be written");
    }
}

/// One line that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The section that it stands in.
    pub(crate) section: String,
    /// What was asked, with its indentation.
    pub(crate) situation: String,
    /// What was answered; for a section that ended early, the reason.
    pub(crate) answer: String,
}

/// A line as it stands in a transcript.
#[must_use]
pub(crate) fn text(situation: &str, answer: &str) -> String {
    let text = format!("  {situation:<width$}{answer}", width = COLUMN - 2);
    // A crash between two questions has no situation.
    if situation.is_empty() { format!("  {answer}\n") } else { format!("{}\n", text.trim_end()) }
}

/// Reads a transcript: `#` begins a comment, `[name]` a section.
#[must_use]
pub(crate) fn read(text: &str) -> Vec<Line> {
    let mut section = String::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
        } else if let Some(line) = line.strip_prefix("  ") {
            let (situation, answer) = split(line);
            lines.push(Line {
                section: section.clone(),
                situation: situation.to_owned(),
                answer: answer.to_owned(),
            });
        }
    }
    lines
}

/// A situation and its answer: two spaces or more stand between them.
fn split(line: &str) -> (&str, &str) {
    let indentation = line.len() - line.trim_start().len();
    match line[indentation..].find("  ") {
        Some(at) => (&line[..indentation + at], line[indentation + at..].trim()),
        None => line.find(TROUBLE).map_or((line, ""), |at| (line[..at].trim_end(), &line[at..])),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Transcript, read};
    use crate::driver::{Answer, Stop};
    use cushim::driver::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};

    fn line(section: &str, situation: &str, answer: &str) -> Line {
        Line { section: section.to_owned(), situation: situation.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn questions_that_are_left_out_are_not_asked() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, 1);
        transcript.line("a crash", || -> Answer { panic!("asked again") });
        transcript.line("the next", || "answered");
        let text = String::from_utf8(out).expect("it is text");
        assert_eq!(read(&text), [line("", "the next", "answered")]);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        let mut transcript = Transcript::new(&mut out, 0);
        transcript.line("a call", || Answer::Result(CUDA_ERROR_INVALID_VALUE));
        transcript.line("  a value of it", || "two words");
        transcript.line("a newer result", || Answer::Result(CUresult(4711)));
        transcript.line("a function that is not there", || Answer::Absent("cuNew_99000"));
        transcript.stop(&Stop("cuInit CUDA_ERROR_NO_DEVICE".to_owned()));
        assert_eq!(
            read(&format!("# comment\n[s]\n{}", String::from_utf8(out).expect("it is text"))),
            [
                line("s", "a call", "CUDA_ERROR_INVALID_VALUE"),
                line("s", "  a value of it", "two words"),
                line("s", "a newer result", "CUresult 4711"),
                line("s", "a function that is not there", "absent: cuNew_99000"),
                line("s", "", "!! cannot go on: cuInit CUDA_ERROR_NO_DEVICE"),
            ]
        );
    }
}
