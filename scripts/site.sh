#!/usr/bin/env bash
# Builds the documentation as a site. See --help.
set -euo pipefail

needed='mkdocs-material>=9.6,<10'

usage() {
  cat <<TEXT
usage: scripts/site.sh [--serve]

Builds the site from docs/, README.md, include/cushim.json, catalogue/ and docs/verified/ into target/site, in a few seconds. Links that
lead nowhere, and pages that the navigation (site/mkdocs.yml) lacks, are errors. Browsers allow no search in pages from a folder: serve
them, with --serve or anything else that serves files.

--serve  serve it at http://127.0.0.1:8000 instead, and build it again when a page changes, until it is interrupted

It needs Material for MkDocs, and uses it from target/python if it is there:
  python3 -m pip install --target target/python '$needed'
What the search must find (site/check.py) is tried if node is there.

Exit status: 0 built; 2 wrong usage; 69 a tool is missing; anything else is an error in a page.
TEXT
}

serve=
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --serve) serve=yes ;;
    *) echo "site.sh: $1 is not known; see --help" >&2; exit 2 ;;
  esac
  shift
done

cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD/target/python${PYTHONPATH+:$PYTHONPATH}"
command -v python3 > /dev/null || { echo 'site.sh: needs python3' >&2; exit 69; }
python3 -c 'import material, pygments' 2> /dev/null || {
  echo "site.sh: needs Material for MkDocs: python3 -m pip install --target target/python '$needed'" >&2
  exit 69
}
# Compiled files of the hooks do not belong beside them. The theme's own news are no news here.
export PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1
mkdocs() { python3 -m mkdocs "$@" --config-file site/mkdocs.yml; }
if [[ $serve ]]; then
  mkdocs serve
else
  # With --quiet, --strict takes no notice of warnings.
  mkdocs build --strict 2>&1 | { grep -v '^INFO' || true; } >&2
  python3 site/check.py target/site
  echo 'built target/site; scripts/site.sh --serve serves it, which its search needs'
fi
