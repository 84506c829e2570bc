//! Asking whether a stream is done, and waiting for streams and contexts.

use super::Stream;
use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_NOT_READY, CUcontext, CUstream};
use crate::driver::capture;
use crate::driver::context::current::named_or_current;
use crate::driver::memory::pool;
use crate::driver::waiting::wait_for;
use crate::executor;
use crate::instruments::settings::launch_blocking;

pub(crate) fn cuStreamQuery(hStream: CUstream) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.refuse_question()?;
    let finished = executor::poll(&executor::unfinished_on(stream.queue()));
    stream.context.fault()?;
    if finished { Ok(()) } else { Err(CUDA_ERROR_NOT_READY) }
}

pub(crate) fn cuStreamSynchronize(hStream: CUstream) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.refuse_question()?;
    wait_for(&executor::unfinished_on(stream.queue()))?;
    pool::trim(|task| task.queue_id() == stream.queue().id());
    stream.context.fault()
}

impl Stream {
    /// After a launch or a memset, as `CUDA_LAUNCH_BLOCKING` asks: waits for all work of the context, in other streams too, and says what
    /// went wrong in it (measured; copies and host functions do not wait).
    pub(crate) fn wait_if_launches_block(&self) -> Answer {
        if !launch_blocking() {
            return Ok(());
        }
        self.context.wait_for_work()?;
        self.context.fault()
    }
}

pub(crate) fn cuCtxSynchronize() -> Answer {
    cuCtxSynchronize_v2(std::ptr::null_mut())
}

pub(crate) fn cuCtxSynchronize_v2(ctx: CUcontext) -> Answer {
    let activation = named_or_current(ctx)?.activation()?;
    capture::check_context(activation.id())?;
    activation.wait_for_work()?;
    pool::trim_of(&activation);
    activation.health()
}
