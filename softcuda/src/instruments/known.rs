//! The environment variables that softcuda has.

use parking_lot::Mutex;

const PREFIX: &str = "SOFTCUDA_";

/// What the project's own tests tell the processes that they start.
const OF_TESTS: &[&str] = &["SOFTCUDA_TEST_CHILD", "SOFTCUDA_TEST_CASE"];

/// The names that were asked for.
static READ: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes a name for one of softcuda's, since it is read.
pub(super) fn note(name: &str) {
    let mut read = READ.lock();
    if !read.iter().any(|known| known == name) {
        read.push(name.to_owned());
    }
}

/// The sentence about a variable in the environment that is softcuda's by its name, and is none. One that is empty counts as unset.
pub(super) fn refuse_others() -> Result<(), String> {
    let read = READ.lock();
    let is_known = |name: &str| read.iter().any(|known| known == name) || OF_TESTS.contains(&name);
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && !is_known(&name) && !value.is_empty() {
            let near = nearest(&name, &read).map_or(String::new(), |near| format!("; {near} is near it"));
            return Err(format!(
                "{name} is no variable of softcuda's{near}; every call answers an error until it is unset. There are {}",
                read.join(", ")
            ));
        }
    }
    Ok(())
}

/// The name that was most likely meant, if one is near.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let far = |known: &&String| distance(name, known);
    known.iter().min_by_key(far).filter(|known| distance(name, known) <= 3).map(String::as_str)
}

/// How many letters are to be added, left out or exchanged to make one of the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in to.bytes().enumerate() {
            let exchanged = corner + usize::from(letter != other);
            corner = row[column + 1];
            row[column + 1] = exchanged.min(corner + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn how_far_names_are_from_each_other() {
        for (from, to, far) in
            [("", "", 0), ("a", "", 1), ("FAULTS", "FAULT", 1), ("FUALT", "FAULT", 2), ("LEAK", "LEAKS", 1)]
        {
            assert_eq!((distance(from, to), distance(to, from)), (far, far), "{from} {to}");
        }
    }

    #[test]
    fn what_was_meant() {
        let known = ["SOFTCUDA_FAULT", "SOFTCUDA_LEAKS"].map(str::to_owned);
        assert_eq!(nearest("SOFTCUDA_FAULTS", &known), Some("SOFTCUDA_FAULT"));
        assert_eq!(nearest("SOFTCUDA_SOMETHING_ELSE", &known), None);
    }
}
