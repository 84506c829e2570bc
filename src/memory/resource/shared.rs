//! Pools of several processes: exported by one, and imported by others.

use super::imported::Imported;
use super::pool::Pool;
use super::{Properties, Resource, ResourceKind};
use crate::device::Device;
use crate::driver::calls::memory::pool::RawPool;
use crate::driver::sys;
use crate::memory::DevicePointer;
use crate::memory::shared_file::{ExportedFile, check_file, explain_files};
use crate::object::descriptor::{self, Descriptor, DescriptorBytes, DescriptorKind, NATIVE, unique};
use crate::object::error::{Error, Status};
use crate::object::handle::{Shared as _, Weakly};
use crate::object::owning::Ownership;
use parking_lot::Mutex;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const FILES: i32 = sys::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;

/// Pools of this process that were exported, by their numbers.
static EXPORTED: Mutex<Vec<([u8; 16], Weakly<Resource>)>> = Mutex::new(Vec::new());

fn refuse<T>(refusal: String, about: &Resource) -> Result<T, Error> {
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(about))
}

impl Resource {
    /// What another process needs to [import](Self::import) the pool: a new descriptor of a file, which the caller closes, and the bytes
    /// that say what it is of. Both go to the other process, the file by `SCM_RIGHTS` for instance.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a pool that was created without `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR` among its handle
    /// types, and for one that was imported; [`Status::UNSUPPORTED`] for a resource that is no pool; the driver's.
    pub fn export(&self) -> Result<(i32, DescriptorBytes), Error> {
        descriptor::check_allowed(self.driver())?;
        let pool = self.pool()?;
        if pool.imported().is_some() {
            return refuse(
                format!("{self} was imported, and only the process that created it can export it"),
                self,
            );
        }
        if pool.handle_types().is_some_and(|types| types & FILES == 0) {
            let refusal = format!(
                "{self} is of this process only; create a pool of its own with handle_types {FILES} \
                 (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) to export it"
            );
            return refuse(refusal, self);
        }
        let mut descriptor = Descriptor::new(DescriptorKind::Pool);
        if let Some(device) = pool.device() {
            descriptor.device = device.uuid()?;
        }
        let file = self.share(pool)?;
        descriptor.pool = self.exported_id(pool);
        Ok((file, descriptor.write()))
    }

    /// The number of a pool that is exported, by which this process knows it again.
    fn exported_id(&self, pool: &Pool) -> [u8; 16] {
        let id = *pool.id.get_or_init(unique);
        let mut exported = EXPORTED.lock();
        exported.retain(|(_, resource)| resource.is_there());
        if !exported.iter().any(|(known, _)| *known == id) {
            exported.push((id, self.downgrade()));
        }
        id
    }

    /// Another process's pool. It allocates nothing here: its memory comes as [buffers](crate::memory::Buffer::import). The file stays the
    /// caller's, who may close it afterwards. A pool of this process is its own resource again; imported twice it is the same native pool.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for bytes that are no descriptor of a pool, a pool of another device, and a file that is none of a
    /// driver's; the driver's.
    pub fn import(device: &Device, descriptor: &[u8], file: i32) -> Result<Self, Error> {
        descriptor::check_allowed(device.driver())?;
        let descriptor = Descriptor::read(descriptor, DescriptorKind::Pool)?;
        if descriptor.is_own() {
            return own(&descriptor);
        }
        let of_host = descriptor.device == [0; 16];
        if !of_host && descriptor.device != device.uuid()? {
            let refusal = format!(
                "the pool is of the device with UUID {}, and {device} is another one; import it for its own device",
                hexadecimal(&descriptor.device)
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(device));
        }
        check_file(file)?;
        let imported = Imported::new(device.driver(), descriptor.pool, file);
        let imported = imported.map_err(|error| explain_import(explain_files(device.failed(error)), file))?;
        let imported = imported.ok_or_else(|| {
            let refusal = format!(
                "file descriptor {file} is of another pool, which is imported already; pass the one that was exported with this descriptor"
            );
            Error::new(Status::INVALID_ARGUMENT, refusal)
        })?;
        Ok(Self::of_imported(device, imported, of_host))
    }

    fn of_imported(device: &Device, imported: Imported, of_host: bool) -> Self {
        let (kind, home, properties) = match of_host {
            true => (ResourceKind::PinnedPool, None, Properties::host(true)),
            false => {
                let properties = Properties::device(device.ordinal());
                (ResourceKind::DevicePool, Some(device.clone()), properties)
            }
        };
        let pool = Pool::new(imported.raw(), kind, home, Ownership::Borrowed).shared_by(imported);
        Self::of_pool(device.driver(), pool, properties.in_stream_order())
    }

    /// Whether it is a pool of another process's.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.pool().is_ok_and(|pool| pool.imported().is_some())
    }

    /// Whether it allocates memory, and is not another process's.
    pub(super) fn allocates(&self) -> bool {
        !self.is_imported() && !self.is_opened()
    }

    /// What another process needs to import memory of the pool: the pool's number, and the driver's bytes.
    pub(in crate::memory) fn export_memory(
        &self,
        pointer: DevicePointer,
    ) -> Result<([u8; 16], [u8; NATIVE]), Error> {
        let pool = self.pool()?;
        if pool.imported().is_some() || pool.handle_types().is_some_and(|types| types & FILES == 0) {
            let refusal = format!(
                "memory of {self} cannot be exported: only the process that created the pool can, and only if the pool was created with \
                 handle_types {FILES} (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)"
            );
            return refuse(refusal, self);
        }
        self.share_once(pool)?;
        let native = RawPool::share_pointer(self.driver().object_table(), pointer.0);
        let native = native.map_err(|error| self.failed(error))?;
        Ok((self.exported_id(pool), native))
    }

    /// A new descriptor of the pool. Of a pool that was not created here, only the driver knows whether it can have one.
    fn share(&self, pool: &Pool) -> Result<i32, Error> {
        pool.raw().share().map_err(|error| {
            let mut failure = explain_files(self.failed(error));
            if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
                failure.message.push_str(&format!(
                    ". Only a pool that was created with handle_types {FILES} (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) can be exported, \
                     and a device's default pool was not: create one of its own (CUSHIM_POOL_OWN)"
                ));
            }
            failure
        })
    }

    /// The driver exports memory of a pool only once the pool itself was exported.
    fn share_once(&self, pool: &Pool) -> Result<(), Error> {
        if pool.id.get().is_none() {
            drop(ExportedFile::new(self.share(pool)?));
        }
        Ok(())
    }

    /// Imports memory of the pool.
    ///
    /// # Safety
    /// The bytes are what the pool's process exported.
    pub(in crate::memory) unsafe fn import_memory(
        &self,
        pool: &[u8; 16],
        native: &[u8; NATIVE],
    ) -> Result<DevicePointer, Error> {
        let Some(imported) = self.pool()?.imported() else {
            let refusal = format!(
                "{self} is a pool of this process; import the pool that the memory is of (cushim_resource_import), and the memory from that"
            );
            return refuse(refusal, self);
        };
        if imported.id() != *pool {
            let (theirs, own) = (hexadecimal(pool), hexadecimal(&imported.id()));
            return refuse(
                format!(
                    "the memory is of pool {theirs}, and {self} is pool {own}; import it from its own pool"
                ),
                self,
            );
        }
        // SAFETY: as the caller vouches.
        unsafe { imported.import(native) }.map_err(|error| {
            let mut failure = self.failed(error);
            failure.message.push_str(
                ". The memory is of another process: it must not be freed there before it is imported",
            );
            failure
        })
    }
}

/// A pool of this process, by what was exported of it.
fn own(descriptor: &Descriptor) -> Result<Resource, Error> {
    let exported = EXPORTED.lock();
    let known = exported.iter().find(|(id, _)| *id == descriptor.pool);
    known.and_then(|(_, resource)| resource.upgrade()).ok_or_else(|| {
        let refusal = "the pool was exported by this process, and is destroyed; create another one";
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}

#[cold]
fn explain_import(mut failure: Error, file: i32) -> Error {
    failure.message.push_str(&format!(
        ". Descriptor {file} must be the one that was exported with the pool, received by SCM_RIGHTS or inherited"
    ));
    failure
}

pub(in crate::memory) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
