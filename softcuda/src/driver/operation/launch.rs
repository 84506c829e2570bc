//! Launches of kernels.

use super::Action;
use super::inside;
use super::sites::KernelSites;
use crate::abi::reach;
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ,
    CUDA_ERROR_ASSERT, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_MISALIGNED_ADDRESS, CUresult,
};
use crate::check::Used;
use crate::check::access::{Misuse, Site};
use crate::driver::condition::{self, Condition};
use crate::driver::context::{self, Activation};
use crate::driver::device::attributes::value;
use crate::driver::kernel::declared;
use crate::driver::kernel::found::Found;
use crate::driver::kernel::shape::Shape;
use crate::driver::memory::location::Location;
use crate::driver::memory::table::{self, Allocation};
use crate::driver::memory::{access, pages};
use crate::driver::space::window;
use crate::executor::{Turn, WorkKind};
use crate::instruments::complain::complain;
use crate::instruments::settings::{bounds_are_wide, checks, kernel_budget};
use crate::ptx::{self, Fault, FaultKind, Function, Host, Region, Watch};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Launches a kernel, in the context that it was found in.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) kernel: Found,
    pub(crate) shape: Shape,
    /// The block of the kernel's parameters.
    pub(crate) arguments: Arc<[u8]>,
}

impl Action for Launch {
    fn name(&self) -> &'static str {
        "a kernel"
    }

    /// A native kernel takes its time at once.
    fn kind(&self) -> WorkKind {
        if self.kernel.kernel().native.is_some() { WorkKind::Device } else { WorkKind::Paced }
    }

    fn kernel(&self) -> &str {
        self.kernel.kernel().name.to_str().unwrap_or("(a kernel)")
    }

    fn run(&self, context: &Arc<Activation>, turn: &Turn<'_>) {
        self.launch(context, turn, None);
    }

    fn run_checked(&self, context: &Arc<Activation>, turn: &Turn<'_>) -> Used {
        let watch = Watch::new(checks().races);
        let mut used = self.launch(context, turn, Some(&watch));
        if let Some(engine) = &self.kernel.code().engine {
            let function = &engine.functions()[self.kernel.index];
            for found in watch.races() {
                inside::note(&found, function, self.shape.block, &mut used);
            }
            watch.each(|page, how, marks| {
                used.pages.push(KernelSites::touched(page, how, marks, function, self.shape.block));
            });
        }
        used
    }
}

impl Launch {
    /// Does it; answers the allocations that it has used, and what went wrong.
    fn launch(&self, context: &Arc<Activation>, turn: &Turn<'_>, watch: Option<&Watch>) -> Used {
        let (kernel, shape) = (self.kernel.kernel(), self.shape);
        if let Some(native) = &kernel.native {
            let run = || native.run(shape.grid, shape.block, shape.shared, &self.arguments);
            return if watch.is_some() { declared::collect(run) } else { (run(), Used::default()).1 };
        }
        let Some(engine) = &self.kernel.code().engine else { return Used::default() };
        let memory = Memory {
            context,
            turn,
            exec: condition::exec(),
            held: Mutex::default(),
            barrier: shape.cooperative.then(Default::default),
        };
        let launch = ptx::Launch {
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            shared: shape.shared,
            args: &self.arguments,
            globals: &self.kernel.instance.addresses,
            cores: turn.threads(),
            stack: context.stack_bytes(),
            budget: kernel_budget(),
            cooperative: shape.cooperative,
            environment: memory.environment(),
            processors: value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) as u32,
            watch,
            ..ptx::Launch::new(&memory)
        };
        let function = &engine.functions()[self.kernel.index];
        let mut used = Used::default();
        if let Err(fault) = function.launch(&launch) {
            let fault = end_with(fault, context);
            used.misuse = watch.and_then(|_| misuse(&fault, function));
        }
        if watch.is_some() {
            let held = memory.held.into_inner();
            used.memory = held.values().map(|allocation| allocation.checked()).collect();
        }
        used
    }
}

/// A fault to whoever checks; `None` if it is none of memory.
fn misuse(fault: &Fault, function: &Function) -> Option<Misuse> {
    let what = match fault.kind {
        FaultKind::IllegalAddress => "an illegal address",
        FaultKind::MisalignedAddress => "a misaligned address",
        FaultKind::NotInCluster | FaultKind::NoCluster => "shared memory of no block",
        FaultKind::StackOverflow => "more than the stack",
        _ => return None,
    };
    let site = Site {
        line: fault.line,
        source: function.source(fault.line),
        instruction: fault.instruction.clone(),
        block: fault.block,
        thread: fault.thread,
    };
    Some(Misuse { what: what.to_owned(), text: fault.to_string(), address: fault.address, site: Some(site) })
}

/// The kernel has gone wrong, and the context with it. One that was cancelled has lost its context before.
fn end_with(mut fault: Fault, context: &Arc<Activation>) -> Fault {
    if fault.kind == FaultKind::Cancelled {
        return fault;
    }
    if let (FaultKind::IllegalAddress, Some(address)) = (fault.kind, fault.address)
        && !["shared", "local", "param"].iter().any(|space| fault.instruction.contains(space))
    {
        fault.message = table::neighbourhood(address as usize);
    }
    complain(&fault.to_string());
    context::lose_all(context, answer(&fault));
    fault
}

fn answer(fault: &Fault) -> CUresult {
    match fault.kind {
        // A GPU's stack ends where memory does (measured).
        FaultKind::IllegalAddress | FaultKind::StackOverflow => CUDA_ERROR_ILLEGAL_ADDRESS,
        FaultKind::MisalignedAddress => CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::Assert => CUDA_ERROR_ASSERT,
        FaultKind::InvalidPc => CUDA_ERROR_INVALID_PC,
        // Shared memory 16 MiB and more from its beginning (measured).
        FaultKind::NoCluster | FaultKind::IllegalInstruction => CUDA_ERROR_ILLEGAL_INSTRUCTION,
        FaultKind::OutOfMemory => CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        FaultKind::Deadlock | FaultKind::Timeout => CUDA_ERROR_LAUNCH_TIMEOUT,
        // A load from a block that a cluster has not (measured).
        FaultKind::NotInCluster | FaultKind::Trap | FaultKind::Mbarrier | FaultKind::Cancelled => {
            CUDA_ERROR_LAUNCH_FAILED
        }
    }
}

/// Of what is larger, kernels use some: no page is made for the rest.
const LARGE: usize = 16 << 20;

/// Whether a kernel can read and write memory of the host's.
fn can_be_used(start: usize, size: usize) -> bool {
    if size <= LARGE {
        reach::is_reachable(start, size, true)
    } else {
        reach::is_mapped(start, start + size, true)
    }
}

/// The memory that the kernel reaches. What it has reached stays until it is done.
struct Memory<'a> {
    context: &'a Arc<Activation>,
    turn: &'a Turn<'a>,
    /// The exec that launches it, by its number.
    exec: Option<u32>,
    held: Mutex<BTreeMap<usize, Arc<Allocation>>>,
    /// Where the blocks of a cooperative launch count themselves: compiled code does so at its second word. Zero at first.
    barrier: Option<[AtomicU32; 4]>,
}

impl Memory<'_> {
    /// `%envreg1` and `%envreg2` are the halves of the barrier's address. Compiled code traps if that is 0.
    fn environment(&self) -> [u32; 32] {
        let address = self.barrier.as_ref().map_or(0, |words| words.as_ptr() as u64);
        let mut environment = [0; 32];
        environment[1] = (address >> 32) as u32;
        environment[2] = address as u32;
        environment
    }

    fn barrier(&self, address: u64) -> Option<Region> {
        let words = self.barrier.as_ref()?;
        let (start, size) = (words.as_ptr() as u64, size_of_val(words) as u64);
        let bytes = words.as_ptr().cast_mut().cast();
        (start..start + size).contains(&address).then_some(Region { start, size, bytes, read_only: false })
    }

    /// Keeps it until the kernel is done; `None` if the host has unmapped it, or forbidden to write there.
    fn hold(&self, allocation: Arc<Allocation>) -> Option<()> {
        if let Entry::Vacant(place) = self.held.lock().entry(allocation.address) {
            if allocation.is_the_hosts() && !can_be_used(allocation.address, allocation.size) {
                return None;
            }
            place.insert(allocation);
        }
        Some(())
    }

    /// What is no allocation's, and mapped on a GPU, if kernels may use that.
    fn gap(&self, address: usize) -> Option<Region> {
        if !bounds_are_wide() {
            return None;
        }
        let (beside, range) = table::gap(address, |one| self.is_in_reach(one, one.address))?;
        self.hold(beside)?;
        Some(Region {
            start: range.start as u64,
            size: range.len() as u64,
            bytes: window::place(range.start),
            read_only: false,
        })
    }

    /// Whether kernels may read it, and perhaps write.
    fn is_in_reach(&self, allocation: &Allocation, address: usize) -> bool {
        access::access(self.context, allocation, address) != CU_MEM_ACCESS_FLAGS_PROT_NONE
    }
}

// SAFETY: an allocation's bytes can be read and written, and `held` keeps it; those of the barrier, too, as long as this.
// Blocks of the heap, and gaps of device memory, lie in the window, which stays mapped; those of the host's pages are kept by the
// allocation whose page it is. Of blocks: after a `free` a kernel may reach them, as on a GPU.
unsafe impl Host for Memory<'_> {
    fn region(&self, address: u64) -> Option<Region> {
        let place = address as usize;
        let found = table::find_usable(place).filter(|found| self.is_in_reach(found, place));
        let Some(allocation) = found else {
            let own = self.context.heap().region(place).or_else(|| self.barrier(address));
            return own.or_else(|| self.gap(place));
        };
        let (mut start, mut size) = (allocation.address, allocation.size);
        if let Some(pages) = &allocation.pages {
            // A page at a time, which moves to where it is used; whether for reading is not known here.
            let page = pages::page_of(address as usize - allocation.address, allocation.size);
            pages.arrive(pages::touched(page.start, page.len()), self.context.device(), true);
            (start, size) = (allocation.address + page.start, page.len());
        }
        let mut read_only = false;
        if let Some((first, mapping)) = allocation.mapping(place) {
            // A mapping at a time: access is one's own. It may begin in the reservation before.
            let within = first.max(allocation.address);
            (start, size) = (within, first + mapping.size - within);
            let access = mapping.access_from(Location::Device(self.context.device()));
            read_only = access == CU_MEM_ACCESS_FLAGS_PROT_READ;
        }
        let bytes = allocation.locate(start, size).ok()?;
        let (end, last) = (start + size, allocation.address + allocation.size);
        if let Some(gap) = self.gap(end).filter(|_| end == last && allocation.reserved().is_none()) {
            // In one piece, for accesses of some bytes on either side.
            size += gap.size as usize;
        }
        self.hold(allocation)?;
        Some(Region { start: start as u64, size: size as u64, bytes, read_only })
    }

    /// Blocks of the heap come and go inside of kernels, which nobody sees.
    fn is_watched(&self, address: u64) -> bool {
        table::find_usable(address as usize).is_some()
    }

    fn spend(&self, instructions: u32) -> bool {
        self.turn.spend(instructions)
    }

    fn print(&self, text: &[u8]) {
        // Where the runtime prints, and like it without a word if that fails.
        let _ = std::io::stdout().lock().write_all(text);
    }

    fn set_conditional(&self, handle: u64, value: u32) -> bool {
        Condition::of(handle).is_some_and(|condition| condition.set_from(self.exec, value))
    }

    fn allocate(&self, size: u64) -> u64 {
        let limit = self.context.heap_bytes();
        self.context.heap().allocate(self.context.device(), size, limit).map_or(0, |address| address as u64)
    }

    fn release(&self, address: u64) -> bool {
        let freed = self.context.heap().release(address as usize);
        // A GPU passes over what is no block of the heap; a second `free` ends the kernel (measured).
        if !freed && self.region(address).is_some() {
            complain(&format!(
                "a kernel frees {address:#x}, where no block of its heap begins: nothing is freed"
            ));
            return true;
        }
        freed
    }
}
