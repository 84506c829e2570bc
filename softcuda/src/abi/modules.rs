//! What programs and libraries have in memory that is only read: names of functions, most of all, which callers pass as constants.

use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

/// The smallest page of any machine: of a module that is loaded, at least that much of its head is there.
const PAGE: usize = 4096;

/// What glibc answers of an address (`struct dl_find_object`).
#[repr(C)]
struct Found {
    flags: u64,
    start: *const u8,
    end: *const u8,
    module: *const LinkMap,
    frames: *const c_void,
    /// More than any machine's form of it has.
    reserved: [u64; 16],
}

/// The head of a loader's description of a module (`struct link_map`).
#[repr(C)]
struct LinkMap {
    /// What is added to the addresses in the file.
    base: usize,
}

type Find = unsafe extern "C" fn(address: *mut c_void, found: *mut Found) -> c_int;

/// glibc 2.35 and newer have it: it takes no lock. Others are not asked in another way, as all of those take longer than the system.
fn find() -> Option<Find> {
    static FIND: LazyLock<Option<Find>> = LazyLock::new(|| {
        // SAFETY: the name ends with NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
        // SAFETY: a function of this name has this type, and null is the `None`.
        unsafe { std::mem::transmute::<*mut c_void, Option<Find>>(found) }
    });
    *FIND
}

/// Whether all of some bytes are in one segment of a module that is loaded, which can be read. `false` says nothing.
pub(super) fn has(address: usize, size: usize) -> bool {
    let Some(find) = find() else { return false };
    // SAFETY: all-zero is a valid value of this struct of pointers and numbers.
    let mut found: Found = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked about, and the place has room for the answer.
    if unsafe { find(address as *mut c_void, &raw mut found) } != 0 || found.module.is_null() {
        return false;
    }
    // SAFETY: the module is loaded, and whoever passes an address in it keeps it so for the call.
    unsafe { segments(&found) }.is_some_and(|(base, segments)| {
        segments.iter().any(|segment| {
            let is_readable = segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_R != 0;
            let start = base.wrapping_add(segment.p_vaddr as usize);
            // Pages beyond the bytes of the file may not be there, if the file was cut off.
            let end = start.wrapping_add(segment.p_filesz as usize);
            is_readable && (start..end).contains(&address) && size <= end - address
        })
    })
}

/// What is added to a module's addresses, and its segments, as they stand behind the header of its file.
///
/// # Safety
/// The module is loaded while they are used.
unsafe fn segments(found: &Found) -> Option<(usize, &[libc::Elf64_Phdr])> {
    let room = found.end.addr().checked_sub(found.start.addr())?;
    let header = found.start.cast::<libc::Elf64_Ehdr>();
    // SAFETY: a module begins with its first segment, which is that of the header if it is as it should be, and aligned to pages.
    let header = (room >= size_of::<libc::Elf64_Ehdr>()).then(|| unsafe { &*header })?;
    let (at, count) = (usize::try_from(header.e_phoff).ok()?, usize::from(header.e_phnum));
    let is_whole = header.e_ident.starts_with(b"\x7fELF")
        && usize::from(header.e_phentsize) == size_of::<libc::Elf64_Phdr>()
        && at.is_multiple_of(align_of::<libc::Elf64_Phdr>())
        // On the page of the header.
        && at.saturating_add(count * size_of::<libc::Elf64_Phdr>()) <= PAGE.min(room);
    if !is_whole {
        return None;
    }
    // SAFETY: they are on the page of the header, which was read, and the module's description is the loader's.
    unsafe {
        let segments = found.start.add(at).cast::<libc::Elf64_Phdr>();
        Some(((*found.module).base, std::slice::from_raw_parts(segments, count)))
    }
}

#[cfg(test)]
mod tests {
    use super::{find, has};

    #[test]
    fn what_modules_have() {
        if find().is_none() {
            return; // an older glibc
        }
        let (constant, on_heap, on_stack) = ("cuInit", Box::new(0u64), 0u64);
        assert!(has(constant.as_ptr().addr(), constant.len()));
        assert!(has(libc::strlen as *const () as usize, 1), "of another module");
        assert!(!has(constant.as_ptr().addr(), 1 << 40));
        assert!(!has(&raw const *on_heap as usize, 8) && !has(&raw const on_stack as usize, 8));
        assert!(!has(0, 1) && !has(usize::MAX, 1) && !has(usize::MAX - 100, 1000));
    }
}
