//! Where memory is, or should be: on a device, or in a place of the host's.

use crate::device::Device;
use crate::driver::sys;
use crate::object::error::{Error, Status};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Where memory is, or should be.
///
/// There is one way to write each place, so equal locations are equal byte for byte. What does not follow it is refused by
/// the call that it is given to, before the driver is called.
///
/// ```
/// use cushim::Location;
/// use cushim::driver::sys;
///
/// assert_eq!(Location::device(1).kind(), sys::CU_MEM_LOCATION_TYPE_DEVICE);
/// assert_eq!(Location::host_numa(0).to_string(), "NUMA node 0");
/// assert_ne!(Location::HOST, Location::host_numa(0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Location {
    kind: i32,
    id: i32,
}

impl Location {
    /// No place. Read-back answers it where nothing is set; no call accepts it as the place to go to.
    pub const UNSET: Self = Self { kind: 0, id: 0 };
    /// The host, on whatever NUMA node.
    pub const HOST: Self = Self::new(sys::CU_MEM_LOCATION_TYPE_HOST, 0);
    /// The NUMA node on which the calling thread runs. Known since driver 12.2.
    pub const HOST_NUMA_CURRENT: Self = Self::new(sys::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0);

    /// The device with this ordinal.
    #[must_use]
    pub const fn device(ordinal: i32) -> Self {
        Self::new(sys::CU_MEM_LOCATION_TYPE_DEVICE, ordinal)
    }

    /// A NUMA node of the host, by the number that the operating system gives it. Known since driver 12.2.
    #[must_use]
    pub const fn host_numa(node: i32) -> Self {
        Self::new(sys::CU_MEM_LOCATION_TYPE_HOST_NUMA, node)
    }

    /// A location of any kind, checked where it is used. `id` is the ordinal of a device or the number of a node, and 0 for
    /// kinds that have no number.
    #[must_use]
    pub const fn new(kind: sys::CUmemLocationType, id: i32) -> Self {
        Self { kind: kind.0, id }
    }

    /// What sort of place it is, as the driver numbers them; `CU_MEM_LOCATION_TYPE_INVALID` (0) if it is unset.
    #[must_use]
    pub const fn kind(self) -> sys::CUmemLocationType {
        sys::CUmemLocationType(self.kind)
    }

    /// The ordinal of the device or the number of the node; 0 for other kinds.
    #[must_use]
    pub const fn id(self) -> i32 {
        self.id
    }

    /// Whether it names no place.
    #[must_use]
    pub const fn is_unset(self) -> bool {
        self.kind == 0 && self.id == 0
    }

    /// The same for a kind that comes as a number.
    #[cfg(feature = "capi")]
    pub(crate) const fn from_numbers(kind: i32, id: i32) -> Self {
        Self { kind, id }
    }

    /// The location as the driver tells it, which has several numbers for places that need none.
    pub(crate) fn told((kind, id): (sys::CUmemLocationType, i32)) -> Self {
        match kind {
            sys::CU_MEM_LOCATION_TYPE_DEVICE | sys::CU_MEM_LOCATION_TYPE_HOST_NUMA => Self::new(kind, id),
            _ => Self::new(kind, 0),
        }
    }

    /// The location as the driver takes it.
    pub(crate) fn native(self) -> sys::CUmemLocation {
        sys::CUmemLocation { type_: self.kind(), u4: sys::CUmemLocation_v1_u4 { id: self.id } }
    }

    pub(crate) fn is_device(self) -> bool {
        self.kind() == sys::CU_MEM_LOCATION_TYPE_DEVICE
    }

    /// Refuses what is not written as it should be, or names a device that the driver of this one does not have, or a NUMA
    /// node that this machine does not have.
    #[inline]
    pub(crate) fn check(self, known: &Device) -> Result<(), Error> {
        self.check_form()?;
        match self.kind() {
            sys::CU_MEM_LOCATION_TYPE_DEVICE if self.id != known.ordinal() => {
                Device::get(known.driver(), self.id).map(drop)
            }
            sys::CU_MEM_LOCATION_TYPE_HOST_NUMA if !numa_node_may_exist(self.id) => {
                let refusal = format!("this machine has no NUMA node {}", self.id);
                Err(Error::new(Status::INVALID_ARGUMENT, refusal))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what is not written as it should be.
    fn check_form(self) -> Result<(), Error> {
        let Self { kind, id } = self;
        let refusal = match self.kind() {
            sys::CU_MEM_LOCATION_TYPE_DEVICE if id < 0 => {
                format!("there is no device {id}; for the host there is a kind of its own")
            }
            sys::CU_MEM_LOCATION_TYPE_HOST_NUMA if id < 0 => {
                format!("there is no NUMA node {id}; they are numbered from 0")
            }
            sys::CU_MEM_LOCATION_TYPE_DEVICE | sys::CU_MEM_LOCATION_TYPE_HOST_NUMA => return Ok(()),
            sys::CU_MEM_LOCATION_TYPE_HOST | sys::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => match id {
                0 => return Ok(()),
                _ => format!("{self} has no number, and this one is given {id}; make it 0"),
            },
            _ if self.is_unset() => {
                "no location is named: give a device, the host, a NUMA node or the calling thread's"
                    .to_owned()
            }
            _ => format!(
                "there is no kind {kind} of locations; there are 1 to 4: device, host, NUMA node, the calling thread's"
            ),
        };
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    }
}

/// Whether the machine has a NUMA node of this number, as far as the system tells. Asked before the driver is, which takes
/// the first ranges of a batch before it refuses a node.
fn numa_node_may_exist(node: i32) -> bool {
    /// Nodes that are known to exist, by number.
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let bit = 1_u64.checked_shl(node.cast_unsigned()).unwrap_or(0);
    if KNOWN.load(Relaxed) & bit != 0 {
        return true;
    }
    let nodes = Path::new("/sys/devices/system/node");
    let may_exist = !nodes.exists() || nodes.join(format!("node{node}")).exists();
    if may_exist {
        KNOWN.fetch_or(bit, Relaxed);
    }
    may_exist
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            sys::CU_MEM_LOCATION_TYPE_DEVICE => write!(f, "device {}", self.id),
            sys::CU_MEM_LOCATION_TYPE_HOST => f.write_str("the host"),
            sys::CU_MEM_LOCATION_TYPE_HOST_NUMA => write!(f, "NUMA node {}", self.id),
            sys::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => f.write_str("the calling thread's NUMA node"),
            _ if self.is_unset() => f.write_str("no location"),
            _ => write!(f, "a location of kind {}", self.kind),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_way_to_write_a_place() {
        for good in [
            Location::device(3),
            Location::HOST,
            Location::host_numa(0),
            Location::host_numa(7),
            Location::HOST_NUMA_CURRENT,
        ] {
            good.check_form().expect("it is good");
        }
        for (bad, why) in [
            (Location::UNSET, "no location is named"),
            (Location::device(-1), "no device -1; for the host"),
            (Location::host_numa(-1), "no NUMA node -1"),
            (
                Location::new(sys::CU_MEM_LOCATION_TYPE_HOST, -1),
                "the host has no number, and this one is given -1",
            ),
            (Location::new(sys::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 1), "NUMA node has no number"),
            (Location::new(sys::CU_MEM_LOCATION_TYPE_INVALID, 1), "no kind 0"),
            (Location::new(sys::CUmemLocationType(5), 0), "no kind 5"),
        ] {
            let error = bad.check_form().expect_err(why);
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains(why), "{error}");
        }
    }

    /// Drivers answer with -1, 0 or the number of a node where none is meant.
    #[test]
    fn what_the_driver_tells_is_written_our_way() {
        assert_eq!(Location::told((sys::CU_MEM_LOCATION_TYPE_HOST, -1)), Location::HOST);
        assert_eq!(
            Location::told((sys::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0)),
            Location::HOST_NUMA_CURRENT
        );
        assert_eq!(Location::told((sys::CU_MEM_LOCATION_TYPE_INVALID, -2)), Location::UNSET);
        assert_eq!(Location::told((sys::CU_MEM_LOCATION_TYPE_DEVICE, 1)), Location::device(1));
        assert_eq!(Location::told((sys::CU_MEM_LOCATION_TYPE_HOST_NUMA, 1)), Location::host_numa(1));
    }
}
