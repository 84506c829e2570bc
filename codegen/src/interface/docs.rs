//! What the comment of a C function says: its tags, of which `docs/interface.md` has the list.

use crate::tags::{Attributes, Comment, Tag};
use std::collections::BTreeSet;
use syn::Attribute;

/// The documentation of a function.
pub(super) struct Docs {
    pub(super) name: String,
    /// What it does.
    pub(super) text: String,
    parameters: Vec<ParameterDocs>,
    /// What it returns, where that is not a status.
    pub(super) returns: String,
    /// When it returns which error, as far as that is particular to it.
    pub(super) on_errors: String,
    /// Which driver it calls, if it calls one.
    pub(super) driver: Option<Reach>,
    /// Whether it may be called where functions that call the driver may not, or the reverse.
    pub(super) callback: Option<Callback>,
    /// Whether it may be called in the child of a fork.
    pub(super) fork_allowed: bool,
    /// From which threads it may be called.
    pub(super) threads: String,
    /// What it waits for, if it is synchronous.
    pub(super) sync: Option<Sync>,
    /// The version of cushim that had it first, if not the first.
    pub(super) since: Option<String>,
    /// What a program does with it, if not what its file says.
    pub(super) task: Option<String>,
}

/// The documentation of a parameter.
#[derive(Clone)]
pub(super) struct ParameterDocs {
    name: String,
    pub(super) attributes: Attributes,
    pub(super) text: String,
}

/// The oldest driver that can do it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// Also the driver "none".
    None,
    /// Every CUDA driver that is supported.
    Any,
    /// A driver of this CUDA version.
    Since(String),
}

impl Reach {
    /// The number of that version; 0 if no driver is needed, and 1 if any will do.
    pub(super) fn version(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Any => 1,
            Self::Since(version) => {
                let (major, minor) = version.split_once('.').expect("a version, such as 12.4");
                let number = |part: &str| part.parse::<u32>().expect("a number of a version");
                number(major) * 1000 + number(minor) * 10
            }
        }
    }
}

/// What a synchronous call waits for, and when it does, if not always: `@sync context if the memory is not stream-ordered`.
#[derive(Clone)]
pub(super) struct Sync {
    pub(super) what: &'static WaitsFor,
    pub(super) when: String,
}

/// The word after `@sync`, and what it means.
pub(super) struct WaitsFor {
    pub(super) word: &'static str,
    pub(super) meaning: &'static str,
    /// Whether that includes the legacy default stream.
    pub(super) legacy: &'static str,
}

const WAITS_FOR: &[WaitsFor] = &[
    WaitsFor { word: "stream", meaning: "the work in the stream", legacy: "if it is that stream" },
    WaitsFor { word: "event", meaning: "what the event recorded", legacy: "if it was recorded there" },
    WaitsFor {
        word: "legacy",
        meaning: "the legacy default stream and the blocking streams of the context, not for non-blocking ones",
        legacy: "yes",
    },
    WaitsFor { word: "context", meaning: "all work in the context", legacy: "yes" },
    WaitsFor {
        word: "code",
        meaning: "kernels of the library that are running",
        legacy: "if they run there",
    },
    WaitsFor { word: "callbacks", meaning: "the library's own callbacks", legacy: "no" },
];

impl Sync {
    fn of(function: &str, text: &str) -> Self {
        let (word, when) = text.split_once(' ').unwrap_or((text, ""));
        let what = WAITS_FOR.iter().find(|known| known.word == word);
        let what = what.unwrap_or_else(|| panic!("{function}: there is no @sync {word}"));
        Self { what, when: when.to_owned() }
    }
}

/// What is said of a call inside a function that the driver called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Callback {
    Allowed,
    Refused,
}

/// All that may stand in the brackets of a parameter.
const ATTRIBUTES: &[&str] = &[
    "in",
    "out",
    "inout",
    "nullable",
    "nullable_if_zero()",
    "any",
    "owned",
    "borrowed",
    "ended",
    "taken",
    "freed",
    "freed_by()",
    "address",
    "bytes()",
    "array()",
    "on_failure",
    "enum()",
    "flags()",
    "example()",
];

impl Docs {
    pub(super) fn of(name: &str, attributes: &[Attribute]) -> Self {
        let comment = Comment::of(attributes);
        let mut docs = Self {
            name: name.to_owned(),
            text: comment.prose,
            parameters: Vec::new(),
            returns: String::new(),
            on_errors: String::new(),
            driver: None,
            callback: None,
            fork_allowed: false,
            threads: "any".to_owned(),
            sync: None,
            since: None,
            task: None,
        };
        comment.tags.iter().for_each(|tag| docs.take(tag));
        docs
    }

    fn take(&mut self, tag: &Tag) {
        let text = &tag.text;
        match (tag.name.as_str(), text.as_str()) {
            ("param", _) => self.take_parameter(tag),
            ("return", _) => text.clone_into(&mut self.returns),
            ("errors", _) => text.clone_into(&mut self.on_errors),
            ("driver", "none") => self.driver = Some(Reach::None),
            ("driver", "any") => self.driver = Some(Reach::Any),
            ("driver", version) => self.driver = Some(Reach::Since(version.to_owned())),
            ("callback", "allowed") => self.callback = Some(Callback::Allowed),
            ("callback", "refused") => self.callback = Some(Callback::Refused),
            ("fork", "allowed") => self.fork_allowed = true,
            ("threads", _) => text.clone_into(&mut self.threads),
            ("sync", _) => self.sync = Some(Sync::of(&self.name, text)),
            ("since", _) => self.since = Some(text.clone()),
            ("task", _) => self.task = Some(text.clone()),
            (tag, text) => panic!("{}: there is no @{tag} {text:?}", self.name),
        }
    }

    fn take_parameter(&mut self, tag: &Tag) {
        let (name, text) = tag.text.split_once(' ').unwrap_or_else(|| {
            panic!("{}: a parameter has a name and a documentation: {:?}", self.name, tag.text)
        });
        tag.attributes.assert_known(ATTRIBUTES, &format!("{}, {name}", self.name));
        self.parameters.push(ParameterDocs {
            name: name.to_owned(),
            attributes: tag.attributes.clone(),
            text: text.to_owned(),
        });
    }

    pub(super) fn parameter(&self, name: &str) -> &ParameterDocs {
        let found = self.parameters.iter().find(|known| known.name == name);
        found.unwrap_or_else(|| panic!("{}: {name} is not documented", self.name))
    }

    /// All parameters are documented, in their order, and nothing else is.
    pub(super) fn assert_names<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let documented: Vec<&str> = self.parameters.iter().map(|known| known.name.as_str()).collect();
        assert_eq!(documented, names.collect::<Vec<&str>>(), "{}: the documented parameters", self.name);
    }

    /// The statuses that the documentation names, cushim's and the driver's.
    pub(super) fn named_errors(&self) -> BTreeSet<String> {
        let quoted = self.on_errors.split('`').skip(1).step_by(2);
        let is_status = |name: &&str| name.starts_with("CUSHIM_ERROR_") || name.starts_with("CUDA_ERROR_");
        quoted.filter(is_status).map(str::to_owned).collect()
    }
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
            "Does it.\n\n@param[in] a The a,\n  which is long.\n@param[out, owned] b The b.\n\
             @errors `CUSHIM_ERROR_X` for\n  `nothing`; `CUDA_ERROR_Y`.\n@driver 12.4\n@callback allowed",
        );
        assert_eq!(docs.text, "Does it.");
        assert_eq!(docs.parameter("a").text, "The a, which is long.");
        assert!(docs.parameter("b").attributes.has("owned"));
        docs.assert_names(["a", "b"].into_iter());
        assert_eq!(docs.named_errors().into_iter().collect::<Vec<_>>(), ["CUDA_ERROR_Y", "CUSHIM_ERROR_X"]);
        assert_eq!(docs.driver, Some(Reach::Since("12.4".to_owned())));
        assert_eq!((docs.callback, docs.threads.as_str()), (Some(Callback::Allowed), "any"));
    }

    #[test]
    #[should_panic(expected = "there is no @treads")]
    fn an_unknown_tag_is_refused() {
        docs("It.\n\n@treads any");
    }

    #[test]
    #[should_panic(expected = "there is no @callback")]
    fn an_unknown_value_is_refused() {
        docs("It.\n\n@callback perhaps");
    }
}
