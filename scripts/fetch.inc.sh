# What is fetched as wheels, with pip: fetch-headers.sh, fetch-nvrtc.sh and fetch-nvjitlink.sh source it. Needs script (its name), pinned
# (requirements), newest (a requirement), days (for how long the answer which that is holds), and two functions: found WHEEL_FOLDER prints the
# folder that is wanted of an unpacked wheel, or fails; tell FOLDER prints a line of what is there.

attempts=3

say() { echo "$script: $*" >&2; }

# download REQUIREMENT FOLDER: puts the wheel into FOLDER.
download() {
  local attempt log=$2/pip.log
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if python3 -m pip download --quiet --no-deps --timeout 30 --retries 2 --dest "$2" "$1" >"$log" 2>&1; then
      return 0
    fi
    sleep "$attempt"
  done
  cat "$log" >&2
  # pip says "no matching distribution" also when it could not ask; then it has said what went wrong before.
  if grep -qiE 'retrying|connection|timed out|timeout|http error|ssl|incomplete' "$log"; then
    say "the package index did not answer"
    return 75
  fi
  say "failed: pip download $1"
  return 1
}

# unpack WHEEL: makes DIR/<wheel>-<version> of it, in one step, so that a second run never sees half a folder.
unpack() {
  local wheel=$1 name folder
  name=$(basename "$wheel" | cut -d- -f1,2 | tr _ -)
  python3 -m zipfile -e "$wheel" "$work/$name" || return
  folder=$(found "$work/$name") || { say "$(basename "$wheel") holds nothing of that"; return 1; }
  [[ -d $dir/$name ]] || mv -T "$folder" "$dir/$name" 2>/dev/null || [[ -d $dir/$name ]]
  echo "$name"
}

fetch() {
  local folder
  folder=$(mktemp -d "$work/wheel.XXXXXX")
  download "$1" "$folder" || return
  unpack "$folder"/*.whl
}

# The folder of the newest release, from an answer of the last days or, where the network does not answer, from an older one.
fetch_newest() {
  local stamp=$dir/newest name status=0
  if [[ -z $(find "$stamp" -mtime "-$days" 2>/dev/null) ]]; then
    name=$(fetch "$newest") || status=$?
    if ((status == 0)); then
      echo "$name" >"$work/newest"
      mv "$work/newest" "$stamp"
    elif ((status != 75)) || [[ ! -f $stamp ]]; then
      return "$status"
    fi
  fi
  cat "$stamp"
}

# fetch_all ARGUMENTS: all of them, into the folder that is named.
fetch_all() {
  local requirement name
  case ${1-} in
    -h | --help) usage; exit 0 ;;
    '' | -*) usage >&2; exit 2 ;;
  esac
  python3 -m pip --version >/dev/null 2>&1 || { say "needs python3 with pip"; exit 69; }

  mkdir -p "$1"
  dir=$(cd "$1" && pwd)
  work=$(mktemp -d "$dir/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT

  for requirement in "${pinned[@]}"; do
    name=${requirement/==/-}
    [[ -d $dir/$name ]] || fetch "$requirement" >/dev/null || exit
    tell "$dir/$name"
  done
  name=$(fetch_newest) || exit
  tell "$dir/$name"
}
