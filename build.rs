//! Link arguments of the shared library.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Cargo hands these arguments on to the cdylibs of crates that depend on this one. Those leave the feature out, or
    // they would export this C ABI as well.
    let is_c_library = var("CARGO_FEATURE_CAPI").is_ok();
    if !is_c_library || var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    // Functions of the program are called through a frame in assembler there (src/object/callback/frame.rs).
    if matches!(var("CARGO_CFG_TARGET_ARCH").as_deref(), Ok("x86_64" | "aarch64")) {
        println!("cargo:rustc-cfg=framed");
    }
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    // Before 1.0 a minor version may break the ABI, so the SONAME carries it.
    let soname = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcushim.so.{soname}");
    // The driver keeps pointers to our callbacks: unmapping the library would leave them dangling.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Calls inside the library must not be bound to another library's function of the same name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
