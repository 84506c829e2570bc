#!/usr/bin/env bash
# Every C test program and C example with each of its driver calls failing in turn. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fault-sweep.sh

Runs each C test program that runs on softcuda, and each C example, once to learn which calls of the driver it makes, and
then twice for each of them, up to the twelfth of each function: with that call failing alone (CUDA_ERROR_OUT_OF_MEMORY),
and with the context lost by it (CUDA_ERROR_ILLEGAL_ADDRESS). Checks of the programs may fail then; crashes, hangs and
objects that nobody releases may not be. Prints the number of such pairs. Takes some minutes; capi-tests tries the first
call of each function on every commit.

That a failure is reported once, and that a retry succeeds, is what capi-tests/c/objects_every_fault.c finds out, for every
function of the C ABI and every call of the driver that it makes.

Exit status: 0 nothing was found; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
  '') ;;
  *) usage >&2; exit 2 ;;
esac
command -v cargo > /dev/null || { echo 'fault-sweep.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
cd "$(dirname "$0")/.."
exec cargo run -q --release -p capi-tests --bin fault_sweep
