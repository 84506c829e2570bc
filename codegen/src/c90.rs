//! What cbindgen writes, as the oldest C and C++ have it, which programs are still compiled as: no `//`, no comma after the last
//! enumerator, and no type of an enumeration.

/// The longest line.
const WIDTH: usize = 118;

/// The macro that says whether an enumeration can say of which type it is.
const TYPED_ENUMS: &str = "CUSHIM_TYPED_ENUMS";

/// The text without what C had first in 1999.
pub(crate) fn of(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        match comment(line) {
            Some((indent, first)) => {
                let mut block = vec![first];
                while let Some((_, next)) = lines.peek().and_then(|line| comment(line)) {
                    block.push(next);
                    lines.next();
                }
                write_comment(indent, &block, &mut out);
            }
            None => {
                let is_last = lines.peek().is_some_and(|next| next.trim_start().starts_with('}'));
                let line = if is_last { line.strip_suffix(',').unwrap_or(line) } else { line };
                let line = line.replace("defined(__cplusplus) || __STDC_VERSION__ >= 202311L", TYPED_ENUMS);
                let line = line.replace("__STDC_VERSION__ >= 202311L", TYPED_ENUMS);
                let line = match line.split_once(" // ") {
                    Some((code, said)) => format!("{code} /* {said} */"),
                    None => line.to_owned(),
                };
                out.push_str(&(line + "\n"));
            }
        }
    }
    out
}

/// The indent and the text of a line that is a comment.
fn comment(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    Some((&line[..line.len() - text.len()], text.strip_prefix("//")?))
}

fn write_comment(indent: &str, block: &[&str], out: &mut String) {
    match block {
        [line] if indent.len() + line.len() + "/* */".len() <= WIDTH => {
            out.push_str(&format!("{indent}/*{line} */\n"));
        }
        lines => {
            out.push_str(&format!("{indent}/*\n"));
            lines.iter().for_each(|line| out.push_str(&format!("{indent} *{line}\n")));
            out.push_str(&format!("{indent} */\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_and_commas_are_those_of_c90() {
        let newer = "#if __STDC_VERSION__ >= 202311L\n// One.\nenum e {\n  // Two\n  //\n  // lines.\n  A = 1,\n  B = 2,\n};\n#endif // E\n";
        let older = "#if CUSHIM_TYPED_ENUMS\n/* One. */\nenum e {\n  /*\n   * Two\n   *\n   * lines.\n   */\n  A = 1,\n  B = 2\n};\n#endif /* E */\n";
        assert_eq!(super::of(newer), older);
    }
}
