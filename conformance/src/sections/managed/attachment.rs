//! Attachment of managed memory to streams.

use super::{SIZE, managed, stream};
use crate::driver::{Cu, LEGACY, Outcome, call, need};
use crate::transcript::Lines;

const GLOBAL: u32 = 1;
const HOST: u32 = 2;
const SINGLE: u32 = 4;

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (memory, stream, plain) = (managed(cu)?, stream(cu)?, cu.memory(4096)?);
    for (name, stream, address, length, flags) in [
        ("attach single to legacy", LEGACY, memory, 0, SINGLE),
        ("attach single to a stream", stream, memory, 0, SINGLE),
        ("attach with its whole length", stream, memory, SIZE, SINGLE),
        ("attach half", stream, memory, SIZE / 2, SINGLE),
        ("attach from the middle", stream, memory + 4096, 0, SINGLE),
        ("attach global", stream, memory, 0, GLOBAL),
        ("attach global on legacy", LEGACY, memory, 0, GLOBAL),
        ("attach to the host", stream, memory, 0, HOST),
        ("attach flags 3", stream, memory, 0, 3),
        ("attach device memory", stream, plain, 0, SINGLE),
    ] {
        t.line(name, || call!(cu, cuStreamAttachMemAsync_6000(stream, address, length, flags)));
    }
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("memset where it is the host's", || call!(cu, cuMemsetD8_3020(memory, 1, SIZE)));
    need!(cu, cuMemFree_3020(plain))
}

/// The driver may not survive this.
pub(super) fn for_nothing(t: &mut Lines, cu: &Cu) -> Outcome {
    let (memory, stream) = (managed(cu)?, stream(cu)?);
    t.line("attach flags 0", || call!(cu, cuStreamAttachMemAsync_6000(stream, memory, 0, 0)));
    Ok(())
}
