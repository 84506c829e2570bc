//! What sort of libcuda a library is.

use std::fmt;
use std::path::{Component, Path};

/// What sort of driver was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The library that came with the kernel module, or one that cannot be told from it.
    Native,
    /// A newer library over an older kernel module: NVIDIA's forward-compatibility package.
    Compat,
    /// The toolkit's stand-in for linking, which answers every call with an error. Never opened, only reported.
    Stub,
    /// The library that Windows lends to WSL 2.
    Wsl,
    /// The library of a Jetson board.
    Tegra,
    /// softcuda.
    Software,
    /// No driver at all, because `none` was asked for.
    None,
    /// Whatever stands behind a getter that the caller handed in.
    Custom,
}

/// How the names of softcuda's libraries for single versions begin.
const SHELL: &str = "libsoftcuda-";

impl Kind {
    /// The word that reports use: `native`, `compat`, `stub`, `wsl`, `tegra`, `software`, `none` or `custom`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Compat => "compat",
            Self::Stub => "stub",
            Self::Wsl => "wsl",
            Self::Tegra => "tegra",
            Self::Software => "software",
            Self::None => "none",
            Self::Custom => "custom",
        }
    }

    /// The kind of a driver's library, by the real path of its file.
    pub(super) fn of_path(path: &Path) -> Self {
        let folder = |name: &str| path.components().any(|part| part == Component::Normal(name.as_ref()));
        let file = path.file_name().unwrap_or_default();
        // JetPack 6 keeps its libcuda in a folder that desktop packages use as well; the file's version tells them apart.
        let jetpack = folder("nvidia") && file == "libcuda.so.1.1";
        if file.to_string_lossy().starts_with(SHELL) {
            Self::Software
        } else if folder("wsl") {
            Self::Wsl
        } else if folder("tegra") || jetpack {
            Self::Tegra
        } else if folder("compat") || folder("compat_orin") {
            Self::Compat
        } else {
            Self::Native
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;
    use std::path::Path;

    #[test]
    fn the_folder_tells_the_kind() {
        for (path, kind) in [
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.261.03", Kind::Native),
            ("/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.261.03", Kind::Native),
            ("/usr/lib/wsl/lib/libcuda.so.1", Kind::Wsl),
            ("/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libcuda.so.1.1", Kind::Wsl),
            ("/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1", Kind::Tegra),
            ("/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", Kind::Tegra),
            ("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", Kind::Compat),
            ("/usr/local/cuda/compat_orin/libcuda.so.1.1", Kind::Compat),
            ("/opt/softcuda/libsoftcuda-12.2.so", Kind::Software),
            ("/opt/libsoftcuda-12.2.so/libcuda.so.1", Kind::Native),
            ("/opt/compatible/libcuda.so.1", Kind::Native),
        ] {
            assert_eq!(Kind::of_path(Path::new(path)), kind, "{path}");
        }
    }
}
