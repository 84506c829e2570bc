//! Why the driver refused a copy or a memset: its own answer is one number for everything. What it knows of the memory at
//! each end says which one is to blame. An argument that is wrong by itself, which other calls find out before the driver does, has the
//! status that it has there: the same mistake has the same status everywhere.

use super::peers::are_peers;
use super::standing::{Standing, Use, standing};
use super::{Copy, Copy3d, Endpoint, Side, reach};
use crate::context::Context;
use crate::driver::calls::memory::pool::RawPool;
use crate::driver::{Driver, sys};
use crate::object::error::Error;
use crate::pointer::{DevicePointer, PointerAttributes};

/// Adds to the refusal of a copy which end has no memory, or too little, or is out of the context's reach.
#[cold]
pub(super) fn of_copy(failure: Error, at: &Context, copy: &Copy<'_>) -> Error {
    let failure = explain(blame(failure, || short(at, "", copy.ends())), || denied(at, "", copy.ends()));
    if are_peers(at, &copy.to, &copy.from) {
        return failure;
    }
    explain(failure, || beyond(at, "", copy.to.side(), copy.from.side()))
}

/// The same of a box.
#[cold]
pub(super) fn of_copy_3d(failure: Error, at: &Context, copy: &Copy3d<'_>) -> Error {
    let (to, from): (&Endpoint<'_>, &Endpoint<'_>) = (&copy.to.at, &copy.from.at);
    let reaches = || copy.reaches();
    let failure = explain(blame(failure, || short(at, "", reaches())), || denied(at, "", reaches()));
    if are_peers(at, to, from) {
        return failure;
    }
    explain(failure, || beyond(at, "", to.side(), from.side()))
}

/// Adds to the refusal of a copy node the same. A node copies in one context, and is not helped by what its ends say of theirs.
#[cold]
pub(super) fn of_copy_node(failure: Error, at: &Context, ends: [End; 2]) -> Error {
    explain(blame(failure, || short(at, "", ends)), || {
        let not_copied = |what: &str, end: End| Distant::of(at, end.side)?.not_copied(at, what, "");
        let [to, from] = ends;
        denied(at, "", ends).or_else(|| not_copied("destination", to)).or_else(|| not_copied("source", from))
    })
}

/// The same of a copy between two devices that is captured: it needs access where a stream does not.
#[cold]
pub(super) fn of_captured_copy(
    failure: Error,
    at: &Context,
    to: &Endpoint<'_>,
    from: &Endpoint<'_>,
) -> Error {
    if !are_peers(at, to, from) {
        return failure;
    }
    explain(failure, || closed(at, "", to.side(), from.side(), ""))
}

/// Adds to the refusal of several copies, of which `first` is the first, which one is to blame, and why.
#[cold]
pub(super) fn of_copies(failure: Error, at: &Context, copies: &[Copy<'_>], first: usize) -> Error {
    let items =
        || copies.iter().enumerate().map(|(index, item)| (format!(" of item {}", first + index), item));
    let failure = blame(failure, || items().find_map(|(of, item)| short(at, &of, item.ends())));
    explain(failure, || {
        items().find_map(|(of, item)| {
            denied(at, &of, item.ends()).or_else(|| beyond(at, &of, item.to.side(), item.from.side()))
        })
    })
}

/// Adds to the refusal of a memset whether there is no memory, or too little, or it is out of the context's reach.
#[cold]
pub(super) fn of_memset(
    failure: Error,
    at: &Context,
    side: Side,
    bytes: usize,
    object: Option<&str>,
) -> Error {
    let Some(address) = side.address() else { return failure };
    let what =
        object.map_or_else(|| "memory to set".to_owned(), |object| format!("memory to set, in {object}"));
    let end = End { side, bytes };
    let why = || {
        wrong(at, &what, end, Use::Write, ON_HOST).or_else(|| {
            let is_known = PointerAttributes::memory_type(at.driver(), address).ok()?.is_some();
            (!is_known && bytes != 0).then(|| {
                format!(
                    "The {what}, {address:#x}, is host memory of which this driver knows nothing; {ON_HOST}"
                )
            })
        })
    };
    explain(blame(failure, why), || {
        not_usable(at, &what, end, Use::Write)
            .or_else(|| Distant::of(at, side)?.not_set(at, DevicePointer(address)))
    })
}

/// What a memset of host memory is told.
const ON_HOST: &str = "set it on the host";

/// Adds to the refusal of memory operations that a value is in no memory of the driver's, or in memory that the device may do nothing with.
#[cold]
pub(super) fn of_values(
    failure: Error,
    at: &Context,
    mut values: impl Iterator<Item = End> + Clone,
) -> Error {
    const WHAT: &str = "place of the value";
    let advice = "page-lock it (cushim_context_register_host)";
    let why = || values.clone().find_map(|value| wrong(at, WHAT, value, Use::Read, advice));
    explain(blame(failure, why), || values.find_map(|value| not_usable(at, WHAT, value, Use::Read)))
}

fn explain(mut failure: Error, why: impl FnOnce() -> Option<String>) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0
        && let Some(why) = why()
    {
        failure.message.push_str(&format!(". {why}"));
    }
    failure
}

/// The same for what is wrong with an argument by itself, which other calls find out before the driver does.
fn blame(failure: Error, why: impl FnOnce() -> Option<String>) -> Error {
    if failure.status.0 != sys::CUDA_ERROR_INVALID_VALUE.0 {
        return failure;
    }
    match why() {
        Some(why) => failure.of_arguments(&why),
        None => failure,
    }
}

/// One end of a copy: where it begins, and how many bytes from there on the copy reaches; 0 if nobody knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) side: Side,
    pub(super) bytes: usize,
}

/// Which end, the destination or the source, has no memory, or too little. One that may be memory of a graph, of which the driver says
/// nothing until that is launched, is to blame only if the other one is not.
fn short(at: &Context, of: &str, [to, from]: [End; 2]) -> Option<String> {
    let driver = at.driver();
    let (destination, source) = (format!("destination{of}"), format!("source{of}"));
    let ends = [(&destination, to, Use::Write), (&source, from, Use::Read)];
    let may_be_of_graph =
        |end: End| matches!(end.side, Side::Device(address) if reach::may_be_of_graph(address));
    let to_blame =
        |(what, end, purpose): &(&String, End, Use)| wrong(at, what, *end, *purpose, reach::AS_HOST);
    let sure =
        ends.iter().filter(|(_, end, _)| !may_be_of_graph(*end) || is_known(driver, *end)).find_map(to_blame);
    sure.or_else(|| ends.iter().find_map(to_blame))
}

fn is_known(driver: &Driver, end: End) -> bool {
    let address = end.side.address().unwrap_or_default();
    PointerAttributes::memory_type(driver, address).is_ok_and(|known| known.is_some())
}

/// What is wrong with one end. Of ordinary host memory the driver knows nothing, and nothing is said.
fn wrong(at: &Context, what: &str, end: End, purpose: Use, advice: &str) -> Option<String> {
    let End { side, bytes } = end;
    let address = side.address().filter(|_| bytes != 0)?;
    match standing(at, address, bytes, purpose) {
        Standing::Other => {}
        Standing::Mapped(left) => {
            return Some(format!(
                "The {what}, {address:#x}, has {left} bytes left in what is mapped there, too few for {bytes}"
            ));
        }
        // Whether the device may use it is no matter of the arguments alone.
        Standing::Open | Standing::ReadOnly | Standing::Closed => return None,
    }
    let known = PointerAttributes::of(at.driver(), address).ok()?;
    match known.range {
        Some((start, size)) => {
            let left = (start.0 + size as u64).saturating_sub(address);
            (bytes as u64 > left).then(|| {
                format!(
                    "The {what}, {address:#x}, has {left} bytes left in its allocation of {size}, too few for {bytes}"
                )
            })
        }
        None if known.memory_type.is_none() && matches!(side, Side::Device(_)) => {
            Some(format!("The {what}, {}", reach::no_device_memory(address, advice)))
        }
        None => None,
    }
}

/// Which end of a copy is virtual memory with which the context's device may not do it.
fn denied(at: &Context, of: &str, [to, from]: [End; 2]) -> Option<String> {
    let denied = |what: &str, end, purpose| not_usable(at, &format!("{what}{of}"), end, purpose);
    denied("destination", to, Use::Write).or_else(|| denied("source", from, Use::Read))
}

fn not_usable(at: &Context, what: &str, End { side, bytes }: End, purpose: Use) -> Option<String> {
    let address = side.address()?;
    let why = standing(at, address, bytes, purpose).refusal(at)?;
    Some(format!("The {what}, {address:#x}, {why}"))
}

/// Which end of a copy is memory of a pool that the context's device has no access to. What belongs to no pool is copied without.
fn beyond(context: &Context, of: &str, to: Side, from: Side) -> Option<String> {
    // Copies between peers have device memory at both ends.
    let has_host = [to, from].iter().any(|end| matches!(end, Side::Host(_)));
    closed(context, of, to, from, if has_host { "" } else { ", name the context of both endpoints" })
}

/// The same, with what else can be done.
fn closed(context: &Context, of: &str, to: Side, from: Side, peers: &str) -> Option<String> {
    let not_copied = |what: &str, end| {
        let distant = Distant::of(context, end)?;
        let elsewhere = format!("use a stream of device {} or its context{peers}, or ", distant.ordinal);
        distant.not_copied(context, &format!("{what}{of}"), &elsewhere)
    };
    not_copied("destination", to).or_else(|| not_copied("source", from))
}

/// Memory of another device than the context's.
struct Distant {
    address: u64,
    ordinal: i32,
    pool: sys::CUmemoryPool,
}

impl Distant {
    fn of(context: &Context, side: Side) -> Option<Self> {
        let address = side.address()?;
        let known = PointerAttributes::of(context.driver(), address).ok()?;
        let is_device = known.memory_type == Some(sys::CU_MEMORYTYPE_DEVICE) && !known.managed;
        let elsewhere = |ordinal: &i32| is_device && *ordinal != context.device().ordinal();
        known.device.filter(elsewhere).map(|ordinal| Self { address, ordinal, pool: known.pool })
    }

    /// Whether it is memory of a pool that gives the context's device no access.
    fn is_in_closed_pool(&self, context: &Context) -> bool {
        if self.pool.is_null() {
            return false;
        }
        // SAFETY: the driver has just said that the memory is of this pool.
        let pool = unsafe { RawPool::adopt(context.table(), self.pool) };
        pool.access(context.device().ordinal()) == Ok(sys::CU_MEM_ACCESS_FLAGS_PROT_NONE)
    }

    /// What is `elsewhere` may help, too.
    fn not_copied(&self, context: &Context, what: &str, elsewhere: &str) -> Option<String> {
        let Self { address, ordinal, .. } = self;
        let device = context.device();
        self.is_in_closed_pool(context).then(|| {
            format!(
                "The {what}, {address:#x}, is memory of a pool of device {ordinal}, to which {device} of this copy has no access: \
                 {elsewhere}give {device} access to the pool \
                 (cushim_resource_add_peers)"
            )
        })
    }

    fn not_set(&self, context: &Context, at: DevicePointer) -> Option<String> {
        let Self { address, ordinal, .. } = self;
        let device = context.device();
        let (of, advice) = if self.is_in_closed_pool(context) {
            ("of a pool ", format!("give {device} access to the pool (cushim_resource_add_peers)"))
        // The driver finds what the context reaches.
        } else if self.pool.is_null() && context.address_range(at).is_err() {
            ("", "enable the context's access (cushim_context_enable_peer_access)".to_owned())
        } else {
            return None;
        };
        Some(format!(
            "The memory to set, {address:#x}, is memory {of}of device {ordinal}, to which {device} of this memset has no \
             access: use a stream of device {ordinal} or its context, or {advice}"
        ))
    }
}
