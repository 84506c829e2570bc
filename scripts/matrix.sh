#!/usr/bin/env bash
# Runs the C and C++ programs on everything. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/matrix.sh

Runs the tests of capi-tests with CUSHIM_MATRIX=full: every C program on every driver version, and every header in every standard.
`cargo test` tries each program on the oldest version, 13.0, the newest and a third of the others, and leaves out C17, C++14 and
C++20. Takes some ten minutes.

Exit status: 0 all passed; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
esac
if (($# > 0)); then
  usage >&2
  exit 2
fi
command -v cargo > /dev/null || { echo 'matrix.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
cd "$(dirname "$0")/.."
CUSHIM_MATRIX=full cargo test -p capi-tests --locked
