//! The machine: what a driver depends on besides itself.

use crate::kernel_module::KernelModule;
use std::fs;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Host {
    /// `Debian GNU/Linux 12 (bookworm)`.
    pub(crate) system: String,
    /// The kernel's release.
    pub(crate) kernel: Option<String>,
    /// `x86_64`, `aarch64`.
    pub(crate) architecture: &'static str,
    /// `glibc 2.36`; `None` with another C library.
    pub(crate) libc: Option<String>,
    /// Which sort of container this is, or `None` where nothing points to one.
    pub(crate) container: Option<String>,
    /// This is Linux under Windows.
    pub(crate) is_wsl: bool,
    /// The board, if it is one of NVIDIA's with a Tegra chip.
    pub(crate) jetson: Option<String>,
    /// The device files through which a driver reaches a GPU, those that are there.
    pub(crate) device_files: Vec<String>,
    pub(crate) kernel_module: Option<KernelModule>,
}

impl Host {
    /// Looks below `root`, which is `/` but for tests. `libc` is what the C library says of itself.
    pub(crate) fn read(root: &Path, libc: Option<String>) -> Self {
        Self {
            system: system(root),
            kernel: text(root, "proc/sys/kernel/osrelease"),
            architecture: std::env::consts::ARCH,
            libc,
            container: container(root),
            is_wsl: is_wsl(root),
            jetson: jetson(root),
            device_files: device_files(root),
            kernel_module: KernelModule::read(root),
        }
    }

    /// Whether the kernel serves an NVIDIA GPU. The files /dev/nvidia* prove nothing: the driver library itself makes
    /// them, where it may, before it finds that nothing is behind them.
    pub(crate) fn serves_gpus(&self) -> bool {
        let others = ["/dev/dxg", "/dev/nvhost-gpu", "/dev/nvmap"];
        self.kernel_module.is_some() || self.device_files.iter().any(|file| others.contains(&file.as_str()))
    }
}

/// A small file's text without the spaces and NULs around it; `None` if there is nothing.
fn text(root: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

fn system(root: &Path) -> String {
    let release =
        text(root, "etc/os-release").or_else(|| text(root, "usr/lib/os-release")).unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    match name.map(|name| name.trim_matches(['"', '\''])) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => std::env::consts::OS.to_owned(),
    }
}

fn container(root: &Path) -> Option<String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let known = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    let by_file = known.iter().find(|(file, _)| root.join(file).exists()).map(|(_, name)| (*name).to_owned());
    by_file
        .or_else(|| variable("KUBERNETES_SERVICE_HOST").map(|_| "kubernetes".to_owned()))
        .or_else(|| variable("container"))
        .or_else(|| text(root, "run/systemd/container"))
        .or_else(|| {
            let groups = text(root, "proc/1/cgroup")?;
            let names = ["docker", "kubepods", "containerd", "libpod", "lxc"];
            names.iter().find(|name| groups.contains(**name)).map(|name| (*name).to_owned())
        })
}

fn is_wsl(root: &Path) -> bool {
    let kernel = text(root, "proc/sys/kernel/osrelease").unwrap_or_default().to_lowercase();
    // Windows names its kernels so; a kernel of one's own still gets the device.
    kernel.contains("microsoft") || root.join("dev/dxg").exists()
}

fn jetson(root: &Path) -> Option<String> {
    let is_tegra = root.join("etc/nv_tegra_release").exists()
        || text(root, "proc/device-tree/compatible").is_some_and(|chips| chips.contains("nvidia,tegra"));
    is_tegra.then(|| text(root, "proc/device-tree/model").unwrap_or_else(|| "unknown board".to_owned()))
}

/// The files of the desktop and server driver, of WSL, and of Jetson boards.
fn device_files(root: &Path) -> Vec<String> {
    let is_device = |name: &str| {
        let numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        matches!(name, "nvidiactl" | "nvidia-uvm" | "nvidia-caps" | "dxg" | "nvhost-gpu" | "nvmap")
            || name.strip_prefix("nvidia").is_some_and(numbered)
    };
    let entries = fs::read_dir(root.join("dev")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut files: Vec<String> =
        names.filter(|name| is_device(name)).map(|name| format!("/dev/{name}")).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(files: &[(&str, &str)]) -> Host {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().expect("the file is in a folder"))
                .expect("the folder can be made");
            fs::write(file, text).expect("the file can be written");
        }
        Host::read(root.path(), None)
    }

    #[test]
    fn a_server() {
        let host = host(&[
            ("etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("sys/module/nvidia/version", "580.95.05\n"),
            ("dev/nvidia0", ""),
            ("dev/nvidia10", ""),
            ("dev/nvidiactl", ""),
            ("dev/nvidia-modeset", ""),
            ("dev/null", ""),
        ]);
        assert_eq!(host.system, "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(host.kernel.as_deref(), Some("6.1.0-18-amd64"));
        assert_eq!(host.device_files, ["/dev/nvidia0", "/dev/nvidia10", "/dev/nvidiactl"]);
        assert!(host.serves_gpus() && !host.is_wsl && host.jetson.is_none());
    }

    #[test]
    fn containers() {
        assert_eq!(host(&[(".dockerenv", "")]).container.as_deref(), Some("docker"));
        assert_eq!(host(&[("run/.containerenv", "")]).container.as_deref(), Some("podman"));
    }

    #[test]
    fn windows_below() {
        assert!(host(&[("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")]).is_wsl);
        assert!(host(&[("dev/dxg", "")]).is_wsl);
    }

    #[test]
    fn a_jetson_board() {
        let host = host(&[
            ("proc/device-tree/compatible", "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0"),
            ("proc/device-tree/model", "NVIDIA Jetson AGX Orin Developer Kit\0"),
        ]);
        assert_eq!(host.jetson.as_deref(), Some("NVIDIA Jetson AGX Orin Developer Kit"));
    }

    #[test]
    fn a_bare_machine() {
        let host = host(&[("dev/nvidiactl", "")]);
        assert_eq!(host.system, std::env::consts::OS);
        assert!(!host.serves_gpus());
    }
}
