//! What a node of an exec may do instead of what it does. An exec is made for certain contexts and kinds of memory, which
//! stay.

use super::Leaf;
use super::copy::CopyNode;
use super::fill::FillNode;
use super::kernel::KernelNode;
use super::values::ValuesNode;
use crate::abi::sys::{
    CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
    CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
    CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, CUgraphExecUpdateResult,
};
use crate::driver::memory::span::{Place, Source, Span};
use crate::driver::operation::copy::Side;
use crate::driver::peer::reaches;

/// Why a node cannot do something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    Type,
    Function,
    Parameters,
    Attributes,
    /// A conditional node cannot become another one.
    Condition,
}

impl Refused {
    /// As an update of a whole exec tells it.
    pub(crate) fn result(self) -> CUgraphExecUpdateResult {
        match self {
            Self::Type => CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
            Self::Function => CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
            Self::Parameters => CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
            Self::Attributes => CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
            Self::Condition => CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
        }
    }
}

/// Refuses what a node cannot do instead. Where kernels have priorities of their own, these stay (documented).
pub(crate) fn check(old: &Leaf, new: &Leaf, own_priorities: bool) -> Result<(), Refused> {
    if old.kind() != new.kind() {
        return Err(Refused::Type);
    }
    match (old, new) {
        (Leaf::Kernel(old), Leaf::Kernel(new)) => check_kernel(old, new, own_priorities),
        (Leaf::Copy(old), Leaf::Copy(new)) => demand(fits_copy(old, new)),
        (Leaf::Fill(old), Leaf::Fill(new)) => demand(fits_fill(old, new)),
        (Leaf::Values(old), Leaf::Values(new)) => demand(fits_values(old, new)),
        // Of another context's event nothing can come (measured).
        (Leaf::Record(old), Leaf::Record(new)) => {
            demand(old.event.context().id() == new.event.context().id())
        }
        (Leaf::Alloc(old), Leaf::Alloc(new)) => demand(old.fits(new)),
        _ => Ok(()),
    }
}

fn demand(fits: bool) -> Result<(), Refused> {
    if fits { Ok(()) } else { Err(Refused::Parameters) }
}

/// Any function of the context's will do (measured).
fn check_kernel(old: &KernelNode, new: &KernelNode, own_priorities: bool) -> Result<(), Refused> {
    if old.context.id() != new.context.id() {
        return Err(Refused::Function);
    }
    let moves = old.attributes.priority() != new.attributes.priority();
    if old.launch.shape.cooperative != new.launch.shape.cooperative || own_priorities && moves {
        return Err(Refused::Attributes);
    }
    Ok(())
}

/// Addresses, values and what is waited for can be others, the operations not (documented).
fn fits_values(old: &ValuesNode, new: &ValuesNode) -> bool {
    old.context.id() == new.context.id() && old.kinds().eq(new.kinds())
}

/// Copies of one row can have others instead, those of more rows only themselves (measured).
fn fits_copy(old: &CopyNode, new: &CopyNode) -> bool {
    if old.is_one_row() != new.is_one_row() {
        return false;
    }
    let (from, to) = ((&old.copy.from, &new.copy.from), (&old.copy.to, &new.copy.to));
    if !old.is_one_row() {
        return old.copy.is(&new.copy);
    }
    if old.sees_no_pool != new.sees_no_pool {
        return false;
    }
    let stays = |(old, new): (&Side, &Side)| old.span.device() == new.span.device();
    let (source, copied) = from;
    fits(from)
        && fits(to)
        && stays(from)
        && keeps_context(&source.span, &copied.span)
        && (stays(to) || is_open(to))
}

/// Whether memory of the one context stands for memory of the other where it may not move: only its own does (measured). Memory of pools and
/// of graphs is no context's, nor is virtual memory (measured of memset nodes).
fn keeps_context(old: &Span, new: &Span) -> bool {
    let plain =
        |span: &Span| span.place() == Place::Device && span.source() == Source::Plain && !span.is_virtual();
    match (old.owner(), new.owner()) {
        (Some(before), Some(after)) if plain(old) && plain(new) => before.id() == after.id(),
        _ => true,
    }
}

/// Whether memory of the one kind stands for memory of the other.
fn fits((old, new): (&Side, &Side)) -> bool {
    old.end.kind == new.end.kind && old.span.source() == new.span.source()
}

/// Between devices that reach each other's memory the destination can move (measured).
fn is_open((old, new): (&Side, &Side)) -> bool {
    match (old.span.owner(), new.span.owner()) {
        (Some(old), Some(new)) => reaches(old, new) && reaches(new, old),
        _ => false,
    }
}

/// One row can become another one; of more rows only the place and the value can be others (measured).
fn fits_fill(old: &FillNode, new: &FillNode) -> bool {
    if old.fill.span.device() != new.fill.span.device() || !keeps_context(&old.fill.span, &new.fill.span) {
        return false;
    }
    let (old, new) = (&old.params, &new.params);
    if old.height == 1 || new.height == 1 {
        return old.height == new.height;
    }
    (old.width, old.height, old.pitch, old.elementSize) == (new.width, new.height, new.pitch, new.elementSize)
}
