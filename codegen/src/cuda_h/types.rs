//! The types and constants of `cuda.h`, of every release.

use super::history::{History, Span};
use super::sections::Sections;
use crate::catalogue::{Alias, Callback, Catalogue, Enum, Struct};
use crate::ctype;
use crate::header::{aliases_of, body_of, enumerator, is_struct, names_struct, parameters, root, shared};
use crate::structs;
use std::cmp::Ordering;

/// Declares them, each type before its use.
pub(super) fn write(catalogue: &Catalogue, history: &History) -> String {
    let is_enum = |name: &str| catalogue.enums.iter().any(|e| e.name == root(catalogue, name));
    let mut out = Sections::default();
    for h in &catalogue.handles {
        out.add(&Span::from(h.since).condition(0), &format!("typedef struct {} *{};\n", h.tag, h.name));
    }
    for a in catalogue.aliases.iter().filter(|a| !is_struct(catalogue, &a.name) && !is_enum(&a.name)) {
        alias(history, a, &mut out);
    }
    for e in &history.enums {
        let item = Enum { name: e.name.clone(), since: e.span.since, values: e.values.clone() };
        out.add(&e.span.condition(0), &declared_enum(history, &item, &e.name, &plain_values(&item)));
    }
    for e in &catalogue.enums {
        renamed(history, e, &mut out);
    }
    for a in catalogue.aliases.iter().filter(|a| is_enum(&a.name)) {
        alias(history, a, &mut out);
    }
    let (after, before): (Vec<_>, Vec<_>) =
        catalogue.callbacks.iter().partition(|c| c.params.iter().any(|p| names_struct(catalogue, &p.ty)));
    for c in before {
        callback(c, &mut out);
    }
    for s in structs::in_order(catalogue).into_iter().filter(|s| !is_ours(s)) {
        structure(catalogue, history, s, &mut out);
        for a in aliases_of(catalogue, &s.name) {
            older_forms(catalogue, history, &a.name, a.since, &mut out);
            alias(history, a, &mut out);
        }
    }
    for c in after {
        callback(c, &mut out);
    }
    constants(catalogue, history, &mut out);
    out.finish()
}

/// Whether the struct is one that `cuda.h` does not have.
fn is_ours(item: &Struct) -> bool {
    item.since == 0
}

fn alias(history: &History, a: &Alias, out: &mut Sections) {
    for (name, until, target) in history.aliases.iter().filter(|(name, ..)| *name == a.name) {
        let then = Span { since: a.since, until: *until };
        out.add(&then.condition(0), &format!("typedef {}{name};\n", ctype::c(target)));
    }
    let since = history.changed(&a.name).unwrap_or(a.since);
    let condition = history.condition(&a.name, Span::from(since), 0);
    out.add(&condition, &format!("typedef {}{};\n", ctype::c(&a.target), a.name));
}

fn renamed(history: &History, e: &Enum, out: &mut Sections) {
    // An enumeration is as old as the first of its enumerators.
    let enumerators = e.values.iter().map(|(name, _)| history.span(name).map_or(e.since, |span| span.since));
    let mut since = enumerators.min().map_or(e.since, |first| first.max(e.since));
    if let Some((name, until)) = history.older_name(&e.name) {
        out.add(&Span { since, until }.condition(0), &enumeration(history, e, name, since));
        since = until;
    }
    out.add(&Span::from(since).condition(0), &enumeration(history, e, &e.name, since));
}

/// `known` is the version from which on it is declared.
fn enumeration(history: &History, e: &Enum, name: &str, known: u32) -> String {
    let mut all: Vec<(String, String)> = Vec::new();
    for (enumerator_name, number) in &e.values {
        let mut add = |span, number| {
            let condition = history.condition(enumerator_name, span, known);
            all.push((condition, enumerator(enumerator_name, number)));
        };
        match history.values(enumerator_name) {
            Some(values) => values.into_iter().for_each(|(span, number)| add(span, number)),
            None => add(history.span(enumerator_name).unwrap_or(Span::from(known)), *number),
        }
    }
    declared_enum(history, e, name, &separated(&all))
}

/// Enumerators, each under its condition, with commas between them, whatever the conditions are: C before C99 allows none
/// after the last. So the last that is always there has none, and those after it begin with one.
fn separated(enumerators: &[(String, String)]) -> String {
    let last = enumerators.iter().rposition(|(condition, _)| condition.is_empty());
    let last = last.expect("a version of an enumeration has something in common with all others");
    let mut out = Sections::default();
    for (index, (condition, text)) in enumerators.iter().enumerate() {
        let line = match index.cmp(&last) {
            Ordering::Less => format!("{text},\n"),
            Ordering::Equal => format!("{text}\n"),
            Ordering::Greater => format!("  , {}\n", text.trim_start()),
        };
        out.add(condition, &line);
    }
    out.finish()
}

fn plain_values(e: &Enum) -> String {
    let values: Vec<String> = e.values.iter().map(|(name, number)| enumerator(name, *number)).collect();
    values.join(",\n") + "\n"
}

fn declared_enum(history: &History, e: &Enum, name: &str, values: &str) -> String {
    let tag = if name == e.name { history.tag(name, "_enum") } else { name.to_owned() };
    format!("typedef enum {tag} {{\n{values}}} {name};\n")
}

fn callback(c: &Callback, out: &mut Sections) {
    let text = format!("typedef {} (CUDA_CB *{})({});\n", c.result, c.name, parameters(&c.params));
    out.add(&Span::from(c.since).condition(0), &text);
}

fn structure(catalogue: &Catalogue, history: &History, s: &Struct, out: &mut Sections) {
    let since = older_forms(catalogue, history, &s.name, s.since, out);
    let text = shared(&s.name, &declaration(catalogue, history, s));
    out.add(&history.condition(&s.name, Span::from(since), 0), &text);
}

/// Declares what a struct was before, and returns since when it is what it is.
fn older_forms(catalogue: &Catalogue, history: &History, name: &str, born: u32, out: &mut Sections) -> u32 {
    let mut since = born;
    for (item, until) in history.older(name) {
        out.add(&Span { since, until }.condition(0), &declaration(catalogue, history, item));
        since = until;
    }
    since
}

fn declaration(catalogue: &Catalogue, history: &History, item: &Struct) -> String {
    let (keyword, align, body) = body_of(catalogue, item);
    format!("typedef {keyword} {align}{} {{\n{body}}} {};\n", history.tag(&item.name, "_st"), item.name)
}

fn constants(catalogue: &Catalogue, history: &History, out: &mut Sections) {
    let of_both = catalogue.constants.iter().map(|c| (&c.name, &c.value));
    for (name, value) in of_both.chain(history.constants.iter().map(|(name, value)| (name, value))) {
        let span = history.span(name).unwrap_or(Span::from(0));
        out.add(&span.condition(0), &format!("#define {name} {value}\n"));
    }
}
