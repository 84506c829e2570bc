//! Files that are made of others and kept in the target folder, for the tests of this run and of later ones.
//!
//! A file is made again as soon as one of those that it was made of is not the one that it was: its time of change and its
//! size are noted before it is read. Whoever wants the file while another test makes it waits.

use crate::libraries::built;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// The folder of everything that is kept.
///
/// # Panics
/// If it cannot be made.
pub fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let profile = built().parent().expect("deps lies in the profile's folder");
        let folder = profile.join("capi-tests");
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        folder
    });
    &FOLDER
}

/// How a file is made.
pub(crate) trait Recipe {
    /// The files that it is made of, by what they are now.
    fn inputs(&self) -> Result<Vec<PathBuf>, String>;

    /// Makes it at that path.
    fn make(&self, path: &Path) -> Result<(), String>;
}

/// The file of that name, which says everything about the recipe but what is in its inputs.
pub(crate) fn kept(name: &str, recipe: &impl Recipe) -> Result<PathBuf, String> {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let path = folder().join(name);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known().contains(name) {
        return Ok(path);
    }
    let told = |error: io::Error| format!("{}: {error}", path.display());
    // The lock ends with the file's value.
    let lock = File::create(path.with_added_extension("lock")).map_err(told)?;
    lock.lock().map_err(told)?;
    if !is_as_it_was(&path) {
        make(&path, recipe, told)?;
    }
    known().insert(name.to_owned());
    Ok(path)
}

fn make(path: &Path, recipe: &impl Recipe, told: impl Fn(io::Error) -> String) -> Result<(), String> {
    let (notes, unfinished) = (notes(path), path.with_added_extension("new"));
    let _ = fs::remove_file(&notes);
    let noted: Vec<String> = recipe.inputs()?.iter().map(|input| note(input)).collect::<Result<_, _>>()?;
    recipe.make(&unfinished)?;
    fs::rename(&unfinished, path).map_err(&told)?;
    fs::write(&notes, noted.concat()).map_err(told)
}

fn is_as_it_was(path: &Path) -> bool {
    let Ok(notes) = fs::read_to_string(notes(path)) else { return false };
    let is_same = |line: &str| {
        let input = line.splitn(3, ' ').nth(2).unwrap_or_default();
        note(Path::new(input)).is_ok_and(|now| now.trim_end() == line)
    };
    path.exists() && notes.lines().all(is_same)
}

/// When the file was changed, how large it is, and its path.
fn note(path: &Path) -> Result<String, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let metadata = fs::metadata(path).map_err(|error| told(&error))?;
    let changed = metadata.modified().map_err(|error| told(&error))?;
    let changed = changed.duration_since(UNIX_EPOCH).map_err(|error| told(&error))?;
    Ok(format!("{} {} {}\n", changed.as_nanos(), metadata.len(), path.display()))
}

/// Where it is noted what a file was made of.
fn notes(path: &Path) -> PathBuf {
    path.with_added_extension("inputs")
}

/// Writes a text, unless it is in the file already. Nobody sees a part of it.
pub(crate) fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    let unfinished = path.with_added_extension(std::process::id().to_string());
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::{Recipe, is_as_it_was, make};
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A copy of a file.
    struct Copy(PathBuf);

    impl Recipe for Copy {
        fn inputs(&self) -> Result<Vec<PathBuf>, String> {
            Ok(vec![self.0.clone()])
        }

        fn make(&self, path: &Path) -> Result<(), String> {
            fs::copy(&self.0, path).map(drop).map_err(|error| error.to_string())
        }
    }

    #[test]
    fn what_was_made_of_another_file_is_not_used() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (input, output) = (folder.path().join("the input"), folder.path().join("output"));
        fs::write(&input, "one").expect("it is written");
        assert!(!is_as_it_was(&output), "it is not there");
        make(&output, &Copy(input.clone()), |error| error.to_string()).expect("it is made");
        assert!(is_as_it_was(&output));
        // Neither an older file nor one of the same size passes for the one that was there.
        let before = input.metadata().and_then(|metadata| metadata.modified()).expect("it has a time");
        fs::write(&input, "two").expect("it is written");
        let file = fs::File::options().write(true).open(&input).expect("it is there");
        file.set_modified(before - std::time::Duration::from_secs(60)).expect("its time is ours");
        assert!(!is_as_it_was(&output), "it is of an older file");
        file.set_modified(before).expect("its time is ours");
        assert!(is_as_it_was(&output));
        fs::write(&input, "three").expect("it is written");
        fs::File::options().write(true).open(&input).and_then(|f| f.set_modified(before)).expect("ours");
        assert!(!is_as_it_was(&output), "it is of a smaller file");
        fs::remove_file(&input).expect("it is there");
        assert!(!is_as_it_was(&output), "what it was made of is gone");
    }

    #[test]
    fn what_cannot_be_made_is_not_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = folder.path().join("output");
        let made = make(&output, &Copy(folder.path().join("missing")), |error| error.to_string());
        assert!(made.is_err() && !is_as_it_was(&output));
    }
}
