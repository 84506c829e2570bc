#!/usr/bin/env bash
# Compares what cargo-c installs with what scripts/install.sh does. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/check-cinstall.sh

Installs with `cargo cinstall` and with scripts/install.sh, each below a folder of its own, and fails unless
  - both have the same headers, libraries, links and pkg-config file, at the same places; only install.sh has softcuda,
    cushim-probe, the part of the Python package, the package for CMake, cushim-cuda.pc and the licences;
  - both shared libraries have the same SONAME and functions, and the same marks for the loader;
  - pkg-config answers the same of both; and a program that is built with the one runs with the other.

Needs cargo-c (cargo install cargo-c), binutils, gcc and pkg-config. Takes a minute.

Exit status: 0 they are equal; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

say() { echo "check-cinstall: $*" >&2; }
fail() { say "$*"; exit 1; }

case ${1-} in
  -h | --help) usage; exit 0 ;;
  '') ;;
  *) say "unknown option $1; see --help"; exit 2 ;;
esac
for tool in cargo:rust cargo-cinstall:cargo-c readelf:binutils nm:binutils gcc:gcc pkg-config:pkg-config; do
  command -v "${tool%:*}" >/dev/null || { say "needs ${tool%:*}; install ${tool#*:}"; exit 69; }
done

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR PREFIX LIBDIR LD_LIBRARY_PATH PKG_CONFIG_PATH
ours=$work/install.sh theirs=$work/cargo-c

scripts/install.sh "$ours" --profile dev --without-debug > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cargo cinstall -p cushim --locked --profile dev --prefix "$theirs" --libdir lib > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

files() {
  (cd "$1" && find . ! -type d | sed 's|^\./||' | LC_ALL=C sort)
}
only_ours='softcuda|^bin/|^lib/cushim/|^share/man/|^share/doc/|^lib/cmake/|^lib/pkgconfig/cushim-cuda\.pc$|^share/cushim/installed\.txt$'
diff <(files "$ours" | grep -Ev "$only_ours") <(files "$theirs") || fail 'the files differ (above)'
files "$theirs" | grep -E '^(include|share)/' | while read -r file; do cmp "$ours/$file" "$theirs/$file"; done
for link in libcushim.so libcushim.so.0.1; do
  [[ $(basename "$(readlink -f "$ours/lib/$link")") == $(basename "$(readlink -f "$theirs/lib/$link")") ]] || fail "$link leads elsewhere"
done

# The marks for the loader, and the functions without their versions.
marks() { readelf -dW "$1/lib/libcushim.so" | grep -oE 'SONAME.*|NODELETE|SYMBOLIC' | sort -u; }
functions() { nm -D --defined-only "$1/lib/libcushim.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort; }
diff <(marks "$ours") <(marks "$theirs") || fail 'the shared libraries have other marks (above)'
diff <(functions "$ours") <(functions "$theirs") || fail 'the shared libraries have other functions (above)'

# flags FOLDER: in which it is called PREFIX.
flags() {
  PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --define-variable=prefix=PREFIX --cflags --libs cushim
  PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --define-variable=prefix=PREFIX --modversion cushim
}
diff <(flags "$ours") <(flags "$theirs") || fail 'pkg-config answers something else (above)'

export CUSHIM_DRIVER=software CUSHIM_SOFTCUDA=$ours/lib/libsoftcuda.so
for built in "$ours" "$theirs"; do
  gcc examples/ordered.c -I "$built/include" -L "$built/lib" -lcushim -o "$work/ordered"
  for run in "$ours" "$theirs"; do
    # The loader says that one has versions of symbols, and the other none.
    LD_LIBRARY_PATH=$run/lib "$work/ordered" 2> "$work/log" | diff examples/ordered.txt - ||
      fail "built with ${built##*/}, ordered prints something else with ${run##*/} (above)"
  done
  # shellcheck disable=SC2046 # several libraries
  gcc examples/ordered.c -I "$built/include" "$built/lib/libcushim.a" -o "$work/ordered" \
    $(PKG_CONFIG_PATH=$built/lib/pkgconfig pkg-config --static --libs-only-l cushim | sed 's/-lcushim//')
  "$work/ordered" | diff examples/ordered.txt - || fail "built with the static library of ${built##*/}, ordered prints something else (above)"
done
say "all is equal, $SECONDS s"
