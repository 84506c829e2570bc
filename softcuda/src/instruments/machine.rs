//! What the machine has for devices that are made of its memory.

use std::fs::read_to_string;
use std::sync::LazyLock;

/// What a device has is a multiple of this, where that is not too much, or else of the least that a setting may say.
const UNIT: u64 = 64 << 20;
/// As little and as much as a setting may say.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 1 << 40;

/// Of the memory that is available, all devices together have one part in so many: the program needs some, and others do.
const SHARE: u64 = 2;

/// Addresses of the process that a byte of a device may need at most: the devices' memory is mapped twice, with room for
/// fragments.
const ADDRESSES: u64 = 16;

/// Bytes for each of so many devices: half of what is available to this process, shared among them.
pub(super) fn memory_for(devices: usize) -> u64 {
    let limits = control_group().into_iter().chain(address_space()).chain(commitment());
    let available = limits.fold(field("/proc/meminfo", "MemAvailable").unwrap_or(UNIT), u64::min);
    let each = available / SHARE / devices.max(1) as u64;
    let unit = if each < UNIT { LEAST } else { UNIT };
    (each / unit * unit).clamp(LEAST, MOST)
}

/// Bytes of memory that the machine has, and of what it can put aside; more than any has if it does not say.
pub(crate) fn physical() -> u64 {
    static PHYSICAL: LazyLock<u64> = LazyLock::new(|| {
        let of = |name| field("/proc/meminfo", name);
        of("MemTotal").map_or(u64::MAX, |memory| memory.saturating_add(of("SwapTotal").unwrap_or(0)))
    });
    *PHYSICAL
}

/// Whether processes can share memory: the system has files without a name, and lets this process have one of any size. (Where it
/// does not, it ends the process that makes one by a signal.)
pub(crate) fn shares_memory() -> bool {
    static SHARES: LazyLock<bool> = LazyLock::new(|| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: writes one struct; the name is a string, and the new descriptor nobody else's.
        unsafe {
            let unlimited = libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) == 0
                && limit.rlim_cur == libc::RLIM_INFINITY;
            let name = c"softcuda-probe".as_ptr();
            let file = libc::syscall(libc::SYS_memfd_create, name, libc::MFD_CLOEXEC) as libc::c_int;
            file >= 0 && libc::close(file) == 0 && unlimited
        }
    });
    *SHARES
}

/// A value of a file of lines like `MemTotal: 24684092 kB`, in bytes.
fn field(file: &str, name: &str) -> Option<u64> {
    let text = read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the control groups of the process leave it, by the old and the new interface.
fn control_group() -> Vec<u64> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_group = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let folders = match controllers {
            "" => ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
                .map(|root| (root, "memory.max", "memory.current")),
            "memory" => ["/sys/fs/cgroup/memory"; 2]
                .map(|root| (root, "memory.limit_in_bytes", "memory.usage_in_bytes")),
            _ => return None,
        };
        // In a container the path may be that of the host, and the group the root.
        let places = folders.into_iter().flat_map(move |(root, limit, usage)| {
            [format!("{root}{path}"), root.to_owned()].map(|folder| (folder, limit, usage))
        });
        Some(places.filter_map(|(folder, limit, usage)| left(&folder, limit, usage)).collect::<Vec<_>>())
    };
    groups.lines().filter_map(of_group).flatten().collect()
}

/// What a group leaves, if it has a limit.
fn left(folder: &str, limit: &str, usage: &str) -> Option<u64> {
    let number = |name: &str| read_to_string(format!("{folder}/{name}")).ok()?.trim().parse::<u64>().ok();
    Some(number(limit)?.saturating_sub(number(usage).unwrap_or(0)))
}

/// What `ulimit -v` leaves.
fn address_space() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes the struct.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur / ADDRESSES)
}

/// What may still be mapped where the system promises no more than it has.
fn commitment() -> Option<u64> {
    let strict = read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2");
    let of = |name| field("/proc/meminfo", name);
    strict.then(|| Some(of("CommitLimit")?.saturating_sub(of("Committed_AS")?) / ADDRESSES))?
}

#[cfg(test)]
mod tests {
    use super::{LEAST, UNIT, field, memory_for};

    #[test]
    fn devices_share_what_is_available() {
        let physical = field("/proc/meminfo", "MemTotal").unwrap();
        let (one, four, many) = (memory_for(1), memory_for(4), memory_for(64));
        assert!(one <= physical / 2 && one.is_multiple_of(UNIT), "{one} of {physical}");
        assert!(4 * four <= physical / 2 && 64 * many <= physical / 2, "{four} and {many} of {physical}");
        assert!(many >= LEAST && many.is_multiple_of(LEAST), "{many}");
        assert_eq!(memory_for(1 << 40), LEAST);
        assert_eq!(field("/proc/meminfo", "MemTot"), None);
    }
}
