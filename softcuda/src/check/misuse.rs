//! Work that has used what it may not: beyond an end, before an allocation, or after a free.

use super::access::{Kind, Memory, Misuse, Op};
use super::report::{Json, Report};
use super::side::Side;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// So many places where memory was freed are remembered.
const MOST: usize = 1 << 16;

/// Who has freed memory.
#[derive(Clone)]
pub(super) enum Freed {
    /// A driver function, at once, behind so many operations.
    Call(&'static str, u64),
    /// Work in a stream or a graph.
    Work(Arc<Op>),
}

/// Memory that was freed, and whose addresses nobody has since.
#[derive(Clone)]
pub(super) struct Grave {
    memory: Memory,
    freed: Freed,
}

impl Grave {
    pub(super) fn new(memory: Memory, freed: Freed) -> Self {
        Self { memory, freed }
    }
}

/// By their addresses.
#[derive(Default)]
pub(super) struct Graves(BTreeMap<u64, Grave>);

impl Graves {
    pub(super) fn add(&mut self, memory: Memory, freed: Freed) {
        self.remove(memory.start..memory.start + memory.size);
        if self.0.len() >= MOST {
            self.0.pop_first();
        }
        self.0.insert(memory.start, Grave { memory, freed });
    }

    /// The addresses are memory again.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        let end = |grave: &Grave| grave.memory.start + grave.memory.size;
        let gone: Vec<u64> = (self.0.range(..range.end).rev())
            .take_while(|(_, grave)| end(grave) > range.start)
            .map(|(start, _)| *start)
            .collect();
        gone.iter().for_each(|start| drop(self.0.remove(start)));
    }

    pub(super) fn find(&self, address: u64) -> Option<Grave> {
        let (_, grave) = self.0.range(..=address).next_back()?;
        grave.memory.contains(address).then(|| grave.clone())
    }
}

impl Freed {
    fn place(&self) -> String {
        match self {
            Self::Call(call, _) => (*call).to_owned(),
            Self::Work(op) => Side::new(op, Kind::Free, None).place(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Call(call, operations) => format!("{call}, behind operation {operations}"),
            Self::Work(op) => Side::new(op, Kind::Free, None).to_string(),
        }
    }
}

/// One that was found.
pub(super) struct Found {
    pub(super) op: Arc<Op>,
    pub(super) misuse: Misuse,
    /// The memory that was there.
    pub(super) grave: Option<Grave>,
}

impl Found {
    fn side(&self) -> Side {
        Side::new(&self.op, Kind::Use, self.misuse.site.clone())
    }

    pub(super) fn places(&self) -> String {
        let (place, what) = (self.side().place(), &self.misuse.what);
        match &self.grave {
            Some(grave) => format!("memory: {place} freed memory / {}", grave.freed.place()),
            None => format!("memory: {place} {what}"),
        }
    }

    pub(super) fn report(&self, places: &str) -> Report {
        let side = self.side();
        let mut json = Json::new("memory", places);
        if let Some(address) = self.misuse.address {
            json = json.number("address", address);
        }
        json = json.side("use", &side).text("what", &self.misuse.text);
        let headline = match (&self.grave, self.misuse.address) {
            (Some(_), Some(address)) => {
                format!("{} in {} uses memory at {address:#x} that was freed", side.work(), side.stream)
            }
            _ => self.misuse.text.clone(),
        };
        let mut text = format!("memory: {headline}\n    use:    {side}");
        if let Some(Grave { memory, freed }) = &self.grave {
            text += &format!(
                "\n    freed:  {}\n    memory: {memory}, made by {}\n    order:  free it behind this use, or let the use come first",
                freed.text(),
                memory.made
            );
            json = json
                .text("freed", &freed.text())
                .text("allocation", &memory.to_string())
                .text("made", memory.made);
        }
        Report::new("memory", text, json)
    }
}

#[cfg(test)]
mod tests {
    use super::{Freed, Graves, Memory};

    #[test]
    fn graves_end_where_memory_begins() {
        let memory =
            |start, size| Memory { what: "memory", start, size, made: "", label: None, is_all_seen: true };
        let mut graves = Graves::default();
        let mut add = |start, size| graves.add(memory(start, size), Freed::Call("free", start));
        add(100, 100);
        add(300, 100);
        add(500, 100);
        let starts = |graves: &Graves| {
            let found =
                [99, 100, 199, 200, 350, 599].map(|at| graves.find(at).map_or(0, |one| one.memory.start));
            found.to_vec()
        };
        assert_eq!(starts(&graves), [0, 100, 100, 0, 300, 500]);
        graves.remove(399..501);
        assert_eq!(starts(&graves), [0, 100, 100, 0, 0, 0]);
        graves.add(memory(150, 10), Freed::Call("free", 1));
        assert_eq!(starts(&graves), [0, 0, 0, 0, 0, 0]);
    }
}
