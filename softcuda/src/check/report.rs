//! A report: what a check has found, in each of its forms.

use super::json::quoted;
use super::side::Side;
use std::fmt::{self, Display, Write as _};

/// What was found.
pub(crate) struct Report {
    /// The check that has found it.
    pub(super) check: &'static str,
    text: String,
    json: String,
}

impl Report {
    /// The first line of the text says it in short.
    pub(super) fn new(check: &'static str, text: String, json: Json) -> Self {
        Self { check, text, json: json.end() }
    }

    /// A line of JSON.
    pub(crate) fn json(&self) -> String {
        self.json.clone()
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An object of JSON that is being written.
pub(super) struct Json(String);

impl Json {
    /// With the check, and the places: a line by which reports are suppressed, and by which a second one is known.
    pub(super) fn new(check: &str, places: &str) -> Self {
        Self(format!("{{\"check\":{},\"places\":{}", quoted(check), quoted(places)))
    }

    fn add(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.0, ",\"{name}\":{value}");
        self
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.add(name, &quoted(value))
    }

    pub(super) fn number(self, name: &str, value: u64) -> Self {
        self.add(name, &value.to_string())
    }

    pub(super) fn side(self, name: &str, side: &Side) -> Self {
        self.add(name, &side.json())
    }

    fn end(self) -> String {
        self.0 + "}"
    }
}

/// So many bytes, in words.
pub(super) fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}
