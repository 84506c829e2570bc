#!/usr/bin/env bash
# Compiles cushim.hpp in every mode. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/cpp-modes.sh

Compiles the C++ test programs and examples as C++17, 20 and 23, with gcc and clang, and the header without exceptions and without
RTTI, too, at -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror. Nothing is linked or run. Takes a few minutes.

`cargo test -p capi-tests --test c_api cpp` tries some of these, and runs the programs.

Exit status: 0 all compile; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case "${1-}" in
  -h | --help) usage; exit 0 ;;
esac
if (($# > 0)); then
  usage >&2
  exit 2
fi
for compiler in g++ clang++; do
  command -v "$compiler" > /dev/null || { echo "cpp-modes.sh: needs $compiler; install g++ and clang" >&2; exit 69; }
done
cd "$(dirname "$0")/.."

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
compile() { # compiler, standard, option, sources
  local compiler=$1 standard=$2 option=$3 source
  shift 3
  for source in "$@"; do
    "$compiler" "-std=$standard" $option "${warnings[@]}" -Iinclude -Icapi-tests/cpp -fsyntax-only "$source" ||
      { echo "cpp-modes.sh: $source with $compiler -std=$standard $option" >&2; exit 1; }
    count=$((count + 1))
  done
}

count=0
for compiler in g++ clang++; do
  for standard in c++17 c++20 c++2b; do
    compile "$compiler" "$standard" '' capi-tests/cpp/*.cpp capi-tests/cpp/*/*.cpp examples/*.cpp examples/graphs/*.cpp
    compile "$compiler" "$standard" -fno-exceptions capi-tests/cpp/returning.cpp capi-tests/cpp/linking/units_b.cpp examples/buffers.cpp
    compile "$compiler" "$standard" -fno-rtti capi-tests/cpp/linking/units_a.cpp
  done
done
echo "cpp-modes.sh: $count compilations, no warning, $SECONDS s"
