//! Fills: one value of 1, 2 or 4 bytes, repeated over a range or a rectangle.

use super::{Action, use_span};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_FAILED, CUresult};
use crate::check::Used;
use crate::check::access::Kind;
use crate::driver::context::Activation;
use crate::driver::memory::span::{Access, Span};
use crate::executor::{Turn, WorkKind};
use std::sync::Arc;

/// What is filled, and with what.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    pub(crate) address: usize,
    /// Bytes from row to row; that of a single row does not matter.
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    /// Bytes of the value: 1, 2 or 4.
    pub(crate) unit: usize,
    /// Values in a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A fill.
#[derive(Clone)]
pub(crate) struct Fill {
    pub(crate) parameters: Parameters,
    pub(crate) span: Span,
}

impl Parameters {
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// Bytes from row to row.
    fn step(&self) -> Option<usize> {
        if self.height == 1 { self.width.checked_mul(self.unit) } else { Some(self.pitch) }
    }

    /// Bytes from the first to the last. `None` if rows overlap, do not begin where a value can, or are too long.
    fn size(&self) -> Option<usize> {
        let (row, step) = (self.width.checked_mul(self.unit)?, self.step()?);
        let fits = self.address.is_multiple_of(self.unit) && step.is_multiple_of(self.unit) && step >= row;
        step.checked_mul(self.height - 1)?.checked_add(row).filter(|_| fits)
    }
}

impl Fill {
    /// A fill that is not empty. A copy finds a way to another device's memory; a fill needs access (measured).
    pub(crate) fn new(parameters: Parameters, context: &Activation) -> Result<Self, CUresult> {
        let fill = Self::anywhere(parameters)?;
        fill.span.check_access(context)?;
        fill.span.check_told(context, true)?;
        Ok(fill)
    }

    /// The same for a capture: whether there is memory is asked when the graph is instantiated (measured).
    pub(crate) fn captured(parameters: Parameters, context: &Activation) -> Result<Self, CUresult> {
        let size = parameters.size().ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let nowhere = |_| Self { parameters, span: Span::nowhere(parameters.address, size) };
        Ok(Self::new(parameters, context).unwrap_or_else(nowhere))
    }

    /// The same where access makes no difference.
    pub(crate) fn anywhere(parameters: Parameters) -> Result<Self, CUresult> {
        let size = parameters.size().ok_or(CUDA_ERROR_INVALID_VALUE)?;
        Ok(Self { parameters, span: Span::on_device(parameters.address, size)? })
    }

    fn write<T: std::marker::Copy>(&self, value: T) {
        let step = self.parameters.step().unwrap_or_default();
        for row in 0..self.parameters.height {
            let start = self.span.bytes().wrapping_add(row * step).cast::<T>();
            for i in 0..self.parameters.width {
                // SAFETY: the range was checked up to the last byte of the last row, and so was its alignment.
                unsafe { start.add(i).write(value) };
            }
        }
    }
}

impl Action for Fill {
    fn name(&self) -> &'static str {
        "a fill"
    }

    fn kind(&self) -> WorkKind {
        WorkKind::Device
    }

    fn accesses<'a>(&'a self, look: &mut dyn FnMut(Access<'a>)) {
        look(Access::write(&self.span));
    }

    /// Row by row: what lies between them is not written.
    fn uses(&self, used: &mut Used) {
        let Parameters { width, height, unit, .. } = self.parameters;
        let (row, step) = (width * unit, self.parameters.step().unwrap_or_default());
        let (rows, row) = if step == row { (1, row * height) } else { (height, row) };
        for number in 0..rows {
            use_span(used, &self.span, self.span.address() + number * step, row, Kind::Write);
        }
    }

    fn needs_lasting_access(&self) -> bool {
        true
    }

    /// Measured of a memset node, where its device may only read.
    fn forbidden(&self) -> CUresult {
        CUDA_ERROR_LAUNCH_FAILED
    }

    fn run(&self, _context: &Arc<Activation>, _turn: &Turn<'_>) {
        match self.parameters.unit {
            1 => self.write(self.parameters.value as u8),
            2 => self.write(self.parameters.value as u16),
            _ => self.write(self.parameters.value),
        }
    }
}
