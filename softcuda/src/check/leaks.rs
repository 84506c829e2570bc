//! What a program has made and not released, and by which call it was made.

use super::report::{Json, Report, bytes};
use crate::instruments::live::Object;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// By handle or address: the driver function that made it.
static MADE: Mutex<BTreeMap<usize, &'static str>> = Mutex::new(BTreeMap::new());

pub(super) fn made(name: usize, call: &'static str) {
    MADE.lock().insert(name, call);
}

/// Objects of one kind that one function has made.
pub(super) struct Leak {
    kind: &'static str,
    call: &'static str,
    count: u64,
    bytes: u64,
    /// The first of them.
    first: String,
}

/// What still lives, by kind and by who has made it.
pub(super) fn of(objects: &[Object]) -> Vec<Leak> {
    let made = MADE.lock();
    let mut leaks: Vec<Leak> = Vec::new();
    for object in objects {
        let call = made.get(&object.name).copied().unwrap_or("");
        let at = leaks.iter().position(|leak| leak.kind == object.kind && leak.call == call);
        let leak = match at {
            Some(at) => &mut leaks[at],
            None => {
                leaks.push(Leak { kind: object.kind, call, count: 0, bytes: 0, first: object.to_string() });
                leaks.last_mut().expect("one was added")
            }
        };
        leak.count += 1;
        leak.bytes += object.bytes as u64;
    }
    leaks
}

impl Leak {
    pub(super) fn places(&self) -> String {
        format!("leak: {} {}", self.kind, self.call)
    }

    pub(super) fn report(&self, places: &str) -> Report {
        let Self { kind, call, count, bytes: size, first } = self;
        let more = match count - 1 {
            0 => String::new(),
            more if *size == 0 => format!(", and {more} more of this kind"),
            more => format!(", and {more} more of this kind ({} in all)", bytes(*size)),
        };
        let text = format!("leak: {first} was never released{more}\n    made:   {call}");
        let json = Json::new("leaks", places).text("kind", kind).text("made", call);
        let json = json.number("count", *count).number("bytes", *size).text("first", first);
        Report::new("leaks", text, json)
    }
}
