# What asan.sh and tsan.sh share; they source it. Sanitizers are no stable feature of Rust: RUSTC_BOOTSTRAP=1 lets the
# stable compiler, which comes with their runtime libraries, take the option. The standard library is compiled with it, too:
# uninstrumented, its locks and fences would order nothing, and its code would be searched for nothing.

target=x86_64-unknown-linux-gnu
script=scripts/$name.sh
out=${CARGO_TARGET_DIR-target}/$name

need() { # command, how to get it
  command -v "$1" >/dev/null && return
  echo "$script: needs $1: $2" >&2
  exit 69
}

need cargo 'install Rust (https://rustup.rs)'
need clang 'apt-get install clang'
sysroot=$(rustc --print sysroot)
runtime=$sysroot/lib/rustlib/$target/lib/librustc-stable_rt.${name:0:1}san.a
[ -f "$runtime" ] || {
  echo "$script: needs $runtime, which this Rust lacks: use a stable one that rustup installs" >&2
  exit 69
}
[ -f "$sysroot/lib/rustlib/src/rust/library/Cargo.lock" ] || {
  echo "$script: needs the source of Rust's standard library: rustup component add rust-src" >&2
  exit 69
}

export CARGO_TARGET_DIR=$out RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
# Enough for a report, and a third of the room and time.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# Shared libraries of ours find the runtime in the executable, so it exports that.
exported=()
for symbols in "__${name:0:1}san_*" '__sanitizer_*'; do exported+=("-Wl,--export-dynamic-symbol=$symbols"); done
export RUSTFLAGS="${RUSTFLAGS-} -Zsanitizer=$sanitizer ${exported[*]/#/-Clink-arg=}"
# What is in C: the shells of softcuda, drivers that tests make.
export CC=clang

programs=0 tests=0 findings=0

# Cargo's command and its arguments, with the standard library made here.
instrumented() {
  cargo -q -Zbuild-std "$1" --target "$target" "${@:2}"
}

rust_tests() { # arguments of cargo test
  echo "== cargo test $*"
  mkdir -p "$out"
  instrumented test --no-fail-fast "$@" 2>&1 | tee "$out/output" || true
  tests=$((tests + $(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed.*/\1 + \2 +/p' "$out/output") 0))
  # Nothing is said of a program that succeeds. What cannot be compiled is no finding, and no success.
  findings=$((findings + $(grep -c '^error: test failed\|^error: could not compile' "$out/output" || true)))
  if ! grep -q '^test result: ' "$out/output"; then findings=$((findings + 1)); fi
}

# Every C program but those in left_out, instrumented too, on instrumented libraries, with the runtime of Rust, which is newer
# than clang's.
c_programs() {
  echo '== C programs'
  local options=("-fsanitize=$sanitizer" -fno-sanitize-link-runtime "${exported[@]}")
  options+=("-Wl,--whole-archive,$runtime,--no-whole-archive")
  rm -rf "$out/programs"
  # What compiles them is no subject.
  ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_bugs=0 \
    instrumented run -p capi-tests --bin pack -- "$out/programs" "${options[@]}"
  for program in "$out"/programs/*; do
    case " ${left_out[*]-} " in *" $(basename "$program") "*) continue ;; esac
    programs=$((programs + 1))
    if CUSHIM_DRIVER=software CUSHIM_SOFTCUDA=$(realpath "$out/$target/debug/deps/libsoftcuda.so") CHECK_VERSION=13000 \
      timeout 300 "$program" > "$out/output" 2>&1; then
      echo "$(basename "$program"): $(tail -n 1 "$out/output")"
    else
      echo "$(basename "$program") failed:" >&2
      cat "$out/output" >&2
      findings=$((findings + 1))
    fi
  done
}

finish() {
  echo "$script: $programs programs in C, $tests tests in Rust, $findings findings, $SECONDS s"
  exit $((findings > 0))
}
