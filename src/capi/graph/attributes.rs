//! Attributes of kernel nodes.
//!
//! @header cushim.h
//! @task change graphs

use super::definition::cushim_node;
use super::named::node_of;
use crate::capi::driver_types::CUlaunchAttributeID;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::enter;
use crate::capi::input::given;
use crate::capi::kernel::cushim_launch_attribute;
use crate::capi::out;

/// Returns an attribute of a kernel node, as the driver has it (`cuGraphKernelNodeGetAttribute`). One that was not
/// set has the driver's default, or what the stream had in which the launch was captured. Execs keep the attributes
/// that their nodes had when they were instantiated.
///
/// @param[in] node The node.
/// @param[in, enum(CUlaunchAttributeID), example(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)] id Which attribute.
/// @param[out] attribute Receives the number and the value.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUDA_ERROR_INVALID_VALUE` (1) for an
///   attribute that kernel nodes do not have, or not on this driver.
/// @driver any
///
/// # Safety
/// `attribute` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_get_attribute(
    node: cushim_node,
    id: i32,
    attribute: *mut cushim_launch_attribute,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `attribute`.
        let attribute = unsafe { out::cleared(attribute, cushim_launch_attribute::NONE, "attribute") }?;
        let guard = enter()?;
        let value = node_of(&guard, node)?.attribute(CUlaunchAttributeID(id))?;
        *attribute = cushim_launch_attribute { id, reserved: 0, value };
        Ok(())
    })
}

/// Sets an attribute of a kernel node (`cuGraphKernelNodeSetAttribute`); the others, and what the node runs, stay.
/// The change does not reach execs that exist, which keep their attributes.
///
/// @param[in] node The node.
/// @param[in] attribute The number and the value. What it names is good whenever the graph is launched.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type; `CUDA_ERROR_INVALID_VALUE` (1) for an
///   attribute that kernel nodes do not have, or not on this driver, and for a value that the device does not take.
///   If it fails, the node is as it was.
/// @driver any
///
/// # Safety
/// `attribute` is NULL or valid for reads, and its value one of that attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_set_attribute(
    node: cushim_node,
    attribute: *const cushim_launch_attribute,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let (id, value) = unsafe { given(attribute, "attribute") }?.checked()?;
        let guard = enter()?;
        let node = node_of(&guard, node)?;
        // SAFETY: as above.
        unsafe { node.set_attribute(CUlaunchAttributeID(id), value) }
    })
}

/// Sets all attributes of a kernel node to those of another one (`cuGraphKernelNodeCopyAttributes`). Otherwise as
/// `cushim_node_set_attribute`.
///
/// @param[in] node The node.
/// @param[in] source The other node, of any graph.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a node of another type, and for a `source` that is
///   device-updatable.
/// @driver any
///
/// # Safety
/// What the attributes of `source` name is good whenever the graph is launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_node_copy_attributes(
    node: cushim_node,
    source: cushim_node,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        let (node, source) = (node_of(&guard, node)?, node_of(&guard, source)?);
        // SAFETY: the caller vouches for what they name.
        unsafe { node.copy_attributes(&source) }
    })
}
