//! Copies that threads have begun (`cp.async`) and have not waited for: until then they may write at any time, whatever barriers come in between.

use super::found::Bytes;
use std::collections::{HashMap, VecDeque};

/// No copy has more bytes, and each lies in one such piece of memory.
const PIECE: u64 = 16;

/// A copy that a thread has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AsyncCopy {
    pub(super) block: u32,
    /// Its number in the block.
    pub(super) thread: u32,
    pub(super) op: u32,
    /// Where the cells are of what it writes.
    pub(super) key: u64,
    pub(super) size: usize,
    pub(super) bytes: Bytes,
}

impl AsyncCopy {
    /// Where the bytes begin and end that it writes of these.
    pub(super) fn overlap(&self, key: u64, size: usize) -> Option<(u64, u64)> {
        let (from, to) = (self.key.max(key), (self.key + self.size as u64).min(key + size as u64));
        (from < to).then_some((from, to))
    }
}

/// All that have begun, and are not waited for.
#[derive(Default)]
pub(super) struct Copies {
    begun: HashMap<u64, Vec<AsyncCopy>>,
    /// For each thread of a block, where the copies of its groups write, the oldest first; the last group is not committed yet.
    groups: HashMap<(u32, u32), VecDeque<Vec<u64>>>,
}

impl Copies {
    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    fn groups(&mut self, block: u32, thread: u32) -> &mut VecDeque<Vec<u64>> {
        self.groups.entry((block, thread)).or_insert_with(|| VecDeque::from([Vec::new()]))
    }

    pub(super) fn begin(&mut self, copy: AsyncCopy) {
        self.groups(copy.block, copy.thread).back_mut().expect("one is not committed").push(copy.key);
        self.begun.entry(copy.key / PIECE).or_default().push(copy);
    }

    /// A thread commits a group: what it has begun since the last one.
    pub(super) fn commit(&mut self, block: u32, thread: u32) {
        self.groups(block, thread).push_back(Vec::new());
    }

    /// A thread waits for its groups but for so many that it has committed last; `None`: for all that it has begun. Answers with what it has
    /// waited for.
    pub(super) fn wait(&mut self, block: u32, thread: u32, but: Option<usize>) -> Vec<AsyncCopy> {
        let Some(mut groups) = self.groups.remove(&(block, thread)) else { return Vec::new() };
        let committed = groups.len() - 1;
        let count = but.map_or(groups.len(), |but| committed.saturating_sub(but));
        let mut done = Vec::new();
        for key in groups.drain(..count).flatten() {
            let Some(piece) = self.begun.get_mut(&(key / PIECE)) else { continue };
            let is_it = |copy: &AsyncCopy| (copy.block, copy.thread, copy.key) == (block, thread, key);
            if let Some(at) = piece.iter().position(is_it) {
                done.push(piece.remove(at));
            }
            if piece.is_empty() {
                self.begun.remove(&(key / PIECE));
            }
        }
        if !groups.is_empty() {
            self.groups.insert((block, thread), groups);
        }
        done
    }

    /// Those that write some of these bytes.
    pub(super) fn over(&self, key: u64, size: usize) -> impl Iterator<Item = &AsyncCopy> {
        let pieces = key / PIECE..=(key + size as u64 - 1) / PIECE;
        let all = pieces.filter_map(|piece| self.begun.get(&piece)).flatten();
        all.filter(move |copy| copy.overlap(key, size).is_some())
    }

    /// A block is done, and its memory another one's.
    pub(super) fn leave(&mut self, block: u32) {
        self.groups.retain(|(of, _), _| *of != block);
        self.begun.values_mut().for_each(|piece| piece.retain(|copy| copy.block != block));
        self.begun.retain(|_, piece| !piece.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::{AsyncCopy, Bytes, Copies};

    fn copy(thread: u32, key: u64) -> AsyncCopy {
        AsyncCopy { block: 0, thread, op: 0, key, size: 8, bytes: Bytes::Shared(key, [0; 3]) }
    }

    fn keys(done: &[AsyncCopy]) -> Vec<u64> {
        done.iter().map(|copy| copy.key).collect()
    }

    #[test]
    fn groups_are_waited_for_from_the_oldest_on() {
        let mut copies = Copies::default();
        for key in [0, 32, 64] {
            copies.begin(copy(1, key));
            copies.commit(0, 1);
        }
        copies.begin(copy(1, 96));
        copies.begin(copy(2, 8));
        assert_eq!(keys(&copies.wait(0, 1, Some(2))), [0]);
        assert_eq!(copies.over(0, 16).map(|copy| copy.thread).collect::<Vec<_>>(), [2]);
        assert_eq!(keys(&copies.wait(0, 1, Some(0))), [32, 64]);
        assert!(copies.wait(0, 1, Some(0)).is_empty(), "the last is in no group");
        assert_eq!(keys(&copies.wait(0, 1, None)), [96]);
        copies.leave(0);
        assert!(copies.is_empty());
    }

    #[test]
    fn empty_groups_count() {
        let mut copies = Copies::default();
        copies.begin(copy(1, 0));
        copies.commit(0, 1);
        copies.commit(0, 1);
        assert_eq!(keys(&copies.wait(0, 1, Some(1))), [0]);
    }
}
