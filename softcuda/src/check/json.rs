//! Texts of JSON.

use std::fmt::Write as _;

/// A text as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        let _ = match character {
            '"' | '\\' => write!(quoted, "\\{character}"),
            control if control < ' ' => write!(quoted, "\\u{:04x}", u32::from(control)),
            other => write!(quoted, "{other}"),
        };
    }
    quoted + "\""
}
