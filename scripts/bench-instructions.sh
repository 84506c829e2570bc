#!/usr/bin/env bash
# Counts the instructions of each call that bench-calls measures, with callgrind.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/bench-instructions.sh [--check | --write] [--filter TEXT]... [--library PATH]

Instructions per call through the raw table, cushim's C ABI and cudarc, on the driver that does nothing, whose own few
are included. Unlike times they are the same in each run, so a change of one shows. Needs valgrind.

  --check          fails if a call through cushim takes a tenth more than benches/calls/instructions.txt says, and 10 more
  --write          writes that file anew, with all rows
  --filter TEXT    only rows whose name contains TEXT
  --library PATH   the libcushim.so to measure (default: the one that cargo builds)

Exit status: 0 counted; 1 a call takes too many; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

lacks() { echo "bench-instructions.sh: needs $1" >&2; exit 69; }

options=() mode=show filtered=
while (($# > 0)); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --check | --write) mode=${1#--} ;;
    --filter | --library)
      (($# > 1)) || { usage >&2; exit 2; }
      options+=("$1" "$2")
      [[ $1 == --library ]] || filtered=yes
      shift
      ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
# The file has all rows.
[[ $mode != write || -z $filtered ]] || { usage >&2; exit 2; }
command -v cargo > /dev/null || lacks 'cargo; install Rust (https://rustup.rs)'
command -v valgrind > /dev/null || lacks 'valgrind; on Debian: apt-get install valgrind libc6-dbg'
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cargo build -q --release -p bench-calls
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Counting is on inside that function alone; each time it returns, what was counted goes to a file with the next number.
if ! valgrind --tool=callgrind --toggle-collect=bench_counted --dump-after=bench_counted \
  --callgrind-out-file="$folder/counted" "$target/release/bench-calls" --driver noop --instructions "${options[@]}" \
  > "$folder/list" 2> "$folder/log"; then
  cat "$folder/log" >&2
  exit 1
fi

# By row and subject, instructions of one call.
number=0
while IFS=$'\t' read -r calls row subject; do
  number=$((number + 1))
  printf '%s\t%s\t%s\t%s\n' "$calls" "$row" "$subject" "$(awk '$1 == "totals:" { print $2 }' "$folder/counted.$number")"
done < "$folder/list" | awk -F '\t' '
  $2 == "nothing" { loop = $4 / $1; next }
  { printf "%s\t%s\t%.0f\n", $2, $3, $4 / $1 - loop }' > "$folder/each"

awk -F '\t' '
  !($1 in seen) { seen[$1] = 1; names[++rows] = $1 }
  { count[$1, $2] = $3 }
  END {
    printf "%-32s%8s%9s%9s%18s%16s\n", "instructions per call", "raw", "cushim", "cudarc", "cudarc-untracked", "cushim - raw"
    for (i = 1; i <= rows; i++) {
      row = names[i]
      above = (row, "raw") in count ? count[row, "cushim"] - count[row, "raw"] : "-"
      printf "%-32s%8s%9s%9s%18s%16s\n", row, cell(row, "raw"), cell(row, "cushim"), cell(row, "cudarc"), cell(row, "cudarc-untracked"), above
    }
  }
  function cell(row, subject) { return (row, subject) in count ? count[row, subject] : "-" }' "$folder/each"

known=benches/calls/instructions.txt
case $mode in
  write) awk -F '\t' '$2 == "cushim" { print $1 "\t" $3 }' "$folder/each" > "$known" ;;
  check)
    awk -F '\t' '
      FNR == NR { known[$1] = $2; next }
      $2 != "cushim" { next }
      !($1 in known) { print "not known yet: " $1; failed = 1; next }
      $3 > known[$1] * 1.1 && $3 > known[$1] + 10 { print $1 ": " $3 " instructions, " known[$1] " before"; failed = 1 }
      END { exit failed }' "$known" "$folder/each" >&2 || {
      echo "bench-instructions.sh: make these calls cheaper, or say why they cost more and run it with --write" >&2
      exit 1
    }
    ;;
esac
