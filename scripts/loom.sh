#!/usr/bin/env bash
# Checks the handle table and retirement with loom. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/loom.sh [--short] [NAME]

Runs the loom models of src/object/handle/models.rs: look-up against destroy, against reuse of the slot, against the end of the
object, and so on; and those of src/object/together.rs, of what goes when launches are done; each in every order of its threads' steps (up to a number of preemptions that the model names) and
with every value that the memory model lets a load see. With NAME, only the models whose names contain it; with --short, up to
two preemptions, as CI has it. Takes four minutes, --short one, most of it to build loom, into target/loom. The last line
counts the models.

Loom's own settings apply: LOOM_LOG=1 traces, LOOM_CHECKPOINT_FILE=FILE keeps the order that failed.

Exit status: 0 all models hold; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

if [[ ${1-} == --short ]]; then
  export CUSHIM_LOOM_SHORT=1
  shift
fi
case "${1-}" in
  -h | --help) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
if (($# > 1)); then
  usage >&2
  exit 2
fi

command -v cargo > /dev/null || { echo 'loom.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
cd "$(dirname "$0")/.."
export RUSTFLAGS="${RUSTFLAGS-} --cfg loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR-target}/loom"
mkdir -p "$CARGO_TARGET_DIR"
# Without the C ABI, which the models do not use.
status=0
cargo test --profile loom --package cushim --lib "models::${1-}" | tee "$CARGO_TARGET_DIR/output" || status=$?
models=$(grep -c '^test .* \.\.\. ' "$CARGO_TARGET_DIR/output") || { echo 'loom.sh: no model has run' >&2; exit 1; }
echo "loom.sh: $models models, $(grep -c '^test .* FAILED$' "$CARGO_TARGET_DIR/output") findings, $SECONDS s"
exit $status
