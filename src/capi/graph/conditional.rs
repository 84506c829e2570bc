//! Conditions, and the nodes that look at them.
//!
//! @header cushim.h
//! @task build graphs

use super::after::{Where, add_to};
use super::definition::{cushim_condition, cushim_graph, cushim_node, invalid};
use super::named::node_of;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, borrowed, enter_anywhere, get};
use crate::capi::{options, out};
use crate::graph::{Condition, ConditionOptions, ConditionalKind, Graph};
use crate::object::error::Error;
use crate::object::handle;

/// How a conditional node decides.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_conditional_kind {
    /// Runs its body if the value is not 0.
    CUSHIM_CONDITIONAL_IF = 1,
    /// Runs its first body if the value is not 0, and otherwise the second. CUDA 12.8.
    CUSHIM_CONDITIONAL_IF_ELSE = 2,
    /// Runs its body as long as the value is not 0.
    CUSHIM_CONDITIONAL_WHILE = 3,
    /// Runs the body whose number is the value; none if there is no such body. CUDA 12.8.
    CUSHIM_CONDITIONAL_SWITCH = 4,
}

fn kind(number: i32) -> Result<ConditionalKind, Error> {
    Ok(match number {
        n if n == cushim_conditional_kind::CUSHIM_CONDITIONAL_IF as i32 => ConditionalKind::If,
        n if n == cushim_conditional_kind::CUSHIM_CONDITIONAL_IF_ELSE as i32 => ConditionalKind::IfElse,
        n if n == cushim_conditional_kind::CUSHIM_CONDITIONAL_WHILE as i32 => ConditionalKind::While,
        n if n == cushim_conditional_kind::CUSHIM_CONDITIONAL_SWITCH as i32 => ConditionalKind::Switch,
        _ => return Err(invalid(format!("kind is {number}; use a cushim_conditional_kind, 1 to 4"))),
    })
}

/// The kind, and the place of its bodies, cleared. Nothing is written if the kind has another number of bodies, since
/// the place may be for as many as it has; of a kind that there is not the first is cleared.
///
/// # Safety
/// As for [`out::array`], if the kind has so many bodies.
pub(super) unsafe fn kind_and_bodies<'a, T>(
    kind: i32,
    first: *mut *mut T,
    count: usize,
) -> Result<(ConditionalKind, &'a mut [*mut T]), Error> {
    let known = self::kind(kind);
    if let Ok(known) = &known {
        known.check_bodies(count)?;
    }
    let count = if known.is_ok() { count } else { count.min(1) };
    // SAFETY: as the caller vouches.
    let bodies = unsafe { out::array(first, count, std::ptr::null_mut(), "bodies") };
    out::both(known, bodies)
}

fn number(kind: ConditionalKind) -> i32 {
    (match kind {
        ConditionalKind::If => cushim_conditional_kind::CUSHIM_CONDITIONAL_IF,
        ConditionalKind::IfElse => cushim_conditional_kind::CUSHIM_CONDITIONAL_IF_ELSE,
        ConditionalKind::While => cushim_conditional_kind::CUSHIM_CONDITIONAL_WHILE,
        ConditionalKind::Switch => cushim_conditional_kind::CUSHIM_CONDITIONAL_SWITCH,
    }) as i32
}

/// Flags of a condition.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_condition_flags {
    /// Each launch starts with the initial value (`CU_GRAPH_COND_ASSIGN_DEFAULT`), not with the value that the launch
    /// before left.
    CUSHIM_CONDITION_RESET = 1,
}

const RESET: u32 = cushim_condition_flags::CUSHIM_CONDITION_RESET as u32;

/// Options of `cushim_condition_create`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_condition_options {
    /// Bytes of this struct, `sizeof(cushim_condition_options)`.
    pub struct_size: usize,
    /// The value at the start; with `CUSHIM_CONDITION_RESET` of each launch. Without it no launch assigns a value:
    /// the first kernel that sets the condition must run before the conditional node.
    pub initial: u32,
    /// @field[flags(cushim_condition_flags)] Flags.
    pub flags: u32,
}

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names.
pub(super) unsafe fn given_condition(
    options: *const cushim_condition_options,
) -> Result<ConditionOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_flags(given.flags, RESET)?;
    let mut options = ConditionOptions::default();
    (options.initial, options.reset) = (given.initial, given.flags & RESET != 0);
    Ok(options)
}

/// Creates a condition of a graph (`cuGraphConditionalHandleCreate`): one conditional node looks at it, and kernels
/// of the graph set it. In the driver it exists from its first use on. It ends with its graph.
///
/// @param[in] graph The graph; conditional nodes in its bodies may look at the condition, too.
/// @param[in, nullable] options The options.
/// @param[out, borrowed] condition The condition.
/// @driver 12.3
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names; `condition` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_condition_create(
    graph: cushim_graph,
    options: *const cushim_condition_options,
    condition: *mut cushim_condition,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `condition`.
        let condition = unsafe { out::cleared(condition, std::ptr::null_mut(), "condition") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { given_condition(options) }?;
        let guard = handles::enter()?;
        let graph = Graph::of(&*get(&guard, graph)?)?;
        handle::room(1)?;
        let created = graph.create_condition(&options)?;
        *condition = borrowed(created.object())?;
        Ok(())
    })
}

/// Returns the number by which kernels set a condition (`cudaGraphSetConditional`). The condition exists in the
/// driver from now on.
///
/// As an argument of a kernel, pass the handle of the condition (`CUSHIM_ARG_CONDITION`). A kernel may also get the
/// number as bytes, inside a struct, or in a packed block; cushim then does not know that the kernel sets the
/// condition. The driver numbers the conditions of each graph from 1, so a number cannot be told from other values.
/// What is refused of a condition argument is then up to you: a kernel must not set a condition of another graph, one
/// that no node used when the exec was instantiated, or, after `cushim_exec_set_child`, one that the exec does not
/// have. Such a launch sets a condition that happens to have the same number, or corrupts the context.
///
/// @param[in] condition The condition.
/// @param[out] native The number, a `CUgraphConditionalHandle`.
/// @driver 12.3
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_condition_native(
    condition: cushim_condition,
    native: *mut u64,
) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::ask(condition, native, "native", |condition| Condition::of(condition)?.native()) }
}

/// Adds a conditional node, with empty bodies, which are filled like any other graph. Bodies hold kernel, memset,
/// copy, empty, child graph and conditional nodes; copies of arrays and of host memory that is not page-locked are
/// refused, and so is what runs in another context.
///
/// @param[in] graph The graph.
/// @param[in, array(after_count), nullable_if_zero(after_count)] after The nodes that the new one comes after.
/// @param[in] after_count The number of nodes; 0: it starts when the graph is launched.
/// @param[in] condition The condition: of this graph, or of one around it, and of no other conditional node.
/// @param[in, enum(cushim_conditional_kind)] kind How the node decides.
/// @param[in, example(1)] body_count The number of bodies: of an IF and a WHILE 1, of an IF_ELSE 2, of a SWITCH at
///   least 1.
/// @param[out, borrowed, nullable] node The node.
/// @param[out, borrowed, array(body_count), nullable_if_zero(body_count)] bodies Receives the bodies.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another graph, for a condition of another graph or
///   with a node, and for a number of bodies that the kind does not have; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver 12.3
///
/// # Safety
/// `after` is NULL or valid for reads of `after_count` handles; `node` is NULL or valid for writes; `bodies` is valid
/// for writes of `body_count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graph_add_conditional(
    graph: cushim_graph,
    after: *const cushim_node,
    after_count: usize,
    condition: cushim_condition,
    kind: i32,
    body_count: usize,
    node: *mut cushim_node,
    bodies: *mut cushim_graph,
) -> cushim_status {
    // SAFETY: the caller vouches for both.
    let at = unsafe { Where::cleared(graph, after, after_count, node) };
    call(|| {
        // SAFETY: as above.
        let (kind, bodies) = unsafe { kind_and_bodies(kind, bodies, body_count) }?;
        handle::room(body_count)?;
        // It may be the last hold by then, and goes when the graph is not locked any more.
        let mut held = None;
        // SAFETY: the caller vouches for `after` and `node`.
        let graphs = unsafe {
            add_to(
                at,
                |guard, graph, after| {
                    let condition = &*held.insert(Condition::of(&*get(guard, condition)?)?);
                    graph.add_conditional_after(after, condition, kind, body_count)
                },
                |added| added.graphs(),
            )
        }?;
        for (place, body) in bodies.iter_mut().zip(graphs) {
            *place = borrowed(&body)?;
        }
        Ok(())
    })
}

/// Returns the condition that a conditional node looks at, and how it decides.
///
/// @param[in] node The node.
/// @param[out, borrowed] condition The condition; NULL for a node that was added elsewhere, before CUDA 13.2.
/// @param[out, nullable, enum(cushim_conditional_kind)] kind How it decides; 0 for such a node.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type.
///
/// # Safety
/// `condition` is NULL or valid for writes, and so is `kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_condition(
    node: cushim_node,
    condition: *mut cushim_condition,
    kind: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (condition, kind) = unsafe {
            out::both(
                out::cleared(condition, std::ptr::null_mut(), "condition"),
                out::cleared_if_given(kind, 0, "kind"),
            )
        }?;
        let guard = enter_anywhere()?;
        let node = node_of(&guard, node)?;
        node.check_type(crate::op::node::NodeType::Conditional)?;
        if let Some((found, how)) = node.conditional()? {
            *condition = borrowed(found.object())?;
            out::put(kind, number(how));
        }
        Ok(())
    })
}
