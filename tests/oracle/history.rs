//! `catalogue/history.json`, as far as probes are made from it.

use serde_json::Value;
use std::path::Path;

/// What older headers have.
pub(crate) struct History(Value);

impl History {
    pub(crate) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue/history.json");
        let text = std::fs::read_to_string(path).expect("the history is readable");
        Self(serde_json::from_str(&text).expect("the history is JSON"))
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &Value> {
        self.0[key].as_array().expect("a list").iter()
    }

    /// The members that a struct had.
    pub(crate) fn older_members(&self, name: &str) -> impl Iterator<Item = &str> {
        let forms = self.list("structs").filter(move |form| form[0] == name);
        forms.flat_map(|form| form[4].as_array().expect("members")).filter_map(|member| member[0].as_str())
    }

    /// The enumerators of enumerations that no signature names.
    pub(crate) fn enumerators(&self) -> impl Iterator<Item = &str> {
        let all = self.list("enums").flat_map(|each| each[3].as_array().expect("enumerators"));
        all.filter_map(|enumerator| enumerator[0].as_str())
    }
}
