//! Sets the linker's options: two names in the library that `src/copy.rs` replaces in each copy, and which are as long as names can be there.

#[path = "src/places.rs"]
#[allow(dead_code)]
mod places;

fn main() {
    for path in ["build.rs", "src/places.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let (name, real) = (places::filled(places::NAME), places::filled(places::REAL));
        for option in ["-soname", &name, "-rpath", &real, "--enable-new-dtags", "-Bsymbolic"] {
            println!("cargo::rustc-cdylib-link-arg=-Wl,{option}");
        }
    }
}
