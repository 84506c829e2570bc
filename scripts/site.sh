#!/usr/bin/env bash
# Builds the documentation as a site. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/site.sh [--serve]

Builds the site from docs/, README.md, include/cushim.json, catalogue/ and docs/verified/ into target/site, in a few seconds. Links that
lead nowhere, and pages that the navigation (site/mkdocs.yml) lacks, are errors. Open target/site/index.html.

--serve  serve it at http://127.0.0.1:8000 instead, and build it again when a page changes, until it is interrupted

It needs MkDocs and Pygments, and uses them from target/python if they are there:
  python3 -m pip install --target target/python 'mkdocs>=1.6,<2' pygments

Exit status: 0 built; 2 wrong usage; 69 a tool is missing; anything else is an error in a page.
TEXT
}

action=(build --strict)
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --serve) action=(serve) ;;
    *) echo "site.sh: $1 is not known; see --help" >&2; exit 2 ;;
  esac
  shift
done

cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD/target/python${PYTHONPATH+:$PYTHONPATH}"
command -v python3 > /dev/null || { echo 'site.sh: needs python3' >&2; exit 69; }
python3 -c 'import mkdocs, pygments' 2> /dev/null || {
  echo "site.sh: needs MkDocs and Pygments: python3 -m pip install --target target/python 'mkdocs>=1.6,<2' pygments" >&2
  exit 69
}
# Compiled files of the hooks do not belong beside them.
PYTHONDONTWRITEBYTECODE=1 python3 -m mkdocs --quiet "${action[@]}" --config-file site/mkdocs.yml
[[ ${action[0]} == serve ]] || echo 'built target/site; open target/site/index.html'
