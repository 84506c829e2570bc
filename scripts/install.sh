#!/usr/bin/env bash
# Builds cushim and softcuda and installs headers and libraries under a prefix.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/install.sh PREFIX [--profile NAME]

Builds the libraries with cargo and installs:
  PREFIX/include/cushim_driver.h
  PREFIX/lib/libcushim.so -> libcushim.so.0.1 -> libcushim.so.0.1.0, and libcushim.a
  PREFIX/lib/libsoftcuda.so and libsoftcuda-VERSION.so, the software driver (CUSHIM_DRIVER=software finds it there)

PREFIX          where to install; created if missing. DESTDIR is put in front of it if set.
--profile NAME  cargo profile to build with (default: release)

A program is then compiled with
  cc prog.c -IPREFIX/include -LPREFIX/lib -lcushim -Wl,-rpath,PREFIX/lib
TEXT
}

prefix=''
profile=release
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --profile)
      [ $# -ge 2 ] || { echo 'install.sh: --profile needs a name' >&2; exit 2; }
      profile=$2
      shift ;;
    -*) echo "install.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *)
      [ -z "$prefix" ] || { echo 'install.sh: one PREFIX only (see --help)' >&2; exit 2; }
      prefix=$1 ;;
  esac
  shift
done
[ -n "$prefix" ] || { usage >&2; exit 2; }
command -v cargo >/dev/null || { echo 'install.sh: cargo is not on the PATH; install Rust (https://rustup.rs)' >&2; exit 1; }

mkdir -p "${DESTDIR:-}$prefix"
prefix=$(cd "${DESTDIR:-}$prefix" && pwd)
cd "$(dirname "$0")/.."

cargo build --profile "$profile" -p cushim -p softcuda
target=${CARGO_TARGET_DIR:-target}
case $profile in dev) built=$target/debug ;; *) built=$target/$profile ;; esac

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
soname=$(objdump -p "$built/libcushim.so" | awk '$1 == "SONAME" { print $2 }')

install -d "$prefix/include" "$prefix/lib"
install -m 644 include/*.h "$prefix/include/"
install -m 755 "$built/libcushim.so" "$prefix/lib/libcushim.so.$version"
ln -sf "libcushim.so.$version" "$prefix/lib/$soname"
ln -sf "$soname" "$prefix/lib/libcushim.so"
install -m 644 "$built/libcushim.a" "$prefix/lib/"
install -m 755 "$built/libsoftcuda.so" "$prefix/lib/"
# The newest build of the shells, should several configurations have left theirs.
shells=$(ls -td "$built"/build/softcuda-*/out 2>/dev/null | head -n 1)
[ -z "$shells" ] || install -m 755 "$shells"/libsoftcuda-*.so "$prefix/lib/"
echo "installed under $prefix"
