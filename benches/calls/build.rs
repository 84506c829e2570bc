//! Compiles the driver that does nothing.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=noop.c");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("noop.so");
    let mut compiler = cc::Build::new().opt_level(2).get_compiler().to_command();
    // The name by which cudarc asks the loader: it gets the copy that is loaded already.
    compiler.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so", "noop.c", "-o"]).arg(out);
    let status = compiler.status().expect("a C compiler runs");
    assert!(status.success(), "noop.c does not compile: {status}");
}
