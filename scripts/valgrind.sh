#!/usr/bin/env bash
# C programs under Valgrind's memcheck. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/valgrind.sh [--short | NAME...]

Runs the C test programs on softcuda under memcheck: no read of what was not written, no access outside of what is
allocated, nothing lost at the end. With NAMEs only those (objects/streams); with --short those that take seconds, as
.ci/run does. All of them take about ten minutes. The programs and the libraries are built for debugging, in the usual
target folder.

Left out is fuzz/fuzz, whose process is watched for standing still. Programs that fork are not searched for what is lost:
their children end where they are, without the threads that hold it.

Exit status: 0 nothing was found; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

names=()
case "${1-}" in
  -h | --help) usage; exit 0 ;;
  --short) names=(raw/handles raw/last_error objects/{devices,errors,events,streams} memory/memory) ;;
  -*) usage >&2; exit 2 ;;
  *) names=("$@") ;;
esac
cd "$(dirname "$0")/.."
command -v cargo >/dev/null || { echo "$0: needs cargo: install Rust (https://rustup.rs)" >&2; exit 69; }
command -v valgrind >/dev/null || { echo "$0: needs valgrind: apt-get install valgrind" >&2; exit 69; }
target=${CARGO_TARGET_DIR-target}
programs=$target/valgrind
rm -rf "$programs"
cargo run -q -p capi-tests --bin pack -- "$programs" "${names[@]}"
if ((${#names[@]} == 0)); then
  for program in "$programs"/c-*; do
    name=$(basename "$program")
    case $name in c-fuzz-fuzz) ;; *) names+=("${name#c-}") ;; esac
  done
fi

findings=0
for name in "${names[@]/\//-}"; do
  [ -x "$programs/c-$name" ] || { echo "$0: there is no program $name" >&2; exit 2; }
  case $name in raw-fork | raw-default_fork | objects-misuse | sweep-sweep) leaks=no ;; *) leaks=full ;; esac
  # A thread of the library's that waits for work when the process ends still has its stack: "possibly lost". The search for
  # what is lost reads all memory that the devices have, which is as much as the machine's if nothing else is said.
  if SOFTCUDA_MEMORY=256M CUSHIM_DRIVER=software CUSHIM_SOFTCUDA=$(realpath "$target/debug/deps/libsoftcuda.so") CHECK_VERSION=13000 \
    valgrind -q --error-exitcode=99 --leak-check=$leaks --errors-for-leak-kinds=definite --show-leak-kinds=definite \
    --fair-sched=yes "$programs/c-$name" > "$programs/output" 2>&1; then
    echo "$name: $(tail -n 1 "$programs/output")"
  else
    echo "$name failed:" >&2
    cat "$programs/output" >&2
    findings=$((findings + 1))
  fi
done
echo "valgrind.sh: ${#names[@]} programs, $findings findings, $SECONDS s"
exit $((findings > 0))
