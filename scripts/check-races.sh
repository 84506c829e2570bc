#!/usr/bin/env bash
# Our own programs with softcuda's checks of races and of memory. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/check-races.sh [--short | AREA...]

Runs the C test programs on softcuda with SOFTCUDA_CHECK=races,memory,uninitialised: each report is a bug of the program
or of the check. Then the conformance suite with races, which must be those that its questions are about. With AREAs only the programs of these
(memory, graphs); with --short those of kernels and managed, which take seconds, as .ci/run does. All of them take about
six minutes.

Left out are fuzz/threads and graphs/misuse, whose threads use the same memory without an order because no value of it
is looked at, graphs/unordered, whose work has no order because that is what CUSHIM_CHECK=order is to say,
softcuda/soak, which counts what the process has in use, and what does the same so often that its time runs
out: graphs/often, graphs/many with 100,000 nodes. What is left out of the others stands with its
reason in capi-tests/races.supp and conformance/races.supp.

Exit status: 0 nothing was found; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

areas=()
short=
case "${1-}" in
  -h | --help) usage; exit 0 ;;
  --short) short=1 areas=(kernels managed) ;;
  -*) usage >&2; exit 2 ;;
  *) areas=("$@") ;;
esac
cd "$(dirname "$0")/.."
command -v cargo >/dev/null || { echo "$0: needs cargo: install Rust (https://rustup.rs)" >&2; exit 69; }

root=$PWD
findings=0
left_out=(--skip fuzz/threads --skip graphs/misuse --skip graphs/unordered --skip softcuda/soak --skip graphs/often --skip CHECK_NODES)
checked() { # what to run
  SOFTCUDA_CHECK=races,memory,uninitialised SOFTCUDA_CHECK_EXIT=7 SOFTCUDA_CHECK_SUPPRESSIONS="$root/$1" "${@:2}" || findings=$((findings + 1))
}

cargo build -q -p capi-tests -p conformance
if ((${#areas[@]} == 0)); then
  checked capi-tests/races.supp cargo test -q -p capi-tests --test programs -- "on 13.0" "${left_out[@]}"
else
  for area in "${areas[@]}"; do
    checked capi-tests/races.supp cargo test -q -p capi-tests --test programs -- "$area/" --skip "on 11" --skip "on 12" \
      --skip "on 13.5" --skip "on none" "${left_out[@]}"
  done
fi
if [ -z "$short" ] && ((${#areas[@]} == 0)); then
  mkdir -p target/races
  rm -f target/races/conformance
  SOFTCUDA_CHECK=races SOFTCUDA_CHECK_LOG=$root/target/races/conformance \
    SOFTCUDA_CHECK_SUPPRESSIONS=$root/conformance/races.supp cargo run -q -p conformance -- --driver software --compare \
    > target/races/transcript 2> target/races/errors || { tail -n 20 target/races/transcript; findings=$((findings + 1)); }
  if [ -s target/races/conformance ]; then
    cat target/races/errors >&2
    findings=$((findings + 1))
  fi
fi
echo "check-races.sh: $findings findings, $SECONDS s"
exit $((findings > 0))
