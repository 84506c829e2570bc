//! The order that many pieces of work have among themselves.

/// Which pieces each of a bundle's pieces follows. Pieces are numbered, and follow only such of smaller numbers.
#[derive(Default)]
pub(crate) struct Sequence {
    /// For each piece, where its part of `before` ends.
    ends: Vec<u32>,
    before: Vec<u32>,
    /// Whether no piece follows it.
    last: Vec<bool>,
}

impl Sequence {
    /// Adds a piece that follows these, which have been added; answers its number.
    pub(crate) fn add(&mut self, before: impl IntoIterator<Item = u32>) -> u32 {
        let (number, begin) = (self.len() as u32, self.before.len());
        self.before.extend(before);
        for earlier in &self.before[begin..] {
            self.last[*earlier as usize] = false;
        }
        self.ends.push(self.before.len() as u32);
        self.last.push(true);
        number
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Those that a piece follows.
    pub(super) fn before(&self, piece: usize) -> &[u32] {
        let begin = if piece == 0 { 0 } else { self.ends[piece - 1] };
        &self.before[begin as usize..self.ends[piece] as usize]
    }

    /// Those that no other follows.
    pub(super) fn last(&self) -> impl Iterator<Item = usize> {
        self.last.iter().enumerate().filter(|(_, last)| **last).map(|(piece, _)| piece)
    }
}
