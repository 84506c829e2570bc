#!/usr/bin/env bash
# Every C test program and C example with each of its driver calls failing in turn. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fault-sweep.sh [NAME...]

Runs each C test program that runs on softcuda, and each C example, once to learn which calls of the driver it makes, and
then twice for each of them, up to the twelfth of each function: with that call failing alone (CUDA_ERROR_OUT_OF_MEMORY),
and with the context lost by it (CUDA_ERROR_ILLEGAL_ADDRESS). Checks of the programs may fail then; crashes, hangs, and
contexts, streams, events, memory, pools, code, graphs and execs that nobody releases may not be. Takes half an hour, most of it
for the programs on graphs, which wait for what launches have used; the last line counts
the programs, the pairs of a program and a call, and what was found. With NAMEs only those (objects/streams,
examples/graphs/heat.c), and of the calls of one only those of a function (graphs/execs:cuEventCreate). capi-tests tries the first call of each function on every commit, in three programs that make it.

Left out are fuzz/fuzz and fuzz/graphs, which take every answer that their model does not foresee for a failure, and stop,
objects/bounds, which makes 100,000 events, graphs/often, which makes 100,000 changes, and graphs/raced, which is another program
whenever another of its threads is first. sweep/sweep, and objects/threads, graphs/beside and graphs/many, which make the same calls
over and over, meet the first four and two of each function. What objects/exit leaves is not looked at, for it lets go of it when the process exits, nor what the examples leave that use the
driver's own functions. What a graph, an exec or a capture keeps that the driver refused to end is not looked at either.

That a failure is reported once, and that a retry succeeds, is what capi-tests/c/softcuda/every_fault.c finds out, for every
function of the C ABI and every call of the driver that it makes.

Exit status: 0 nothing was found; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
command -v cargo > /dev/null || { echo 'fault-sweep.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
cd "$(dirname "$0")/.."
exec cargo run -q --release -p capi-tests --bin fault_sweep -- "$@"
