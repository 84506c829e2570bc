//! Many copies, prefetches or discards in one call. Everything is checked before the first takes its place in the stream;
//! there they are one piece of work, whose parts have no order among themselves.

pub(crate) mod boxes;
pub(crate) mod copies;
pub(crate) mod managed;

use super::span::Access;
use crate::error::Answer;
use crate::executor::{Duty, Work};
use crate::pointer::Out;
use crate::stream::{Kind, Stream};
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUresult, CUstream};
use std::sync::Arc;

/// Work without order among its parts.
struct Batch<W>(Vec<W>);

impl<W: Work> Work for Batch<W> {
    fn name(&self) -> &'static str {
        self.0.first().map_or("an empty batch", |part| part.name())
    }

    fn duty(&self) -> Duty {
        Duty::Device
    }

    fn accesses(&self) -> Vec<Access<'_>> {
        self.0.iter().flat_map(Work::accesses).collect()
    }

    /// From the last to the first: a program that counts on the other order is found out.
    fn run(&self) {
        self.0.iter().rev().for_each(Work::run);
    }
}

/// The stream of a batch, which is never the legacy default stream.
fn stream(handle: CUstream) -> Result<Arc<Stream>, CUresult> {
    let stream = Stream::of(handle)?;
    if stream.kind == Kind::Legacy { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(stream) }
}

/// Puts a batch into a stream, which must not capture.
fn submit(stream: &Arc<Stream>, parts: Vec<impl Work + 'static>) -> Answer {
    stream.refuse_capture()?;
    stream.submit(Batch(parts)).map(drop)
}

/// One value for each of `count` parts: value `i` holds from part `starts[i]` on, up to the next one's.
fn spread<T: Copy>(
    values: Out<T>,
    starts: Out<usize>,
    number: usize,
    count: usize,
    rising: bool,
) -> Result<Vec<T>, CUresult> {
    if count == 0 || number == 0 || number > count || starts.item(0)? != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let starts = (0..number).map(|i| starts.item(i)).collect::<Result<Vec<_>, _>>()?;
    let rises = starts.windows(2).all(|pair| pair[0] < pair[1]);
    if starts.iter().any(|start| *start >= count) || (rising && !rises) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // A start that does not come after the one before it never begins (measured).
    let (mut current, mut spread) = (0, Vec::new());
    for part in 0..count {
        if part > 0 && starts.get(current + 1) == Some(&part) {
            current += 1;
        }
        spread.push(values.item(current)?);
    }
    Ok(spread)
}
