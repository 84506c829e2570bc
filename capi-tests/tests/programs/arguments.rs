//! The options that every test program of cargo takes, as far as they mean something here.

/// What to run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Arguments {
    texts: Vec<String>,
    without: Vec<String>,
    exactly: bool,
    ignored: bool,
    /// Only say what would be run.
    pub(crate) lists: bool,
}

impl Arguments {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self::default();
        while let Some(word) = words.next() {
            let (option, value) = word.split_once('=').map_or((word.as_str(), None), |(o, v)| (o, Some(v)));
            let mut value = || value.map(str::to_owned).or_else(|| words.next());
            match option {
                "--exact" => read.exactly = true,
                "--list" => read.lists = true,
                // None is.
                "--ignored" => read.ignored = true,
                "--skip" => read.without.push(value().ok_or("--skip needs a text")?),
                "--test-threads" | "--color" | "--format" => drop(value()),
                "--nocapture" | "--no-capture" | "--show-output" | "--include-ignored" | "--quiet" | "-q" => {
                }
                text if text.starts_with('-') => return Err(format!("{text} is unknown here")),
                _ => read.texts.push(word),
            }
        }
        Ok(read)
    }

    pub(crate) fn chooses(&self, name: &str) -> bool {
        let fits = |text: &String| if self.exactly { name == text } else { name.contains(text.as_str()) };
        let is_wanted = self.texts.is_empty() || self.texts.iter().any(fits);
        is_wanted && !self.ignored && !self.without.iter().any(fits)
    }
}
