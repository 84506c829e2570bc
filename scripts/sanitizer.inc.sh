# What asan.sh and tsan.sh share; they source it. Sanitizers are no stable feature of Rust: RUSTC_BOOTSTRAP=1 lets the
# stable compiler, which comes with their runtime libraries, take the option. Its standard library is not instrumented.

target=x86_64-unknown-linux-gnu
out=${CARGO_TARGET_DIR-target}/$name

need() { # command, how to get it
  command -v "$1" >/dev/null && return
  echo "$0: needs $1: $2" >&2
  exit 69
}

need cargo 'install Rust (https://rustup.rs)'
need clang 'apt-get install clang'
runtime=$(rustc --print sysroot)/lib/rustlib/$target/lib/librustc-stable_rt.${name:0:1}san.a
[ -f "$runtime" ] || {
  echo "$0: needs $runtime, which this Rust lacks: use a stable one that rustup installs" >&2
  exit 69
}

export CARGO_TARGET_DIR=$out RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
# Shared libraries of ours find the runtime in the executable, so it exports that.
exported=()
for symbols in "__${name:0:1}san_*" '__sanitizer_*'; do exported+=("-Wl,--export-dynamic-symbol=$symbols"); done
# Calls into the standard library do not depend on what the compiler takes for a difference of the ABI.
flags="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer"
export RUSTFLAGS="${RUSTFLAGS-} $flags ${exported[*]/#/-Clink-arg=}"
# The shells of softcuda are C.
export CC=clang

rust_tests() { # arguments of cargo test
  echo "== cargo test $*"
  cargo test -q --no-fail-fast --target "$target" "$@"
}

# Every C program, instrumented too, on instrumented libraries, with the runtime of Rust, which is newer than clang's.
c_programs() {
  echo '== C programs'
  local failed=0
  local options=("-fsanitize=$sanitizer" -fno-sanitize-link-runtime "${exported[@]}")
  options+=("-Wl,--whole-archive,$runtime,--no-whole-archive")
  # What compiles them is no subject.
  ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_bugs=0 \
    cargo run -q --target "$target" -p capi-tests --bin pack -- "$out/programs" "${options[@]}"
  for program in "$out"/programs/c-*; do
    if CUSHIM_DRIVER=software CUSHIM_SOFTCUDA=$(realpath "$out/$target/debug/deps/libsoftcuda.so") CHECK_VERSION=13000 \
      timeout 300 "$program" > "$out/output" 2>&1; then
      echo "$(basename "$program"): $(tail -n 1 "$out/output")"
    else
      echo "$(basename "$program") failed:" >&2
      cat "$out/output" >&2
      failed=1
    fi
  done
  return $failed
}
