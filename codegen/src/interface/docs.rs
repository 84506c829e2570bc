//! What the documentation of the C functions says in words that are fixed:
//!
//! - `@param name`, `@return`, and a last paragraph `Errors: ... Threads: ... Needs no driver. Driver: 12.4. Since: 0.2.`,
//!   of which the last three are left out where they say nothing: a driver is needed, of the oldest version that is
//!   supported, and the function was always there;
//! - errors by their names in backquotes, and "the driver's" where a `CUresult` may come back;
//! - that NULL is accepted: "may be NULL", "or NULL", "NULL for the defaults", "NULL: ..."; and for a list without items:
//!   "Must not be NULL unless ...";
//! - how many bytes come out, where it is not one value: "Receives 16 bytes";
//! - of a handle that comes out: "a claim" or "the borrowed handle".

use std::collections::BTreeSet;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The documentation of a function.
pub(super) struct Docs {
    pub(super) name: String,
    /// What it does.
    pub(super) text: String,
    parameters: Vec<(String, String)>,
    /// What it returns.
    pub(super) returns: String,
    /// The names of statuses, cushim's and the driver's.
    pub(super) errors: Vec<String>,
    /// Whether other statuses of the driver's may come back.
    pub(super) driver_errors: bool,
    /// The sentence on errors.
    pub(super) on_errors: String,
    /// From which threads it may be called.
    pub(super) threads: String,
    pub(super) needs_driver: bool,
    /// The oldest driver that has it, if not all have.
    pub(super) driver: Option<String>,
    /// The version of cushim that had it first, if not the first.
    pub(super) since: Option<String>,
}

impl Docs {
    pub(super) fn of(name: &str, attributes: &[Attribute]) -> Self {
        let all = lines(attributes);
        let end = all.iter().position(|line| line == "# Safety").unwrap_or(all.len());
        let (prose, tags) = split_tags(&all[..end]);
        let facts = facts(&all[..end]).unwrap_or_else(|| panic!("{name}: the documentation has no Errors"));
        let (on_errors, rest) = facts
            .split_once(" Threads: ")
            .unwrap_or_else(|| panic!("{name}: the documentation has no Threads"));
        let mut docs = Self {
            name: name.to_owned(),
            text: prose,
            parameters: Vec::new(),
            returns: String::new(),
            errors: statuses(on_errors),
            driver_errors: on_errors.contains("the driver's"),
            on_errors: on_errors.strip_prefix("Errors: ").unwrap_or(on_errors).to_owned(),
            threads: sentence(rest),
            needs_driver: !rest.contains("Needs no driver."),
            driver: fact(rest, "Driver: "),
            since: fact(rest, "Since: "),
        };
        for tag in tags {
            docs.take(&tag);
        }
        docs
    }

    fn take(&mut self, tag: &str) {
        match tag.split_once(' ').unwrap_or((tag, "")) {
            ("@return", text) => text.clone_into(&mut self.returns),
            ("@param", text) => {
                let (name, text) = text.split_once(' ').unwrap_or((text, ""));
                self.parameters.push((name.to_owned(), text.to_owned()));
            }
            _ => panic!("{}: {tag}", self.name),
        }
    }

    pub(super) fn parameter(&self, name: &str) -> String {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{}: {name} is not documented", self.name)).1.clone()
    }

    /// All parameters are documented, in their order, and nothing else is.
    pub(super) fn assert_names<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let documented: Vec<&str> = self.parameters.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(documented, names.collect::<Vec<&str>>(), "{}: the documented parameters", self.name);
    }
}

/// Whether the documentation of a parameter says that it may be NULL.
pub(super) fn accepts_null(doc: &str) -> bool {
    let words = ["may be NULL", "May be NULL", "or NULL,", "NULL for the defaults", "NULL: "];
    words.iter().any(|words| doc.contains(words))
}

/// Whether the documentation of a parameter says that it may be NULL where a number beside it is 0.
pub(super) fn accepts_null_for_none(doc: &str) -> bool {
    doc.contains("Must not be NULL unless")
}

/// How many values come out, if it is not one: the 16 of "Receives 16 bytes".
pub(super) fn count(doc: &str) -> Option<usize> {
    let (number, _) = doc.strip_prefix("Receives ")?.split_once(" bytes")?;
    number.parse().ok()
}

/// Whether a handle that comes out is a claim; it is a borrowed one otherwise.
pub(super) fn is_claim(function: &str, parameter: &str, doc: &str) -> bool {
    match (doc.contains("a claim"), doc.contains("borrowed handle")) {
        (true, false) => true,
        (false, true) => false,
        _ if doc.contains("Give it back with") => true,
        _ => panic!("{function}: {parameter} is neither \"a claim\" nor \"the borrowed handle\""),
    }
}

/// Whether there is an attribute of this name.
pub(super) fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// The documentation of anything but a function, a line per paragraph.
pub(super) fn text(attributes: &[Attribute]) -> String {
    paragraphs(&lines(attributes))
}

/// The lines of a documentation comment.
fn lines(attributes: &[Attribute]) -> Vec<String> {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let trim = |line: String| line.strip_prefix(' ').map(str::to_owned).unwrap_or(line);
    attributes.iter().filter_map(line).map(trim).collect()
}

/// Joins the lines of each paragraph, and of each item of a list.
fn paragraphs(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        let joins = !out.is_empty() && !out.ends_with('\n') && !line.is_empty() && !line.starts_with("- ");
        if joins {
            out.push(' ');
        } else if line.starts_with("- ") && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(line.trim());
        if line.is_empty() {
            out.push('\n');
        }
    }
    out.trim().to_owned()
}

/// What comes before the tags, and the tags, each in one line.
fn split_tags(lines: &[String]) -> (String, Vec<String>) {
    let is_tag = |line: &&String| line.starts_with('@');
    let first = lines.iter().position(|line| is_tag(&line) || line.starts_with("Errors: "));
    let (prose, rest) = lines.split_at(first.unwrap_or(lines.len()));
    let mut tags: Vec<String> = Vec::new();
    for line in rest.iter().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("Errors: ")) {
        match tags.last_mut() {
            Some(tag) if !is_tag(&line) => {
                tag.push(' ');
                tag.push_str(line.trim());
            }
            _ if is_tag(&line) => tags.push(line.clone()),
            _ => {}
        }
    }
    (paragraphs(prose), tags)
}

/// The paragraph that starts with "Errors:", in one line.
fn facts(lines: &[String]) -> Option<String> {
    let start = lines.iter().position(|line| line.starts_with("Errors: "))?;
    let paragraph: Vec<&str> =
        lines[start..].iter().take_while(|line| !line.is_empty()).map(|l| l.trim()).collect();
    Some(paragraph.join(" "))
}

/// The names of statuses in a text.
fn statuses(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let quoted = text.split('`').skip(1).step_by(2);
    let is_status = |name: &&str| name.starts_with("CUSHIM_ERROR_") || name.starts_with("CUDA_ERROR_");
    quoted.filter(is_status).filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// The text up to the end of its first sentence.
fn sentence(text: &str) -> String {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.').to_owned()
}

/// What stands behind a word: the 12.4 of "Driver: 12.4.".
fn fact(text: &str, word: &str) -> Option<String> {
    let (_, rest) = text.split_once(word)?;
    Some(rest.split(' ').next()?.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs(text: &str) -> Docs {
        let comment: String = text.lines().map(|line| format!("/// {line}\n")).collect();
        let item: syn::ItemFn = syn::parse_str(&format!("{comment}fn f() {{}}")).expect("a function");
        Docs::of("f", &item.attrs)
    }

    #[test]
    fn a_function_is_taken_apart() {
        let docs = docs(
            "Does it.\n\nAnd more\nof it.\n\n@param a The a,\n  which is long.\n@param b The b.\n@return A status.\n\n\
             Errors: `CUSHIM_ERROR_X`, also for\n`nothing`; `CUDA_ERROR_Y`; the driver's. Threads: any. Needs no driver. \
             Driver: 12.4.\n\n# Safety\nNone.",
        );
        assert_eq!(docs.text, "Does it.\nAnd more of it.");
        assert_eq!(docs.parameter("a"), "The a, which is long.");
        docs.assert_names(["a", "b"].into_iter());
        assert_eq!(docs.returns, "A status.");
        assert_eq!(docs.errors, ["CUSHIM_ERROR_X", "CUDA_ERROR_Y"]);
        assert!(docs.driver_errors && !docs.needs_driver);
        assert_eq!((docs.threads.as_str(), docs.driver.as_deref()), ("any", Some("12.4")));
    }

    #[test]
    fn null_is_accepted_where_it_says_so() {
        assert!(accepts_null("Receives it; may be NULL.") && accepts_null("NULL for the defaults."));
        assert!(!accepts_null("Receives it; NULL on failure. Must not be NULL."));
        assert!(accepts_null_for_none("Must not be NULL unless `count` is 0."));
    }

    #[test]
    fn several_values_are_counted() {
        assert_eq!(count("Receives 16 bytes; zeros on failure."), Some(16));
        assert_eq!(count("Receives the bytes of it."), None);
    }
}
