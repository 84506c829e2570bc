//! Where the loader finds softcuda, which `scripts/install.sh` installs beside the program.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CUSHIM_PROBE_RPATH");
    if let Ok(path) = std::env::var("CUSHIM_PROBE_RPATH") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{path}");
    }
}
