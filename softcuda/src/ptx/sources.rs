//! Where lines of a text come from, as `.file` and `.loc` say.

/// The lines of the sources, by the lines of the text.
#[derive(Default)]
pub(super) struct Sources {
    files: Vec<(u32, String)>,
    /// Line of the text, number of the file, line of the file; rising.
    places: Vec<(u32, u32, u32)>,
}

impl Sources {
    pub(super) fn of(text: &str) -> Self {
        let mut sources = Self::default();
        if !text.contains(".loc") {
            return sources;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some(".file") => sources.files.extend(file(line)),
                Some(".loc") => {
                    let mut number_of = || words.next().and_then(|word| word.parse().ok());
                    if let (Some(file), Some(place)) = (number_of(), number_of()) {
                        sources.places.push((number, file, place));
                    }
                }
                _ => {}
            }
        }
        sources
    }

    /// The file and the line that a line of the text comes from.
    pub(super) fn find(&self, line: u32) -> Option<String> {
        let after = self.places.partition_point(|(place, ..)| *place <= line);
        let (_, file, place) = self.places[..after].last()?;
        let (_, name) = self.files.iter().find(|(number, _)| number == file)?;
        Some(format!("{name}:{place}"))
    }
}

/// `.file 1 "a.cu"`, with more behind that.
fn file(line: &str) -> Option<(u32, String)> {
    let number = line.split_whitespace().nth(1)?.parse().ok()?;
    Some((number, line.split('"').nth(1)?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn lines_of_sources() {
        let text = ".version 7.0\n.file 1 \"a b.cu\", 3, 4\n.visible .entry f()\n{\n .loc 1 7 3\n ret;\n ret;\n .loc 2 9 1\n ret;\n}";
        let sources = Sources::of(text);
        let find = |line| sources.find(line);
        assert_eq!((find(4), find(9)), (None, None), "before the first, and of a file without a name");
        assert_eq!(find(5).as_deref(), Some("a b.cu:7"));
        assert_eq!(find(7).as_deref(), Some("a b.cu:7"));
        assert!(Sources::of(".version 7.0\nret;").find(2).is_none());
    }
}
