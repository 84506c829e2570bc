//! Text in sections, made from the top down.

/// Lists are broken before this column.
const WIDTH: usize = 110;

pub(crate) struct Page(String);

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        Self(format!("{title}\n"))
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.0 += &format!("\n{}\n", one_line(text));
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.0 += &format!("  {}\n", one_line(text));
    }

    pub(crate) fn fact(&mut self, name: &str, value: &str) {
        self.line(&format!("{name:<14} {value}"));
    }

    /// A list after its name, continued below itself; nothing if it is empty.
    pub(crate) fn list(&mut self, name: &str, items: &[&str]) {
        let mut line = format!("   {name}");
        for (i, item) in items.iter().enumerate() {
            if line.len() + item.len() + 4 > WIDTH {
                self.line(&line);
                line = "      ".to_owned();
            }
            line += &format!(" {item}{}", if i + 1 < items.len() { "," } else { "" });
        }
        if !items.is_empty() {
            self.line(&line);
        }
    }

    /// The whole text, with this as its last line.
    pub(crate) fn end(self, text: &str) -> String {
        format!("{}{}\n", self.0, one_line(text))
    }
}

/// The text without line breaks or other characters that would disturb the page.
fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}
