//! The language of faults: `cuMemAllocAsync#3=2; cuGraphInstantiate*#1+=801; *#17=700/sticky`.

use crate::abi::sys::CUresult;
use crate::instruments::selection::{self, Selection};
use std::sync::atomic::{AtomicU64, Ordering};

/// Which calls fail, and how.
#[derive(Debug)]
pub(super) struct Rule {
    functions: Selection,
    /// The first call that fails, counted from 1.
    first: u64,
    /// Whether all later ones fail too.
    onwards: bool,
    pub(super) code: CUresult,
    /// Whether the context is lost with it.
    pub(super) sticky: bool,
    /// Matching calls so far.
    seen: AtomicU64,
}

impl Rule {
    /// Counts a call of export number `index`, and tells whether it is to fail.
    pub(super) fn is_due(&self, index: usize) -> bool {
        if !self.functions[index] {
            return false;
        }
        let number = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        number == self.first || (self.onwards && number > self.first)
    }
}

/// The rules of a text; the error is a sentence about the one that cannot be read.
pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
    rules
        .map(|rule| parse_one(rule).map_err(|why| format!("the fault `{rule}` cannot be read: {why}")))
        .collect()
}

fn parse_one(text: &str) -> Result<Rule, String> {
    let (calls, effect) = text
        .split_once('=')
        .ok_or("it reads NAME=CODE or NAME#N=CODE, for example cuMemAlloc*#3=2 for the third such call")?;
    let (name, number) = match calls.split_once('#') {
        Some((name, number)) => (name.trim(), number.trim()),
        None => (calls.trim(), "1+"),
    };
    let functions = selection::select(name).ok_or_else(|| {
        format!(
            "no function of the driver is called `{name}` (functions that tell about the driver, as \
             cuDriverGetVersion, are named in full)"
        )
    })?;
    let (first, onwards) = match number.strip_suffix('+') {
        Some(first) => (first, true),
        None => (number, false),
    };
    let first = first.parse().ok().filter(|&first| first > 0).ok_or_else(|| {
        format!("`{number}` is not the number of a call: 1 for the first one, 1+ for that and all later ones")
    })?;
    let (code, sticky) = effect_of(effect.trim())?;
    Ok(Rule { functions, first, onwards, code, sticky, seen: AtomicU64::new(0) })
}

/// `700/sticky`.
fn effect_of(text: &str) -> Result<(CUresult, bool), String> {
    let (code, sticky) = match text.split_once('/') {
        None => (text, false),
        Some((code, "sticky")) => (code, true),
        Some((_, other)) => {
            return Err(format!("`/{other}` means nothing; /sticky loses the context as well"));
        }
    };
    let code = code.parse().ok().filter(|&code: &i32| code > 0).ok_or_else(|| {
        format!("`{code}` is not the number of an error, as 2 is for CUDA_ERROR_OUT_OF_MEMORY")
    })?;
    Ok((CUresult(code), sticky))
}

#[cfg(test)]
mod tests {
    use super::{Rule, parse};
    use crate::abi::exports::index;

    fn one(text: &str) -> Rule {
        let mut rules = parse(text).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(rules.len(), 1, "{text}");
        rules.remove(0)
    }

    /// Which of six calls of a function fail.
    fn due(rule: &Rule, name: &str) -> Vec<u32> {
        let function = index(name);
        (1..=6).filter(|_| rule.is_due(function)).collect()
    }

    #[test]
    fn which_calls() {
        assert_eq!(due(&one("cuMemAlloc#3=2"), "cuMemAlloc_v2"), [3]);
        assert_eq!(due(&one("cuMemAlloc#3+=2"), "cuMemAlloc_v2"), [3, 4, 5, 6]);
        assert_eq!(due(&one(" cuMem* # 1 = 2 ;"), "cuMemAlloc_v2"), [1]);
        assert_eq!(due(&one("*=2"), "cuMemAlloc_v2"), [1, 2, 3, 4, 5, 6]);
        assert!(due(&one("cuMemFree#1=2"), "cuMemAlloc_v2").is_empty());
        let rule = one("cuMem*#2=2");
        assert!(!rule.is_due(index("cuMemAlloc_v2")));
        assert!(rule.is_due(index("cuMemFree_v2")), "all that match are counted together");
    }

    #[test]
    fn what_they_answer() {
        let rule = one("*#17=700/sticky");
        assert_eq!((rule.code.0, rule.sticky), (700, true));
        let rule = one("cuInit=100");
        assert_eq!((rule.code.0, rule.sticky), (100, false));
        assert_eq!(parse("cuInit=100; cuMemAlloc#1=2").unwrap().len(), 2);
        assert!(parse(" ; ").unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_read() {
        for (text, why) in [
            ("cuInit", "NAME=CODE"),
            ("cuInitialise=1", "called `cuInitialise`"),
            ("cuGetError*=1", "called `cuGetError*`"),
            ("=1", "called ``"),
            ("cuInit#0=1", "`0` is not the number of a call"),
            ("cuInit#=1", "`` is not the number of a call"),
            ("cuInit#x=1", "`x` is not the number of a call"),
            ("cuInit#-1=1", "`-1` is not the number of a call"),
            ("cuInit=0", "`0` is not the number of an error"),
            ("cuInit=", "`` is not the number of an error"),
            ("cuInit=CUDA_ERROR_UNKNOWN", "is not the number of an error"),
            ("cuInit=700/stick", "`/stick` means nothing"),
            ("cuInit=1; cuInit=x", "the fault `cuInit=x` cannot be read"),
        ] {
            let said = parse(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
