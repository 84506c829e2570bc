//! Files that somebody names: what must not be opened as one.

use std::path::Path;

/// Why a path is none of a file: whoever opens it, or reads it to its end, might wait for ever.
pub(crate) fn refuse(path: &Path) -> Option<String> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    (!kind.is_file() && !kind.is_dir())
        .then(|| "it is a pipe, a socket or a device, not a file; name the file".to_owned())
}
