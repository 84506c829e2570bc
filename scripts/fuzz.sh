#!/usr/bin/env bash
# Random calls of every C function on softcuda. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fuzz.sh [--graphs] [--faults] [CALLS [SEED]]
       scripts/fuzz.sh --threads [--shared] [ROUNDS [SEED]]

Makes CALLS random calls (default: 100000000) of the functions of cushim.h on softcuda, on as many processors as there are,
each with a seed of its own, counted up from SEED (default: the time). Handles are good, stale, foreign, of another kind or
none at all; sizes are good or not. capi-tests/c/fuzz/fuzz.c says what is checked. Ten million calls take about half a
minute on one processor.

A failure prints the calls that lead to it, made as few as possible, and how to replay them:

  cargo run --release -p capi-tests --bin fuzz -- [--graphs] [--safe | --faults] CALLS SEED EPISODE

--graphs calls the functions of graphs, nodes, execs and builders instead, and those whose work a graph can capture;
capi-tests/c/fuzz/graphs.c says what is checked. --faults has calls of the driver fail at random, with the context or alone;
what is answered may then be anything but an internal error, and no call may crash or stand still. FUZZ_VERSION=12.4 has
softcuda be that driver, with all of these.

--threads has three threads share graphs, nodes, execs, builders, streams and buffers, and call their functions at random for
ROUNDS rounds (default: 20000) of 1,200 calls; capi-tests/c/fuzz/threads.c says what is checked after each round. A failure
says its round, which need not fail again: the machine decides what comes first. With --shared they enqueue in each other's
streams, too.

To compare softcuda with a GPU, let both print what every call answers, and compare. The pack of scripts/gpu-pack.sh does
it; by hand, with the program from the pack:

  cargo run --release -p capi-tests --bin fuzz -- --safe --transcript 20000 1 > softcuda.txt
  ./bin/c-fuzz-fuzz --safe --transcript 20000 1 > gpu.txt
  ./bin/c-fuzz-fuzz --compare softcuda.txt gpu.txt

A difference that is no fault, and why, stands in capi-tests/c/fuzz/compare.h.

Exit status: 0 every call answered as it must; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

options=()
if [ "${1-}" = --threads ]; then
  options=(--threads)
  shift
  if [ "${1-}" = --shared ]; then
    options+=(--shared)
    shift
  fi
fi
for option in --graphs --faults; do
  if [ "${options[0]-}" != --threads ] && [ "${1-}" = $option ]; then
    options+=($option)
    shift
  fi
done
case "${1-}" in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
if (($# > 2)); then
  usage >&2
  exit 2
fi
command -v cargo > /dev/null || { echo 'fuzz.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
cd "$(dirname "$0")/.."
what=calls
default=100000000
if [ "${options[0]-}" = --threads ]; then
  what=rounds
  default=20000
fi
calls=${1-$default}
seed=${2-$(date +%s)}
processes=$(nproc)

cargo build -q --release -p capi-tests --bin fuzz
running=()
for ((i = 0; i < processes; i++)); do
  echo "seed $((seed + i)): $((calls / processes)) $what"
  "${CARGO_TARGET_DIR-target}/release/fuzz" "${options[@]}" $((calls / processes)) $((seed + i)) &
  running+=($!)
done
failed=0
for process in "${running[@]}"; do
  wait "$process" || failed=1
done
exit $failed
