//! What to do about a finding, given the machine: each piece of advice is one line.

use crate::environment::Environment;
use crate::host::Host;
use crate::kernel_module::release_of_library;
use crate::subject::Subject;
use cushim::driver::{Candidate, DRIVER_VARIABLE, Driver, Kind, Origin, SOFTWARE_VARIABLE, Version};
use std::path::Path;

pub(crate) struct Advice<'a> {
    pub(crate) host: &'a Host,
    pub(crate) environment: &'a Environment,
}

const NOTHING: &str = "nothing needs to be done";

impl Advice<'_> {
    /// For a machine on which no driver library was found.
    pub(crate) fn install(&self) -> String {
        if self.host.is_wsl {
            "install the NVIDIA driver on Windows, not in WSL: it brings /usr/lib/wsl/lib/libcuda.so.1"
                .to_owned()
        } else if self.host.jetson.is_some() {
            "install JetPack's driver library (package nvidia-l4t-cuda)".to_owned()
        } else if self.host.container.is_some() {
            "to use a GPU, start the container with it (docker run --gpus all, with \
             NVIDIA_DRIVER_CAPABILITIES=compute,utility) on a machine that has the NVIDIA driver"
                .to_owned()
        } else if let Some(module) = &self.host.kernel_module {
            format!(
                "install the driver library of release {}, which the kernel module has (Debian: libcuda1)",
                module.release
            )
        } else {
            "to use a GPU, install the NVIDIA driver (Debian: nvidia-driver and libcuda1)".to_owned()
        }
    }

    /// For a driver that is older than `require`.
    pub(crate) fn update(&self, driver: &Driver, require: Version) -> String {
        match driver.kind() {
            Kind::Software => match require.in_softcuda() {
                Some(version) => format!("set SOFTCUDA_VERSION={version} and give --driver software"),
                None => {
                    let newest = Version::OF_SOFTCUDA.last().expect("softcuda can be some version");
                    format!("require CUDA {newest} or less of softcuda: it can be nothing newer")
                }
            },
            Kind::Wsl => format!("update the NVIDIA driver on Windows to one for CUDA {require} or newer"),
            Kind::Tegra => format!("update JetPack to a release for CUDA {require} or newer"),
            _ => format!(
                "update the NVIDIA driver to one for CUDA {require} or newer, or use a data-centre GPU with NVIDIA's \
                 cuda-compat package for it"
            ),
        }
    }

    /// For a library that was asked for and cannot be used.
    pub(crate) fn unusable(only: Option<&Candidate>) -> String {
        match only.map(|only| only.origin) {
            Some(Origin::Environment(SOFTWARE_VARIABLE)) => format!("correct or unset {SOFTWARE_VARIABLE}"),
            Some(Origin::Environment(variable)) => {
                format!(
                    "name the libcuda.so.1 of a driver, or software for softcuda, in {variable}, or unset it to have one looked \
                     for"
                )
            }
            _ => {
                "name the libcuda.so.1 of a driver, or software for softcuda, or leave the choice out to have one looked for"
                    .to_owned()
            }
        }
    }

    /// For stubs and nothing else.
    pub(crate) fn stub(only: Option<&Candidate>) -> String {
        match only.map(|only| only.origin) {
            Some(Origin::Environment(SOFTWARE_VARIABLE)) => Self::unusable(only),
            Some(Origin::Environment(_) | Origin::Options) => {
                "name the driver's library instead: libcuda.so.1 is the one that is installed".to_owned()
            }
            _ => "take the toolkit's stubs folder out of LD_LIBRARY_PATH and ld.so.conf, and install the NVIDIA driver"
                .to_owned(),
        }
    }

    /// For a softcuda that is there and refuses.
    pub(crate) fn softcuda(&self) -> String {
        match self.environment.variables.iter().find(|(name, _)| name.starts_with("SOFTCUDA_")) {
            Some((name, value)) => format!("see whether softcuda knows {name}={value}, or unset it"),
            None => "build softcuda anew, or name another one in CUSHIM_SOFTCUDA".to_owned(),
        }
    }

    /// For a softcuda whose calls fail: it does that where it is told to, or has too little memory.
    fn softcuda_fails(&self) -> String {
        let told = ["SOFTCUDA_FAULT", "SOFTCUDA_MEMORY"].into_iter();
        let mut told = told.filter_map(|name| Some((name, self.environment.get(name)?)));
        match told.next() {
            Some((name, value)) => format!("unset {name}, which is {value:?}"),
            None => "build softcuda anew, or name another one in CUSHIM_SOFTCUDA".to_owned(),
        }
    }

    /// For a driver that starts and shows no device, or says so instead of starting.
    pub(crate) fn no_device(&self, driver: &Driver) -> String {
        if driver.kind() == Kind::Software {
            return "set SOFTCUDA_DEVICES to 1 or more, or unset it".to_owned();
        }
        if self.host.serves_gpus()
            && let Some(value) = self.environment.get("CUDA_VISIBLE_DEVICES")
        {
            return format!(
                "unset CUDA_VISIBLE_DEVICES, which is {value:?} and may hide the devices, or see whether nvidia-smi -L \
                 lists any"
            );
        }
        if self.host.serves_gpus() {
            return "see whether nvidia-smi -L lists a GPU, and whether this user may open /dev/nvidia*"
                .to_owned();
        }
        if self.host.container.is_some() {
            return "start the container with the GPU (docker run --gpus all): the kernel offers none to it"
                .to_owned();
        }
        "the kernel serves no NVIDIA GPU: plug one in, or load the module (modprobe nvidia) and see dmesg"
            .to_owned()
    }

    /// For a driver whose `cuInit` or device list failed with `code`.
    pub(crate) fn init(&self, code: Option<i32>, driver: &Driver) -> String {
        match code {
            None => "this library lacks a function that every driver has: name a real driver".to_owned(),
            Some(100) => self.no_device(driver),
            Some(_) if driver.kind() == Kind::Software => self.softcuda_fails(),
            Some(2) => "free memory on the machine or the device: nvidia-smi lists who holds it".to_owned(),
            Some(3) => "start this process afresh: it was forked from one that had used CUDA".to_owned(),
            Some(34) => "take the toolkit's stubs folder out of LD_LIBRARY_PATH and install the NVIDIA driver".to_owned(),
            Some(46) => "a process has a device for itself or it is forbidden: nvidia-smi -q -d COMPUTE, then nvidia-smi -c 0".to_owned(),
            Some(101) => "see whether CUDA_VISIBLE_DEVICES names devices that exist: nvidia-smi -L".to_owned(),
            Some(214) => "the memory of a device is damaged (ECC): see nvidia-smi -q -d ECC, reset or replace the GPU".to_owned(),
            Some(304) => "see whether /dev/nvidia* exist and this user may open them; nvidia-modprobe -u -c=0 makes them".to_owned(),
            Some(802) => "start the fabric manager, of the driver's own release: systemctl start nvidia-fabricmanager".to_owned(),
            Some(803) => self.mismatch(driver),
            Some(804) => "forward compatibility is for data-centre GPUs only: take the compat folder out of \
                          LD_LIBRARY_PATH, or update the NVIDIA driver"
                .to_owned(),
            Some(805..=810) => "start the MPS daemon that CUDA_MPS_PIPE_DIRECTORY names, or unset that variable".to_owned(),
            Some(999) => self.unknown(),
            Some(_) => "see dmesg for lines of NVRM, and reload the nvidia modules or reboot".to_owned(),
        }
    }

    /// For result 803: the library and the kernel module are of different releases.
    fn mismatch(&self, driver: &Driver) -> String {
        let library = driver.path().and_then(release_of_library);
        let module = self.host.kernel_module.as_ref().map(|module| module.release.as_str());
        let releases = match (library, module) {
            (Some(library), Some(module)) => {
                format!(" (the library is {library}, the kernel module {module})")
            }
            _ => String::new(),
        };
        if driver.kind() == Kind::Compat
            || self.environment.folders.iter().any(|(folder, _)| is_compat(folder))
        {
            format!(
                "take the compat folder out of LD_LIBRARY_PATH: the driver itself is newer, or too old for it{releases}"
            )
        } else {
            format!(
                "use the library of the kernel module's own release{releases}; after an update of the driver, reboot, and \
                 restart containers"
            )
        }
    }

    /// For result 999, which has many causes.
    fn unknown(&self) -> String {
        let has_uvm = self.host.device_files.iter().any(|file| file == "/dev/nvidia-uvm");
        if self.host.kernel_module.is_some() && !has_uvm {
            return "load the module nvidia-uvm: nvidia-modprobe -u -c=0 (in a container, start it with --gpus)".to_owned();
        }
        "reload the module nvidia-uvm (rmmod nvidia_uvm, modprobe nvidia_uvm; after a suspend this helps) or reboot, and \
         see dmesg for lines of NVRM"
            .to_owned()
    }

    /// For a self-check that failed, with `code` if a call did.
    pub(crate) fn self_check(&self, code: Option<i32>, driver: &Driver) -> String {
        match code {
            _ if driver.kind() == Kind::Software => self.softcuda_fails(),
            None => "the driver starts and does not work: see dmesg for lines of NVRM, reload its modules or reboot".to_owned(),
            code => self.init(code, driver),
        }
    }

    /// For a driver that works.
    pub(crate) fn when_all_is_well(&self, driver: &Driver) -> String {
        if driver.is_older_than_supported() {
            format!("update the NVIDIA driver to one for CUDA {} or newer", Version::OLDEST_SUPPORTED)
        } else {
            NOTHING.to_owned()
        }
    }

    /// What is odd, though it may do no harm.
    pub(crate) fn notes(&self, subject: &Subject, chosen: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if subject.search().is_some_and(|search| search.privileged) {
            notes.push(
                "this process has more rights than its user, so CUSHIM_DRIVER and its like are not read"
                    .to_owned(),
            );
        }
        if chosen && subject.variable_is_set() {
            notes.push(format!("--driver overrules {DRIVER_VARIABLE}"));
        }
        let stubs = subject.candidates().iter().filter(|candidate| candidate.kind == Some(Kind::Stub));
        for stub in stubs {
            let path = stub.path.as_ref().unwrap_or(&stub.name);
            notes.push(format!(
                "{} is a stub of the toolkit; other programs may take it for the driver",
                path.display()
            ));
        }
        if let Ok(driver) = &subject.opened {
            notes.extend(self.notes_on(driver));
        }
        notes
    }

    fn notes_on(&self, driver: &Driver) -> Vec<String> {
        let mut notes = Vec::new();
        if driver.is_older_than_supported() {
            let oldest = Version::OLDEST_SUPPORTED;
            notes.push(format!(
                "the driver is older than CUDA {oldest}, the oldest that cushim is tested with"
            ));
        }
        if self.host.is_wsl && driver.kind() == Kind::Native {
            notes.push("a Linux driver inside WSL hides the one of Windows: remove it".to_owned());
        }
        let library = driver.path().and_then(release_of_library);
        if driver.kind() == Kind::Software {
            notes.push(
                "softcuda has every symbol of its version; what it does not model answers CUDA_ERROR_NOT_SUPPORTED"
                    .to_owned(),
            );
        }
        if let (Some(library), Some(module)) = (library, &self.host.kernel_module)
            && library != module.release
        {
            let why = match driver.kind() {
                Kind::Compat => "as forward compatibility means it",
                _ => "which does not work together",
            };
            notes.push(format!(
                "the library is of release {library} and the kernel module of {}, {why}",
                module.release
            ));
        }
        notes
    }
}

fn is_compat(folder: &Path) -> bool {
    folder.iter().any(|part| part == "compat" || part == "compat_orin")
}
