#!/usr/bin/env bash
# cushim and softcuda with the oldest Rust that they promise. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/msrv.sh [VERSION]

Checks that cushim, with and without its C ABI, and softcuda compile with the oldest Rust that Cargo.toml promises
(rust-version), or with VERSION. Installs that toolchain with rustup if it is missing. Takes about half a minute.

.ci/run needs no second compiler for most of this: clippy refuses functions of the standard library that are newer than
rust-version. What it does not see is newer syntax.

Exit status: 0 they compile; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

case ${1-} in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
command -v rustup >/dev/null || { echo "$0: needs rustup (https://rustup.rs)" >&2; exit 69; }
cd "$(dirname "$0")/.."

# The package's own; the tools of the workspace, whose version is the first in the file, may want a newer one.
promised=$(sed -n '/^\[package\]/,/^\[lib\]/ s/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
version=${1:-$promised}
grep -qx "rust-version = \"$promised\"" softcuda/Cargo.toml || { echo "$0: softcuda promises another version than $promised" >&2; exit 1; }
grep -q "Rust $promised" README.md || { echo "$0: README.md does not name Rust $promised" >&2; exit 1; }
rustup toolchain list | grep -q "^$version-" || rustup toolchain install "$version" --profile minimal
# Of its own: another compiler would write the usual folder anew.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR-target}/msrv
cargo "+$version" check -q --locked -p cushim -p softcuda -p softcuda-nvml -p softcuda-compilers -p softcuda-run --features capi
cargo "+$version" check -q --locked -p cushim
echo "msrv.sh: cushim and softcuda compile with Rust $version"
