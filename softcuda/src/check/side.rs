//! A piece of work and what it does to memory, as a report shows it.

use super::access::{Kind, Op, Site};
use super::json::quoted;
use super::streams::HOST;
use std::fmt::{self, Display, Write as _};
use std::sync::Arc;

/// One side of a report.
pub(super) struct Side {
    /// In the order of the calls, from 1.
    pub(super) operation: u64,
    call: &'static str,
    what: &'static str,
    kernel: String,
    pub(super) stream: Arc<str>,
    /// Whether it is no stream's.
    is_host: bool,
    pub(super) node: Option<u32>,
    device: usize,
    kind: Kind,
    site: Option<Site>,
}

impl Side {
    pub(super) fn new(op: &Op, kind: Kind, site: Option<Site>) -> Self {
        let described = &op.described;
        Self {
            operation: op.number,
            call: op.call,
            what: described.what,
            kernel: described.kernel.clone(),
            stream: Arc::clone(&op.stream),
            is_host: described.stream == HOST,
            node: described.node,
            device: described.device,
            kind,
            site,
        }
    }

    /// The work, in a few words that are the same for each time that a program comes by.
    pub(super) fn place(&self) -> String {
        let mut text = match &self.site {
            Some(site) => format!("kernel {} line {}", self.kernel, site.line),
            None if self.kernel.is_empty() => format!("{} {}", self.call, self.what),
            None => format!("kernel {}", self.kernel),
        };
        if let Some(node) = self.node {
            let _ = write!(text, " node {node}");
        }
        text + " " + self.kind.verb()
    }

    pub(super) fn work(&self) -> String {
        if self.kernel.is_empty() { self.what.to_owned() } else { format!("kernel {}", self.kernel) }
    }

    /// Who has done it.
    pub(super) fn whose(&self) -> String {
        if self.is_host { "by the host".to_owned() } else { format!("in {}", self.stream) }
    }

    pub(super) fn verb(&self) -> &'static str {
        self.kind.verb()
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (work, verb) = (self.work(), self.kind.verb());
        write!(f, "operation {} ({}", self.operation, self.call)?;
        if let Some(node) = self.node {
            write!(f, ", piece {node} of the graph")?;
        }
        write!(f, ") {}, device {}: {work} {verb}", self.whose(), self.device)?;
        let Some(site) = &self.site else { return Ok(()) };
        write!(f, " at line {} of the PTX ({}", site.line, site.instruction)?;
        if let Some(source) = &site.source {
            write!(f, ", {source}")?;
        }
        let ([bx, by, bz], [tx, ty, tz]) = (site.block, site.thread);
        write!(f, "), block ({bx},{by},{bz}), thread ({tx},{ty},{tz})")
    }
}

impl Side {
    /// A value of JSON.
    pub(super) fn json(&self) -> String {
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
