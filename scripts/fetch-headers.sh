#!/usr/bin/env bash
# Fetches NVIDIA's driver headers for tests/headers.rs. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fetch-headers.sh DIR

Downloads NVIDIA's headers of CUDA 11.8, 12.2, 12.8, 12.9, 13.0 and of the newest release with pip, from the
nvidia-cuda-runtime wheels, and unpacks the include folder of each into DIR/<wheel>-<version>. Prints these folders,
one a line, oldest first. What is in DIR already is not downloaded again; the newest release is asked for once a day.

The headers are NVIDIA's: use them here, do not commit them. The test that wants them is run with
  cargo test --test headers

Exit status: 0 all there; 2 wrong usage; 69 a tool is missing (python3 with pip); 75 the network did not answer;
anything else is a failure. Messages go to stderr.
TEXT
}

pinned=(
  nvidia-cuda-runtime-cu11==11.8.89
  nvidia-cuda-runtime-cu12==12.2.140
  nvidia-cuda-runtime-cu12==12.8.90
  nvidia-cuda-runtime-cu12==12.9.79
  nvidia-cuda-runtime==13.0.96
)
newest=nvidia-cuda-runtime
script=fetch-headers days=1

found() {
  local include
  include=$(echo "$1"/nvidia/*/include)
  [[ -f $include/cuda.h ]] && echo "$include"
}

tell() { echo "$1"; }

. "$(dirname "$0")/fetch.inc.sh"
fetch_all "$@"
