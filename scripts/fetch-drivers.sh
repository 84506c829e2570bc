#!/usr/bin/env bash
# Fetches real libcuda libraries for tests/real_drivers.rs. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/fetch-drivers.sh DIR

Downloads the libcuda of five NVIDIA drivers (470, 525, 535, 550, 555) from the non-free sections of Debian's suites, and
unpacks each into DIR/<driver version>. Prints the five libraries' paths, one a line, oldest first. What is in DIR
already is not downloaded again. Nothing is installed and the machine's own apt is left as it is: apt runs with lists
and caches of its own inside DIR, on the mirror that the machine's sources name.

A libcuda loads and resolves symbols without a GPU. The libraries are NVIDIA's: use them here, do not commit them. The
test that wants them is run with
  cargo test --test real_drivers

CUSHIM_DEBIAN_MIRROR=URL names another mirror.

Exit status: 0 all there; 2 wrong usage; 69 a tool is missing (an x86-64 Debian with apt and dpkg); 75 the network did
not answer; anything else is a failure. Messages go to stderr.
TEXT
}

# A driver's version and the package that carries it. Debian may replace a version by a later one of the same branch,
# which has the same ABIs: if this very version is gone, the newest of its branch is taken.
drivers=(
  '470.256.02 libnvidia-tesla-470-cuda1'
  '525.147.05 libnvidia-tesla-cuda1'
  '535.261.03 libcuda1'
  '550.163.01 libcuda1'
  '555.58.02 libcuda1'
)
suites=(bookworm trixie sid experimental)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
attempts=3

say() { echo "fetch-drivers: $*" >&2; }

mirror() {
  if [[ -n ${CUSHIM_DEBIAN_MIRROR-} ]]; then
    echo "$CUSHIM_DEBIAN_MIRROR"
  else
    # shellcheck disable=SC2016 # apt fills these in
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 -E '/debian/?$'
  fi
}

# apt with sources, lists and cache of its own.
own_apt() {
  local tool=$1
  shift
  "$tool" -q \
    -o Dir::State="$work/state" -o Dir::State::status="$work/state/status" -o Dir::Cache="$work/cache" \
    -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferencesparts=- \
    -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Sandbox::User=root \
    -o APT::Update::Error-Mode=any -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# retry COMMAND...: runs it up to three times; what it said is shown if all fail.
retry() {
  local attempt log=$work/log
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if "$@" >"$log" 2>&1; then
      return 0
    fi
    sleep "$attempt"
  done
  cat "$log" >&2
  if grep -qiE 'could not (connect|resolve)|connect(ion|ing)|timed out|timeout|temporary failure|(40[37]|50[0-9]) ' "$log"; then
    say "the mirror did not answer"
    return 75
  fi
  say "failed: ${*:2}"
  return 1
}

read_indexes() {
  local url suite
  url=$(mirror) || { say "the machine's apt names no Debian mirror; set CUSHIM_DEBIAN_MIRROR"; return 69; }
  mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
  : >"$work/state/status"
  for suite in "${suites[@]}"; do
    echo "deb [arch=amd64 signed-by=$keyring] $url $suite non-free"
  done >"$work/sources.list"
  retry own_apt apt-get update
}

# version_of PACKAGE VERSION: the Debian version to ask for.
version_of() {
  local all
  all=$(own_apt apt-cache madison "$1" | cut -d'|' -f2 | tr -d ' ')
  grep -m1 "^${2//./\\.}-" <<<"$all" || grep -m1 "^${2%%.*}\\." <<<"$all"
}

fetch() {
  local driver=$1 package=$2 version folder
  folder=$(mktemp -d "$work/driver.XXXXXX")
  version=$(version_of "$package" "$driver") || { say "the mirror has no $package of branch ${driver%%.*}"; return 1; }
  (cd "$folder" && retry own_apt apt-get download "$package=$version") || return
  dpkg-deb -x "$folder"/*.deb "$folder" || return
  mkdir "$folder/lib" || return
  find "$folder/usr" -type f -name 'libcuda.so.*' -exec mv {} "$folder/lib" \;
  [[ -n $(ls "$folder/lib") ]] || { say "$package $version holds no libcuda"; return 1; }
  # In one step, so that a second run never sees half a folder.
  mv -T "$folder/lib" "$dir/$driver" 2>/dev/null || [[ -d $dir/$driver ]]
}

case ${1-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
for tool in apt-get apt-cache dpkg-deb; do
  command -v "$tool" >/dev/null || { say "needs $tool"; exit 69; }
done
[[ $(uname -m) == x86_64 ]] || { say "needs an x86-64 machine"; exit 69; }

mkdir -p "$1"
dir=$(cd "$1" && pwd)
work=$(mktemp -d "$dir/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

for line in "${drivers[@]}"; do
  read -r driver package <<<"$line"
  if [[ ! -d $dir/$driver ]]; then
    [[ -f $work/sources.list ]] || read_indexes || exit
    fetch "$driver" "$package" || exit
  fi
  echo "$dir/$driver"/libcuda.so.*
done
