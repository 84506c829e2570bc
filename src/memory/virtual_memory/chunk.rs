//! Memory without an address, and addresses without memory. Each is undone by one call, when nobody has it any more.

use super::plan::Plan;
use crate::driver::calls::memory::virtual_memory::{RawAllocation, RawReservation};
use crate::driver::{CallError, Driver, sys};
use crate::memory::shared_file::explain_files;
use crate::object::error::{Error, Status};
use crate::object::release::report;
use crate::op::is_out_of_memory;
use std::sync::Arc;

/// Memory that was created at once.
pub(super) struct Chunk {
    /// `None` only while it is being released.
    raw: Option<RawAllocation>,
    pub(super) bytes: usize,
    /// What it is, and who may use it wherever it is mapped.
    pub(super) plan: Arc<Plan>,
    /// Whether another process created it, and says how many bytes there are.
    pub(super) is_imported: bool,
}

impl Chunk {
    pub(super) fn create(plan: &Arc<Plan>, bytes: usize) -> Result<Arc<Self>, Error> {
        let table = plan.driver().object_table();
        let raw = RawAllocation::create(table, bytes, &plan.properties)
            .map_err(|error| explain_creation(plan.failed(error), plan, bytes))?;
        Ok(Arc::new(Self { raw: Some(raw), bytes, plan: Arc::clone(plan), is_imported: false }))
    }

    /// Memory of another process's, which claims that there are so many bytes: it is believed once it was mapped.
    pub(super) fn import(plan: &Arc<Plan>, bytes: usize, file: i32) -> Result<Arc<Self>, Error> {
        let table = plan.driver().object_table();
        let raw = RawAllocation::import(table, file).map_err(|error| {
            let mut failure = explain_files(plan.failed(error));
            failure.message.push_str(&format!(
                ". File descriptor {file} must be the one that was exported with these bytes, received by SCM_RIGHTS or inherited"
            ));
            failure
        })?;
        Ok(Arc::new(Self { raw: Some(raw), bytes, plan: Arc::clone(plan), is_imported: true }))
    }

    /// Why it was not mapped. The driver maps memory whole or not at all.
    pub(super) fn not_mapped(&self, error: CallError) -> Error {
        match error.result() {
            Some(sys::CUDA_ERROR_INVALID_VALUE | sys::CUDA_ERROR_NOT_SUPPORTED) if self.is_imported => {
                let refusal = format!(
                    "the descriptor claims {} bytes, and the memory has another size; it was not exported so",
                    self.bytes
                );
                Error::new(Status::INVALID_ARGUMENT, refusal)
            }
            _ => self.plan.failed(error),
        }
    }

    pub(super) fn raw(&self) -> &RawAllocation {
        self.raw.as_ref().expect("memory has its handle until it is dropped")
    }
}

/// A device says that it has a fabric where the machine has set up none; and that memory ran out is no news without how much was wanted.
#[cold]
fn explain_creation(mut failure: Error, plan: &Plan, bytes: usize) -> Error {
    if plan.properties.is_for_fabric() && failure.status.0 == sys::CUDA_ERROR_NOT_PERMITTED.0 {
        failure.message.push_str(
            ". Memory for a fabric needs an IMEX channel, which this process has not: set one up (nvidia-imex), or share by file descriptors \
             (CUSHIM_SHAREABLE_POSIX_FD)",
        );
    }
    if is_out_of_memory(&failure) {
        failure.message.push_str(&format!(". {bytes} bytes were asked for"));
    }
    failure
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if let Some(raw) = self.raw.take() {
            report(self.plan.driver(), raw.release().map_err(|error| self.plan.failed(error)));
        }
    }
}

/// Addresses that were reserved at once.
pub(super) struct Addresses {
    /// `None` only while it is being released.
    raw: Option<RawReservation>,
    driver: Driver,
}

impl Addresses {
    /// So many addresses, from `hint` on if the driver grants that.
    pub(super) fn reserve(
        plan: &Plan,
        bytes: usize,
        alignment: usize,
        hint: u64,
    ) -> Result<Arc<Self>, Error> {
        let driver = plan.driver();
        let raw = RawReservation::reserve(driver.object_table(), bytes, alignment, hint);
        let raw = raw.map_err(|error| {
            let mut failure = plan.failed(error);
            if is_out_of_memory(&failure) {
                failure
                    .message
                    .push_str(&format!(". {bytes} addresses in a row were asked for; ask for fewer"));
            }
            failure
        })?;
        Ok(Arc::new(Self { raw: Some(raw), driver: driver.clone() }))
    }

    pub(super) fn raw(&self) -> &RawReservation {
        self.raw.as_ref().expect("addresses are there until they are dropped")
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        if let Some(raw) = self.raw.take() {
            report(&self.driver, raw.free().map_err(|error| Error::of_call(&self.driver, error)));
        }
    }
}
