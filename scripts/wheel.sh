#!/usr/bin/env bash
# Makes the wheels of the Python package, and checks them. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/wheel.sh FOLDER [--installed PREFIX | [--target TARGET]... [--profile NAME]]
       scripts/wheel.sh FOLDER --check

Writes two wheels into FOLDER, for every Python from 3.9 on:

  cushim-VERSION-py3-none-PLATFORM.whl           the package, with libcushim and cushim-probe inside, and the calls that are made
                                                 most often compiled, for Pythons with a global lock; others do without
  cushim_softcuda-VERSION-py3-none-PLATFORM.whl  softcuda, for cushim[softcuda], and softcuda-run

PLATFORM is manylinux with the oldest glibc that the libraries run with.

--installed PREFIX  take what scripts/install.sh has installed under PREFIX, instead of building
--target TARGET     build for a Rust target and an oldest glibc, for example aarch64-unknown-linux-gnu.2.17; given several times,
                    two wheels for each
--profile NAME      cargo profile to build with (default: release)
--check             of the wheels in FOLDER for this machine: that their libraries want no newer glibc than the name says; install
                    them into a new virtual environment, and run there what docs/start/python.md says:
                    its program, on softcuda, a test with the pytest plugin on two versions, and python -m cushim. pip fetches
                    cffi and pytest

Needs python3 and binutils, and to build what scripts/install.sh needs.

Exit status: 0 done; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

say() { echo "wheel: $*" >&2; }
fail() { say "$*"; exit 1; }
wrong() { say "$*; see --help"; exit 2; }

folder=''
prefix=''
targets=()
profile=''
check=''
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --installed | --target | --profile)
      (($# >= 2)) || wrong "$1 needs a value"
      case $1 in --installed) prefix=$2 ;; --target) targets+=("$2") ;; *) profile=$2 ;; esac
      shift ;;
    --check) check=yes ;;
    -*) wrong "unknown option $1" ;;
    *)
      [[ -z $folder ]] || wrong 'one FOLDER only'
      folder=$1 ;;
  esac
  shift
done
[[ -n $folder ]] || { usage >&2; exit 2; }
[[ -z $prefix || ${#targets[@]} -eq 0 ]] || wrong '--installed or --target'
for tool in python3:python3 readelf:binutils; do
  command -v "${tool%:*}" >/dev/null || { say "needs ${tool%:*}; install ${tool#*:}"; exit 69; }
done
if [[ ! $check && ! $prefix ]]; then
  command -v cargo >/dev/null || { say 'needs cargo; install Rust (https://rustup.rs)'; exit 69; }
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
[[ -z $prefix ]] || prefix=$(cd "$prefix" && pwd) || wrong "there is no folder $prefix"
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
. scripts/package.inc.sh

page=$PWD/docs/start/python.md

# quick_start LANGUAGE NUMBER: a block of code of the page.
quick_start() {
  awk -v language="$1" -v number="$2" '
    $0 == "```" && inside { exit }
    inside { print }
    $0 == "```" language && ++count == number { inside = 1 }' "$page"
}

# machine_of FILE: as names of wheels have it.
machine_of() {
  case $(readelf -h "$1" | sed -n 's/ *Machine: *//p') in
    *X86-64*) echo x86_64 ;;
    *AArch64*) echo aarch64 ;;
    *) fail "wheels are for x86-64 and aarch64, and $1 is for neither" ;;
  esac
}

# is_as_named WHEEL: what is in it runs where the name says.
is_as_named() {
  local name=${1##*/} inside=$work/inside files glibc file
  python3 -m zipfile -e "$1" "$inside"
  mapfile -t files < <(programs "$inside")
  [[ $name =~ -manylinux_([0-9]+)_([0-9]+)_([a-z0-9_]+)\.whl$ ]] || fail "$name is no name of a wheel for manylinux"
  glibc=${BASH_REMATCH[1]}.${BASH_REMATCH[2]}
  [[ $(printf '%s\n' "$glibc" "$(newest_glibc "${files[@]}")" | sort -V | tail -n 1) == "$glibc" ]] || fail "$name wants a newer glibc"
  for file in "${files[@]}"; do
    [[ $(machine_of "$file") == "${BASH_REMATCH[3]}" ]] || fail "$name has ${file#"$inside"/}, which is for another machine"
  done
  rm -r "$inside"
}

if [[ $check ]]; then
  unset PYTHONPATH CUSHIM_LIBRARY CUSHIM_SOFTCUDA CUSHIM_DRIVER LD_LIBRARY_PATH
  wheels=("$folder"/cushim*.whl)
  [[ -f ${wheels[0]} ]] || fail "$folder has no wheels"
  for wheel in "${wheels[@]}"; do is_as_named "$wheel"; done
  python3 -m venv "$work/venv"
  python=$work/venv/bin/python
  "$python" -m pip install -q --disable-pip-version-check --find-links "$folder" 'cushim[softcuda]' pytest
  cd "$work"
  quick_start python 1 > hello.py
  CUSHIM_DRIVER=software "$python" hello.py > said
  diff <(quick_start text 1) said || fail 'the quick start prints something else (above)'
  quick_start python 2 > test_doubling.py
  "$python" -m pytest -q --softcuda 12.4,13.0 > said || { cat said >&2; fail 'the test of the quick start fails (above)'; }
  "$python" -c 'import cushim._object; assert cushim._object.NATIVE, "the compiled module does not load"'
  (($(grep -c ' passed' said) == 2)) || { cat said >&2; fail 'the test did not run on two versions (above)'; }
  CUSHIM_DRIVER=software "$python" -m cushim > said || { cat said >&2; fail 'python -m cushim fails (above)'; }
  # A program that knows nothing of cushim, its end, and NVML.
  status=0
  "$work/venv/bin/softcuda-run" --cuda 12.4 --devices 2 "$python" -c 'import ctypes, sys
driver, nvml = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
version, count = ctypes.c_int(), ctypes.c_uint()
assert driver.cuInit(0) == driver.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value == 12040
assert nvml.nvmlInit_v2() == nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == 2
sys.exit(7)' || status=$?
  ((status == 7)) || fail "softcuda-run ends with $status instead of 7"
  "$python" -m pip uninstall -q -y cushim-softcuda
  status=0
  CUSHIM_DRIVER=software "$python" hello.py > said 2>&1 || status=$?
  ((status != 0)) && grep -q 'softcuda' said || { cat said >&2; fail 'without softcuda the program does not say what it lacks (above)'; }
  echo 'the wheels install and work'
  exit
fi

# wheels_of PREFIX: of what is installed there.
wheels_of() {
  local files machine glibc
  mapfile -t files < <(programs "$1")
  machine=$(machine_of "$(find "$1"/lib* -name libcushim.so | head -n 1)")
  glibc=$(newest_glibc "${files[@]}")
  # Python's oldest name for it is 2.17's.
  glibc=$(printf '%s\n2.17\n' "$glibc" | sort -V | tail -n 1)
  python3 python/build.py "$folder" "$1" "manylinux_${glibc/./_}_$machine"
}

# built_wheels OPTION...: of what scripts/install.sh builds with them.
built_wheels() {
  scripts/install.sh "$work/prefix" --without-debug ${profile:+--profile "$profile"} "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail 'the build fails (above)'; }
  wheels_of "$work/prefix"
  rm -r "$work/prefix"
}

if [[ $prefix ]]; then
  wheels_of "$prefix"
elif ((${#targets[@]} == 0)); then
  built_wheels
else
  for target in "${targets[@]}"; do built_wheels --target "$target"; done
fi
