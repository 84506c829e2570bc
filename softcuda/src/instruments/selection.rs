//! Names of the driver's functions as tests write them: one name, or a pattern for several.

use crate::abi::exports::tells_about_the_driver;
use crate::abi::names::{EXPORTS, Export};

/// Which exports a name stands for, in the order of `EXPORTS`.
pub(crate) type Selection = Box<[bool]>;

/// The exports whose own or base name is `name`, where each `*` stands for any characters. `None` if there is none.
///
/// A pattern leaves out the functions that tell about the driver, so that `*` counts what a program does with it.
pub(crate) fn select(name: &str) -> Option<Selection> {
    let several = name.contains('*');
    let fits = |e: &Export| fits(name, e.name) || fits(name, e.base);
    let wanted = |e: &Export| fits(e) && !(several && tells_about_the_driver(e.base));
    let selection: Selection = EXPORTS.iter().map(wanted).collect();
    selection.contains(&true).then_some(selection)
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name
            .strip_prefix(start)
            .is_some_and(|tail| (0..=tail.len()).any(|skip| fits(rest, &tail[skip..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::{fits, select};
    use crate::abi::names::EXPORTS;

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("cuInit", "cuInit"),
            ("*", "cuInit"),
            ("cu*", "cuInit"),
            ("*Async*", "cuMemcpyAsync_ptsz"),
            ("cuGraph*Node", "cuGraphAddNode"),
            ("cuMem**Free", "cuMemFree"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("cuInit", "cuInitX"), ("", "cuInit"), ("cu*x", "cuInit"), ("Init*", "cuInit")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    fn names(pattern: &str) -> Vec<&'static str> {
        let selection = select(pattern).unwrap_or_default();
        EXPORTS.iter().zip(selection).filter(|(_, chosen)| *chosen).map(|(e, _)| e.name).collect()
    }

    #[test]
    fn a_base_name_stands_for_every_abi_and_an_exported_one_for_itself() {
        assert_eq!(names("cuMemAlloc"), ["cuMemAlloc", "cuMemAlloc_v2"]);
        assert_eq!(names("cuMemAlloc_v2"), ["cuMemAlloc_v2"]);
        assert_eq!(names("cuMemcpy"), ["cuMemcpy", "cuMemcpy_ptds"]);
        assert!(names("cuMemAlock").is_empty());
    }

    #[test]
    fn a_pattern_leaves_out_what_tells_about_the_driver() {
        let all = names("*");
        assert!(all.contains(&"cuInit") && all.contains(&"cuMemcpy_ptds"));
        for name in ["cuDriverGetVersion", "cuGetProcAddress", "cuGetErrorName", "cuGetExportTable"] {
            assert!(!all.contains(&name), "{name}");
            assert!(names(name).contains(&name));
        }
        assert!(names("cuGetError*").is_empty());
    }
}
