//! What a pool tells of itself, and is told.

use super::Resource;
use super::pool::Pool;
use crate::driver::sys;
use crate::object::error::{Error, Status};

/// An attribute of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolAttribute {
    /// Whether memory is used again that another stream freed, if an event orders the two. 0 or 1.
    ReuseFollowEventDependencies,
    /// Whether memory is used again that another stream freed, if the driver finds that the free is done. 0 or 1.
    ReuseAllowOpportunistic,
    /// Whether the driver may make a stream wait for another's free to use its memory again. 0 or 1.
    ReuseAllowInternalDependencies,
    /// Bytes that the pool keeps when a stream, event or context is synchronised; more goes back to the system. 0 at first.
    ReleaseThreshold,
    /// Bytes that the pool has from the system. Read only.
    ReservedCurrent,
    /// The most that it ever had. Can be set to 0, which starts anew.
    ReservedHigh,
    /// Bytes that are allocated from the pool. Read only.
    UsedCurrent,
    /// The most that ever were. Can be set to 0, which starts anew.
    UsedHigh,
    /// What kind of memory it has: 1 for pinned, 2 for managed memory. Read only, since driver 13.2, and so are all that follow.
    AllocationType,
    /// How other processes may take part: `CU_MEM_HANDLE_TYPE_*`, combined.
    HandleTypes,
    /// The number of the device or NUMA node where the memory is.
    LocationId,
    /// What the place is, as the driver numbers [locations](crate::Location::kind).
    LocationKind,
    /// Bytes that it hands out at most; 0 for no limit.
    MaxSize,
    /// Whether its memory is for decompression by hardware. 0 or 1.
    HardwareDecompression,
}

impl PoolAttribute {
    /// All of them, in the order of the driver's numbers, which start at 1.
    pub const ALL: [Self; 14] = [
        Self::ReuseFollowEventDependencies,
        Self::ReuseAllowOpportunistic,
        Self::ReuseAllowInternalDependencies,
        Self::ReleaseThreshold,
        Self::ReservedCurrent,
        Self::ReservedHigh,
        Self::UsedCurrent,
        Self::UsedHigh,
        Self::AllocationType,
        Self::HandleTypes,
        Self::LocationId,
        Self::LocationKind,
        Self::MaxSize,
        Self::HardwareDecompression,
    ];

    /// The first version whose pools tell what they are.
    const TOLD_SINCE: u32 = 13020;

    /// Whether it says what the pool is, which never changes.
    fn is_told_late(self) -> bool {
        self.native().0 >= sys::CU_MEMPOOL_ATTR_ALLOCATION_TYPE.0
    }

    fn native(self) -> sys::CUmemPool_attribute {
        match self {
            Self::ReuseFollowEventDependencies => sys::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
            Self::ReuseAllowOpportunistic => sys::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
            Self::ReuseAllowInternalDependencies => sys::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
            Self::ReleaseThreshold => sys::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            Self::ReservedCurrent => sys::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
            Self::ReservedHigh => sys::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
            Self::UsedCurrent => sys::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
            Self::UsedHigh => sys::CU_MEMPOOL_ATTR_USED_MEM_HIGH,
            Self::AllocationType => sys::CU_MEMPOOL_ATTR_ALLOCATION_TYPE,
            Self::HandleTypes => sys::CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES,
            Self::LocationId => sys::CU_MEMPOOL_ATTR_LOCATION_ID,
            Self::LocationKind => sys::CU_MEMPOOL_ATTR_LOCATION_TYPE,
            Self::MaxSize => sys::CU_MEMPOOL_ATTR_MAX_POOL_SIZE,
            Self::HardwareDecompression => sys::CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED,
        }
    }

    /// What it is called in C.
    fn name(self) -> &'static str {
        match self {
            Self::ReuseFollowEventDependencies => "CUSHIM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES",
            Self::ReuseAllowOpportunistic => "CUSHIM_POOL_REUSE_ALLOW_OPPORTUNISTIC",
            Self::ReuseAllowInternalDependencies => "CUSHIM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES",
            Self::ReleaseThreshold => "CUSHIM_POOL_RELEASE_THRESHOLD",
            Self::ReservedCurrent => "CUSHIM_POOL_RESERVED_CURRENT",
            Self::ReservedHigh => "CUSHIM_POOL_RESERVED_HIGH",
            Self::UsedCurrent => "CUSHIM_POOL_USED_CURRENT",
            Self::UsedHigh => "CUSHIM_POOL_USED_HIGH",
            Self::AllocationType => "CUSHIM_POOL_ALLOCATION_TYPE",
            Self::HandleTypes => "CUSHIM_POOL_HANDLE_TYPES",
            Self::LocationId => "CUSHIM_POOL_LOCATION_ID",
            Self::LocationKind => "CUSHIM_POOL_LOCATION_KIND",
            Self::MaxSize => "CUSHIM_POOL_MAX_SIZE",
            Self::HardwareDecompression => "CUSHIM_POOL_HARDWARE_DECOMPRESSION",
        }
    }

    /// Refuses a value that the attribute cannot have.
    fn check(self, value: u64) -> Result<(), Error> {
        let refusal = match self {
            Self::ReservedCurrent | Self::UsedCurrent => "it can only be read",
            late if late.is_told_late() => "it can only be read",
            Self::ReservedHigh | Self::UsedHigh if value != 0 => {
                "it can only be set to 0, which starts it anew"
            }
            Self::ReuseFollowEventDependencies
            | Self::ReuseAllowOpportunistic
            | Self::ReuseAllowInternalDependencies
                if value > 1 =>
            {
                "it is 0 or 1"
            }
            _ => return Ok(()),
        };
        Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!("{} cannot be set to {value}: {refusal}", self.name()),
        ))
    }
}

impl Resource {
    /// The pool, if this process has made it.
    fn own_pool(&self) -> Result<&Pool, Error> {
        let pool = self.pool()?;
        if pool.imported().is_none() {
            return Ok(pool);
        }
        let refusal =
            format!("{self} was imported; only the process that created it can query, set and trim it");
        Err(Error::new(Status::UNSUPPORTED, refusal).about(self))
    }

    /// An attribute of the pool, as the driver says now.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is no pool, or one of another process, and for an attribute that the driver is too old for;
    /// the driver's.
    pub fn attribute(&self, attribute: PoolAttribute) -> Result<u64, Error> {
        let pool = self.own_pool()?;
        let version = self.driver().version().map_or(0, |version| version.number());
        if attribute.is_told_late() && version < PoolAttribute::TOLD_SINCE {
            let refusal = format!(
                "pools tell {} since CUDA 13.2, and this driver is older; what this process created it knows itself",
                attribute.name()
            );
            let failure = Error::new(Status::UNSUPPORTED, refusal).about(self);
            return Err(failure.with_function("cuMemPoolGetAttribute", 11020));
        }
        pool.raw().attribute(attribute.native()).map_err(|error| self.failed(error))
    }

    /// Sets an attribute of the pool, for all its users.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is no pool, or one of another process; [`Status::INVALID_ARGUMENT`] for a value that the attribute cannot have; the driver's.
    pub fn set_attribute(&self, attribute: PoolAttribute, value: u64) -> Result<(), Error> {
        let pool = self.own_pool()?;
        attribute.check(value).map_err(|error| error.about(self))?;
        pool.raw().set_attribute(attribute.native(), value).map_err(|error| self.failed(error))
    }

    /// Gives what the pool has and nobody uses back to the system, but for so many bytes.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is no pool, or one of another process; the driver's.
    pub fn trim(&self, keep: usize) -> Result<(), Error> {
        self.own_pool()?.raw().trim(keep).map_err(|error| self.failed(error))
    }
}
