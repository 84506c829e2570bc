//! Access of one context to another's memory: what kernels, fills and the driver's look-ups need between devices. Copies need
//! none, and pools have a list of their own.

use super::Context;
use crate::driver::calls::context::RawContext;
use crate::driver::{CallError, sys};
use crate::object::error::{Error, Status};

impl Context {
    /// Lets work in this context use the memory of `peer`, a context of another device, by its addresses: what kernels load
    /// and store, and fills. Copies need no access; they may be faster with it.
    ///
    /// It goes one way only, for the memory that there is and that will be, until it is disabled or one of the two contexts
    /// ends or is reset; memory of pools has a list of its own, [`Resource::add_peers`](crate::memory::Resource::add_peers).
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::Device;
    ///
    /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
    /// let devices = Device::all(&driver)?;
    /// if let [first, second, ..] = devices.as_slice()
    ///     && first.can_access_peer(second)?
    /// {
    ///     let (first, second) = (first.primary_context()?, second.primary_context()?);
    ///     first.enable_peer_access(&second)?;
    ///     // Kernels in streams of `first` reach memory of `second`.
    ///     first.disable_peer_access(&second)?;
    /// }
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a context of another driver. The driver's: `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED` (704),
    /// which a program may ignore; `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED` (217) between contexts of the same device, and of
    /// devices that do not reach each other ([`Device::can_access_peer`](crate::Device::can_access_peer)); others.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<(), Error> {
        self.change_access(peer, RawContext::enable_peer_access)
    }

    /// Takes back what [`enable_peer_access`](Self::enable_peer_access) gave. Synchronise first: work that was enqueued under
    /// it and still waits fails without, copies too, and the context is lost (`CUDA_ERROR_LAUNCH_FAILED` on driver 580).
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a context of another driver. The driver's: `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED` (705),
    /// also after a reset of either, and between contexts of the same device; others.
    pub fn disable_peer_access(&self, peer: &Self) -> Result<(), Error> {
        self.change_access(peer, RawContext::disable_peer_access)
    }

    fn change_access(
        &self,
        peer: &Self,
        change: impl FnOnce(&RawContext, &RawContext) -> Result<(), CallError>,
    ) -> Result<(), Error> {
        if self.driver() != peer.driver() {
            let refusal = format!("{self} and {peer} belong to different drivers");
            return Err(Error::new(Status::INVALID_HANDLE, refusal).about(peer));
        }
        let there = peer.live(peer)?;
        self.here(|here| change(here, there)).map_err(|failure| self.explain_access(failure, peer))
    }

    #[cold]
    fn explain_access(&self, mut failure: Error, peer: &Self) -> Error {
        let is_here = self.device().ordinal() == peer.device().ordinal();
        let why = match sys::CUresult(failure.status.0) {
            sys::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {
                format!("{self} has access to the memory of {peer}, and keeps it")
            }
            sys::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED | sys::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED if is_here => {
                format!("Both contexts are of {}, and reach each other's memory without", self.device())
            }
            sys::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED => format!(
                "{self} was given no access to the memory of {peer}; the other way is another matter, and a reset of either \
                 takes it back"
            ),
            sys::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => format!(
                "No link lets {} reach the memory of {}; copies between them go by way of the host",
                self.device(),
                peer.device()
            ),
            _ => return failure,
        };
        failure.message.push_str(". ");
        failure.message.push_str(&why);
        failure
    }
}
