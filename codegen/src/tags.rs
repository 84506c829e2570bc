//! The tags of documentation comments in `src/capi/`: what C types do not say, in a form that no copy-edit changes.
//!
//! A tag begins a line with `@`, and goes on in the lines after it that are indented: `@param[in, nullable] options The
//! options.` What is in the brackets are its attributes. `docs/interface.md` says what each tag and attribute means; what
//! it does not know the generator refuses.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// A documentation comment: prose, then tags, then perhaps a section `# Safety`, which is for Rust only.
pub(crate) struct Comment {
    pub(crate) prose: String,
    pub(crate) tags: Vec<Tag>,
}

/// `@name[attributes] text`.
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Attributes,
    pub(crate) text: String,
}

/// What stands in brackets: `in, nullable_if_zero(count)`.
#[derive(Clone, Default)]
pub(crate) struct Attributes(Vec<(String, Option<String>)>);

/// Attributes that the header does without: what `enum` says, the type does; the others are for the generator and tests.
const HIDDEN: &[&str] = &["enum", "address", "example"];

impl Comment {
    pub(crate) fn of(attributes: &[Attribute]) -> Self {
        let all = lines(attributes);
        let first = all.iter().position(|line| is_tag(line)).unwrap_or(all.len());
        Self { prose: paragraphs(&all[..first]), tags: tags(&all[first..]) }
    }

    /// The tags of this name.
    pub(crate) fn tagged<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Tag> {
        self.tags.iter().filter(move |tag| tag.name == name)
    }
}

impl Tag {
    fn parse(text: &str) -> Self {
        let (head, text) = split_head(text);
        let (name, attributes) = head.split_once('[').unwrap_or((head, ""));
        Self {
            name: name.trim_start_matches('@').to_owned(),
            attributes: Attributes::parse(attributes.strip_suffix(']').unwrap_or(attributes)),
            text: text.trim().to_owned(),
        }
    }
}

/// The tag with its brackets, and what follows.
fn split_head(text: &str) -> (&str, &str) {
    let space = text.find(' ').unwrap_or(text.len());
    match text.find('[') {
        Some(bracket) if bracket < space => {
            let end =
                text.find(']').unwrap_or_else(|| panic!("the brackets of {text:?} end in its first line"));
            text.split_at(end + 1)
        }
        _ => text.split_at(space),
    }
}

impl Attributes {
    fn parse(text: &str) -> Self {
        let one = |attribute: &str| match attribute.split_once('(') {
            Some((name, value)) => {
                (name.to_owned(), Some(value.strip_suffix(')').unwrap_or(value).to_owned()))
            }
            None => (attribute.to_owned(), None),
        };
        Self(text.split(", ").filter(|attribute| !attribute.is_empty()).map(one).collect())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// What an attribute says in parentheses.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name)?.1.as_deref()
    }

    /// The enumerations that it names.
    pub(crate) fn enumerations(&self) -> impl Iterator<Item = &str> {
        let named = ["enum", "flags", "names"].into_iter().filter_map(|attribute| self.value(attribute));
        named.flat_map(|names| names.split(' '))
    }

    /// Refuses attributes that are not known: `name`, or `name()` for one that has a value.
    pub(crate) fn assert_known(&self, known: &[&str], place: &str) {
        for (name, value) in &self.0 {
            let written = if value.is_some() { format!("{name}()") } else { name.clone() };
            assert!(known.contains(&written.as_str()), "{place}: [{written}] is no attribute");
        }
    }

    fn shown(&self) -> String {
        let show = |(name, value): &(String, Option<String>)| match value {
            Some(value) => format!("{name}({value})"),
            None => name.clone(),
        };
        let shown = self.0.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str())).map(show);
        shown.collect::<Vec<String>>().join(", ")
    }
}

/// Tags that the header does without: the index has them.
const HIDDEN_TAGS: &[&str] = &["@task"];

/// The lines of a comment as the header has them.
pub(crate) fn shown(lines: &[String]) -> Vec<String> {
    let mut is_prose = true;
    let show = |line: &String| {
        if is_tag(line) {
            let shown = shown_tag(line);
            is_prose = !is_tag(&shown);
            return shown;
        }
        if is_prose { line.trim_start_matches("  ").to_owned() } else { line.clone() }
    };
    let is_hidden = |line: &&String| HIDDEN_TAGS.iter().any(|tag| line.starts_with(tag));
    lines.iter().filter(|line| !is_hidden(line)).map(show).collect()
}

/// The first line of a tag; only its text if that is all that is left.
fn shown_tag(line: &str) -> String {
    let (head, text) = split_head(line);
    let tag = Tag::parse(head);
    match tag.attributes.shown() {
        _ if !head.ends_with(']') => line.to_owned(),
        // Of a member the prose says the rest.
        _ if tag.name == "field" && tag.attributes.value("flags").is_none() => text.trim().to_owned(),
        shown if shown.is_empty() => text.trim().to_owned(),
        shown => format!("@{}[{shown}]{text}", tag.name),
    }
}

fn is_tag(line: &str) -> bool {
    line.starts_with('@')
}

/// The lines of a documentation comment, up to what only concerns Rust.
pub(crate) fn lines(attributes: &[Attribute]) -> Vec<String> {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let trim = |line: String| line.strip_prefix(' ').map(str::to_owned).unwrap_or(line);
    let all = attributes.iter().filter_map(line).map(trim);
    let mut lines: Vec<String> = all.take_while(|line| line != "# Safety").collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn tags(lines: &[String]) -> Vec<Tag> {
    let mut texts: Vec<String> = Vec::new();
    for line in lines {
        match texts.last_mut() {
            _ if is_tag(line) => texts.push(line.clone()),
            Some(last) if line.starts_with(' ') => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => panic!("{line:?} stands behind tags and is none"),
        }
    }
    texts.iter().map(|text| Tag::parse(text)).collect()
}

/// Joins the lines of each paragraph, and of each item of a list.
pub(crate) fn paragraphs(lines: &[String]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(text: &str) -> Comment {
        let comment: String = text.lines().map(|line| format!("/// {line}\n")).collect();
        let item: syn::ItemFn = syn::parse_str(&format!("{comment}fn f() {{}}")).expect("a function");
        Comment::of(&item.attrs)
    }

    #[test]
    fn prose_and_tags_are_told_apart() {
        let comment = comment(
            "Does it.\n\nAnd more\nof it.\n- one\n  item\n\n@param[in, nullable_if_zero(n)] a The a,\n  which is long.\n@driver 12.4\n\n# Safety\nNone.",
        );
        assert_eq!(comment.prose, "Does it.\nAnd more of it.\n- one item");
        let [a, driver] = &comment.tags[..] else { panic!("two tags") };
        assert_eq!((a.name.as_str(), a.text.as_str()), ("param", "a The a, which is long."));
        assert!(a.attributes.has("in") && !a.attributes.has("out"));
        assert_eq!(a.attributes.value("nullable_if_zero"), Some("n"));
        assert_eq!((driver.name.as_str(), driver.text.as_str()), ("driver", "12.4"));
    }

    #[test]
    #[should_panic(expected = "is no attribute")]
    fn an_unknown_attribute_is_refused() {
        comment("@param[in, nulable] a It.").tags[0].attributes.assert_known(&["in", "nullable"], "f");
    }

    #[test]
    #[should_panic(expected = "stands behind tags")]
    fn prose_comes_first() {
        comment("@driver 12.4\nIt does.");
    }

    #[track_caller]
    fn assert_shown(lines: &[&str], expected: &[&str]) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(shown(&lines), expected);
    }

    #[test]
    fn the_header_does_without_some_attributes() {
        assert_shown(
            &["@param[in, enum(e), nullable] a The a", "  is long."],
            &["@param[in, nullable] a The a", "  is long."],
        );
        assert_shown(&["@field[enum(e)] The kind", "  of it."], &["The kind", "of it."]);
        assert_shown(&["@field[nullable] The data", "  of it."], &["The data", "of it."]);
        assert_shown(&["@task copy memory", "@driver 12.4"], &["@driver 12.4"]);
        assert_shown(&["Prose [with brackets]."], &["Prose [with brackets]."]);
    }
}
