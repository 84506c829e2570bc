#!/usr/bin/env bash
# Installs into a fresh prefix and builds programs from there. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/check-install.sh [--short | --installed PREFIX]

Runs scripts/install.sh for a fresh prefix, packs what it installed as a release does, unpacks that elsewhere, and proves from there:
  - the programs of examples/consumers build with gcc and clang, by pkg-config, CMake and Meson, with the shared and the
    static library, and print on softcuda what they should;
  - libcushim.so has the SONAME, versions of its symbols, and the marks for the loader; all are stripped, and their debug
    information is found;
  - the headers alone compile, in C and C++; cushim-probe runs;
  - a second installation replaces the first, and --uninstall leaves nothing but files of others;
  - a Debian package installs below a root of its own, a program builds from there, and removing it leaves nothing.

--short             with the cargo profile "dev", as .ci/run does; the other profile, release, takes minutes to build
--installed PREFIX  of what is installed there, as a user sees it; nothing is built, moved or removed

Exit status: 0 all is well; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

say() { echo "check-install: $*" >&2; }
fail() { say "$*"; exit 1; }

profile=release
given=''
case ${1-} in
  -h | --help) usage; exit 0 ;;
  '') ;;
  --short)
    profile=dev ;;
  --installed) given=${2:?"--installed needs a PREFIX; see --help"} ;;
  *) say "unknown option $1; see --help"; exit 2 ;;
esac
for tool in cargo:rust readelf:binutils nm:binutils gcc:gcc g++:g++ clang:clang clang++:clang make:make cmake:cmake meson:meson \
  ninja:ninja-build pkg-config:pkg-config xz:xz-utils dpkg-deb:dpkg; do
  command -v "${tool%:*}" >/dev/null || { say "needs ${tool%:*}; install ${tool#*:}"; exit 69; }
done

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DESTDIR PREFIX LIBDIR CUSHIM_SOFTCUDA SOFTCUDA_VERSION LD_LIBRARY_PATH PKG_CONFIG_PATH
export CUSHIM_DRIVER=software
# shellcheck source=scripts/package.inc.sh
. scripts/package.inc.sh
# Packed and unpacked again at once. Exported, the time would have softcuda built anew.
PACK_LEVEL=0
SOURCE_DATE_EPOCH=0

install_in() { scripts/install.sh "$1" --profile "$profile" "${@:2}" > "$work/log" || { cat "$work/log" >&2; exit 1; }; }

# ── what is installed ──

if [[ $given ]]; then
  prefix=$(cd "$given" && pwd)
else
  install_in "$work/packed"
  mkdir "$work/out" "$work/moved"
  pack_tarballs "$work/packed" "$work/out"
  rm -r "$work/packed"
  for file in "$work"/out/packed{,-debug}.tar.xz; do tar -C "$work/moved" -xf "$file"; done
  prefix=$work/moved/packed
  echo mine > "$prefix/of-others"
fi
pkgconfig=$(find "$prefix" -name cushim.pc -printf '%h\n')
export PKG_CONFIG_PATH=$pkgconfig
lib=$(pkg-config --variable=libdir cushim)
lib=$(cd "$lib" && pwd)
version=$(pkg-config --modversion cushim)

marks() {
  local soname dynamic exported archived
  dynamic=$(readelf -dW "$lib/libcushim.so")
  soname=$(sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p' <<<"$dynamic")
  [[ $(readlink "$lib/libcushim.so") == "$soname" && $(readlink "$lib/$soname") == "libcushim.so.$version" ]] ||
    fail "the links to libcushim.so.$version are wrong: $soname"
  [[ $dynamic == *NODELETE* && $dynamic == *SYMBOLIC* && $dynamic == *NOW* ]] || fail "libcushim.so lacks marks: $dynamic"
  exported=$(nm -D --defined-only "$lib/libcushim.so" | awk '$2 == "T" { print $3 }' | sort)
  archived=$(nm -g --defined-only "$lib/libcushim.a" 2>/dev/null | awk '$2 == "T" && $3 ~ /^cushim_/ { print $3 }' | sort)
  [[ $(wc -l <<<"$archived") -gt 300 ]] || fail 'libcushim.a has too few functions'
  diff <(sed "s/\$/@@CUSHIM_${soname#libcushim.so.}/" <<<"$archived") - <<<"$exported" ||
    fail 'libcushim.so does not export the functions of libcushim.a with a version (above)'
  for file in "$lib/libcushim.so" "$lib/libsoftcuda.so" "$lib"/softcuda/libsoftcuda_{nvml,compilers}.so "$prefix/bin/cushim-probe" "$prefix/bin/softcuda-run"; do
    [[ -f $file ]] || fail "$file is missing"
    [[ $(readelf -SW "$file") != *.debug_info* ]] || fail "$file is not stripped"
    debug=$(dirname "$file")/.debug/$(readelf -p .gnu_debuglink "$file" | sed -n 's/.* \(.*\.debug\)$/\1/p')
    # A package may have left it out.
    [[ ! -d $(dirname "$file")/.debug || $(readelf -SW "$debug" 2>/dev/null) == *.debug_info* ]] || fail "$file has no debug information in $debug"
  done
}

headers() {
  local header pid pids
  while IFS= read -r header; do
    [[ $header != cushim/* ]] || continue # parts of cushim.hpp, which includes them
    [[ $header != cushim.cdef.h ]] || continue # for parsers that are no compilers
    pids=()
    for compiler in gcc clang; do
      check_header "$compiler" "$header" &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
  done < <(cd "$prefix/include" && find . -name '*.h' -printf '%P\n' -o -name '*.hpp' -printf '%P\n' | grep cu)
}

check_header() { # gcc or clang, header
  [[ $2 == *.hpp ]] || { compiles "$1" c -std=c89 "$2"; compiles "$1" c -std=c99 "$2"; }
  compiles "${1/gcc/g}++" c++ -std=c++17 "$2"
}

compiles() { # compiler, language, standard, header
  echo "#include <$4>" | "$1" -x "$2" "$3" -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -I "$prefix/include/cushim-cuda" \
    -fsyntax-only - || fail "$1 does not compile $4"
}

# ── programs ──

# prints FOLDER: the programs that were built there print what they should.
prints() {
  local program
  for program in ordered ordered_static; do
    CUSHIM_SOFTCUDA=$lib/libsoftcuda.so "$1/$program" | diff examples/ordered.txt - || fail "$1/$program prints something else (above)"
  done
  [[ ! -d $prefix/include/cushim-cuda ]] || "$1/unedited" > /dev/null || fail "$1/unedited fails"
  # Which library each has.
  [[ $(readelf -d "$1/ordered") == *libcushim.so* && $(readelf -d "$1/ordered_static") != *libcushim.so* ]] ||
    fail "$1: linked with the wrong library"
  [[ $(nm "$1/ordered_static") != *' cushim_library_'* ]] || fail "$1/ordered_static has functions that it does not use"
}

with_pkg_config() { # compiler
  cp -r examples "$work/examples-$1"
  make -s -C "$work/examples-$1/consumers" CC="$1" CFLAGS='-std=c11 -Wall -Wextra -Wpedantic -Werror'
  prints "$work/examples-$1/consumers"
}

with_cmake() {
  cmake -G Ninja -S examples/consumers -B "$work/cmake-$1" -DCMAKE_C_COMPILER="$1" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_FLAGS='-Wall -Wextra -Wpedantic -Werror' > "$work/log" || { cat "$work/log"; exit 1; }
  cmake --build "$work/cmake-$1" > "$work/log" || { cat "$work/log"; exit 1; }
  prints "$work/cmake-$1"
}

# ctest shows the report of a race, by which the test fails, and passes the same program without it.
with_ctest() {
  local build=$work/ctest
  cmake -G Ninja -S examples/ctest -B "$build" -DCMAKE_PREFIX_PATH="$prefix" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cmake --build "$build" > "$work/log" || { cat "$work/log"; exit 1; }
  (cd "$build" && ctest --output-on-failure > "$work/log" 2>&1) && fail 'ctest passes a program that races'
  [[ $(< "$work/log") == *'softcuda: race: a fill in stream'*'and nothing orders the two'* ]] || fail "ctest shows no report: $(< "$work/log")"
  (cd "$build" && ctest -R ordered > "$work/log" 2>&1) || { cat "$work/log"; exit 1; }
}

with_meson() {
  CC=$1 meson setup "$work/meson-$1" examples/consumers --warnlevel 3 --werror > "$work/log" || { cat "$work/log"; exit 1; }
  meson compile -C "$work/meson-$1" > "$work/log" || { cat "$work/log"; exit 1; }
  prints "$work/meson-$1"
}

# ldconfig makes a link of the own name of each library in its folders: in a system's, none may be NVIDIA's driver.
names() {
  local made
  mkdir "$work/names"
  cp -P "$lib"/lib*.so* "$work/names"
  PATH+=:/sbin:/usr/sbin ldconfig -n "$work/names"
  made=$(diff <(cd "$lib" && ls -d lib*.so*) <(ls "$work/names")) || fail "ldconfig makes links in $lib: $made"
}

# It finds softcuda beside the library, and each version of it.
probe() {
  [[ -f $lib/softcuda/libsoftcuda-11.4.so && -f $lib/softcuda/libsoftcuda-13.5.so ]] || fail "$lib lacks versions of softcuda"
  "$prefix/bin/cushim-probe" --software > "$work/log" || { cat "$work/log"; exit 1; }
}

# A program that knows nothing of softcuda gets the version that is asked for, and nothing is left behind.
run_on_softcuda() {
  mkdir -p "$work/tmp"
  env -u CUSHIM_DRIVER TMPDIR="$work/tmp" "$prefix/bin/softcuda-run" --cuda 12.4 "$prefix/bin/cushim-probe" > "$work/log" ||
    { cat "$work/log"; exit 1; }
  [[ $(< "$work/log") == *'CUDA 12.4'* ]] || { cat "$work/log"; fail 'softcuda-run --cuda 12.4 gives another version'; }
  env -u CUSHIM_DRIVER "$prefix/bin/softcuda-run" sh -c '[ -e "${LD_LIBRARY_PATH%%:*}/libnvidia-ml.so.1" ]' || fail 'softcuda-run finds no NVML'
  [[ -z $(ls "$work/tmp") ]] || fail "softcuda-run leaves $(ls "$work/tmp")"
}

# finds LINE...: what find_package finds, and what not: each line is "yes" or "no", and arguments of find_package.
finds() {
  local line
  mkdir -p "$work/find"
  {
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(find C)\n'
    for line; do
      printf 'find_package(%s QUIET)\nif(%s cushim_FOUND)\n  message(FATAL_ERROR "find_package: %s")\nendif()\n' \
        "${line#* }" "$([[ $line == no* ]] || echo NOT)" "$line"
    done
  } > "$work/find/CMakeLists.txt"
  rm -rf "$work/find/build"
  cmake -G Ninja -S "$work/find" -B "$work/find/build" -DCMAKE_PREFIX_PATH="$prefix" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

# Versions that are compatible, and parts that are not there.
refusals() {
  finds 'no cushim 99.0' 'no cushim 0.0.1' 'no cushim COMPONENTS nothing' "yes cushim ${version%.*} COMPONENTS cushim static softcuda"
}

check() { # what, command...
  local begun=$SECONDS
  "${@:2}"
  echo "check-install: $1: ok, $((SECONDS - begun)) s"
}

check 'libraries' marks
check 'headers' headers
check 'names of libraries' names
check 'cushim-probe' probe
check 'softcuda-run' run_on_softcuda
for compiler in gcc clang; do
  check "pkg-config, $compiler" with_pkg_config "$compiler"
  [[ $profile == dev && $compiler == gcc ]] || check "Meson, $compiler" with_meson "$compiler"
  [[ $profile == dev && $compiler == clang ]] || check "CMake, $compiler" with_cmake "$compiler"
done
check 'CMake versions and parts' refusals
check 'ctest' with_ctest
[[ ! $given ]] || exit 0

# ── again, with fewer parts, elsewhere, and away ──

again() {
  local libdir
  libdir=lib/$(gcc -print-multiarch)
  install_in "$prefix" --libdir "$libdir" --without-softcuda --without-probe --without-debug
  [[ ! -e $prefix/lib/libcushim.so && ! -e $prefix/bin && ! -e $prefix/include/softcuda.h && -e $prefix/$libdir/libcushim.so ]] ||
    fail 'a second installation does not replace the first'
  finds 'no cushim COMPONENTS softcuda' 'yes cushim'
  PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --cflags --libs cushim > "$work/log"
  [[ $(< "$work/log") == *"/include "*"/$libdir "* ]] || fail "pkg-config says $(< "$work/log")"
}

away() {
  local left
  scripts/install.sh "$prefix" --uninstall > "$work/log"
  left=$(cd "$prefix" && find . -mindepth 1)
  [[ $left == ./of-others ]] || fail "left behind: $left"
  ! scripts/install.sh "$prefix" --uninstall 2> "$work/log" || fail 'a second --uninstall succeeds'
}

# A package of what is installed below DESTDIR.
debian() {
  local destination=$work/destination root=$work/root arch
  arch=$(dpkg --print-architecture)
  DESTDIR=$destination install_in /usr --without-debug
  pack_deb "$destination" "$arch" "$work/out"
  DESTDIR=$destination scripts/install.sh /usr --uninstall > "$work/log"
  [[ -z $(find "$destination" -type f) ]] || fail 'left behind below DESTDIR'

  debian_root "$root" --install "$work/out/cushim_${version}_$arch.deb"
  "$root/usr/bin/cushim-probe" --software > "$work/log" || { cat "$work/log"; exit 1; }
  # shellcheck disable=SC2046 # several flags
  gcc examples/ordered.c $(PKG_CONFIG_PATH=$root/usr/lib/pkgconfig pkg-config --cflags --libs cushim) \
    "-Wl,-rpath,$root/usr/lib" -o "$work/ordered"
  "$work/ordered" | diff examples/ordered.txt - || fail 'ordered, built from the package, prints something else (above)'
  purge_deb "$root"
}

check 'a second installation' again
check '--uninstall' away
check 'Debian package' debian
echo "check-install: all is well, $SECONDS s"
