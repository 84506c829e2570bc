//! Memory by file descriptors, in one process.

use super::parts::properties;
use super::{UNIT, created, private, reserved};
use crate::driver::{Answer, Cu, Outcome, call, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEM_HANDLE_TYPE_NONE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUmemAllocationHandleType,
};
use std::ptr::null_mut;

const FILE: CUmemAllocationHandleType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (handle, unshared) = (created(cu, 1)?, private(cu)?);
    let mut file = -1i32;
    let export = |file: &mut i32, handle, kind, flags| -> Answer {
        let place = (&raw mut *file).cast();
        call!(cu, cuMemExportToShareableHandle_10020(place, handle, kind, flags))
    };
    t.line("export as nothing", || export(&mut file, handle, CU_MEM_HANDLE_TYPE_NONE, 0));
    t.line("export, flags 1", || export(&mut file, handle, FILE, 1));
    t.line("export to NULL", || call!(cu, cuMemExportToShareableHandle_10020(null_mut(), handle, FILE, 0)));
    t.line("export of 0", || export(&mut file, 0, FILE, 0));
    t.line("export of what was not created for it", || export(&mut file, unshared, FILE, 0));
    t.line("export", || export(&mut file, handle, FILE, 0));
    let mut imported = 0;
    let import = |imported: &mut u64, file: i32, kind| -> Answer {
        let file = std::ptr::without_provenance_mut(file as isize as usize);
        call!(cu, cuMemImportFromShareableHandle_10020(&raw mut *imported, file, kind))
    };
    t.line("import as nothing", || import(&mut imported, file, CU_MEM_HANDLE_TYPE_NONE));
    t.line("import descriptor -1", || import(&mut imported, -1, FILE));
    let null = std::fs::File::open("/dev/null").ok();
    let null = null.as_ref().map_or(-1, std::os::fd::AsRawFd::as_raw_fd);
    t.line("import /dev/null", || import(&mut imported, null, FILE));
    t.line("import: the same handle", || import(&mut imported, file, FILE).then(|| yes(imported == handle)));
    let mut second = 0;
    t.line("import again: the same handle", || {
        import(&mut second, file, FILE).then(|| yes(second == imported))
    });
    t.line("  properties", || properties(cu, imported));
    // SAFETY: the descriptor that the export has given to this process.
    let closed = unsafe { close(file) };
    t.line("  close the descriptor", || yes(closed == 0));
    let address = reserved(cu, 2)?;
    t.line("map an import that is smaller", || call!(cu, cuMemMap_10020(address, 2 * UNIT, 0, imported, 0)));
    t.line("map an import", || call!(cu, cuMemMap_10020(address, UNIT, 0, imported, 0)));
    t.line("  unmap", || call!(cu, cuMemUnmap_10020(address, UNIT)));
    t.line("  release", || call!(cu, cuMemRelease_10020(imported)));
    t.line("  release the second", || call!(cu, cuMemRelease_10020(second)));
    t.line("  export what was imported from", || export(&mut file, handle, FILE, 0));
    Ok(())
}

unsafe extern "C" {
    fn close(file: i32) -> i32;
}
