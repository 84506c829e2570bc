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
}

impl PoolAttribute {
    /// All of them, in the order of the driver's numbers, which start at 1.
    pub const ALL: [Self; 8] = [
        Self::ReuseFollowEventDependencies,
        Self::ReuseAllowOpportunistic,
        Self::ReuseAllowInternalDependencies,
        Self::ReleaseThreshold,
        Self::ReservedCurrent,
        Self::ReservedHigh,
        Self::UsedCurrent,
        Self::UsedHigh,
    ];

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
        }
    }

    /// Refuses a value that the attribute cannot have.
    fn check(self, value: u64) -> Result<(), Error> {
        let refusal = match self {
            Self::ReservedCurrent | Self::UsedCurrent => "it can only be read",
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
    /// [`Status::UNSUPPORTED`] if the resource is no pool, or one of another process; the driver's.
    pub fn attribute(&self, attribute: PoolAttribute) -> Result<u64, Error> {
        self.own_pool()?.raw().attribute(attribute.native()).map_err(|error| self.failed(error))
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
