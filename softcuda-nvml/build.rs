//! Sets the linker's options: the name by which programs know NVML, and that its own calls stay inside it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        for option in ["-Wl,-soname,libnvidia-ml.so.1", "-Wl,-Bsymbolic"] {
            println!("cargo::rustc-cdylib-link-arg={option}");
        }
    }
}
