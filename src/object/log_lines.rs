//! What the driver said on this thread about calls that failed, until the error of the call is made.

use std::cell::RefCell;

thread_local! {
    static LINES: RefCell<Lines> = const { RefCell::new(Lines::new()) };
}

/// Keeps a line that the driver logged on this thread.
pub(crate) fn keep(line: &[u8]) {
    // A thread that is ending keeps nothing any more.
    let _ = LINES.try_with(|lines| lines.try_borrow_mut().map(|mut lines| lines.push(line)));
}

/// What the driver said on this thread about its function `base`, which just failed, a line each; empty if nothing.
#[cold]
pub(crate) fn about(base: &str) -> String {
    let said = LINES.try_with(|lines| {
        // In their place: they take more of the stack than all around them.
        let mut lines = lines.borrow_mut();
        let said = lines.about(base);
        lines.len = 0;
        said
    });
    said.unwrap_or_default()
}

/// The newest lines, each with a line feed behind it.
struct Lines {
    bytes: [u8; Lines::ROOM],
    len: usize,
}

impl Lines {
    const ROOM: usize = 2048;

    const fn new() -> Self {
        Self { bytes: [0; Self::ROOM], len: 0 }
    }

    fn push(&mut self, line: &[u8]) {
        let line = &line[..line.len().min(Self::ROOM - 1)];
        while Self::ROOM - self.len <= line.len() {
            self.drop_oldest();
        }
        self.bytes[self.len..][..line.len()].copy_from_slice(line);
        self.bytes[self.len + line.len()] = b'\n';
        self.len += line.len() + 1;
    }

    fn drop_oldest(&mut self) {
        let end =
            self.bytes[..self.len].iter().position(|byte| *byte == b'\n').map_or(self.len, |end| end + 1);
        self.bytes.copy_within(end..self.len, 0);
        self.len -= end;
    }

    /// The lines of the last call of the function. The driver ends what it says about a call with "Returning 1
    /// (CUDA_ERROR_INVALID_VALUE) from cuStreamCreate"; lines of calls whose errors nobody made something of stand before.
    fn about(&self, base: &str) -> String {
        let text = String::from_utf8_lossy(&self.bytes[..self.len]);
        let calls: Vec<&str> = split_calls(&text);
        let ended = calls.iter().any(|call| function(call).is_some());
        let is_about = |call: &&&str| match function(call) {
            Some(name) => is_form_of(name, base),
            // A driver that ends nothing in these words leaves us with all lines.
            None => !ended,
        };
        calls.iter().rfind(is_about).map_or_else(String::new, |call| call.trim_end().to_owned())
    }
}

/// The text, cut behind each line that ends what is said about a call.
fn split_calls(text: &str) -> Vec<&str> {
    let (mut calls, mut start, mut end) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        if function(line).is_some() {
            calls.push(&text[start..end]);
            start = end;
        }
    }
    calls.push(&text[start..]);
    calls
}

/// The function that the last line says returned an error.
fn function(call: &str) -> Option<&str> {
    let last = call.trim_end().lines().next_back()?;
    last.strip_prefix("Returning ")?.rsplit_once(" from ").map(|(_, name)| name)
}

/// Whether `name` is `base`, or that with a suffix: `cuMemAlloc_v2`.
fn is_form_of(name: &str, base: &str) -> bool {
    name.strip_prefix(base).is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[&str]) -> Lines {
        let mut lines = Lines::new();
        of.iter().for_each(|line| lines.push(line.as_bytes()));
        lines
    }

    const QUERY: &str = "Returning 400 (CUDA_ERROR_INVALID_HANDLE) from cuStreamQuery";
    const WHY: &str = "CUDA kernel inc has 1 parameters but none provided at launch";
    const LAUNCH: &str = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernel";
    const COPY: &str = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemcpyDtoD_v2";

    #[test]
    fn an_error_gets_the_lines_of_its_call() {
        let said = lines(&[QUERY, WHY, LAUNCH]);
        assert_eq!(said.about("cuLaunchKernel"), format!("{WHY}\n{LAUNCH}"));
        assert_eq!(said.about("cuStreamQuery"), QUERY);
        assert_eq!(said.about("cuStreamSynchronize"), "");
        assert_eq!(lines(&[COPY]).about("cuMemcpyDtoD"), COPY);
        assert_eq!(lines(&[COPY]).about("cuMemcpyD"), "");
    }

    #[test]
    fn lines_in_other_words_are_kept_together() {
        assert_eq!(lines(&["one", "two"]).about("cuInit"), "one\ntwo");
        assert_eq!(lines(&[]).about("cuInit"), "");
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let long = "x".repeat(1020);
        let said = lines(&["first", &long, &long, "last"]);
        assert_eq!(said.about("cuInit"), format!("{long}\n{long}\nlast"));
        let said = lines(&["first", &long, &long, &long]);
        assert_eq!(said.about("cuInit"), format!("{long}\n{long}"));
        let too_long = "é".repeat(3000);
        let said = lines(&["first", &too_long]);
        assert!(said.about("cuInit").starts_with('é') && said.len <= Lines::ROOM);
    }

    #[test]
    fn taking_the_lines_empties_the_buffer() {
        keep(b"one line");
        assert_eq!(super::about("cuInit"), "one line");
        assert_eq!(super::about("cuInit"), "");
    }
}
