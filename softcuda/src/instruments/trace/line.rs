//! The line of one call.

use crate::abi::Answer;
use crate::abi::names::EXPORTS;
use crate::abi::pointer::In;
use std::cell::Cell;
use std::ffi::c_char;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// Longer texts are cut.
const LONGEST_TEXT: usize = 200;

/// A call under way.
pub(crate) struct Line {
    text: String,
    made: *const usize,
    start: Instant,
}

/// The arguments of a call, as the exports tell them.
pub(crate) struct Arguments {
    text: String,
    made: *const usize,
}

impl Line {
    /// The call of export number `index`, which is about to be made.
    pub(crate) fn begin(index: usize, describe: &dyn Fn(&mut Arguments)) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let (process, thread, name) = (std::process::id(), thread(), EXPORTS[index].name);
        let mut arguments = Arguments { text: String::new(), made: std::ptr::null() };
        describe(&mut arguments);
        let text = format!(
            "{{\"n\":{number},\"process\":{process},\"thread\":{thread},\"function\":\"{name}\",\
             \"arguments\":{{{}}}",
            arguments.text
        );
        Self { text, made: arguments.made, start: Instant::now() }
    }

    /// What it answered.
    pub(crate) fn end(mut self, answer: Answer, fault: bool) -> String {
        let took = self.start.elapsed().as_nanos();
        let result = answer.err().map_or(0, |code| code.0);
        if answer.is_ok() && !self.made.is_null() {
            // SAFETY: not NULL, so a place for a handle or an address by the driver API's contract, and the call that
            // succeeded has written it.
            let made = unsafe { self.made.read_unaligned() };
            push(&mut self.text, format_args!(",\"made\":\"{made:#x}\""));
        }
        if fault {
            self.text.push_str(",\"fault\":true");
        }
        push(&mut self.text, format_args!(",\"result\":{result},\"ns\":{took}}}\n"));
        self.text
    }
}

impl Arguments {
    /// A number or an enumerator; `null` for a struct.
    pub(crate) fn value(&mut self, name: &str, value: impl Display) {
        self.add(name, value);
    }

    /// A handle, an address, or a place for results.
    pub(crate) fn address(&mut self, name: &str, value: usize) {
        self.add(name, format_args!("\"{value:#x}\""));
    }

    /// The place to which the function writes the handle or the address that it is about.
    pub(crate) fn made(&mut self, name: &str, place: usize) {
        self.address(name, place);
        self.made = place as *const usize;
    }

    /// A terminated text.
    pub(crate) fn text(&mut self, name: &str, value: In<c_char>) {
        match value.text() {
            Ok(text) => self.add(name, Quoted(text)),
            Err(_) => self.address(name, value.address()),
        }
    }

    fn add(&mut self, name: &str, value: impl Display) {
        let comma = if self.text.is_empty() { "" } else { "," };
        push(&mut self.text, format_args!("{comma}\"{name}\":{value}"));
    }
}

/// A text as JSON writes it.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars().take(LONGEST_TEXT) {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a String takes text");
}

/// The number of the calling thread, from 1 in the order of their first calls.
fn thread() -> u32 {
    static NUMBERS: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(NUMBERS.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Line, Quoted};
    use crate::abi::exports::index;
    use crate::abi::sys::CUDA_ERROR_OUT_OF_MEMORY;

    fn line(describe: impl Fn(&mut Arguments)) -> Line {
        Line::begin(index("cuMemAlloc_v2"), &describe)
    }

    #[test]
    fn a_line() {
        let made = 0x1230usize;
        let describe = |a: &mut Arguments| {
            a.made("dptr", &raw const made as usize);
            a.value("bytesize", 64);
            a.value("location", "null");
        };
        let text = line(describe).end(Ok(()), false);
        assert!(text.contains("\"function\":\"cuMemAlloc_v2\",\"arguments\":{\"dptr\":\"0x"), "{text}");
        assert!(
            text.contains(",\"bytesize\":64,\"location\":null},\"made\":\"0x1230\",\"result\":0,\"ns\":"),
            "{text}"
        );
        assert!(text.ends_with("}\n"), "{text}");
        let text = line(describe).end(Err(CUDA_ERROR_OUT_OF_MEMORY), true);
        assert!(text.contains("},\"fault\":true,\"result\":2,"), "{text}");
        assert!(line(|_| {}).end(Ok(()), false).contains("\"arguments\":{},\"result\":0,"));
    }

    #[test]
    fn texts() {
        assert_eq!(Quoted("a\"b\\c\n\u{e9}").to_string(), "\"a\\\"b\\\\c\\u000a\u{e9}\"");
        assert_eq!(Quoted(&"x".repeat(500)).to_string().len(), 202);
    }
}
