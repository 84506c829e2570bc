//! softcuda itself: its libraries, what it makes of the settings, and whether the machine has the memory.

use super::Findings;
use crate::arguments::Options;
use crate::libraries::Libraries;
use crate::question::{Driver, ask, ask_without};
use crate::setting::{Setting, USUAL_MEMORY, in_words_of_options};
use crate::shown;

pub(super) fn examine(
    libraries: &Libraries,
    settings: &[Setting],
    options: &Options,
    findings: &mut Findings,
) {
    libraries_there(libraries, findings);
    match ask(&libraries.core, settings).map_err(|problem| in_words_of_options(problem, options)) {
        Ok(driver) => {
            version(libraries, &driver, findings);
            devices(&driver, findings);
            memory(libraries, settings, &driver, findings);
        }
        Err(problem) => findings.problem("settings", problem.sentence()),
    }
    for (name, value) in std::env::vars_os() {
        if name == "CUDA_LAUNCH_BLOCKING" && !value.is_empty() {
            let meaning = if value == "1" { "launches wait for all work" } else { "which changes nothing" };
            findings.fine("settings", format!("CUDA_LAUNCH_BLOCKING={}: {meaning}", shown(value)));
        }
    }
}

fn libraries_there(libraries: &Libraries, findings: &mut Findings) {
    findings.fine("softcuda", shown(&libraries.core));
    match libraries.versions() {
        versions if versions.is_empty() => findings.warning(
            "softcuda",
            "there are no libraries of one version, libsoftcuda-12.4.so and others; where softcuda was built there was no C compiler. \
             Programs that look functions up by dlsym find those of all versions",
        ),
        versions => findings.fine("softcuda", format!("versions {}", versions.join(", "))),
    }
    match libraries.nvml() {
        Some(path) => findings.fine("NVML", shown(path)),
        None => findings.warning(
            "NVML",
            "libsoftcuda_nvml.so is not beside it; programs that ask for GPUs by NVML find none",
        ),
    }
}

fn version(libraries: &Libraries, driver: &Driver, findings: &mut Findings) {
    let shell = libraries.shell(&driver.version);
    let own = shell.as_ref().map_or_else(|| shown(&libraries.core), shown);
    findings.fine("driver", format!("CUDA {}, libcuda.so.1 is {own}", driver.version));
}

fn devices(driver: &Driver, findings: &mut Findings) {
    let list = std::env::var_os("CUDA_VISIBLE_DEVICES").map(shown);
    let (installed, visible) = (driver.installed, driver.visible);
    match list {
        _ if installed == 0 => findings.fine("devices", "none, as --devices 0 wants it"),
        None => findings.fine("devices", installed.to_string()),
        Some(list) if visible == 0 => findings.problem(
            "devices",
            format!(
                "CUDA_VISIBLE_DEVICES={list} leaves none of {installed}; cuInit answers an error. Unset it"
            ),
        ),
        Some(list) => {
            findings.fine("devices", format!("CUDA_VISIBLE_DEVICES={list} leaves {visible} of {installed}"));
        }
    }
}

/// What all devices of a process may take, and what is there.
fn memory(libraries: &Libraries, settings: &[Setting], driver: &Driver, findings: &mut Findings) {
    let Some(asked) = driver.memory else { return };
    let others: Vec<Setting> =
        settings.iter().filter(|setting| setting.name != "SOFTCUDA_MEMORY").cloned().collect();
    let usual =
        ask_without(&libraries.core, &others, &["SOFTCUDA_MEMORY"]).ok().and_then(|driver| driver.memory);
    // By itself softcuda gives devices half of what is available to a process.
    let Some(usual) = usual else { return };
    let devices = u64::from(driver.installed);
    let available = usual.saturating_mul(2 * devices);
    let is_said = asked != usual;
    let each = if is_said { asked } else { asked.min(USUAL_MEMORY) };
    let all = each.saturating_mul(devices);
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let sentence =
        format!("{} for each of {devices}; about {} are available to a process", mib(each), mib(available));
    if all > available {
        findings.warning(
            "memory",
            format!("{sentence}: one that uses it all may be killed; give less by --memory"),
        );
    } else {
        findings.fine("memory", sentence);
    }
}
