#!/usr/bin/env bash
# The tests under AddressSanitizer. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/asan.sh [--programs]

Runs the tests of cushim and softcuda, and every C program on softcuda, under AddressSanitizer; the C programs under
LeakSanitizer, too. With --programs only the C programs. Takes some ten minutes, most of it to compile; what it builds is in
target/asan. Beside Rust by rustup it needs clang (apt-get install clang) and the source of the standard library, which is
compiled with the sanitizer as well (rustup component add rust-src). The last line counts what has run.

Tests in Rust leak on purpose what lasts as long as their process, so only the C programs are searched for leaks (what two of
them leak on purpose they name, by CHECK_LEAKS_BEGIN); and one reads device memory to see that this is a SIGSEGV, so that
signal is not taken for a finding.

Left out is what cannot be as it should with the sanitizer in the process:
- objects/first_error and objects/forked_bare: an allocator of their own stands in front of the C library's, as the sanitizer's;
- a_privileged_process (two tests), privileges::no_variable_is_read: privileged, it may not read the sanitizer's
  options, and cannot search itself for leaks;
- hostile::contexts_leave_nothing_behind: measures what memory is in use, and the sanitizer keeps what is freed;
- settings::a_process_that_may_map_little_has_devices, hostile::a_system_without_threads: limit the addresses, of which the
  sanitizer takes 16 TiB, and more for each thread;
- graph_order::a_hundred_thousand_nodes: has a bound in time, and takes ten times as long here;
- abi::reach::tests::the_stack_of_a_thread: looks for a variable on the stack, and the sanitizer puts it elsewhere;
- nothing_is_gone_or_changed: compares the Rust interface, for which it compiles cushim by itself.

Exit status: 0 nothing was found; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
  '' | --programs) ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
name=asan sanitizer=address
. scripts/sanitizer.inc.sh

# An allocator that cannot give so much says so: one program asks for 2^60 bytes.
export ASAN_OPTIONS=allocator_may_return_null=1
left_out=(c-objects-first_error c-objects-forked_bare)
c_programs
[ "${1-}" = --programs ] && finish
export ASAN_OPTIONS=detect_leaks=0:handle_segv=0
rust_tests -p softcuda --lib --tests -- --skip privileges::no_variable_is_read --skip hostile::contexts_leave_nothing_behind \
  --skip settings::a_process_that_may_map_little_has_devices --skip hostile::a_system_without_threads --skip abi::reach::tests::the_stack_of_a_thread \
  --skip graph_order::a_hundred_thousand_nodes
# Tests run these as programs.
instrumented build -p cushim --examples
rust_tests -p cushim --lib --tests -- --skip a_privileged_process --skip nothing_is_gone_or_changed
finish
