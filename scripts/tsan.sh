#!/usr/bin/env bash
# The tests of what threads share under ThreadSanitizer. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/tsan.sh [--programs]

Runs the tests of softcuda (its streams run on threads of their own), those of cushim's handle table and callbacks, and
every C program on softcuda under ThreadSanitizer. With --programs only the C programs. Takes some ten minutes, most of it
to compile; what it builds is in target/tsan.

Rust's standard library is not instrumented here: what is ordered only by its locks, channels and joins would be reported
although it is right. cushim and softcuda use locks of parking_lot, which are compiled here. scripts/tsan.supp lists what is
left, with the reason for each. One test reads device memory to see that this is a SIGSEGV, so that signal is no finding.

Exit status: 0 nothing was found; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
  '' | --programs) ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
name=tsan sanitizer=thread
. scripts/sanitizer.inc.sh
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan.supp:halt_on_error=0:handle_segv=0

failed=0
c_programs || failed=1
[ "${1-}" = --programs ] && exit $failed
rust_tests -p cushim --lib handle || failed=1
rust_tests -p cushim --test callback || failed=1
# The sanitizer keeps what is freed, so nothing is given back.
rust_tests -p softcuda --lib --tests -- --skip freed_memory_is_given_back || failed=1
exit $failed
