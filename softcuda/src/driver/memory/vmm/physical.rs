//! Memory without an address.

use super::properties::{GRANULARITY, Properties};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY, CUmemAllocationProp_v1,
    CUmemGenericAllocationHandle_v1, CUresult,
};
use crate::driver::handle::{Object, Table};
use crate::driver::memory::{identity, pool};
use crate::driver::space::shared::SharedMemory;
use crate::driver::space::window::Claim;
use crate::instruments::live;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// All there is, by its handle.
static ALL: RwLock<BTreeMap<usize, Weak<Physical>>> = RwLock::new(BTreeMap::new());
/// What programs hold by a handle.
static CREATED: Table<Physical> = Table::new();

/// Memory that a program has created, or was given. It stays while it is held by its handle or mapped somewhere.
pub(crate) struct Physical {
    handle: usize,
    pub(crate) memory: SharedMemory,
    pub(crate) properties: Properties,
    /// Which memory it is, wherever it is mapped.
    pub(crate) id: u64,
    /// How many releases its handle needs.
    claims: Mutex<usize>,
    #[allow(dead_code)] // held for its drop
    claim: Option<Claim>,
}

impl Object for Physical {
    fn report(&self) -> Option<live::Object> {
        Some(live::Object {
            kind: live::PHYSICAL_MEMORY,
            name: self.handle,
            bytes: self.memory.size(),
            device: self.properties.place.device().map(|device| device.ordinal()),
            context: None,
            label: None,
        })
    }
}

impl Physical {
    /// New memory, all zero, which its handle holds once.
    fn create(size: usize, properties: Properties) -> Result<Arc<Self>, CUresult> {
        let claim = match properties.place.device().map(|device| device.ordinal()) {
            Some(device) => Some(
                pool::find_room(device, size, || Claim::take(size, device))
                    .ok_or(CUDA_ERROR_OUT_OF_MEMORY)?,
            ),
            None => None,
        };
        let memory = SharedMemory::new(size, properties.label()).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?;
        Ok(Self::add(memory, properties, claim))
    }

    /// Memory that another allocation has, too: of this process, or of another one, whose device has been asked for it.
    pub(super) fn import(memory: SharedMemory, properties: Properties) -> Arc<Self> {
        Self::add(memory, properties, None)
    }

    fn add(memory: SharedMemory, properties: Properties, claim: Option<Claim>) -> Arc<Self> {
        let (id, claims) = (identity::next(), Mutex::new(1));
        let added = CREATED.add(|handle| Self { handle, memory, properties, id, claims, claim });
        ALL.write().insert(added.handle, Arc::downgrade(&added));
        added
    }

    /// What a handle means that may have been released: while the memory is mapped somewhere, it is still known (measured).
    fn known(handle: CUmemGenericAllocationHandle_v1) -> Result<Arc<Self>, CUresult> {
        ALL.read().get(&(handle as usize)).and_then(Weak::upgrade).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// What a caller's handle means.
    pub(crate) fn of(handle: CUmemGenericAllocationHandle_v1) -> Result<Arc<Self>, CUresult> {
        CREATED.get(handle as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// The value that callers know it by.
    pub(crate) fn handle(&self) -> CUmemGenericAllocationHandle_v1 {
        self.handle as u64
    }

    /// One more release is needed, and its handle works again if it did not.
    pub(crate) fn retain(self: &Arc<Self>) {
        let mut claims = self.claims.lock();
        *claims += 1;
        if *claims == 1 {
            CREATED.insert([(self.handle, Arc::clone(self))]);
        }
    }

    fn release(&self) {
        let mut claims = self.claims.lock();
        *claims = claims.saturating_sub(1);
        let last = (*claims == 0).then(|| CREATED.remove(self.handle));
        drop(claims);
        drop(last); // outside of the lock
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        ALL.write().remove(&self.handle);
    }
}

pub(crate) fn cuMemCreate(
    handle: Out<CUmemGenericAllocationHandle_v1>,
    size: usize,
    prop: In<CUmemAllocationProp_v1>,
    flags: u64,
) -> Answer {
    handle.check()?;
    let properties = Properties::of(&prop.get()?)?;
    if flags != 0 || size == 0 || !size.is_multiple_of(GRANULARITY) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    handle.set(Physical::create(size, properties)?.handle())
}

/// What is mapped stays there.
pub(crate) fn cuMemRelease(handle: CUmemGenericAllocationHandle_v1) -> Answer {
    Physical::of(handle)?.release();
    Ok(())
}

pub(crate) fn cuMemGetAllocationPropertiesFromHandle(
    prop: Out<CUmemAllocationProp_v1>,
    handle: CUmemGenericAllocationHandle_v1,
) -> Answer {
    prop.check()?;
    prop.set(Physical::known(handle)?.properties.tell())
}
