//! A race: two pieces of work that use the same bytes, at least one of which changes them, and that nothing orders.

use super::report::{Json, Report, bytes};
use super::shadow::Race;
use super::side::Side;
use super::streams::HOST;

impl Race {
    fn sides(&self) -> [Side; 2] {
        [&self.first, &self.second].map(|used| {
            let site = used.sites.as_ref().map(|sites| sites.site(self.address as usize % super::bits::PAGE));
            Side::new(&used.op, used.kind, site)
        })
    }

    pub(super) fn places(&self) -> String {
        let [first, second] = self.sides();
        format!("race: {} / {}", first.place(), second.place())
    }

    pub(super) fn report(&self, places: &str) -> Report {
        let [first, second] = self.sides();
        let bytes = bytes(self.size as u64);
        let offset = self.memory.as_ref().map(|memory| self.address - memory.start);
        let place = match (&self.memory, offset) {
            (Some(memory), Some(offset)) => {
                format!("{bytes} at {:#x}, offset {offset} of {memory}", self.address)
            }
            _ => format!("{bytes} at {:#x}", self.address),
        };
        let advice = self.advice(&first, &second);
        let text = format!(
            "race: {} {} {} the same bytes, {} {} {} them, and nothing orders the two\n    {place}\n    \
             first:  {first}\n    second: {second}\n    order:  {advice}",
            first.work(),
            first.whose(),
            first.verb(),
            second.work(),
            second.whose(),
            second.verb(),
        );
        let mut json = Json::new("races", places);
        json = json.number("address", self.address).number("bytes", self.size as u64);
        if let (Some(memory), Some(offset)) = (&self.memory, offset) {
            json = json.text("allocation", &memory.to_string()).number("offset", offset);
        }
        json = json.side("first", &first).side("second", &second).text("order", &advice);
        Report::new("races", text, json)
    }

    /// What would order the two.
    fn advice(&self, first: &Side, second: &Side) -> String {
        // Both in one stream: then they are pieces of one graph.
        if self.first.op.described.stream == self.second.op.described.stream {
            let piece = |side: &Side| side.node.map_or("?".to_owned(), |node| node.to_string());
            return format!(
                "make piece {} of the graph depend on piece {}: cuGraphAddDependencies, or in a capture an event that the one \
                 stream records and the other waits for",
                piece(second),
                piece(first),
            );
        }
        if self.second.op.described.stream == HOST {
            return format!(
                "let the host wait for operation {} (cuStreamSynchronize) before it frees the memory: memory of a pool is freed at once; or \
                 free it in the order of the streams (cuMemFreeAsync)",
                first.operation
            );
        }
        format!(
            "cuEventRecord(event, {}) after operation {}, and cuStreamWaitEvent({}, event, 0) before operation {}; or let \
             the host wait for the first (cuStreamSynchronize) before it submits the second",
            first.stream, first.operation, second.stream, second.operation
        )
    }
}
