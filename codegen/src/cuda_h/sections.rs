//! Text in `#if` sections: neighbours under the same condition share one.

/// Collects text under conditions.
#[derive(Default)]
pub(crate) struct Sections {
    text: String,
    condition: String,
}

impl Sections {
    /// Adds text that a preprocessor sees under a condition, or always if that is empty.
    pub(crate) fn add(&mut self, condition: &str, text: &str) {
        if self.condition != condition {
            self.close();
            if !condition.is_empty() {
                self.text.push_str(&format!("#if {condition}\n"));
            }
            self.condition = condition.to_owned();
        }
        self.text.push_str(text);
    }

    fn close(&mut self) {
        if !self.condition.is_empty() {
            self.text.push_str("#endif\n");
            self.condition.clear();
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.close();
        self.text
    }
}
