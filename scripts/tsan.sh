#!/usr/bin/env bash
# The tests of what threads share under ThreadSanitizer. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/tsan.sh [--programs]

Runs every C program on softcuda under ThreadSanitizer, the tests of cushim's handle table, callbacks and log, and those of
softcuda, whose streams and kernels run on threads of their own. With --programs only the C programs. Takes some ten
minutes, most of it to compile; what it builds is in target/tsan. Beside Rust by rustup it needs clang (apt-get install
clang) and the source of the standard library, which is compiled with the sanitizer as well (rustup component add rust-src).
The last line counts what has run.

scripts/tsan.supp lists what is no finding, with the reason for each. One test reads device memory to see that this is a
SIGSEGV, so that signal is none either.

Left out is what cannot be as it should with the sanitizer in the process:
- objects/first_error and objects/forked_bare: an allocator of their own stands in front of the C library's, as the sanitizer's;
- freed_memory_is_given_back: the sanitizer keeps what is freed;
- hostile::memory_that_is_gone_when_a_graph_runs, hostile::registered_memory_that_is_gone: unmap memory, and the sanitizer maps
  some of its own there;
- hostile::parameters_that_point_nowhere: the same;
- settings::by_default_devices_have_half_of_what_is_free, settings::a_process_that_may_map_little_has_devices,
  hostile::a_system_without_threads: limit the addresses, of which the sanitizer takes 16 TiB, and more for each thread;
- abi::modules::tests::what_modules_have: looks for a function of the C library, which the sanitizer has taken the place of;
- graph_order::a_hundred_thousand_nodes, schedules::kernels_may_wait_for_other_work: have a bound in time, and take ten times as
  long here.

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
# An allocator that cannot give so much says so: one program asks for 2^60 bytes.
export TSAN_OPTIONS=suppressions=$PWD/scripts/tsan.supp:halt_on_error=0:handle_segv=0:allocator_may_return_null=1

left_out=(c-objects-first_error c-objects-forked_bare)
c_programs
[ "${1-}" = --programs ] && finish
rust_tests -p cushim --lib --test callback --test callback_c --test logging
rust_tests -p softcuda --lib --tests -- --skip freed_memory_is_given_back --skip hostile::memory_that_is_gone_when_a_graph_runs \
  --skip hostile::registered_memory_that_is_gone --skip hostile::parameters_that_point_nowhere \
  --skip settings::by_default_devices_have_half_of_what_is_free --skip settings::a_process_that_may_map_little_has_devices \
  --skip hostile::a_system_without_threads \
  --skip abi::modules::tests::what_modules_have --skip graph_order::a_hundred_thousand_nodes \
  --skip schedules::kernels_may_wait_for_other_work
finish
