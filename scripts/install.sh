#!/usr/bin/env bash
# Builds cushim and softcuda and installs them under a prefix. See --help.
set -euo pipefail
shopt -s nullglob

usage() {
  cat <<'TEXT'
usage: scripts/install.sh PREFIX [options]
       scripts/install.sh PREFIX --uninstall

Builds the libraries with cargo and installs:
  PREFIX/include/                 cushim's headers, softcuda.h, and what belongs to them
  PREFIX/lib/libcushim.so -> libcushim.so.0.1 -> libcushim.so.0.1.0, with symbol versions, and libcushim.a
  PREFIX/lib/pkgconfig/           cushim.pc, softcuda.pc, cushim-cuda.pc
  PREFIX/lib/cmake/cushim/        for find_package(cushim)
  PREFIX/lib/libsoftcuda.so       the software driver (CUSHIM_DRIVER=software finds it there)
  PREFIX/lib/softcuda/            libsoftcuda-VERSION.so, the same as one version each, and for softcuda-run: libsoftcuda_nvml.so, NVML, and
                                  libsoftcuda_compilers.so, by which NVRTC and nvJitLink hand out PTX
  PREFIX/lib/cushim/              _native.abi3.so, a part of the Python package, which scripts/wheel.sh makes of what is installed
  PREFIX/bin/softcuda-run         runs a command on softcuda (docs/tasks/testing.md); PREFIX/share/man/man1/softcuda-run.1
  PREFIX/bin/cushim-probe         says which driver a program gets; PREFIX/share/man/man1/cushim-probe.1
  PREFIX/share/cushim/            cushim.json: the interface as data, for programs that write bindings (docs/interface.md)
  PREFIX/share/doc/cushim/        licences, list of changes

Libraries and program are stripped; their debug information is in PREFIX/lib/.debug and PREFIX/bin/.debug, where debuggers
find it. What is installed may be moved.

PREFIX              where to install; created if missing. The environment variable PREFIX does as well.
--libdir DIR        directory of the libraries, relative to PREFIX (default: lib, or the environment variable LIBDIR)
--without-softcuda  leave the software driver, its NVML and softcuda-run out
--without-probe     leave cushim-probe out
--without-debug     leave the debug information out
--release           what a release has: no path of this machine in the files, and beside them the licences of all that is
                    linked in, and a software bill of materials (CycloneDX); needs python3
--target TARGET     build for a Rust target and an oldest glibc, for example aarch64-unknown-linux-gnu.2.17; needs
                    cargo-zigbuild and ziglang (pip install cargo-zigbuild ziglang)
--profile NAME      cargo profile to build with (default: release)
--built DIR         install libcushim.so, libcushim.a, libsoftcuda.so and libsoftcuda-VERSION.so that are in DIR, as cargo
                    built them, instead of building; without the programs, NVML and the part of the Python package
--uninstall         remove what was installed under PREFIX, and nothing else

DESTDIR             in the environment: put in front of PREFIX, for packages
CC                  in the environment: links the shared library (default: cc)

A program is then compiled with
  cc prog.c -IPREFIX/include -LPREFIX/lib -lcushim -Wl,-rpath,PREFIX/lib
or with pkg-config, CMake or Meson, as in examples/consumers.

Exit status: 0 installed; 2 wrong usage; 69 a tool is missing; anything else is a failure of the build or the disk.
TEXT
}

say() { echo "install: $*" >&2; }
wrong() { say "$*; see --help"; exit 2; }
lacks() { say "needs $*"; exit 69; }

prefix=''
libdir=${LIBDIR-lib}
profile=release
given=''
target=''
softcuda=yes
probe=yes
debug=yes
release=''
uninstall=''
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --profile | --libdir | --target)
      (($# >= 2)) || wrong "$1 needs a value"
      declare "${1#--}=$2"
      shift ;;
    --built)
      (($# >= 2)) || wrong "$1 needs a value"
      given=$(cd "$2" && pwd) || wrong "--built needs a folder, and $2 is none"
      probe=''
      shift ;;
    --without-softcuda) softcuda='' ;;
    --without-probe) probe='' ;;
    --without-debug) debug='' ;;
    --release) release=yes ;;
    --uninstall) uninstall=yes ;;
    -*) wrong "unknown option $1" ;;
    *)
      [[ -z $prefix ]] || wrong 'one PREFIX only'
      prefix=$1 ;;
  esac
  shift
done
prefix=${prefix:-${PREFIX-}}
[[ -n $prefix ]] || { usage >&2; exit 2; }
# As others write it: inside PREFIX, though absolute.
libdir=${libdir#"$prefix"/}
libdir=${libdir%/}
[[ $libdir != /* && /$libdir/ != */../* && -n $libdir ]] || wrong "the libraries must be inside PREFIX, and $libdir is not"

# What an installation has put there, one path a line, relative to the prefix.
readonly manifest=share/cushim/installed.txt

# remove_installed: removes what the list names, and the folders that are empty then.
remove_installed() {
  local path folder
  while IFS= read -r path; do
    [[ $path != /* && /$path/ != */../* && -n $path ]] || { say "$prefix/$manifest is damaged: it has the line $path"; exit 1; }
    rm -f "$prefix/$path"
    folder=$(dirname "$path")
    while [[ $folder != . ]] && rmdir "$prefix/$folder" 2>/dev/null; do folder=$(dirname "$folder"); done
  done < <(cat "$prefix/$manifest" && echo "$manifest")
}

if [[ $uninstall ]]; then
  prefix=${DESTDIR-}$prefix
  [[ -f $prefix/$manifest ]] || { say "nothing of this script's is installed under $prefix"; exit 1; }
  remove_installed
  rmdir "$prefix" 2>/dev/null || true
  echo "uninstalled from $prefix"
  exit
fi

[[ $given ]] || command -v cargo >/dev/null || lacks 'cargo; install Rust (https://rustup.rs)'
[[ -z $release ]] || command -v python3 >/dev/null || lacks 'python3, for the licences'
binutils=''
if [[ $target ]]; then
  cargo-zigbuild --version >/dev/null 2>&1 || lacks 'cargo-zigbuild; pip install cargo-zigbuild ziglang'
  python3 -m ziglang version >/dev/null 2>&1 || lacks 'ziglang; pip install ziglang'
  [[ $target == "$(uname -m)"-* ]] || binutils=${target%%-*}-linux-gnu-
fi
for tool in ar readelf objcopy strip; do
  command -v "$binutils$tool" >/dev/null || {
    of=${binutils%-}
    lacks "$binutils$tool; install binutils${of:+-${of/_/-}}"
  }
done

mkdir -p "${DESTDIR-}$prefix"
prefix=$(cd -P "${DESTDIR-}$prefix" && pwd)
cd -P "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ── build ──

cargo=(cargo) build=build for_target=()
rust_target=${target%%.*}
link=("${CC:-cc}")
if [[ $target ]]; then
  cargo=(cargo-zigbuild) build=zigbuild for_target=(--target "$target")
  # As cargo-zigbuild calls it: then both use the same parts of the C library.
  link=(python3 -m ziglang cc -g -fno-sanitize=all -target "${target/-unknown/}")
fi
if [[ $release ]]; then
  # Where debuggers look for sources of packages. The last that matches counts.
  sources=/usr/src/cushim-$version
  remap="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/usr/src/cargo"
  # Of the standard library, where rustup has its sources: as rustc calls them otherwise.
  commit=$(rustc -vV | sed -n 's/^commit-hash: //p')
  remap+=$'\x1f'"--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$commit"
  remap+=$'\x1f'"--remap-path-prefix=$PWD=$sources"
  [[ -z ${CARGO_TARGET_DIR-} ]] || remap+=$'\x1f'"--remap-path-prefix=$(realpath -m "$CARGO_TARGET_DIR")=$sources/target"
  export CARGO_ENCODED_RUSTFLAGS=$remap
fi

# prepare_zig: zig compiles start-up code, libunwind and its like where it needs them, with debug information that has paths of this
# machine. It does so here, in a cache of its own, where that is taken away.
prepare_zig() {
  local archive members
  ZIG_GLOBAL_CACHE_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}/zig-$target")
  export ZIG_GLOBAL_CACHE_DIR
  [[ ! -e $ZIG_GLOBAL_CACHE_DIR/prepared ]] || return 0
  echo 'int main(void) { return 0; }' > "$work/main.c"
  "${link[@]}" -pie -fPIE -o "$work/main" "$work/main.c" -lgcc_s -lm
  "${link[@]}" -shared -o "$work/main.so" "$work/main.c" -lgcc_s -lm
  cd "$ZIG_GLOBAL_CACHE_DIR"
  find o -name '*.o' -exec "${binutils}strip" --strip-debug {} +
  # Members of archives have paths for names, which strip cannot take.
  for archive in o/*/*.a; do
    mapfile -t members < <("${binutils}ar" t "$archive" | sed 's|.*/o/|o/|')
    rm "$archive"
    "${binutils}ar" rcsD "$archive" "${members[@]}"
  done
  touch prepared
  cd "$OLDPWD"
}
[[ ! ( $release && $target ) ]] || prepare_zig

# Cargo says what it built and where, whatever the configuration makes of target folders.
if [[ ! $given ]]; then
  common=(--locked --profile "$profile" "${for_target[@]}" --message-format json-render-diagnostics)
  # softcuda is where the loader looks for it.
  rpath=\$ORIGIN/$(realpath -ms --relative-to=/bin "/$libdir")
  parts=(-p cushim -p cushim-python)
  [[ ! $softcuda ]] || parts+=(-p softcuda -p softcuda-nvml -p softcuda-compilers)
  [[ ! $probe ]] || parts+=(-p cushim-probe --bin cushim-probe)
  built=$(CUSHIM_PROBE_RPATH=$rpath "${cargo[@]}" "$build" "${common[@]}" "${parts[@]}" --lib --features capi)
  if [[ $softcuda ]]; then
    built+=$'\n'$("${cargo[@]}" rustc "${common[@]}" -p softcuda-run --bin softcuda-run -- -C "link-arg=-Wl,-rpath,$rpath")
  fi
fi

# built_file NAME: where the file is that was built.
built_file() {
  if [[ $given ]]; then echo "$given/$1"; else grep -o "\"[^\"]*/${1//./[.]}\"" <<<"$built" | tail -n 1 | tr -d '"'; fi
}

# What build.rs has decided.
soname=$(readelf -d "$(built_file libcushim.so)" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
compatible=${soname#libcushim.so.}
# As rustc --print native-static-libs has them.
static_libraries='-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc'

# The shared library once more: rustc gives symbols no versions. They are those of the SONAME. What build.rs asks of the linker
# is asked again.
echo "CUSHIM_$compatible { global: cushim_*; local: *; };" > "$work/versions"
read -ra libraries <<<"$static_libraries"
"${link[@]}" -shared -o "$work/libcushim.so" "-Wl,-soname,$soname" "-Wl,--version-script=$work/versions" \
  -Wl,-z,nodelete,-z,relro,-z,now -Wl,-Bsymbolic -Wl,--gc-sections -Wl,--build-id=sha1 \
  -Wl,--whole-archive "$(built_file libcushim.a)" -Wl,--no-whole-archive -Wl,--as-needed "${libraries[@]}"

# ── install ──

[[ ! -f $prefix/$manifest ]] || remove_installed
installed=()

# put MODE FILE PATH: installs the file under the prefix.
put() {
  install -D -m "$1" "$2" "$prefix/$3"
  installed+=("$3")
}

# put_link TARGET PATH
put_link() {
  ln -sf "$1" "$prefix/$2"
  installed+=("$2")
}

# put_program FILE PATH: a program or shared library, stripped, its debug information beside it.
put_program() {
  local debug_path name=${2##*/}
  debug_path=${2%/*}/.debug/$name.debug
  cp "$1" "$work/$name"
  if [[ $debug ]]; then
    "${binutils}objcopy" --only-keep-debug --compress-debug-sections "$1" "$work/$name.debug"
    put 644 "$work/$name.debug" "$debug_path"
  fi
  "${binutils}strip" --strip-unneeded "$work/$name"
  [[ ! $debug ]] || (cd "$work" && "${binutils}objcopy" --add-gnu-debuglink="$name.debug" "$name")
  put 755 "$work/$name" "$2"
}

# put_text TEMPLATE PATH: with the names between @ replaced. UP is the way from the file's folder to the prefix.
put_text() {
  local up names
  up=$(realpath -ms --relative-to="/${2%/*}" /)
  names=${static_libraries//-l/}
  sed -e "s|@VERSION@|$version|g" -e "s|@SONAME@|$soname|g" -e "s|@LIBDIR@|$libdir|g" -e "s|@UP@|$up|g" \
    -e "s|@COMPATIBLE_PATTERN@|${compatible//./[.]}|g" -e "s|@STATIC_LIBRARIES@|$static_libraries|g" \
    -e "s|@STATIC_LIBRARIES_LIST@|${names// /;}|g" "packaging/$1" > "$work/text"
  put 644 "$work/text" "$2"
}

for header in include/*.h include/*.hpp include/cushim/* include/cushim-cuda/*; do
  [[ -d $header || ( -z $softcuda && $header == */softcuda.h ) ]] || put 644 "$header" "$header"
done
put_program "$work/libcushim.so" "$libdir/libcushim.so.$version"
put_link "libcushim.so.$version" "$libdir/$soname"
put_link "$soname" "$libdir/libcushim.so"
# Its debug information cannot be apart; the bitcode is for rustc alone.
"${binutils}objcopy" --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --enable-deterministic-archives \
  "$(built_file libcushim.a)" "$work/libcushim.a"
put 644 "$work/libcushim.a" "$libdir/libcushim.a"
[[ $given ]] || put_program "$(built_file libcushim_python.so)" "$libdir/cushim/_native.abi3.so"
put_text cushim.pc.in "$libdir/pkgconfig/cushim.pc"
[[ ! -d include/cushim-cuda ]] || put_text cushim-cuda.pc.in "$libdir/pkgconfig/cushim-cuda.pc"
put_text cushim-config.cmake.in "$libdir/cmake/cushim/cushim-config.cmake"
put_text cushim-config-version.cmake.in "$libdir/cmake/cushim/cushim-config-version.cmake"
put 644 include/cushim.json share/cushim/cushim.json

if [[ $softcuda ]]; then
  put_program "$(built_file libsoftcuda.so)" "$libdir/libsoftcuda.so"
  # Not where ldconfig looks: it makes a link of each library's own name, and these have that of NVIDIA's driver.
  own=$libdir/softcuda
  shells=$given
  [[ $given ]] || shells=$(sed -n '/"build-script-executed","package_id":"[^"]*softcuda#/ s/.*"out_dir":"\([^"]*\)".*/\1/p' <<<"$built" | tail -n 1)
  for shell in "$shells"/libsoftcuda-*.so; do
    cp "$shell" "$work/shell"
    "${binutils}strip" --strip-unneeded "$work/shell"
    put 755 "$work/shell" "$own/${shell##*/}"
  done
  put_text softcuda.pc.in "$libdir/pkgconfig/softcuda.pc"
  if [[ ! $given ]]; then
    put_program "$(built_file libsoftcuda_nvml.so)" "$own/libsoftcuda_nvml.so"
    put_program "$(built_file libsoftcuda_compilers.so)" "$own/libsoftcuda_compilers.so"
    put_program "$(built_file softcuda-run)" bin/softcuda-run
    put_text softcuda-run.1.in share/man/man1/softcuda-run.1
  fi
fi
if [[ $probe ]]; then
  put_program "$(built_file cushim-probe)" bin/cushim-probe
  put_text cushim-probe.1.in share/man/man1/cushim-probe.1
fi

for text in LICENSE-MIT LICENSE-APACHE CHANGELOG.md; do put 644 "$text" "share/doc/cushim/$text"; done
if [[ $release ]]; then
  parts=cushim,python${softcuda:+,softcuda,nvml,compilers,run}${probe:+,probe}
  for_parts=(--parts "$parts" --target "${rust_target:-$(rustc -vV | sed -n 's/^host: //p')}" ${target:+--zig})
  scripts/dependencies.py --licences "${for_parts[@]}" > "$work/licences"
  scripts/dependencies.py --sbom "${for_parts[@]}" > "$work/sbom"
  put 644 "$work/licences" share/doc/cushim/LICENSES-THIRD-PARTY.txt
  put 644 "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" share/doc/cushim/COPYRIGHT-rust.html
  put 644 "$work/sbom" share/doc/cushim/cushim.cdx.json
fi
printf '%s\n' "${installed[@]}" | LC_ALL=C sort > "$work/list"
install -D -m 644 "$work/list" "$prefix/$manifest"
echo "installed under $prefix"
