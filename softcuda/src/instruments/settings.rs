//! Which driver this process sees: the environment, read once, and the shell's word on the version.

use super::cancellation::Deferred;
use super::checks::Checks;
use super::complain::complain;
use super::environment::{of_driver, variable};
use super::machine;
use super::schedule::Schedule;
use super::visible;
use crate::abi::versions::VERSIONS;
use parking_lot::Mutex;
use std::sync::OnceLock;

/// The configuration of the process.
pub(crate) struct Settings {
    /// As `cuDriverGetVersion` answers: 12020 for 12.2.
    pub(crate) version: u32,
    /// How many devices the machine has.
    pub(crate) installed: usize,
    /// The numbers of the devices that the process sees, in its order.
    pub(crate) devices: Vec<usize>,
    /// Whether `CUDA_VISIBLE_DEVICES` names a device twice.
    pub(crate) named_twice: bool,
    /// Memory of each device in bytes.
    pub(crate) memory: u64,
    /// When work on streams runs.
    pub(crate) schedule: Schedule,
    /// Whether host and devices may use managed memory at the same time.
    pub(crate) concurrent_managed: bool,
    /// Whether there are memory pools.
    pub(crate) memory_pools: bool,
    /// Whether graphs use addresses again.
    pub(crate) graph_reuse: bool,
    /// How far kernels reach beyond their memory.
    pub(crate) bounds: Bounds,
    /// Instructions that a thread of a kernel may execute; `None`: as many as it likes.
    pub(crate) kernel_budget: Option<u64>,
    /// Whether a launch returns when the kernel is done.
    pub(crate) launch_blocking: bool,
    /// What is looked for.
    pub(crate) checks: Checks,
}

/// Where the memory ends that kernels may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Where the program's allocation does.
    Exact,
    /// Where that of a GPU does, which is larger.
    Allocation,
}

const DEFAULT_VERSION: u32 = 13000;
const MOST_DEVICES: usize = 64;

/// The version that a shell has claimed before the settings were needed.
static CLAIMED: Mutex<Option<u32>> = Mutex::new(None);
static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();

/// The settings; `None` if the environment asks for something impossible, which has then been said on stderr.
pub(crate) fn settings() -> Option<&'static Settings> {
    let settings = SETTINGS.get_or_init(|| {
        let _deferred = Deferred::new();
        let claimed = *CLAIMED.lock();
        read(claimed).map_err(|message| complain(&message)).ok()
    });
    settings.as_ref()
}

/// The impersonated version, for code that runs after `entry` has let a call through.
pub(crate) fn version() -> u32 {
    settings().map_or(0, |s| s.version)
}

/// Whether host and devices may use managed memory at the same time.
pub(crate) fn concurrent_managed() -> bool {
    settings().is_some_and(|settings| settings.concurrent_managed)
}

/// Whether devices have memory pools.
pub(crate) fn memory_pools() -> bool {
    settings().is_some_and(|settings| settings.memory_pools)
}

/// Whether a launch returns when the kernel is done.
pub(crate) fn launch_blocking() -> bool {
    settings().is_some_and(|settings| settings.launch_blocking)
}

/// What is looked for.
pub(crate) fn checks() -> Checks {
    settings().map_or(Checks::default(), |settings| settings.checks)
}

/// Whether an allocation of a graph has the address of one that the graph frees before it.
pub(crate) fn graph_reuse() -> bool {
    settings().is_some_and(|settings| settings.graph_reuse)
}

/// Whether kernels may use memory beyond their allocations, as far as a GPU maps it.
pub(crate) fn bounds_are_wide() -> bool {
    settings().is_some_and(|settings| settings.bounds == Bounds::Allocation)
}

/// How many instructions a thread of a kernel may execute, if that is limited.
pub(crate) fn kernel_budget() -> Option<u64> {
    settings().and_then(|settings| settings.kernel_budget)
}

/// Fixes the version of the process, as a shell does when it is loaded; false if another version is in use.
pub(crate) fn claim(version: u32) -> bool {
    if SETTINGS.get().is_none() && *CLAIMED.lock().get_or_insert(version) != version {
        return false;
    }
    // Read now, so that a claim which came too late is not taken for one that holds.
    settings().is_none_or(|s| s.version == version)
}

fn read(claimed: Option<u32>) -> Result<Settings, String> {
    let asked = variable("SOFTCUDA_VERSION", DEFAULT_VERSION, |text| {
        let known: Vec<&str> = VERSIONS.iter().map(|(name, _)| *name).collect();
        VERSIONS
            .iter()
            .find(|(name, _)| *name == text)
            .map(|v| v.1)
            .ok_or_else(|| format!("one of {}", known.join(", ")))
    })?;
    let devices = variable("SOFTCUDA_DEVICES", 1, |text| {
        text.parse()
            .ok()
            .filter(|&n| n <= MOST_DEVICES)
            .ok_or_else(|| format!("a number from 0 to {MOST_DEVICES}"))
    })?;
    let memory = variable("SOFTCUDA_MEMORY", machine::memory_for(devices), |text| {
        bytes(text).ok_or_else(|| "bytes from 1M to 1024G, with an optional suffix K, M or G".to_owned())
    })?;
    let seed = variable("SOFTCUDA_SEED", 0, |text| {
        text.parse().map_err(|_| format!("a number from 0 to {}", u64::MAX))
    })?;
    let schedule = variable("SOFTCUDA_SCHEDULE", Schedule::Eager, |text| {
        Schedule::named(text, seed).ok_or_else(|| "eager, lazy, seeded or in-order".to_owned())
    })?;
    let concurrent_managed = variable("SOFTCUDA_CONCURRENT_MANAGED", true, switch)?;
    let memory_pools = variable("SOFTCUDA_MEMORY_POOLS", true, switch)?;
    let graph_reuse = variable("SOFTCUDA_GRAPH_REUSE", true, switch)?;
    let bounds = variable("SOFTCUDA_BOUNDS", Bounds::Exact, |text| match text {
        "exact" => Ok(Bounds::Exact),
        "allocation" => Ok(Bounds::Allocation),
        _ => Err("exact or allocation".to_owned()),
    })?;
    let kernel_budget = variable("SOFTCUDA_KERNEL_BUDGET", None, |text| {
        text.parse()
            .ok()
            .filter(|budget| *budget > 0)
            .map(Some)
            .ok_or_else(|| "a number of instructions".to_owned())
    })?;
    let checks = variable("SOFTCUDA_CHECK", Checks::default(), Checks::named)?;
    let version = claimed.unwrap_or(asked);
    let installed = devices;
    let (devices, named_twice) = visible::devices(installed);
    let launch_blocking =
        of_driver("CUDA_LAUNCH_BLOCKING").is_some_and(|text| visible::number(&text) == Some(1));
    Ok(Settings {
        version,
        installed,
        devices,
        named_twice,
        memory,
        schedule,
        concurrent_managed,
        memory_pools,
        graph_reuse,
        bounds,
        kernel_budget,
        launch_blocking,
        checks,
    })
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("0 or 1".to_owned()),
    }
}

/// `512M`, `2G`, `1048576`: binary multiples.
fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'K') => (&text[..at], 10),
        (at, 'M') => (&text[..at], 20),
        (at, 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (1 << 20..=1 << 40).contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes() {
        assert_eq!(bytes("512M"), Some(512 << 20));
        assert_eq!(bytes("2G"), Some(2 << 30));
        assert_eq!(bytes("1048576"), Some(1 << 20));
        for bad in ["", "G", "0", "10K", "1T", "-1", "2000G", "1 G"] {
            assert_eq!(bytes(bad), None, "{bad:?}");
        }
    }
}
