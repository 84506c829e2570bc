//! Which bytes of a page.

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
const WORDS: usize = PAGE / 64;

/// Some bytes of a page, at least one.
#[derive(Clone, Debug)]
pub(crate) enum Bits {
    /// From one to before another.
    Range(u16, u16),
    Map(Box<[u64; WORDS]>),
}

impl Bits {
    pub(crate) fn map(words: &[u64; WORDS]) -> Self {
        if words.iter().all(|word| *word == u64::MAX) {
            Self::Range(0, PAGE as u16)
        } else {
            Self::Map(Box::new(*words))
        }
    }

    /// Those of the bytes `range` of memory that are in a page, which has some of them.
    pub(super) fn of(page: u64, start: u64, end: u64) -> Self {
        let first = page * PAGE as u64;
        let within = |address: u64| address.saturating_sub(first).min(PAGE as u64) as u16;
        Self::Range(within(start), within(end))
    }

    fn word(&self, at: usize) -> u64 {
        match self {
            Self::Map(words) => words[at],
            Self::Range(from, to) => {
                let below = |end: u16| match usize::from(end).saturating_sub(at * 64) {
                    0 => 0,
                    64.. => u64::MAX,
                    bits => (1 << bits) - 1,
                };
                below(*to) & !below(*from)
            }
        }
    }

    /// The first byte of both, and how many follow it in both without a gap, itself included.
    pub(super) fn common(&self, other: &Self) -> Option<(usize, usize)> {
        if let (Self::Range(from, to), Self::Range(first, end)) = (self, other) {
            let (from, to) = ((*from).max(*first), (*to).min(*end));
            return (from < to).then(|| (from.into(), (to - from).into()));
        }
        let has = |byte: usize| (self.word(byte / 64) & other.word(byte / 64)) >> (byte % 64) & 1 != 0;
        let word = (0..WORDS).find(|at| self.word(*at) & other.word(*at) != 0)?;
        let first = word * 64 + (self.word(word) & other.word(word)).trailing_zeros() as usize;
        let length = (first..PAGE).take_while(|byte| has(*byte)).count();
        Some((first, length))
    }

    /// Runs of bytes without a gap, each from one to before another.
    pub(super) fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        let (map, range) = match self {
            Self::Range(from, to) => (None, Some((usize::from(*from), usize::from(*to)))),
            Self::Map(words) => (Some(words), None),
        };
        let mut at = 0;
        let of_map = std::iter::from_fn(move || {
            let words = map?;
            let next = |from: usize, flip: u64| {
                (from / 64..WORDS)
                    .find_map(|number| {
                        let above = if number == from / 64 { !0 << (from % 64) } else { !0 };
                        let word = (words[number] ^ flip) & above;
                        (word != 0).then(|| number * 64 + word.trailing_zeros() as usize)
                    })
                    .unwrap_or(PAGE)
            };
            let first = if at < PAGE { next(at, 0) } else { PAGE };
            at = if first < PAGE { next(first, !0) } else { PAGE };
            (first < PAGE).then_some((first, at))
        });
        range.into_iter().chain(of_map)
    }

    /// Those that are not in the other; `None` if that is none.
    pub(super) fn without(&self, other: &Self) -> Option<Self> {
        if let (Self::Range(from, to), Self::Range(first, end)) = (self, other) {
            if first <= from && end >= to {
                return None;
            }
            if end <= from || first >= to {
                return Some(self.clone());
            }
            if first <= from {
                return Some(Self::Range(*end, *to));
            }
            if end >= to {
                return Some(Self::Range(*from, *first));
            }
        }
        let mut words = [0; WORDS];
        for (at, word) in words.iter_mut().enumerate() {
            *word = self.word(at) & !other.word(at);
        }
        words.iter().any(|word| *word != 0).then(|| Self::map(&words))
    }

    /// About how many bytes it takes beside itself.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Range(..) => 0,
            Self::Map(_) => WORDS * 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    fn map(bytes: impl Iterator<Item = usize>) -> Bits {
        let mut words = [0; 64];
        bytes.for_each(|byte| words[byte / 64] |= 1 << (byte % 64));
        Bits::map(&words)
    }

    #[test]
    fn ranges_and_maps_mean_the_same() {
        let range = Bits::Range(60, 130);
        let same = map(60..130);
        for other in
            [Bits::Range(0, 61), Bits::Range(129, 4096), Bits::Range(0, 60), map((0..4096).step_by(64))]
        {
            assert_eq!(range.common(&other), same.common(&other), "{other:?}");
            let left = |bits: &Bits| {
                bits.without(&other).map(|bits| (0..64).map(|at| bits.word(at)).collect::<Vec<_>>())
            };
            assert_eq!(left(&range), left(&same), "{other:?}");
        }
        assert_eq!(range.common(&Bits::Range(129, 4096)), Some((129, 1)));
        assert_eq!(range.common(&Bits::Range(0, 60)), None);
        assert!(range.without(&Bits::Range(60, 130)).is_none());
        assert!(matches!(map(0..4096), Bits::Range(0, 4096)));
        assert_eq!(map((0..4096).step_by(64)).common(&range), Some((64, 1)));
        assert_eq!(range.runs().collect::<Vec<_>>(), [(60, 130)]);
        let apart = map((3..70).chain(128..192).chain(4095..4096));
        assert_eq!(apart.runs().collect::<Vec<_>>(), [(3, 70), (128, 192), (4095, 4096)]);
    }
}
