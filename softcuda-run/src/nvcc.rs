//! `nvcc`, as the command finds it in PATH: NVIDIA's own, which calls `ptxas` by its name. It looks first in folders that the profile beside it
//! names, so there is another profile here, which names the folder with our `ptxas` before them.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// The name of the program, and of what it reads beside itself.
const NAME: &str = "nvcc";
const PROFILE: &str = "nvcc.profile";

/// What the profile calls the folder of the program.
const HERE: &str = "$(_HERE_)";

/// Puts it into a folder of programs, below that of what the command gets, if there is one and it has a profile. Programs that look for the
/// toolkit around `nvcc` find it there, too.
pub(crate) fn put(programs: &Path, around: &Path) -> std::io::Result<()> {
    let Some(folder) = found() else { return Ok(()) };
    let Ok(profile) = std::fs::read_to_string(folder.join(PROFILE)) else { return Ok(()) };
    // Who prepends last comes first.
    let ours = format!(
        "{}\n\nPATH += {}:\n",
        profile.replace(HERE, &folder.display().to_string()),
        programs.display()
    );
    std::fs::write(programs.join(PROFILE), ours)?;
    symlink(folder.join(NAME), programs.join(NAME))?;
    // What it finds by its own folder.
    if folder.join("crt").is_dir() {
        symlink(folder.join("crt"), programs.join("crt"))?;
    }
    for entry in folder.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten() {
        let place = around.join(entry.file_name());
        if place.symlink_metadata().is_err() {
            symlink(entry.path(), place)?;
        }
    }
    Ok(())
}

/// The folder of the program that the command would find.
fn found() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let runs = |folder: &PathBuf| {
        let file = folder.join(NAME).metadata();
        file.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let folder = std::env::split_paths(&folders).find(runs)?;
    std::path::absolute(folder).ok()
}
