#!/usr/bin/env bash
# Makes the files of a release, and checks them. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/release.sh FOLDER [--target TARGET]... [--twice]
       scripts/release.sh FOLDER --check

Builds for each TARGET what scripts/install.sh --release installs, and writes into FOLDER:

  cushim-VERSION-ARCH-linux.tar.xz        unpack it anywhere
  cushim-VERSION-ARCH-linux-debug.tar.xz  its debug information: unpack it over the first
  cushim_VERSION_ARCH.deb                 the same for Debian and Ubuntu, below /usr
  cushim-VERSION-….whl, cushim_softcuda-VERSION-….whl  the wheels of scripts/wheel.sh
  SHA256SUMS

Each has the licences of all that is linked in, and a software bill of materials, in share/doc/cushim. The files depend on
the sources and the tools only, not on the folder, the machine's name or the time.

--target TARGET  a Rust target and the oldest glibc (default: x86_64-unknown-linux-gnu.2.17 and
                 aarch64-unknown-linux-gnu.2.17)
--twice          build everything a second time, in another folder, and fail if a file differs
--check          of the files in FOLDER: the wheels pass scripts/wheel.sh --check; both other kinds install, and can be removed; programs of examples/ that are built with them
                 run on softcuda, as cushim-probe does; none wants a newer glibc than 2.17, or names a folder of this machine.
                 What is for another architecture runs with qemu, if that is there (qemu-user-static, libc6-arm64-cross)

Needs cargo-zigbuild and ziglang (pip install cargo-zigbuild ziglang), the Rust targets (rustup target add), dpkg-deb, xz,
and for other architectures their binutils. Takes several minutes for each target.

Exit status: 0 done; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

say() { echo "release: $*" >&2; }
fail() { say "$*"; exit 1; }
wrong() { say "$*; see --help"; exit 2; }

folder=''
targets=()
twice=''
check=''
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --target)
      (($# >= 2)) || wrong '--target needs a value'
      targets+=("$2")
      shift ;;
    --twice) twice=yes ;;
    --check) check=yes ;;
    -*) wrong "unknown option $1" ;;
    *)
      [[ -z $folder ]] || wrong 'one FOLDER only'
      folder=$1 ;;
  esac
  shift
done
[[ -n $folder ]] || { usage >&2; exit 2; }
((${#targets[@]} > 0)) || targets=({x86_64,aarch64}-unknown-linux-gnu.2.17)
for tool in cargo:rust git:git xz:xz-utils dpkg-deb:dpkg; do
  command -v "${tool%:*}" >/dev/null || { say "needs ${tool%:*}; install ${tool#*:}"; exit 69; }
done
# install.sh asks as well, but only once the first target was built.
for target in "${targets[@]}"; do
  arch=${target%%-*}
  [[ $check || $arch == "$(uname -m)" ]] || command -v "$arch-linux-gnu-strip" >/dev/null || {
    say "needs $arch-linux-gnu-strip for $target; install binutils-${arch/_/-}-linux-gnu"
    exit 69
  }
done

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd -P "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=scripts/package.inc.sh
. scripts/package.inc.sh
unset DESTDIR PREFIX LIBDIR
# Files are as old as the commit.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

# ── making ──

# make_tarballs TARGET OUT
make_tarballs() {
  local prefix=$work/tarball/cushim-$version-${1%%-*}-linux
  scripts/install.sh "$prefix" --release --target "$1"
  pack_tarballs "$prefix" "$2"
  scripts/wheel.sh "$2" --installed "$prefix"
  rm -r "$prefix"
}

# make_deb TARGET OUT
make_deb() {
  local root=$work/deb arch machine=${1%%-*}
  case $machine in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) fail "no name of Debian's for $machine is known" ;; esac
  DESTDIR=$root scripts/install.sh /usr --libdir "lib/$machine-linux-gnu" --release --without-debug --target "$1"
  pack_deb "$root" "$arch" "$2"
  rm -r "$root"
}

make_all() { # out
  local target
  mkdir -p "$1"
  for target in "${targets[@]}"; do
    make_tarballs "$target" "$1"
    make_deb "$target" "$1"
  done
}

# ── checking ──

# names_no_folder PREFIX: of this machine, or of zig; in debug information, too, which is compressed.
names_no_folder() {
  local place file
  for place in "$HOME" "$PWD" /ziglang/; do
    [[ $place == / ]] || ! grep -rlF "$place" "$1" || fail "the files above name $place"
    while read -r file; do
      ! readelf -Wz -p .debug_str -p .debug_line -p .debug_info "$file" | grep -F "$place" || fail "$file has the lines above"
    done < <(find "$1" -name '*.debug' -type f)
  done
}

# check_files PREFIX: what holds for every architecture.
check_files() {
  local file files newest
  mapfile -t files < <(programs "$1")
  newest=$(newest_glibc "${files[@]}")
  [[ $(printf '%s\n' 2.17 "$newest" | sort -V | tail -n 1) == 2.17 ]] || fail "$1 wants glibc $newest, not 2.17"
  names_no_folder "$1"
  for file in LICENSE-MIT LICENSE-APACHE LICENSES-THIRD-PARTY.txt COPYRIGHT-rust.html cushim.cdx.json; do
    [[ -s $1/share/doc/cushim/$file ]] || fail "$1 has no $file"
  done
}

# check_programs MACHINE PREFIX LIBDIR
check_programs() {
  local qemu program system=/usr/$1-linux-gnu lib=$2/$3
  if [[ $1 == "$(uname -m)" ]]; then
    scripts/check-install.sh --installed "$2"
    return
  fi
  qemu=$(command -v "qemu-$1-static" || command -v "qemu-$1") && [[ -d $system ]] || {
    say "what is for $1 was not run: that needs qemu-$1 and the C library in $system"
    return
  }
  export CUSHIM_DRIVER=software CUSHIM_SOFTCUDA=$lib/libsoftcuda.so
  local link=(python3 -m ziglang cc -target "$1-linux-gnu.2.17" examples/ordered.c -I "$2/include" -o)
  "${link[@]}" "$work/shared" -L "$lib" -lcushim "-Wl,-rpath,$lib"
  "${link[@]}" "$work/static" "$lib/libcushim.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl
  for program in "$work"/{shared,static}; do
    "$qemu" -L "$system" "$program" | diff examples/ordered.txt - || fail "ordered for $1 prints something else (above)"
  done
  unset CUSHIM_SOFTCUDA
  "$qemu" -L "$system" "$2/bin/cushim-probe" --software > "$work/log" || { cat "$work/log" >&2; fail "cushim-probe for $1 fails (above)"; }
  say "what is for $1 runs with qemu"
}

check_tarball() {
  local name machine
  name=$(basename "$1" .tar.xz)
  tar -C "$work" -xf "$1"
  tar -C "$work" -xf "${1%.tar.xz}-debug.tar.xz"
  check_files "$work/$name"
  machine=${name%-linux}
  check_programs "${machine##*-}" "$work/$name" lib
  scripts/install.sh "$work/$name" --uninstall
  say "$(basename "$1"): ok"
}

check_deb() {
  local root=$work/root machine
  debian_root "$root" --install "$1"
  check_files "$root/usr"
  case $1 in *_amd64.deb) machine=x86_64 ;; *) machine=aarch64 ;; esac
  check_programs "$machine" "$root/usr" "lib/$machine-linux-gnu"
  purge_deb "$root"
  say "$(basename "$1"): ok"
}

if [[ $check ]]; then
  (cd "$folder" && sha256sum --quiet --check SHA256SUMS)
  for file in "$folder"/*-linux.tar.xz; do check_tarball "$file"; done
  for file in "$folder"/*.deb; do check_deb "$file"; done
  for file in "$folder"/*.whl; do [[ $file == *-manylinux_2_17_* ]] || fail "$file is not for glibc 2.17"; done
  scripts/wheel.sh "$folder" --check
  exit
fi

make_all "$folder"
(cd "$folder" && sha256sum -- *.tar.xz *.deb *.whl > SHA256SUMS)
if [[ $twice ]]; then
  # Another folder for the sources, for what is built, and for what is installed.
  mkdir "$work/elsewhere"
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$work/elsewhere" -xf -
  (cd "$work/elsewhere" && CARGO_TARGET_DIR=$work/elsewhere/built && export CARGO_TARGET_DIR && make_all "$work/again")
  (cd "$work/again" && sha256sum -- *.tar.xz *.deb *.whl) | diff "$folder/SHA256SUMS" - || fail 'the second build differs (above)'
fi
cat "$folder/SHA256SUMS"
