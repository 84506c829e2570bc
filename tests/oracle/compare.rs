//! Holds the catalogue, our header and NVIDIA's headers against each other.

use super::catalogue::{Catalogue, Struct};
use super::exceptions::{CHANGED, COUNTERS, DROPPED, NAMED_LATER, OWN_TYPES};
use super::facts::{EGL_FRAME, Facts};
use std::collections::{BTreeMap, BTreeSet};

/// What one release of NVIDIA's headers states.
pub(crate) struct Release {
    /// Its `CUDA_VERSION`.
    pub(crate) version: u32,
    pub(crate) facts: Facts,
    /// The exported name behind each plain one.
    pub(crate) plain_names: BTreeMap<String, String>,
    /// Whether an entry of our table has NVIDIA's own type.
    pub(crate) same_types: Facts,
}

impl Release {
    /// The names of which it states a sort of fact.
    pub(crate) fn facts_of(&self, sort: &str) -> impl Iterator<Item = &str> {
        self.facts.keys().filter_map(move |fact| fact.strip_prefix(sort))
    }
}

/// What was found wrong, and which exceptions were needed on the way.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) wrong: Vec<String>,
    needed: BTreeSet<&'static str>,
}

impl Findings {
    fn check(&mut self, right: bool, sentence: impl FnOnce() -> String) {
        if !right {
            self.wrong.push(sentence());
        }
    }

    /// Exceptions that no header needs are errors themselves.
    pub(crate) fn check_exceptions(&mut self) {
        let listed = CHANGED.iter().map(|each| each.0).chain(DROPPED.iter().map(|each| each.0));
        let listed = listed.chain(COUNTERS.iter().copied()).chain(NAMED_LATER.iter().map(|each| each.0));
        for fact in listed.chain(OWN_TYPES.iter().map(|each| each.0)) {
            let needed = self.needed.contains(fact);
            self.check(needed, || {
                format!("{fact} is listed as an exception, and every header agrees with it")
            });
        }
    }
}

/// The newest header that the catalogue covers.
fn newest_covered(catalogue: &Catalogue) -> u32 {
    catalogue.abis.iter().map(|abi| abi.first_header).max().expect("the catalogue has rows")
}

/// Our header states what the catalogue says, all of it.
pub(crate) fn ours(catalogue: &Catalogue, ours: &Facts, findings: &mut Findings) {
    let mut expect = |fact: String, value: String| {
        let found = ours.get(&fact).map(String::as_str);
        // Which kind of type a member has, the catalogue says in C's words.
        let found = if fact.starts_with("field") { found.map(without_kind) } else { found };
        findings.check(found == Some(value.as_str()), || {
            format!("our header: {fact} is {found:?}, catalogue: {value}")
        });
    };
    for Struct { name, size, align, members, .. } in &catalogue.structs {
        expect(format!("struct {name}"), format!("{size} {align}"));
        for member in members {
            expect(format!("field {name}.{}", member.path), format!("{} {}", member.offset, member.size));
        }
    }
    for (name, value) in &catalogue.enumerators {
        expect(format!("value {name}"), value.to_string());
    }
}

fn without_kind(place: &str) -> &str {
    place.rsplit_once(' ').expect("a place ends with a kind").0
}

/// All types, enumerators and constants that our header declares are as NVIDIA's headers have them.
pub(crate) fn declarations(
    catalogue: &Catalogue,
    ours: &Facts,
    releases: &[Release],
    findings: &mut Findings,
) {
    let covered = newest_covered(catalogue);
    for (fact, value) in ours.iter().filter(|(fact, _)| !fact.starts_with("signature ")) {
        let theirs = fact.replace(EGL_FRAME.0, EGL_FRAME.1);
        let stating: Vec<(u32, &String)> =
            releases.iter().filter_map(|r| r.facts.get(&theirs).map(|value| (r.version, value))).collect();
        for &(version, stated) in &stating {
            let agrees = stated == value || excused(fact, value, stated, version, covered, findings);
            findings.check(agrees, || {
                format!("{fact} is {stated} in cuda.h {version} and {value} in our header")
            });
        }
        presence(fact, releases, &stating, findings);
    }
}

/// Whether a header may state something else.
fn excused(
    fact: &str,
    ours: &str,
    stated: &str,
    version: u32,
    covered: u32,
    findings: &mut Findings,
) -> bool {
    if let Some(counter) = COUNTERS.iter().find(|name| fact.strip_prefix("value ") == Some(name)) {
        findings.needed.insert(counter);
        return version != covered;
    }
    let Some((name, since, _)) = CHANGED.iter().find(|(name, ..)| *name == fact) else { return false };
    findings.needed.insert(name);
    version < *since && is_older_form(fact, ours, stated)
}

/// A struct may have been smaller, a member may have begun earlier or have had another length; no other shape is older.
fn is_older_form(fact: &str, ours: &str, stated: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> { text.split(' ').filter_map(|word| word.parse().ok()).collect() };
    match (&numbers(ours)[..], &numbers(stated)[..]) {
        ([size, align], [old_size, old_align]) if fact.starts_with("struct") => {
            old_size <= size && old_align <= align
        }
        ([offset, _], [old_offset, _]) if fact.starts_with("field") => old_offset <= offset,
        _ => fact.starts_with("value") || fact.starts_with("type"),
    }
}

/// What one header states, all newer ones state: then what an older one lacks came later.
fn presence(fact: &str, releases: &[Release], stating: &[(u32, &String)], findings: &mut Findings) {
    let Some(&(first, _)) = stating.first() else {
        findings.wrong.push(format!("{fact}: no header states it"));
        return;
    };
    let dropped = DROPPED.iter().find(|(name, _)| *name == fact);
    for version in releases.iter().map(|release| release.version).filter(|version| *version > first) {
        let expected = dropped.is_none_or(|(_, gone)| version < *gone);
        let stated = stating.iter().any(|(v, _)| *v == version);
        if let (Some((name, _)), false) = (dropped, stated) {
            findings.needed.insert(name);
        }
        findings
            .check(stated == expected, || format!("{fact}: in cuda.h {first}, and in {version}: {stated}"));
    }
}

/// Each type and function appears in the header that the catalogue names as its first, and in no older one.
pub(crate) fn first_headers(catalogue: &Catalogue, releases: &[Release], findings: &mut Findings) {
    let types = catalogue.types.iter().map(|each| (format!("type {}", each.name), each.since));
    let structs = catalogue.structs.iter().map(|each| (format!("struct {}", each.name), each.since));
    let functions = catalogue.abis.iter().map(|abi| (format!("signature {}", abi.entry()), abi.first_header));
    for (fact, since) in types.chain(structs).chain(functions) {
        let later = NAMED_LATER.iter().find(|(name, ..)| *name == fact);
        let theirs = fact.replace(EGL_FRAME.0, EGL_FRAME.1);
        for release in releases {
            let stated = release.facts.contains_key(&theirs);
            let mut expected = since <= release.version;
            if let (Some((name, named, _)), true) = (later, expected) {
                expected = *named <= release.version;
                findings.needed.extend((!expected).then_some(name));
            }
            findings.check(stated == expected, || {
                format!("{fact}: first header {since}; in cuda.h {}: {stated}", release.version)
            });
        }
    }
}

/// Each function, and each variant for the per-thread default stream, has the parameters that our table gives it, and is
/// the one exported under the name that the catalogue says. No header declares one that the catalogue lacks.
pub(crate) fn functions(catalogue: &Catalogue, ours: &Facts, releases: &[Release], findings: &mut Findings) {
    let covered = newest_covered(catalogue);
    let mut exports = BTreeSet::new();
    for name in catalogue.abis.iter().flat_map(|abi| abi.exports()) {
        findings.check(exports.insert(name), || format!("{name}: two rows of the catalogue export it"));
    }
    for Release { version, facts, .. } in releases {
        for (fact, stated) in facts {
            if let Some(entry) = fact.strip_prefix("signature ") {
                let plain = fact.trim_end_matches(" per thread");
                findings.check(ours.get(plain) == Some(stated), || {
                    format!("{fact}: {stated} in cuda.h {version}, {:?} in our table", ours.get(plain))
                });
                let export = facts.get(&format!("export {entry}")).map_or("not declared", String::as_str);
                let expected = exported(catalogue, entry);
                findings.check(export == expected, || {
                    format!("{entry}: exported as {expected}; in cuda.h {version} that is {export}")
                });
            }
            if let Some(name) = fact.strip_prefix("unknown ") {
                findings.check(*version > covered, || {
                    format!("{name} of cuda.h {version} is not in the catalogue")
                });
            }
        }
    }
}

fn exported<'a>(catalogue: &'a Catalogue, entry: &str) -> &'a str {
    let plain = entry.trim_end_matches(" per thread");
    let abi =
        catalogue.abis.iter().find(|abi| abi.entry() == plain).expect("entries come from the catalogue");
    match &abi.per_thread {
        Some((per_thread, _)) if plain != entry => per_thread,
        _ => &abi.exported,
    }
}

/// Behind NVIDIA's headers our table has NVIDIA's own types.
pub(crate) fn types_of_entries(releases: &[Release], findings: &mut Findings) {
    for Release { version, same_types, .. } in releases {
        for (fact, same) in same_types {
            let entry = fact.strip_prefix("same ").expect("nothing else is asked");
            let own = OWN_TYPES.iter().find(|(name, _)| *name == entry);
            if let (Some((name, _)), "no") = (own, same.as_str()) {
                findings.needed.insert(name);
            }
            findings.check(same == "yes" || own.is_some(), || {
                format!("{entry}: behind cuda.h {version} its type is not NVIDIA's")
            });
        }
    }
}

/// The plain names are those of `cuda.h` 12.9; of a function that is younger, those of its first header.
pub(crate) fn plain_names(catalogue: &Catalogue, releases: &[Release], findings: &mut Findings) {
    const LAST_OF_12: u32 = 12090;
    for abi in &catalogue.abis {
        let same_base = catalogue.abis.iter().filter(|other| other.base == abi.base);
        let born = same_base.map(|other| other.first_header).min().expect("it is one of them");
        let reference = born.max(LAST_OF_12);
        let Some(release) = releases.iter().find(|release| release.version == reference) else { continue };
        let plain = release.plain_names.get(&abi.base);
        let has_it = plain == Some(&abi.exported);
        findings.check(has_it == abi.name_in_cuda_12, || {
            format!("{}: in cuda.h {reference} the plain name is {plain:?}", abi.entry())
        });
    }
}
