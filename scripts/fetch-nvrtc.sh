#!/usr/bin/env bash
# Fetches NVIDIA's run-time compiler for tests. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fetch-nvrtc.sh DIR

Downloads NVRTC of CUDA 12.0, 12.8, 13.0 and the newest of 13.5 with pip, from the nvidia-cuda-nvrtc wheels, and
unpacks the libraries of each into DIR/<wheel>-<version>. Prints the path of each compiler, one a line, oldest first.
What is in DIR already is not downloaded again; the newest is asked for once a week. Half a gigabyte in all.

The libraries are NVIDIA's: use them here, do not commit them. The test that wants them is run with
  cargo test -p capi-tests --test c_api compile

Exit status: 0 all there; 2 wrong usage; 69 a tool is missing (python3 with pip); 75 the network did not answer;
anything else is a failure. Messages go to stderr.
TEXT
}

pinned=(
  nvidia-cuda-nvrtc-cu12==12.0.140
  nvidia-cuda-nvrtc-cu12==12.8.93
  nvidia-cuda-nvrtc==13.0.88
)
newest='nvidia-cuda-nvrtc<13.6' # the newest CUDA that softcuda knows
attempts=3

say() { echo "fetch-nvrtc: $*" >&2; }

# download REQUIREMENT FOLDER: puts the wheel into FOLDER.
download() {
  local attempt log=$2/pip.log
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if python3 -m pip download --quiet --no-deps --timeout 30 --retries 2 --dest "$2" "$1" >"$log" 2>&1; then
      return 0
    fi
    sleep "$attempt"
  done
  cat "$log" >&2
  # pip says "no matching distribution" also when it could not ask; then it has said what went wrong before.
  if grep -qiE 'retrying|connection|timed out|timeout|http error|ssl|incomplete' "$log"; then
    say "the package index did not answer"
    return 75
  fi
  say "failed: pip download $1"
  return 1
}

# unpack WHEEL: makes DIR/<wheel>-<version> of it, in one step, so that a second run never sees half a folder.
unpack() {
  local wheel=$1 name lib
  name=$(basename "$wheel" | cut -d- -f1,2 | tr _ -)
  python3 -m zipfile -e "$wheel" "$work/$name" || return
  lib=$(echo "$work/$name"/nvidia/*/lib)
  rm -f "$lib"/*.alt.so* "$lib"/*.a
  compiler "$lib" >/dev/null || { say "$(basename "$wheel") holds no compiler"; return 1; }
  [[ -d $dir/$name ]] || mv -T "$lib" "$dir/$name" 2>/dev/null || [[ -d $dir/$name ]]
  echo "$name"
}

# compiler FOLDER: the library in it.
compiler() {
  local file
  for file in "$1"/libnvrtc.so.*; do
    [[ -f $file ]] && echo "$file" && return 0
  done
  return 1
}

fetch() {
  local folder
  folder=$(mktemp -d "$work/wheel.XXXXXX")
  download "$1" "$folder" || return
  unpack "$folder"/*.whl
}

# The folder of the newest, from this week's answer or, where the network does not answer, from an older one.
fetch_newest() {
  local stamp=$dir/newest name status=0
  if [[ -z $(find "$stamp" -mtime -7 2>/dev/null) ]]; then
    name=$(fetch "$newest") || status=$?
    if ((status == 0)); then
      echo "$name" >"$work/newest"
      mv "$work/newest" "$stamp"
    elif ((status != 75)) || [[ ! -f $stamp ]]; then
      return "$status"
    fi
  fi
  cat "$stamp"
}

case ${1-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
python3 -m pip --version >/dev/null 2>&1 || { say "needs python3 with pip"; exit 69; }

mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d "$dir/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

for requirement in "${pinned[@]}"; do
  name=${requirement/==/-}
  [[ -d $dir/$name ]] || fetch "$requirement" >/dev/null || exit
  compiler "$dir/$name"
done
name=$(fetch_newest) || exit
compiler "$dir/$name"
