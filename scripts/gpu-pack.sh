#!/usr/bin/env bash
# Packs the programs that are run on a machine with a real GPU: they need a driver there and nothing else.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/gpu-pack.sh FOLDER
       scripts/gpu-pack.sh --one-file FILE [FOLDER]

Builds probe, benchmarks, the conformance suite, the C and C++ test programs and those Rust tests that take any driver (release, stripped,
libcushim linked statically) and puts them into FOLDER with a script that runs them all:

  FOLDER/run [RESULTS]    on any x86-64 Linux machine with an NVIDIA driver; prints one table, and leaves what each
                          program printed in the folder RESULTS (default: ./results)

With --one-file it writes a program, usually called cushim-verify, that holds all of this: who has a GPU runs it, and sends back
the one file that it leaves. Of a FOLDER that was packed before, nothing is built.

The programs and libraries lie in FOLDER/bin.tar.xz; `run` unpacks it beside itself when it is first called, which needs tar and xz, or python3.
What is shipped may be at most 40 MiB, so that it can be sent to machines that are lent for minutes.

Exit status: 0 packed; 2 wrong usage; 69 a tool is missing; anything else is a failure of the build or the disk.
TEXT
}

scripts=$(cd "$(dirname "$0")" && pwd)
one_file=''
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  --one-file)
    [ $# -ge 2 ] || { usage >&2; exit 2; }
    one_file=$(realpath "$2")
    shift 2 ;;
  '' | -*) usage >&2; exit 2 ;;
esac

# make_one_file FOLDER: the script, and behind its last line the folder.
make_one_file() {
  local script
  script=$scripts/gpu-pack/verify
  sed "s/@FIRST@/$(($(wc -l < "$script") + 1))/" "$script" > "$one_file"
  tar -C "$1" --owner=0 --group=0 -cf - . >> "$one_file"
  chmod +x "$one_file"
  echo "packed into $one_file, $(du -m --apparent-size "$one_file" | cut -f1) MiB" >&2
}

if [ "$one_file" ] && [ -f "${1:-}/bin.tar.xz" ]; then
  make_one_file "$1"
  exit
fi
command -v cargo > /dev/null || { echo 'gpu-pack.sh: needs cargo; install Rust (https://rustup.rs)' >&2; exit 69; }
command -v c++ > /dev/null || { echo 'gpu-pack.sh: needs c++; install g++' >&2; exit 69; }
command -v xz > /dev/null || { echo 'gpu-pack.sh: needs xz; install xz-utils' >&2; exit 69; }
if [ "$one_file" ] && [ $# -eq 0 ]; then
  set -- "$(mktemp -d)"
  trap 'rm -rf "$1"' EXIT
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$scripts/.."
target=${CARGO_TARGET_DIR:-target}

rm -rf "$out"/bin "$out"/bin.tar.?z "$out"/lib "$out"/run
mkdir -p "$out/bin" "$out/lib"

echo 'building ...' >&2
cargo build -q --release -p cushim -p softcuda --lib --example probe --features capi
cargo build -q --release -p conformance -p bench-calls
cargo run -q --release -p capi-tests --bin pack -- "$out/bin"
# Those tests run on the driver that CUSHIM_DRIVER names.
rust_tests=(--test memory --test op --test graph --test typed)
cargo test -q --release -p cushim "${rust_tests[@]}" --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"kind":\["test"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
  while read -r name path; do cp "$path" "$out/bin/rust-$name"; done
cargo bench -q -p cushim --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"kind":\["bench"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
  while read -r name path; do cp "$path" "$out/bin/bench-$name"; done
cp "$target/release/examples/probe" "$target/release/conformance" "$target/release/bench-calls" "$out/bin/"
cp "$target/release/libsoftcuda.so" "$target/release/libcushim.so" "$out/lib/"

for source in examples/ordered.c examples/managed.c examples/saxpy.c examples/compile.c examples/sharing.c examples/virtual_memory.c examples/opengl.c examples/raw.c examples/porting/after.c examples/graphs/*.c benches/graphs.c benches/launches.c capi-tests/c/gpu/*.c; do
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
for source in examples/ordered.cpp examples/buffers.cpp examples/managed.cpp examples/saxpy.cpp examples/compile.cpp examples/sharing.cpp examples/virtual_memory.cpp examples/opengl.cpp examples/graphs/*.cpp; do
  c++ -std=c++17 -O1 -Iinclude "$source" "$target/release/libcushim.a" -static-libstdc++ -static-libgcc \
    -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc -Wl,--gc-sections -o "$out/bin/$(basename "$source" .cpp)-cpp"
done
cp examples/*.txt examples/graphs/*.{txt,cu} capi-tests/python/capture_mixed.py "$out/"
strip "$out"/bin/* "$out"/lib/*
# Each program holds the library: a dictionary in which all of it fits makes a twelfth of them together.
tar -C "$out" -cf - bin lib | xz -T0 -6 --lzma2=dict=64MiB > "$out/bin.tar.xz"
ls "$out/bin" > "$out/programs"
rm -r "$out/bin" "$out/lib"
git rev-parse --short HEAD > "$out/commit"
[ -z "$(git status --porcelain -- src include capi-tests examples benches softcuda)" ] || echo '(with changes)' >> "$out/commit"

cp scripts/gpu-pack/run "$out/"
size=$(du -sm --apparent-size "$out" | cut -f1)
echo "packed into $out, $size MiB" >&2
[ "$size" -le 40 ] || { echo 'gpu-pack.sh: more than 40 MiB' >&2; exit 1; }
[ -z "$one_file" ] || make_one_file "$out"
