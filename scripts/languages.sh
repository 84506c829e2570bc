#!/usr/bin/env bash
# Runs the programs of examples/ffi/, one for each language. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/languages.sh [LANGUAGE...] [options]

Runs the program of each LANGUAGE in examples/ffi/ against an installed prefix, and compares what it prints with
examples/ffi/output.txt. Without a LANGUAGE, all of them: csharp go java lua node php ruby zig.

Each runs on softcuda as CUDA 11.4 and as the newest, there with work that runs as late as it may.

--installed PREFIX  take what scripts/install.sh has installed under PREFIX, instead of building
--gpu               run once, on the driver of this machine, instead of softcuda
--install           fetch what a language lacks, with apt-get (as root), npm and pip, the latter two into target/languages

A language whose tools are missing is skipped, and the output says what is missing; with CUSHIM_REQUIRE=all that is a failure.

Exit status: 0 all programs that ran are right; 2 wrong usage; 69 a tool is missing; anything else is a failure.
TEXT
}

say() { echo "languages: $*" >&2; }
wrong() { say "$*; see --help"; exit 2; }

all=(csharp go java lua node php ruby zig)
languages=()
prefix=''
gpu=''
install=''
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --installed)
      (($# >= 2)) || wrong "$1 needs a value"
      prefix=$2
      shift ;;
    --gpu) gpu=yes ;;
    --install) install=yes ;;
    -*) wrong "unknown option $1" ;;
    *)
      [[ " ${all[*]} " == *" $1 "* ]] || wrong "there is no program in $1; there are ${all[*]}"
      languages+=("$1") ;;
  esac
  shift
done
((${#languages[@]} > 0)) || languages=("${all[@]}")
if [[ ! $prefix ]]; then
  command -v cargo >/dev/null || { say 'needs cargo; install Rust (https://rustup.rs)'; exit 69; }
fi
[[ -z $prefix ]] || prefix=$(cd "$prefix" && pwd) || wrong "there is no folder $prefix"
cd "$(dirname "$0")/.."
programs=$PWD/examples/ffi
kept=$PWD/target/languages # what was fetched and built
mkdir -p "$kept"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CUSHIM_SOFTCUDA CUSHIM_LIBRARY SOFTCUDA_VERSION SOFTCUDA_SCHEDULE LD_LIBRARY_PATH

# ── tools ──

retry() {
  local attempt
  for attempt in 1 2 3 4; do
    "$@" && return 0
    say "attempt $attempt of 4 failed: $*"
    sleep $((attempt * 5))
  done
  return 1
}

jar() { # where JNA is
  local place
  for place in "${JNA_JAR-}" /usr/share/java/jna.jar; do
    [[ ! -f $place ]] || { echo "$place"; return; }
  done
  return 1
}

run_zig() {
  if command -v zig >/dev/null; then zig "$@"; else PYTHONPATH=$kept/python:$PWD/target/python python3 -m ziglang "$@"; fi
}

# lacks LANGUAGE: prints what is missing for it, one line each: "apt", "npm" or "pip", what fetches it, and what it is.
lacks() {
  has() { command -v "$1" >/dev/null || echo "apt $2 $1"; }
  case $1 in
    csharp) has mcs mono-mcs; has mono mono-runtime ;;
    go) has go golang-go; has pkg-config pkg-config; has cc gcc ;;
    java) has javac openjdk-17-jdk-headless; jar >/dev/null || echo 'apt libjna-java JNA (jna.jar; JNA_JAR says where)' ;;
    lua) has luajit luajit ;;
    node)
      has node nodejs
      has npm npm
      [[ -d $kept/node/node_modules/koffi ]] || echo 'npm koffi koffi' ;;
    php) php -r 'exit(extension_loaded("ffi") ? 0 : 1);' >/dev/null 2>&1 || echo 'apt php-cli php with FFI' ;;
    ruby) has ruby ruby ;;
    zig) run_zig version >/dev/null 2>&1 || echo 'pip ziglang zig' ;;
  esac
}

# fetch: what the lines of `lacks` name.
fetch() {
  local how what rest packages=()
  local -A others=()
  while read -r how what rest; do
    if [[ $how == apt ]]; then packages+=("$what"); elif [[ $how ]]; then others[$how]=$what; fi
  done
  if ((${#packages[@]} > 0)); then
    retry apt-get update -qq
    retry apt-get install -y -qq --no-install-recommends "${packages[@]}" > "$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  fi
  for how in "${!others[@]}"; do
    case $how in
      npm)
        mkdir -p "$kept/node"
        cp "$programs/node/package.json" "$kept/node"
        retry npm install --silent --no-audit --no-fund --prefix "$kept/node" ;;
      pip) retry python3 -m pip install -q --target "$kept/python" "${others[$how]}" ;;
    esac
  done
}

# ── programs ──

# prepare LANGUAGE: builds it, if it has to be built, and sets `command`, and `paths` for its environment.
prepare() {
  paths=()
  case $1 in
    csharp)
      mcs -warnaserror -out:"$work/csharp.exe" "$programs/csharp/TwoStreams.cs"
      paths=(LD_LIBRARY_PATH="$lib")
      command=(mono "$work/csharp.exe") ;;
    go)
      (cd "$programs/go" && PKG_CONFIG_PATH=$lib/pkgconfig CGO_LDFLAGS=-Wl,-rpath,$lib GOFLAGS='' GOPROXY=off GOTOOLCHAIN=local \
        GOCACHE=$kept/go go build -o "$work/go" .)
      command=("$work/go") ;;
    java)
      javac -Xlint:all,-serial,-try -Werror -cp "$(jar)" -d "$work/java" "$programs/java/TwoStreams.java"
      command=(java -cp "$(jar):$work/java" TwoStreams "$prefix") ;;
    lua) command=(luajit "$programs/lua/two_streams.lua" "$prefix") ;;
    node)
      cp "$programs"/node/* "$kept/node"
      command=(node "$kept/node/two_streams.js" "$prefix") ;;
    php) command=(php "$programs/php/two_streams.php" "$prefix") ;;
    ruby) command=(ruby -w "$programs/ruby/two_streams.rb" "$prefix") ;;
    zig)
      mkdir "$work/zig"
      cp "$programs/zig/two_streams.zig" "$work/zig"
      run_zig translate-c "$prefix/include/cushim.cdef.h" > "$work/zig/cushim.zig"
      (cd "$work/zig" && ZIG_GLOBAL_CACHE_DIR=$kept/zig run_zig build-exe two_streams.zig "$lib/libcushim.so.0.1" -rpath "$lib" -lc)
      command=("$work/zig/two_streams") ;;
  esac
}

# prints WHAT [VARIABLE=VALUE...]: the program prints what it should.
prints() {
  env "${paths[@]}" "${@:2}" timeout 60 "${command[@]}" > "$work/said" 2> "$work/errors" ||
    { cat "$work/errors" >&2; say "$1: the program fails (above)"; return 1; }
  diff "$programs/output.txt" "$work/said" >&2 || { say "$1: the program prints something else (above)"; return 1; }
}

run() { # language
  local command=() paths=()
  prepare "$1"
  if [[ $gpu ]]; then
    prints "$1" -u CUSHIM_DRIVER
    cat "$work/errors"
  else
    prints "$1, on CUDA 11.4" CUSHIM_DRIVER=software SOFTCUDA_VERSION=11.4
    prints "$1" CUSHIM_DRIVER=software SOFTCUDA_SCHEDULE=lazy
  fi
}

if [[ $install ]]; then
  for language in "${languages[@]}"; do lacks "$language"; done | fetch
fi
if [[ ! $prefix ]]; then
  prefix=$kept/prefix
  scripts/install.sh "$prefix" --profile dev --without-debug > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
fi
lib=$(find "$prefix" -name cushim.pc -printf '%h\n')
lib=$(cd "$lib/.." && pwd)
[[ $lib == "$prefix/lib" ]] || wrong "the programs look for libcushim.so in $prefix/lib"

skipped=()
failed=()
for language in "${languages[@]}"; do
  begun=$SECONDS
  missing=$(lacks "$language" | cut -d ' ' -f 3- | paste -sd ,)
  if [[ $missing ]]; then
    say "$language: skipped: needs ${missing//,/, }; --install fetches it"
    skipped+=("$language")
    continue
  fi
  set +e # inside `if` the subshell would go on after a failure
  (set -e; run "$language")
  status=$?
  set -e
  if ((status == 0)); then echo "languages: $language: ok, $((SECONDS - begun)) s"; else failed+=("$language"); fi
done
((${#failed[@]} == 0)) || { say "failed: ${failed[*]}"; exit 1; }
[[ ${CUSHIM_REQUIRE-} != all ]] || ((${#skipped[@]} == 0)) || exit 69
