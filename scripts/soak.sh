#!/usr/bin/env bash
# Threads that use everything for a while, after which nothing may have grown. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/soak.sh [SECONDS]

Eight threads make, use and destroy contexts, streams, events, memory, pools, code, graphs, captures and callbacks on
softcuda, and make calls that fail, for SECONDS (default: 600). Every second the threads end and others take their place; in
between, the process must have as many threads and file descriptors as at first, and no more memory, and nothing may live in
the driver. capi-tests does it for a second on every commit; capi-tests/c/softcuda/soak.c is the program.

Exit status: 0 nothing has grown; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
  *[!0-9]*) usage >&2; exit 2 ;;
esac
if (($# > 1)); then
  usage >&2
  exit 2
fi
command -v cargo > /dev/null || { echo 'soak.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
cd "$(dirname "$0")/.."
exec cargo run -q --release -p capi-tests --bin soak -- "${1-600}"
