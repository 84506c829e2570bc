//! A report: two uses of the same bytes, and the order that is missing.

use super::access::{Kind, Site};
use super::shadow::{Race, Use};
use super::streams;
use std::fmt::{self, Display, Write as _};

/// One side of a report.
pub(crate) struct Side {
    /// In the order of the calls, from 1.
    pub(crate) operation: u64,
    pub(crate) call: &'static str,
    pub(crate) what: &'static str,
    pub(crate) kernel: String,
    pub(crate) stream: String,
    pub(crate) node: Option<u32>,
    pub(crate) device: usize,
    kind: Kind,
    pub(crate) site: Option<Site>,
}

/// Two pieces of work that use the same bytes, at least one of which changes them, and that nothing orders.
pub(crate) struct Report {
    pub(crate) first: Side,
    pub(crate) second: Side,
    pub(crate) address: u64,
    pub(crate) size: usize,
    /// The allocation, and where in it the bytes begin.
    memory: Option<(String, u64)>,
    /// Whether both are in one stream: then they are pieces of one graph.
    same_stream: bool,
}

impl Side {
    fn of(used: &Use, address: u64) -> Self {
        let (op, described) = (&used.op, &used.op.described);
        Self {
            operation: op.number,
            call: op.call,
            what: described.what,
            kernel: described.kernel.clone(),
            stream: streams::name(described.stream),
            node: described.node,
            device: described.device,
            kind: used.kind,
            site: used.sites.as_ref().map(|sites| sites.site(address as usize % super::bits::PAGE)),
        }
    }

    /// The work, in a few words that are the same for each time that a program comes by.
    fn place(&self) -> String {
        let mut text = match &self.site {
            Some(site) => format!("kernel {} line {}", self.kernel, site.line),
            None => format!("{} {}", self.call, self.what),
        };
        if let Some(node) = self.node {
            let _ = write!(text, " node {node}");
        }
        text + " " + self.kind.verb()
    }

    fn work(&self) -> String {
        if self.kernel.is_empty() { self.what.to_owned() } else { format!("kernel {}", self.kernel) }
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (work, verb) = (self.work(), self.kind.verb());
        write!(f, "operation {} ({}", self.operation, self.call)?;
        if let Some(node) = self.node {
            write!(f, ", piece {node} of the graph")?;
        }
        write!(f, ") in {}, device {}: {work} {verb}", self.stream, self.device)?;
        let Some(site) = &self.site else { return Ok(()) };
        write!(f, " at line {} of the PTX ({}", site.line, site.instruction)?;
        if let Some(source) = &site.source {
            write!(f, ", {source}")?;
        }
        let ([bx, by, bz], [tx, ty, tz]) = (site.block, site.thread);
        write!(f, "), block ({bx},{by},{bz}), thread ({tx},{ty},{tz})")
    }
}

impl Report {
    pub(super) fn of(race: &Race) -> Self {
        Self {
            first: Side::of(&race.first, race.address),
            second: Side::of(&race.second, race.address),
            address: race.address,
            size: race.size,
            memory: race.memory.as_ref().map(|memory| (memory.to_string(), race.address - memory.start)),
            same_stream: race.first.op.described.stream == race.second.op.described.stream,
        }
    }

    /// The two places, in a line by which reports are suppressed, and by which a second one is known.
    pub(crate) fn places(&self) -> String {
        format!("race: {} / {}", self.first.place(), self.second.place())
    }

    /// What would order the two.
    pub(crate) fn advice(&self) -> String {
        let (first, second) = (&self.first, &self.second);
        if self.same_stream {
            return format!(
                "make piece {} of the graph depend on piece {}: cuGraphAddDependencies, or in a capture an event that the one \
                 stream records and the other waits for",
                second.node.map_or("?".to_owned(), |node| node.to_string()),
                first.node.map_or("?".to_owned(), |node| node.to_string()),
            );
        }
        format!(
            "cuEventRecord(event, {}) after operation {}, and cuStreamWaitEvent({}, event, 0) before operation {}; or let \
             the host wait for the first (cuStreamSynchronize) before it submits the second",
            first.stream, first.operation, second.stream, second.operation
        )
    }

    fn bytes(&self) -> String {
        let bytes = if self.size == 1 { "1 byte".to_owned() } else { format!("{} bytes", self.size) };
        match &self.memory {
            Some((memory, offset)) => format!("{bytes} at {:#x}, offset {offset} of {memory}", self.address),
            None => format!("{bytes} at {:#x}", self.address),
        }
    }

    /// A line of JSON.
    pub(crate) fn json(&self) -> String {
        let mut text = String::from("{\"check\":\"races\"");
        let mut add = |name: &str, value: &str| {
            let _ = write!(text, ",\"{name}\":{value}");
        };
        add("places", &quoted(&self.places()));
        add("address", &self.address.to_string());
        add("bytes", &self.size.to_string());
        if let Some((memory, offset)) = &self.memory {
            add("allocation", &quoted(memory));
            add("offset", &offset.to_string());
        }
        add("first", &self.first.json());
        add("second", &self.second.json());
        add("order", &quoted(&self.advice()));
        text + "}"
    }
}

impl Side {
    fn json(&self) -> String {
        let mut text = format!("{{\"operation\":{}", self.operation);
        let mut add = |name: &str, value: &str| {
            let _ = write!(text, ",\"{name}\":{value}");
        };
        add("call", &quoted(self.call));
        add("what", &quoted(&self.work()));
        add("does", &quoted(self.kind.verb()));
        add("stream", &quoted(&self.stream));
        add("device", &self.device.to_string());
        if let Some(node) = self.node {
            add("piece", &node.to_string());
        }
        if let Some(site) = &self.site {
            add("line", &site.line.to_string());
            add("instruction", &quoted(&site.instruction));
            if let Some(source) = &site.source {
                add("source", &quoted(source));
            }
            add("block", &format!("{:?}", site.block));
            add("thread", &format!("{:?}", site.thread));
        }
        text + "}"
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = (&self.first, &self.second);
        let side =
            |side: &Side| format!("{} in {} {} the same bytes", side.work(), side.stream, side.kind.verb());
        writeln!(
            f,
            "race: {}, {}, and nothing orders the two",
            side(first),
            side(second).replace(" the same bytes", " them")
        )?;
        writeln!(f, "    {}", self.bytes())?;
        writeln!(f, "    first:  {first}")?;
        writeln!(f, "    second: {second}")?;
        write!(f, "    order:  {}", self.advice())
    }
}

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        let _ = match character {
            '"' | '\\' => write!(quoted, "\\{character}"),
            control if control < ' ' => write!(quoted, "\\u{:04x}", u32::from(control)),
            other => write!(quoted, "{other}"),
        };
    }
    quoted + "\""
}
