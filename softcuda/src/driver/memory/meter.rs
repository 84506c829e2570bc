//! Numbers of bytes.

/// A number of bytes, and the largest it has been.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) now: u64,
    pub(super) most: u64,
}

impl Meter {
    pub(super) fn add(&mut self, bytes: usize) {
        self.now += bytes as u64;
        self.most = self.most.max(self.now);
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.now -= bytes as u64;
    }
}
