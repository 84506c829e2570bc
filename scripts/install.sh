#!/usr/bin/env bash
# Builds cushim and softcuda and installs headers and libraries under a prefix. See --help.
set -euo pipefail
shopt -s nullglob

usage() {
  cat <<'TEXT'
usage: scripts/install.sh PREFIX [--profile NAME]

Builds the libraries with cargo and installs:
  PREFIX/include/*.h: cushim's headers, and softcuda.h for tests that arrange faults in the software driver
  PREFIX/share/cushim/cushim.json: the interface as data, for programs that write bindings (docs/interface.md)
  PREFIX/lib/libcushim.so -> libcushim.so.0.1 -> libcushim.so.0.1.0, and libcushim.a
  PREFIX/lib/libsoftcuda.so and libsoftcuda-VERSION.so, the software driver (CUSHIM_DRIVER=software finds it there)

PREFIX          where to install; created if missing. DESTDIR is put in front of it if set.
--profile NAME  cargo profile to build with (default: release)

A program is then compiled with
  cc prog.c -IPREFIX/include -LPREFIX/lib -lcushim -Wl,-rpath,PREFIX/lib

Exit status: 0 installed; 2 wrong usage; 69 a tool is missing; anything else is a failure of the build or the disk.
TEXT
}

say() { echo "install: $*" >&2; }

prefix=''
profile=release
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --profile)
      (($# >= 2)) || { say '--profile needs a name'; exit 2; }
      profile=$2
      shift ;;
    -*) say "unknown option $1; see --help"; exit 2 ;;
    *)
      [[ -z $prefix ]] || { say 'one PREFIX only; see --help'; exit 2; }
      prefix=$1 ;;
  esac
  shift
done
[[ -n $prefix ]] || { usage >&2; exit 2; }
command -v cargo >/dev/null || { say 'needs cargo; install Rust (https://rustup.rs)'; exit 69; }
command -v objdump >/dev/null || { say 'needs objdump; install binutils'; exit 69; }

mkdir -p "${DESTDIR-}$prefix"
prefix=$(cd -P "${DESTDIR-}$prefix" && pwd)
cd -P "$(dirname "$0")/.."

# Cargo says what it built and where, whatever the configuration makes of target folders.
built=$(cargo build --locked --profile "$profile" -p cushim -p softcuda --message-format json-render-diagnostics)

# built_file NAME: where cargo has put the file.
built_file() {
  grep -o "\"[^\"]*/$1\"" <<<"$built" | tail -n 1 | tr -d '"'
}

library=$(built_file 'libcushim\.so')
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
shells=$(sed -n '/"build-script-executed"/ { /softcuda/ s/.*"out_dir":"\([^"]*\)".*/\1/p }' <<<"$built")

install -d "$prefix/include" "$prefix/lib" "$prefix/share/cushim"
install -m 644 include/*.h "$prefix/include/"
install -m 644 include/cushim.json "$prefix/share/cushim/"
install -m 755 "$library" "$prefix/lib/libcushim.so.$version"
ln -sf "libcushim.so.$version" "$prefix/lib/$soname"
ln -sf "$soname" "$prefix/lib/libcushim.so"
install -m 644 "$(built_file 'libcushim\.a')" "$prefix/lib/"
install -m 755 "$(built_file 'libsoftcuda\.so')" "$shells"/libsoftcuda-*.so "$prefix/lib/"
echo "installed under $prefix"
