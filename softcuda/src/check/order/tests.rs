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
    /// How often the host had waited by then.
    waits: usize,
}

/// The host has waited for a piece.
struct Waited {
    /// All that came before that, by what was known then.
    known: Vec<bool>,
    /// So many pieces were there, if one of them had waited for a value that nobody had written; or fewer, of an earlier wait.
    doubt: usize,
}

/// What comes before a piece.
struct Earlier {
    known: Vec<bool>,
    /// Whether it waits for a value that nobody writes.
    is_open: bool,
    /// Of so many pieces nobody knows, because the host has waited for such a one.
    doubt: usize,
}

#[derive(Default)]
struct Program {
    order: Order,
    pieces: Vec<Piece>,
    /// What the host has waited for.
    waited: Vec<Waited>,
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
        before.retain(|piece| !self.has_waited(*piece));
        if let Some(queue) = queue {
            self.last[queue] = Some(self.pieces.len());
        }
        self.pieces.push(Piece { stamp: Arc::new(stamp), before, awaits, waits: self.waited.len() });
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
                if !self.has_waited(piece) {
                    let Earlier { known, is_open, doubt } = self.earlier(piece);
                    self.waited.push(Waited { known, doubt: if is_open { count } else { doubt } });
                }
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

    /// Whether the host has waited for a piece.
    fn has_waited(&self, piece: usize) -> bool {
        self.waited.iter().any(|waited| waited.known.get(piece) == Some(&true))
    }

    /// By a search: all that comes before a piece, itself included.
    fn earlier(&self, piece: usize) -> Earlier {
        let (mut seen, mut ahead) = (vec![false; self.pieces.len()], vec![piece]);
        let mut earlier = Earlier { known: seen.clone(), is_open: false, doubt: 0 };
        while let Some(piece) = ahead.pop() {
            if std::mem::replace(&mut seen[piece], true) {
                continue;
            }
            let Piece { before, awaits, waits, .. } = &self.pieces[piece];
            ahead.extend(before);
            for value in awaits {
                let writers = self.written.iter().filter(|(written, _)| written == value);
                earlier.is_open |= writers.clone().count() == 0;
                ahead.extend(writers.map(|(_, piece)| *piece));
            }
            // What the host knew is not looked for again: who writes the values now came later.
            for Waited { known, doubt } in &self.waited[..*waits] {
                known.iter().zip(&mut earlier.known).for_each(|(known, all)| *all |= *known);
                earlier.doubt = earlier.doubt.max(*doubt);
            }
        }
        seen.iter().zip(&mut earlier.known).for_each(|(seen, all)| *all |= *seen);
        earlier
    }

    fn check(&self) -> usize {
        for (number, piece) in self.pieces.iter().enumerate() {
            let earlier = self.earlier(number);
            for (other, is_earlier) in earlier.known.iter().enumerate() {
                let expected = match (is_earlier, earlier.is_open || other < earlier.doubt) {
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
