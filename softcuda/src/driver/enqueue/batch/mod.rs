//! Many copies, prefetches or discards in one call. Everything is checked before the first takes its place in the stream;
//! there they are one piece of work, whose parts have no order among themselves.

pub(crate) mod copies;
pub(crate) mod copies_3d;
pub(crate) mod managed;

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUresult, CUstream};
use crate::driver::operation::Operation;
use crate::driver::stream::{Kind, Stream};
use std::sync::Arc;

/// The stream of a batch, which is never the legacy default stream.
fn stream(handle: CUstream) -> Result<Arc<Stream>, CUresult> {
    let stream = Stream::of(handle)?;
    if stream.kind == Kind::Legacy { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(stream) }
}

/// Puts a batch into a stream, which must not capture.
fn submit(stream: &Arc<Stream>, parts: Vec<impl Into<Operation>>) -> Answer {
    stream.refuse_capture()?;
    stream.submit(Operation::Batch(parts.into_iter().map(Into::into).collect())).map(drop)
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
