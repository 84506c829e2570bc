//! The memory that a device keeps for the allocation nodes of graphs.

use crate::device::Device;
use crate::driver::CallError;
use crate::driver::calls::graph::memory as calls;
use crate::driver::sys::{
    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
    CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
};
use crate::object::error::Error;

/// How much memory the graphs of a device have, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraphMemory {
    /// In use now.
    pub used: u64,
    /// The most that was in use since it was last reset.
    pub used_peak: u64,
    /// Taken from the system now.
    pub reserved: u64,
    /// The most that was taken since it was last reset.
    pub reserved_peak: u64,
}

impl GraphMemory {
    /// That of a device.
    ///
    /// # Errors
    /// The driver's.
    pub fn of(device: &Device) -> Result<Self, Error> {
        let ask = |attribute| {
            calls::attribute(device.driver().object_table(), device.native(), attribute)
                .map_err(|error| device.failed(error))
        };
        Ok(Self {
            used: ask(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT)?,
            used_peak: ask(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)?,
            reserved: ask(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT)?,
            reserved_peak: ask(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)?,
        })
    }

    /// Has both peaks begin anew, from what is there now.
    ///
    /// # Errors
    /// The driver's.
    pub fn reset_peaks(device: &Device) -> Result<(), Error> {
        let table = device.driver().object_table();
        let both = || -> Result<(), CallError> {
            calls::reset(table, device.native(), CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)?;
            calls::reset(table, device.native(), CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        };
        both().map_err(|error| device.failed(error))
    }

    /// Gives what no graph uses back to the system.
    ///
    /// # Errors
    /// The driver's.
    pub fn trim(device: &Device) -> Result<(), Error> {
        let table = device.driver().object_table();
        calls::trim(table, device.native()).map_err(|error| device.failed(error))
    }
}
