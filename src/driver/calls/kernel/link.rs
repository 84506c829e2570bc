//! The driver's linker.

use super::library::{Log, text};
use crate::driver::CallError;
use crate::driver::call;
use crate::driver::calls::context::RawContext;
use crate::driver::sys::{CUjitInputType, CUlinkState};
use std::ffi::CString;
use std::ptr::null_mut;

/// Code to be linked.
pub(crate) struct Input<'a> {
    pub(crate) kind: CUjitInputType,
    /// PTX ends in NUL.
    pub(crate) bytes: &'a [u8],
    /// As messages call it.
    pub(crate) name: CString,
}

/// Code that was not linked, and what the linker says of it.
pub(crate) struct LinkError {
    pub(crate) error: CallError,
    pub(crate) log: String,
}

/// A linker under way; its context is current.
struct Linker<'a> {
    context: &'a RawContext,
    state: CUlinkState,
}

/// Links code for the device of the context; answers a cubin, and what the linker notes.
pub(crate) fn link(context: &RawContext, inputs: &[Input<'_>]) -> Result<(Vec<u8>, String), LinkError> {
    let mut log = Log::new();
    match link_logged(context, inputs, &mut log) {
        Ok(code) => Ok((code, text(&log.info))),
        Err(error) => Err(LinkError { error, log: text(&log.error) }),
    }
}

fn link_logged(context: &RawContext, inputs: &[Input<'_>], log: &mut Log) -> Result<Vec<u8>, CallError> {
    let _current = context.enter()?;
    let (mut keys, mut values): (Vec<_>, Vec<_>) = log.options().into_iter().unzip();
    let mut state = null_mut();
    // SAFETY: there are as many values as options; both, and the buffers of the log, live until the linker is destroyed.
    unsafe {
        call!(
            context.table(),
            cuLinkCreate_6050(keys.len() as u32, keys.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
        )
    }?;
    let linker = Linker { context, state };
    let code = inputs.iter().try_for_each(|input| linker.add(input)).and_then(|()| linker.complete());
    // What was not linked has its own error.
    let destroyed = linker.destroy();
    let code = code?;
    destroyed.map(|()| code)
}

impl Linker<'_> {
    fn add(&self, input: &Input<'_>) -> Result<(), CallError> {
        // SAFETY: the driver reads so many bytes, and the name, during the call only; there are no options.
        unsafe {
            call!(
                self.context.table(),
                cuLinkAddData_6050(
                    self.state,
                    input.kind,
                    input.bytes.as_ptr().cast_mut().cast(),
                    input.bytes.len(),
                    input.name.as_ptr(),
                    0,
                    null_mut(),
                    null_mut()
                )
            )
        }
    }

    fn complete(&self) -> Result<Vec<u8>, CallError> {
        let (mut code, mut size) = (null_mut(), 0);
        // SAFETY: writes an address and a size.
        unsafe {
            call!(self.context.table(), cuLinkComplete_5050(self.state, &raw mut code, &raw mut size))
        }?;
        // SAFETY: so many bytes are there until the linker is destroyed.
        Ok(unsafe { std::slice::from_raw_parts(code.cast::<u8>(), size) }.to_vec())
    }

    fn destroy(self) -> Result<(), CallError> {
        // SAFETY: it was created, and is destroyed once.
        unsafe { call!(self.context.table(), cuLinkDestroy_5050(self.state)) }
    }
}
