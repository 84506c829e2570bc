//! What C programs include, and is made from the headers, `cushim.json` and the folders of the repository.

use crate::fault_sweep::claims;
use crate::{corpus, forms, fuzz, header, interface, kept};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The folder of all of it.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = kept::folder().join("generated");
        std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let (header, interface) = (header::text(), interface::read());
        for (name, text) in [
            ("entries.inc", header::entries_as_c(&header)),
            ("calls.inc", header::calls_as_c(&header)),
            ("interface.inc", interface::as_c(&interface)),
            ("fuzz.inc", fuzz::as_c(&interface)),
            ("claims.inc", claims::claims(&interface)),
            ("corpus.inc", corpus::images()),
            ("forms.inc", forms::table()),
        ] {
            kept::write(&folder.join(name), &text);
        }
        folder
    });
    &FOLDER
}

/// A source that a test has written.
#[must_use]
pub fn source(name: &str, text: &str) -> PathBuf {
    let path = folder().join(name);
    kept::write(&path, text);
    path
}
