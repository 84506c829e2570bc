//! How a kernel ends before its time.

use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An address without memory (`CUDA_ERROR_ILLEGAL_ADDRESS`).
    IllegalAddress,
    /// An address of shared memory that no block of the cluster has (`CUDA_ERROR_LAUNCH_FAILED`).
    NotInCluster,
    /// Such an address where the kernel was launched without clusters (`CUDA_ERROR_ILLEGAL_INSTRUCTION`).
    NoCluster,
    /// An address that is no multiple of the access's size (`CUDA_ERROR_MISALIGNED_ADDRESS`).
    MisalignedAddress,
    /// `trap` (`CUDA_ERROR_LAUNCH_FAILED`).
    Trap,
    /// An `mbarrier` used in a way that has no meaning (`CUDA_ERROR_LAUNCH_FAILED`).
    Mbarrier,
    /// An assertion of the kernel (`CUDA_ERROR_ASSERT`).
    Assert,
    /// More calls than the stack holds (`CUDA_ERROR_ILLEGAL_ADDRESS`).
    StackOverflow,
    /// A call or jump to what is no function or label (`CUDA_ERROR_INVALID_PC`).
    InvalidPc,
    /// An instruction used in a way that has no meaning (`CUDA_ERROR_ILLEGAL_INSTRUCTION`).
    IllegalInstruction,
    /// Threads wait for each other for ever (`CUDA_ERROR_LAUNCH_TIMEOUT`; a GPU would hang).
    Deadlock,
    /// The budget of instructions is used up (`CUDA_ERROR_LAUNCH_TIMEOUT`).
    Timeout,
    /// The host has no memory for the threads (`CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`).
    OutOfMemory,
    /// The driver does not want it to go on.
    Cancelled,
}

/// The first error of a launch.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// `%ctaid`
    pub block: [u32; 3],
    /// `%tid`
    pub thread: [u32; 3],
    /// The line of the PTX text.
    pub line: u32,
    /// The instruction there, without operands.
    pub instruction: String,
    /// The address that it used.
    pub address: Option<u64>,
    /// What else there is to say: an assertion's text, who waits for whom.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FaultKind::IllegalAddress => "illegal address",
            FaultKind::NotInCluster => "shared memory that no block of the cluster has, address",
            FaultKind::NoCluster => "shared memory that the block has not, without clusters, address",
            FaultKind::MisalignedAddress => "misaligned address",
            FaultKind::Trap => "trap",
            FaultKind::Mbarrier => "wrong use of an mbarrier",
            FaultKind::Assert => "assertion failed",
            FaultKind::StackOverflow => "stack overflow",
            FaultKind::InvalidPc => "jump to what is no function or label",
            FaultKind::IllegalInstruction => "illegal use of an instruction",
            FaultKind::Deadlock => "threads wait for each other for ever",
            FaultKind::Timeout => "the budget of instructions is used up",
            FaultKind::OutOfMemory => "the host has not enough memory for its threads",
            FaultKind::Cancelled => "cancelled",
        };
        write!(f, "kernel {}: {what}", self.kernel)?;
        if let Some(address) = self.address {
            write!(f, " {address:#x}")?;
        }
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, ", block ({bx},{by},{bz}), thread ({tx},{ty},{tz}), {}", self.instruction)?;
        write!(f, " at line {} of the PTX", self.line)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// A fault as the instruction knows it.
#[derive(Debug)]
pub(in crate::ptx) struct Trouble {
    pub(in crate::ptx) kind: FaultKind,
    pub(in crate::ptx) lane: u32,
    pub(in crate::ptx) address: Option<u64>,
    pub(in crate::ptx) message: String,
}
