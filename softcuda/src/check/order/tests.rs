//! Clocks against a search of all ways: random programs, every pair of their pieces.

use super::{Order, Relation};
use crate::check::clock::Stamp;
use std::sync::Arc;

/// Numbers that look random; the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// A piece of work, and the pieces that come right before it.
struct Piece {
    stamp: Arc<Stamp>,
    before: Vec<usize>,
    /// The values that it waits for.
    awaits: Vec<u64>,
}

#[derive(Default)]
struct Program {
    order: Order,
    pieces: Vec<Piece>,
    /// The pieces that the host has waited for.
    waited: Vec<usize>,
    /// The last piece of each queue.
    last: Vec<Option<usize>>,
    /// Which piece has written which value.
    written: Vec<(u64, usize)>,
}

impl Program {
    fn add(&mut self, queue: Option<usize>, after: Vec<usize>, awaits: Vec<u64>) {
        let mut before = after;
        before.extend(queue.and_then(|queue| self.last[queue]));
        let stamps: Vec<_> = before.iter().map(|piece| Arc::clone(&self.pieces[*piece].stamp)).collect();
        let stamp = match queue {
            Some(queue) => self.order.in_queue(queue as u64, stamps.iter(), &awaits),
            None => self.order.aside(stamps.iter(), &awaits),
        };
        before.extend(&self.waited);
        if let Some(queue) = queue {
            self.last[queue] = Some(self.pieces.len());
        }
        self.pieces.push(Piece { stamp: Arc::new(stamp), before, awaits });
    }

    /// One more step; of a piece, or of the host.
    fn step(&mut self, random: &mut Random) {
        let count = self.pieces.len();
        let some = |random: &mut Random| match count {
            0 => Vec::new(),
            _ => (0..random.below(3)).map(|_| random.below(count)).collect(),
        };
        match random.below(10) {
            0 if count > 0 => {
                let piece = random.below(count);
                self.order.host_waited(&self.pieces[piece].stamp);
                self.waited.push(piece);
            }
            1 => {
                let after = some(random);
                self.add(None, after, Vec::new());
            }
            2 if count > 0 => {
                let (value, piece) = (random.below(3) as u64, random.below(count));
                self.order.writes(value, &self.pieces[piece].stamp);
                self.written.push((value, piece));
            }
            3 => {
                let (queue, value) = (random.below(self.last.len()), random.below(3) as u64);
                self.add(Some(queue), Vec::new(), vec![value]);
            }
            4 => {
                // Its chain may be another's from now on.
                let queue = random.below(self.last.len());
                self.order.close(queue as u64);
            }
            _ => {
                let (queue, after) = (random.below(self.last.len()), some(random));
                self.add(Some(queue), after, Vec::new());
            }
        }
    }

    /// By a search: all that comes before a piece, itself included, and whether it waits for a value that nobody writes.
    fn earlier(&self, piece: usize) -> (Vec<bool>, bool) {
        let (mut seen, mut ahead, mut unknown) = (vec![false; self.pieces.len()], vec![piece], false);
        while let Some(piece) = ahead.pop() {
            if std::mem::replace(&mut seen[piece], true) {
                continue;
            }
            ahead.extend(&self.pieces[piece].before);
            for value in &self.pieces[piece].awaits {
                let writers = self.written.iter().filter(|(written, _)| written == value);
                unknown |= writers.clone().count() == 0;
                ahead.extend(writers.map(|(_, piece)| *piece));
            }
        }
        (seen, unknown)
    }

    fn check(&self) -> usize {
        for (number, piece) in self.pieces.iter().enumerate() {
            let (earlier, unknown) = self.earlier(number);
            for (other, is_earlier) in earlier.iter().enumerate() {
                let expected = match (is_earlier, unknown) {
                    (true, _) => Relation::Before,
                    (false, true) => Relation::Unknown,
                    (false, false) => Relation::Unordered,
                };
                let found = self.order.relation(self.pieces[other].stamp.epoch, &piece.stamp);
                assert_eq!(found, expected, "{other} before {number}, of {}", self.pieces.len());
            }
        }
        self.pieces.len() * self.pieces.len()
    }
}

#[test]
fn clocks_say_what_a_search_finds() {
    let (mut random, mut pairs) = (Random(0x9e37_79b9_7f4a_7c15), 0);
    while pairs < 1_000_000 {
        let mut program = Program { last: vec![None; 1 + random.below(6)], ..Program::default() };
        for _ in 0..10 + random.below(50) {
            program.step(&mut random);
        }
        pairs += program.check();
    }
}
