//! A graph as JSON: what other programs draw pictures from, and compare.

use super::definition::{State, Tree};
use super::edges::EdgeData;
use super::ids::{GraphId, NodeId};
use super::kind::GraphKind;
use super::{Graph, foreign, read};
use crate::driver::file;
use crate::object::error::{Error, Status};
use crate::object::setters::setters;
use crate::op::node::{KeptMemory, Parameters};
use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// What stands in the text besides nodes and edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JsonOptions {
    /// Leave addresses out: two programs that build the same graph then write the same text.
    pub without_addresses: bool,
}

setters!(JsonOptions { without_addresses: bool });

impl Graph {
    /// The graph as JSON, with all graphs below it: nodes with what they do, and edges.
    ///
    /// ```json
    /// {"kind": "root", "label": null,
    ///  "nodes": [{"number": 0, "type": "memset", "label": "clear", …}, …],
    ///  "edges": [{"from": 0, "to": 1, "from_port": 0, "to_port": 0, "type": 0}]}
    /// ```
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the graph was removed; the driver's.
    pub fn to_json(&self, options: JsonOptions) -> Result<String, Error> {
        let mut state = self.lock()?;
        let mut writer = Writer { tree: &self.definition.tree, options, text: String::new() };
        writer.graph(&mut state, self.object.id, 0)?;
        writer.text.push('\n');
        Ok(writer.text)
    }

    /// Writes it to a file ([`to_json`](Self::to_json)).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the file cannot be written; those of [`to_json`](Self::to_json).
    pub fn write_json(&self, path: &Path, options: JsonOptions) -> Result<(), Error> {
        let text = self.to_json(options)?;
        let written = file::keep_pipe(path).and_then(|_pipe| std::fs::write(path, text));
        written.map_err(|error| {
            let refusal = format!("the file {} cannot be written: {error}", path.display());
            Error::new(Status::INVALID_ARGUMENT, refusal).about(self.object.as_ref())
        })
    }
}

struct Writer<'a> {
    tree: &'a Arc<Tree>,
    options: JsonOptions,
    text: String,
}

impl Writer<'_> {
    fn graph(&mut self, state: &mut State, graph: GraphId, depth: usize) -> Result<(), Error> {
        let object = Arc::clone(&state.graph(graph).object);
        let nodes = foreign::list(self.tree, state, graph)?;
        let (kind, label) = (kind(object.kind), Text(object.header().label().as_deref()).to_string());
        self.line(depth, &format!("{{\"kind\": {kind}, \"label\": {label}, \"nodes\": ["));
        for (index, id) in nodes.iter().enumerate() {
            self.node(state, *id, depth + 1)?;
            self.text.push_str(if index + 1 < nodes.len() { "," } else { "" });
        }
        self.line(depth, "], \"edges\": [");
        self.edges(state, graph, depth + 1)?;
        self.line(depth, "]}");
        Ok(())
    }

    fn edges(&mut self, state: &mut State, graph: GraphId, depth: usize) -> Result<(), Error> {
        let known = state.graph(graph);
        let raw = known.native.edges().map_err(|error| self.tree.failed(error, known.object.as_ref()))?;
        let mut is_first = true;
        for edge in raw {
            let (from, to) = (
                foreign::known(self.tree, state, graph, edge.from)?,
                foreign::known(self.tree, state, graph, edge.to)?,
            );
            let EdgeData { from_port, to_port, kind } = EdgeData::of(&edge.data);
            self.text.push_str(if is_first { "" } else { "," });
            is_first = false;
            let (from, to) = (state.node(from).number, state.node(to).number);
            self.line(depth, &format!(
                "{{\"from\": {from}, \"to\": {to}, \"from_port\": {from_port}, \"to_port\": {to_port}, \"type\": {kind}}}"
            ));
        }
        Ok(())
    }

    fn node(&mut self, state: &mut State, id: NodeId, depth: usize) -> Result<(), Error> {
        let node = state.node(id);
        let label = state.label_of(node);
        let mut line = String::from("{");
        let mut fields = Fields { text: &mut line, with_addresses: !self.options.without_addresses };
        fields.number("number", node.number.into());
        fields.text("type", Some(&state.node_type(id).to_string()));
        fields.text("label", label.as_deref());
        if let Some(kind) = node.inner.kind() {
            fields.text("conditional", Some(&format!("{kind:?}").to_lowercase()));
        }
        let told = read::with_parameters(self.tree, state, id, |parameters| fields.parameters(parameters));
        told.map_err(|error| self.tree.failed(error, state.graph(node.graph).object.as_ref()))?;
        let inner = node.inner.to_vec();
        self.line(depth, &line);
        if !inner.is_empty() {
            self.text.push_str(", \"graphs\": [");
            for (index, graph) in inner.iter().enumerate() {
                self.graph(state, *graph, depth + 1)?;
                self.text.push_str(if index + 1 < inner.len() { "," } else { "]" });
            }
        }
        self.text.push('}');
        Ok(())
    }

    fn line(&mut self, depth: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.extend(std::iter::repeat_n(' ', depth));
        self.text.push_str(text);
    }
}

fn kind(kind: GraphKind) -> String {
    match kind {
        GraphKind::Root => "\"root\"".to_owned(),
        GraphKind::Child => "\"child\"".to_owned(),
        GraphKind::Body(index) => format!("\"body {index}\""),
    }
}

/// Fields of an object.
struct Fields<'a> {
    text: &'a mut String,
    with_addresses: bool,
}

impl Fields<'_> {
    fn raw(&mut self, name: &str, value: &str) {
        let comma = if self.text.ends_with('{') { "" } else { ", " };
        self.text.push_str(&format!("{comma}\"{name}\": {value}"));
    }

    fn number(&mut self, name: &str, value: u64) {
        self.raw(name, &value.to_string());
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        self.raw(name, &Text(value).to_string());
    }

    fn memory(&mut self, name: &str, memory: &KeptMemory) {
        self.address(name, memory.address());
    }

    fn address(&mut self, name: &str, address: u64) {
        if self.with_addresses {
            self.text(name, Some(&format!("{address:#x}")));
        }
    }

    fn parameters(&mut self, parameters: &Parameters) {
        match parameters {
            Parameters::Kernel(kernel) => {
                let object = kernel.kernel();
                self.text("kernel", object.as_ref().map(|kernel| kernel.name()));
                self.raw("grid", &format!("{:?}", kernel.grid()));
                self.raw("block", &format!("{:?}", kernel.block()));
                self.number("shared", kernel.shared().into());
                self.number("arguments", kernel.arguments().len() as u64);
            }
            Parameters::Copy(copy) => {
                let raw = copy.raw();
                self.memory("to", copy.to());
                self.memory("from", copy.from());
                self.raw("extent", &format!("[{}, {}, {}]", raw.WidthInBytes, raw.Height, raw.Depth));
            }
            Parameters::Memset(memset) => {
                let raw = memset.raw();
                self.memory("to", memset.at());
                self.number("value", raw.value.into());
                self.number("value_size", raw.elementSize.into());
                self.raw("extent", &format!("[{}, {}]", raw.width, raw.height));
            }
            Parameters::Allocation(allocation) => {
                self.number("bytes", allocation.bytes() as u64);
                self.text("location", Some(&allocation.location().to_string()));
                self.address("pointer", allocation.pointer().0);
            }
            Parameters::Free(pointer) => self.address("pointer", pointer.0),
            Parameters::EventRecord(event) | Parameters::EventWait(event) => {
                let event = event.event();
                self.text("event", event.and_then(|event| event.label()).as_deref());
            }
            Parameters::MemoryOperations(operations) => {
                self.number("operations", operations.raw().len() as u64)
            }
            Parameters::HostFunction(_) | Parameters::Plain(_) => {}
        }
    }
}

/// A string of JSON, or null.
struct Text<'a>(Option<&'a str>);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(text) = self.0 else { return f.write_str("null") };
        f.write_char('"')?;
        for character in text.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                character if character < ' ' => write!(f, "\\u{:04x}", u32::from(character))?,
                character => f.write_char(character)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(Text(Some("a \"b\"\\\n\u{1}é")).to_string(), "\"a \\\"b\\\"\\\\\\u000a\\u0001é\"");
        assert_eq!(Text(None).to_string(), "null");
    }
}
