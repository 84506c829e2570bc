//! A program in a context: its variables have addresses there, and its kernels are functions.

use super::prepared::Prepared;
use super::program::{Program, Variable};
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND, CUdeviceptr_v2, CUfunction, CUresult};
use crate::driver::context::Activation;
use crate::driver::handle::{Object, Table};
use crate::driver::memory::managed::created;
use crate::driver::memory::plain;
use crate::driver::memory::table::Allocation;
use crate::instruments::live;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock, Weak};

/// A program in a context, until it is unloaded or the context ends.
pub(crate) struct Instance {
    pub(crate) program: Arc<Program>,
    pub(crate) context: Arc<Activation>,
    /// The handle of the library that it is of; 0 for a module.
    pub(super) library: usize,
    /// The memory of the variables, in the program's order.
    variables: Vec<Arc<Allocation>>,
    /// Where that is.
    pub(crate) addresses: Vec<u64>,
    /// The functions that callers have asked for.
    functions: Vec<OnceLock<Arc<Function>>>,
}

impl Instance {
    /// Gives the variables addresses, and their first values. Managed ones are those of `managed`, if it has any: they
    /// are shared by all contexts.
    pub(crate) fn new(
        program: &Arc<Program>,
        context: &Arc<Activation>,
        shared: &Mutex<Vec<Option<Arc<Allocation>>>>,
        library: usize,
    ) -> Result<Arc<Self>, CUresult> {
        let code = program.code()?;
        let mut variables = Vec::new();
        let mut shared = shared.lock();
        shared.resize(code.variables.len(), None);
        for (variable, known) in code.variables.iter().zip(shared.iter_mut()) {
            let size = variable.size.max(1);
            let allocation = match known {
                Some(allocation) => Arc::clone(allocation),
                None if variable.managed => Arc::clone(known.insert(created::variable(context, size)?)),
                None => plain::variable(context, size)?,
            };
            variables.push(allocation);
        }
        let addresses: Vec<u64> = variables.iter().map(|variable| variable.address as u64).collect();
        code.initialise(&addresses, &variables)?;
        let functions = code.kernels.iter().map(|_| OnceLock::new()).collect();
        let (program, context) = (Arc::clone(program), Arc::clone(context));
        Ok(Arc::new(Self { program, context, library, variables, addresses, functions }))
    }

    /// The function of a kernel, the same each time.
    pub(crate) fn function(self: &Arc<Self>, kernel: usize) -> Arc<Function> {
        Arc::clone(self.functions[kernel].get_or_init(|| Function::add(self, kernel)))
    }

    /// Which kernel has the name.
    pub(crate) fn kernel(&self, name: &str) -> Result<usize, CUresult> {
        find_kernel(&self.program, name)
    }

    /// Address and size of a variable, whatever its linkage (measured).
    fn variable(&self, name: &str, wanted: Wanted) -> Result<(usize, usize), CUresult> {
        let variables = &self.program.code()?.variables;
        let is_it =
            |variable: &Variable| variable.name == name && (wanted == Wanted::Any || variable.managed);
        let index = variables.iter().position(is_it).ok_or(CUDA_ERROR_NOT_FOUND)?;
        Ok((self.variables[index].address, variables[index].size))
    }

    /// Tells a caller, who must want one of the two. Nothing has a name of no letters, or a kernel's (measured).
    pub(crate) fn tell_variable(
        &self,
        name: &str,
        wanted: Wanted,
        address: Out<CUdeviceptr_v2>,
        bytes: Out<usize>,
    ) -> Answer {
        // A kernel's name is a wrong value where any variable is wanted, and no managed variable's name (measured).
        let is_kernel = || matches!(wanted, Wanted::Any) && self.kernel(name).is_ok();
        if name.is_empty() || address.address() == 0 && bytes.address() == 0 || is_kernel() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let (place, size) = self.variable(name, wanted)?;
        address.set_if_wanted(place as u64);
        bytes.set_if_wanted(size);
        Ok(())
    }

    /// Waits for the kernels that run, and forgets handles and variables. Managed ones stay for other contexts.
    pub(crate) fn unload(&self) -> Answer {
        self.context.wait_for_work()?;
        self.forget();
        Ok(())
    }

    pub(crate) fn forget(&self) {
        self.functions.iter().filter_map(OnceLock::get).for_each(|function| function.remove());
        let Ok(code) = self.program.code() else { return };
        for (variable, memory) in code.variables.iter().zip(&self.variables) {
            if !variable.managed {
                plain::forget_variable(memory.address);
            }
        }
    }
}

static FUNCTIONS: Table<Function> = Table::new();

/// A kernel in one context.
pub(crate) struct Function {
    handle: usize,
    instance: Weak<Instance>,
    index: usize,
    pub(super) prepared: Mutex<Prepared>,
}

impl Object for Function {
    /// The module or library is the program's.
    fn report(&self) -> Option<live::Object> {
        None
    }
}

impl Function {
    fn add(instance: &Arc<Instance>, index: usize) -> Arc<Self> {
        let exact = instance.program.code().ok().and_then(|code| code.kernels[index].block);
        FUNCTIONS.add(|handle| Self {
            handle,
            instance: Arc::downgrade(instance),
            index,
            prepared: Mutex::new(Prepared::new(exact)),
        })
    }

    /// The instance of the function that a handle means, and which of its kernels it is.
    pub(crate) fn find(handle: usize) -> Option<(Arc<Instance>, usize)> {
        let function = FUNCTIONS.get(handle)?;
        Some((function.instance.upgrade()?, function.index))
    }

    pub(crate) fn handle(&self) -> CUfunction {
        self.handle as CUfunction
    }

    /// Whether what it was in is still loaded.
    pub(crate) fn is_there(handle: usize) -> bool {
        FUNCTIONS.get(handle).is_some()
    }

    fn remove(&self) {
        FUNCTIONS.remove(self.handle);
    }
}

/// Which variables are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    Managed,
}

pub(crate) fn find_kernel(program: &Program, name: &str) -> Result<usize, CUresult> {
    program
        .code()?
        .kernels
        .iter()
        .position(|kernel| kernel.name.to_bytes() == name.as_bytes())
        .ok_or(CUDA_ERROR_NOT_FOUND)
}
