//! User objects: the program's own data, which graphs keep as long as they may use it. When nobody refers to an object any
//! more, the driver calls its destructor.

pub(crate) mod destructor;
mod later;
pub(crate) mod references;

use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CUDA_ERROR_INVALID_VALUE, CUhostFn, CUresult, CUuserObject,
};
use crate::driver::handle::{Object, Table};
use crate::driver::operation::host_function::UserData;
use crate::instruments::complain::complain;
use crate::instruments::foreign;
use crate::instruments::live;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static OBJECTS: Table<UserObject> = Table::new();

/// An object of the program's.
pub(crate) struct UserObject {
    handle: usize,
    destroy: unsafe extern "C" fn(*mut c_void),
    data: UserData,
    references: Mutex<Count>,
    /// Whether a launch has kept it.
    launched: AtomicBool,
}

/// How often it is referred to.
struct Count {
    /// By the program.
    own: u64,
    /// By graphs and what was made of them.
    held: u64,
}

impl Object for UserObject {
    fn report(&self) -> Option<live::Object> {
        let (kind, name) = (live::USER_OBJECT, self.handle);
        Some(live::Object { kind, name, bytes: 0, device: None, context: None, label: None })
    }
}

impl UserObject {
    /// The object that a caller's handle means.
    pub(crate) fn of(handle: CUuserObject) -> Result<Arc<Self>, CUresult> {
        OBJECTS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// A graph refers to it, so many times more; with references that were the program's, or new ones.
    pub(crate) fn hold(&self, count: u64, moved: bool) -> Answer {
        let mut references = self.references.lock();
        if moved {
            references.own = references.own.checked_sub(count).ok_or_else(too_many)?;
        }
        references.held += count;
        Ok(())
    }

    /// A graph refers to it less often.
    fn give_back(&self, count: u64) {
        self.change(|references| references.held -= count);
    }

    /// Has the destructor called if that was the last reference. No lock is held then.
    fn change(&self, change: impl FnOnce(&mut Count)) {
        let mut references = self.references.lock();
        change(&mut references);
        let is_last = references.own + references.held == 0;
        drop(references);
        if is_last && let Some(object) = OBJECTS.remove(self.handle) {
            // What a launch has kept goes on a thread of the driver's, whoever is the last (measured).
            if self.launched.load(Ordering::Acquire) {
                later::run(move || object.end());
            } else {
                object.end();
            }
        }
    }

    /// A launch keeps it.
    fn set_launched(&self) {
        self.launched.store(true, Ordering::Release);
    }

    /// Calls the destructor.
    fn end(&self) {
        // SAFETY: the program gave the destructor to be called so, once.
        destructor::run(|| unsafe {
            foreign::call(self.destroy as *const c_void, [self.data.0.expose_provenance()])
        });
    }
}

/// A real driver takes them from whoever has some, and calls the destructor too early.
fn too_many() -> CUresult {
    complain("a program gives up more references to a user object than it has; the call is refused");
    CUDA_ERROR_INVALID_VALUE
}

pub(crate) fn cuUserObjectCreate(
    object_out: Out<CUuserObject>,
    ptr: *mut c_void,
    destroy: CUhostFn,
    initialRefcount: u32,
    flags: u32,
) -> Answer {
    object_out.check()?;
    let destroy = destroy.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    if initialRefcount == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 as u32 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    later::begin()?;
    let references = Mutex::new(Count { own: initialRefcount.into(), held: 0 });
    let object = OBJECTS.add(|handle| UserObject {
        handle,
        destroy,
        data: UserData(ptr),
        references,
        launched: AtomicBool::new(false),
    });
    object_out.set(object.handle as CUuserObject)
}

pub(crate) fn cuUserObjectRetain(object: CUuserObject, count: u32) -> Answer {
    let object = UserObject::of(object)?;
    if count == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    object.references.lock().own += u64::from(count);
    Ok(())
}

/// The destructor is called before it returns, on this thread (measured).
pub(crate) fn cuUserObjectRelease(object: CUuserObject, count: u32) -> Answer {
    let object = UserObject::of(object)?;
    if count == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let count = u64::from(count);
    let mut refused = Ok(());
    object.change(|references| match references.own.checked_sub(count) {
        Some(left) => references.own = left,
        None => refused = Err(too_many()),
    });
    refused
}
