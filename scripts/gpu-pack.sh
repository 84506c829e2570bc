#!/usr/bin/env bash
# Packs the programs that are run on a machine with a real GPU: they need a driver there and nothing else.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/gpu-pack.sh FOLDER

Builds probe, benchmarks, the conformance suite, the C and C++ test programs and those Rust tests that take any driver (release, stripped,
libcushim linked statically) and puts them into FOLDER with a script that runs them all:

  FOLDER/run [RESULTS]    on any x86-64 Linux machine with an NVIDIA driver; prints one table, and leaves what each
                          program printed in the folder RESULTS (default: ./results)

The programs lie in FOLDER/bin.tar.xz; `run` unpacks it beside itself when it is first called, which needs tar and xz, or python3.
What is shipped may be at most 40 MiB, so that it can be sent to machines that are lent for minutes.

Exit status: 0 packed; 2 wrong usage; 69 a tool is missing; anything else is a failure of the build or the disk.
TEXT
}

case ${1:-} in
  --help | -h) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
command -v cargo > /dev/null || { echo 'gpu-pack.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
command -v c++ > /dev/null || { echo 'gpu-pack.sh: needs c++; install g++' >&2; exit 69; }
command -v xz > /dev/null || { echo 'gpu-pack.sh: needs xz; install xz-utils' >&2; exit 69; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

rm -rf "$out"/bin "$out"/bin.tar.?z "$out"/lib "$out"/run
mkdir -p "$out/bin" "$out/lib"

echo 'building ...' >&2
cargo build -q --release -p cushim -p softcuda --lib --example probe
cargo build -q --release -p conformance -p bench-calls
cargo run -q --release -p capi-tests --bin pack -- "$out/bin"
# Those tests run on the driver that CUSHIM_DRIVER names.
rust_tests=(--test memory --test op --test graph)
cargo test -q --release -p cushim "${rust_tests[@]}" --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"kind":\["test"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
  while read -r name path; do cp "$path" "$out/bin/rust-$name"; done
cargo bench -q -p cushim --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"kind":\["bench"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
  while read -r name path; do cp "$path" "$out/bin/bench-$name"; done
cp "$target/release/examples/probe" "$target/release/conformance" "$target/release/bench-calls" "$out/bin/"
cp "$target/release/libsoftcuda.so" "$target/release/libcushim.so" "$out/lib/"

for source in examples/ordered.c examples/managed.c examples/saxpy.c examples/raw.c examples/porting/after.c examples/graphs/*.c benches/graphs.c capi-tests/c/gpu/*.c; do
  [ -f "$source" ] || continue
  name=$(basename "$source" .c)
  case $source in
    examples/porting/*) name=ported ;;
    benches/*) name=bench-$name ;;
    capi-tests/*) name=gpu-$name ;;
  esac
  cc -std=c11 -O1 -Iinclude -Icapi-tests/c/common "$source" "$target/release/libcushim.a" \
    -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc -Wl,--gc-sections -o "$out/bin/$name"
done
# Those in C++ are named after their counterparts: ordered-cpp.
for source in examples/ordered.cpp examples/buffers.cpp examples/managed.cpp examples/saxpy.cpp examples/graphs/*.cpp; do
  c++ -std=c++17 -O1 -Iinclude "$source" "$target/release/libcushim.a" -static-libstdc++ -static-libgcc \
    -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc -Wl,--gc-sections -o "$out/bin/$(basename "$source" .cpp)-cpp"
done
cp examples/ordered.txt examples/managed.txt examples/saxpy.txt examples/graphs/*.txt capi-tests/python/capture_mixed.py "$out/"
strip "$out"/bin/* "$out"/lib/*
# Each program holds the library: a dictionary in which all of it fits makes a twelfth of them together.
tar -C "$out" -cf - bin | xz -T0 -6 --lzma2=dict=64MiB > "$out/bin.tar.xz"
rm -r "$out/bin"
git rev-parse --short HEAD > "$out/commit"
[ -z "$(git status --porcelain -- src include capi-tests examples benches softcuda)" ] || echo '(with changes)' >> "$out/commit"

cat > "$out/run" <<'RUN'
#!/usr/bin/env bash
# Runs every packed program on the driver of this machine and prints one table.
here=$(cd "$(dirname "$0")" && pwd)
results=${1:-./results}
mkdir -p "$results"
unpack() { # archive, folder
  tar -C "$2" -xJf "$1" 2> /dev/null || python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$2"
}
# Unpacked under another name first: a bin that is there is whole.
if [ ! -d "$here/bin" ]; then
  unpacked=$(mktemp -d "$here/unpacked.XXXXXX") && unpack "$here/bin.tar.xz" "$unpacked" && mv "$unpacked/bin" "$here/bin" &&
    rmdir "$unpacked" || { echo "run: cannot unpack $here/bin.tar.xz; it needs tar and xz, or python3, and a folder that can be written" >&2; exit 1; }
fi
echo "commit $(tr '\n' ' ' < "$here/commit")"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
printf '%-28s%-10s%10s\n' program result seconds
failures=0
one() { # name, command...
  local name=$1 start end verdict
  shift
  start=$(date +%s.%N)
  if timeout "${limit:-120}" "$@" > "$results/$name.txt" 2>&1; then verdict=ok; else verdict="FAIL $?"; failures=$((failures + 1)); fi
  end=$(date +%s.%N)
  printf '%-28s%-10s%10.2f\n' "$name" "$verdict" "$(echo "$end - $start" | bc 2>/dev/null || python3 -c "print($end - $start)")"
}
one probe "$here/bin/probe" --driver auto
one probe-json "$here/bin/probe" --driver auto --json --symbols
limit=300 one conformance "$here/bin/conformance" --driver auto --compare
# How many answers differ from those that are known of this driver, and which.
sed -n 's/^# \(\[.*\|.* complaints\)$/  \1/p' "$results/conformance.txt"
# The C programs are told which driver they are to meet.
found=$("$here/bin/probe" --driver auto --no-init)
path=$(echo "$found" | awk '$1 == "file" { print $2; exit }')
number=$(echo "$found" | awk '$1 == "version" { split($3, v, "[.,]"); print v[1] * 1000 + v[2] * 10; exit }')
for program in "$here"/bin/*; do
  name=$(basename "$program")
  # An example in C++ prints what its counterpart in C prints.
  base=${name%-cpp}
  case $base in
    probe | conformance) ;;
    bench-calls)
      one bench-calls-noop "$program" --driver noop
      one bench-calls "$program" --driver auto
      ;;
    c-sweep-sweep) limit=200 one "$name" env CUSHIM_DRIVER="$path" CHECK_VERSION="$number" "$program" ;;
    # What runs softcuda as each version says nothing of this driver.
    rust-*) one "$name" env CUSHIM_DRIVER="$path" CUSHIM_SOFTCUDA="$here/lib/libsoftcuda.so" "$program" --test-threads=1 --skip versions ;;
    c-*) one "$name" env CUSHIM_DRIVER="$path" CHECK_VERSION="$number" "$program" ;;
    # It needs NVIDIA's device runtime library, which the CUDA toolkit has.
    device_update) one "$name" "$program" $(find -L /usr/local/cuda* /usr/lib -maxdepth 5 -name libcudadevrt.a 2>/dev/null | head -n 1) ;;
    # What the second line tells is how long it took.
    decoder) one "$name" sh -c 'out=$("$1"); echo "$out"; [ "$(echo "$out" | head -n 1)" = "$(cat "$2")" ]' sh "$program" "$here/$base.txt" ;;
    ordered | managed | saxpy | heat | bisection | switch | stencil | pipeline | hybrid) one "$name" sh -c 'out=$("$1"); echo "$out"; [ "$out" = "$(cat "$2")" ]' sh "$program" "$here/$base.txt" ;;
    *) one "$name" "$program" ;;
  esac
done
# The same kernels, each launch captured.
one kernels-captured env CORPUS_CAPTURED=1 "$here/bin/kernels"
# With CuPy and PyTorch, if Python finds them.
if command -v python3 > /dev/null; then
  one capture-mixed env CUSHIM_DRIVER="$path" python3 "$here/capture_mixed.py" "$here/lib/libcushim.so" "$path"
  sed -n 's/^capture_mixed/  &/p' "$results/capture-mixed.txt"
fi
# The same random calls on this driver and on softcuda as a driver of this version: what the answers are, and where they part.
one fuzz-transcript env CUSHIM_DRIVER="$path" "$here/bin/c-fuzz-fuzz" --safe --transcript 20000 1
devices=$(grep -c '^ *device [0-9]* ok' "$results/probe.txt")
one fuzz-softcuda env CUSHIM_DRIVER=software CUSHIM_SOFTCUDA="$here/lib/libsoftcuda.so" SOFTCUDA_DEVICES="$devices" \
  SOFTCUDA_VERSION="$((number / 1000)).$((number % 1000 / 10))" "$here/bin/c-fuzz-fuzz" --safe --transcript 20000 1
one fuzz-compare "$here/bin/c-fuzz-fuzz" --compare "$results/fuzz-softcuda.txt" "$results/fuzz-transcript.txt"
sed -n 's/^UNEXPECTED/  &/p' "$results/fuzz-compare.txt"
echo "$failures failed"
[ "$failures" -eq 0 ]
RUN
chmod +x "$out/run"
size=$(du -sm --apparent-size "$out" | cut -f1)
echo "packed into $out, $size MiB" >&2
[ "$size" -le 40 ] || { echo 'gpu-pack.sh: more than 40 MiB' >&2; exit 1; }
