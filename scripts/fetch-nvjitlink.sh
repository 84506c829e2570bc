#!/usr/bin/env bash
# Fetches NVIDIA's run-time linker for tests. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fetch-nvjitlink.sh DIR

Downloads nvJitLink of CUDA 12.0, 12.8, 13.0 and the newest of 13.5 with pip, from the nvidia-nvjitlink wheels, and
unpacks the libraries of each into DIR/<wheel>-<version>. Prints the path of each linker, one a line, oldest first.
What is in DIR already is not downloaded again; the newest is asked for once a week. A third of a gigabyte in all.

The libraries are NVIDIA's: use them here, do not commit them. The test that wants them is run with
  cargo test -p capi-tests --test c_api compile

Exit status: 0 all there; 2 wrong usage; 69 a tool is missing (python3 with pip); 75 the network did not answer;
anything else is a failure. Messages go to stderr.
TEXT
}

pinned=(
  nvidia-nvjitlink-cu12==12.0.140
  nvidia-nvjitlink-cu12==12.8.93
  nvidia-nvjitlink==13.0.88
)
newest='nvidia-nvjitlink<13.6' # the newest CUDA that softcuda knows
script=fetch-nvjitlink days=7

found() {
  local lib
  lib=$(echo "$1"/nvidia/*/lib)
  rm -f "$lib"/*.a
  tell "$lib" >/dev/null && echo "$lib"
}

# The linker in the folder.
tell() {
  local file
  for file in "$1"/libnvJitLink.so.*; do
    [[ -f $file ]] && echo "$file" && return 0
  done
  return 1
}

. "$(dirname "$0")/fetch.inc.sh"
fetch_all "$@"
