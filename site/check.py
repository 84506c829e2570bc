"""Whether the built site has what it promises: python3 site/check.py SITE. Each complaint is a line; the exit status is 1 if there is one."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent

# What somebody types, and what is to be the first that is found.
FINDS = {
    "set_parameter": "reference/exec.html#cushim_exec_set_parameter",
    "cushim_stream_copy": "reference/stream.html",
    "cuMemcpyAsync": "tasks/memory.html",
    "memcpy async": "tasks/memory.html",
    "memset": "tasks/memory.html",
    "timeout": "reference/statuses.html#the-drivers",
    "typed_kernel": "cpp.html",
    "pool": "tasks/buffers.html",
    "environment variables": "environment.html",
}

TROUBLE = "troubleshooting.html"


def main(site):
    docs = json.loads((site / "search/search_index.json").read_text())["docs"]
    complaints = [*of_pages(site), *of_index(docs), *of_search(site, docs)]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return 1 if complaints else 0


def of_pages(site):
    """The search stands in the header, which stays in view; there is a dark form; a page from a folder says what to do."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        for what, needed in [
            ("no search", 'class="md-search__input"'),
            ("a header that scrolls away", '<header class="md-header'),
            ("no dark form", 'data-md-color-scheme="slate"'),
            ("nothing for whoever opens it from a folder", "scripts/site.sh --serve"),
        ]:
            if needed not in text and page.name != "404.html":
                yield f"{page}: {what}"
        for other in re.findall(r'(?:src|href)="(https?:[^"]+\.(?:js|css|woff2?))"', text):
            yield f"{page}: {other} comes from another site"


def of_index(docs):
    """Each page is named so that it is told from the others, and nothing stands there twice."""
    titles = Counter(entry["title"] for entry in docs if "#" not in entry["location"])
    yield from (f"search: {count} pages are called {title!r}" for title, count in titles.items() if count > 1)
    places = Counter(entry["location"] for entry in docs)
    yield from (f"search: {place} is there {count} times" for place, count in places.items() if count > 1)
    texts = Counter(entry["text"] for entry in docs if len(entry["text"]) > 200)
    yield from (f"search: {count} entries have the text {text[:60]!r} …" for text, count in texts.items() if count > 1)
    pages = {entry["location"] for entry in docs if "#" not in entry["location"]}
    yield from (f"search: {entry['location']} is of no page" for entry in docs if entry["location"].partition("#")[0] not in pages)


def of_search(site, docs):
    """What is found first. The messages of the page about them are found as they stand there."""
    if not shutil.which("node"):
        if os.environ.get("CUSHIM_REQUIRE") == "all":
            yield "search: node is missing (apt install nodejs)"
        else:
            print("skipped: node is missing, so what the search finds was not tried", file=sys.stderr)
        return
    messages = re.findall(r'<h3 id="([^"]*)"', (site / TROUBLE).read_text())
    messages = {f"{TROUBLE}#{message}" for message in messages}
    sentences = {plain(entry["title"]): entry["location"] for entry in docs if entry["location"] in messages}
    expected = {**sentences, **FINDS}
    asked = subprocess.run(["node", HERE / "search.js", site], input="\n".join(expected), capture_output=True, text=True, check=True)
    for (query, place), line in zip(expected.items(), asked.stdout.splitlines(), strict=True):
        found = json.loads(line)
        first = found[0] if found else "nothing"
        if place not in (first, first.partition("#")[0]):
            yield f"search: {query!r} finds {first} first, not {place}"


def plain(title):
    return html.unescape(re.sub(r"<[^>]*>", "", title))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
