//! What threads of one kernel have done against each other, to whoever checks.

use super::sites::{kind, site};
use crate::check::Used;
use crate::check::access::Kind;
use crate::check::inside::{Apart, Bytes, Inside};
use crate::ptx::{self, By, Found, Function};

/// Adds what was found in a launch, whose blocks are as large as that.
pub(super) fn note(found: &Found, function: &Function, block: [u32; 3], used: &mut Used) {
    let site = |by: By| site(function.spot(by.op).as_ref(), by, block);
    for clash in &found.clashes {
        used.inside.push(Inside::Race {
            sides: clash.sides.map(|(by, how)| (kind(how), site(by))),
            bytes: match clash.bytes {
                ptx::Bytes::Global(address) => Bytes::Global(address),
                ptx::Bytes::Shared(offset, block) => Bytes::Shared(offset, block),
            },
            size: clash.size as u64,
            apart: apart(clash.apart),
        });
    }
    for split in &found.splits {
        let other = if split.has_ended { Kind::End } else { Kind::Wait };
        used.inside.push(Inside::Split {
            waits: site(split.waits),
            other: (other, site(split.other)),
            apart: apart(split.apart),
        });
    }
    used.was_full |= found.was_full;
}

fn apart(apart: ptx::Apart) -> Apart {
    match apart {
        ptx::Apart::Warp => Apart::Warp,
        ptx::Apart::Block => Apart::Block,
        ptx::Apart::Cluster => Apart::Cluster,
        ptx::Apart::Grid => Apart::Grid,
        ptx::Apart::Copy => Apart::Copy,
    }
}
