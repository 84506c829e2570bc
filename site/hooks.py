"""What the site has beside the pages in docs/, for MkDocs: see its documentation, "hooks"."""

import json
import os
import posixpath
import re
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, InclusionLevel
from pygments.formatters import HtmlFormatter

import reference
import versions

ROOT = Path(__file__).resolve().parent.parent

# Pages that stand elsewhere in the repository.
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "softcuda/README.md": "project/softcuda.md",
    "softcuda/FIDELITY.md": "project/fidelity.md",
    "softcuda/PTX.md": "project/ptx.md",
    "softcuda/shell/README.md": "project/shells.md",
    "catalogue/README.md": "project/catalogue.md",
    "capi-tests/c/README.md": "project/c-programs.md",
}

# What a link to a file means on the site, where the page says the same.
MEANS = {
    "include/cushim.h": "reference/index.md",
    "include/cushim_driver.h": "reference/statuses.md",
    "include/cushim.json": "reference/versions.md",
    "catalogue/abis.csv": "reference/abis.md",
}

# How much a page counts in the search, by how its place begins. Whoever types a message means the page of messages; what was measured
# on some day, and how the project is made, few look for.
COUNTS = {"troubleshooting.md": 2, "reference/index.md": 1, "reference/versions.md": 0.3, "reference/abis.md": 0.3, "verified/": 0.2, "project/": 0.5,
          "measurements.md": 0.5, "scoreboard.md": 0.5, "architecture.md": 0.5, "reference/": 1.3}

# Words of CUDA's for what a page is about and does not call so.
ALSO = {
    "tasks/memory.md": ["malloc", "memcpy", "memcpy async", "memset"],
    "tasks/kernels.md": ["PTX", "cubin", "NVRTC", "launch kernel"],
    "tasks/callbacks.md": ["launch host func", "user object"],
}

LANGUAGES = {".c": "c", ".h": "c", ".cu": "c++", ".rs": "rust", ".py": "python", ".sh": "sh", ".toml": "toml", ".json": "json",
             ".cs": "csharp", ".go": "go", ".java": "java", ".js": "js", ".lua": "lua", ".php": "php", ".rb": "ruby", ".zig": "zig"}

LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")

the_reference = reference.Reference(ROOT)

# The sections of the navigation, by the pages in them.
sections = {}


def on_config(config):
    """Adds the runs on GPUs to the navigation."""
    sections_of = {title: pages for item in config.nav for title, pages in item.items()}
    runs = next(pages for item in sections_of["Project"] for title, pages in item.items() if title == "Runs on real GPUs")
    runs += sorted(f"verified/{page.name}" for page in (ROOT / "docs/verified").glob("[a-z]*.md"))


def on_files(files, config):
    """Adds the pages that are made, and the sources that pages link."""
    add(files, config, "style.css", (Path(__file__).parent / "style.css").read_text() + HtmlFormatter().get_style_defs(".codehilite"))
    for path, place in ELSEWHERE.items():
        add(files, config, place, (ROOT / path).read_text())
    for place, text in [*the_reference.pages(), *versions.pages(ROOT, the_reference)]:
        add(files, config, place, text)
    for page in files.documentation_pages():
        for link in LINK.finditer(page.content_string):
            path = in_repository(page.src_uri, link[2])
            if path and needs_page(path) and not files.get_file_from_path(place_of(path)):
                add(files, config, place_of(path), as_page(path), InclusionLevel.NOT_IN_NAV)
    return files


def add(files, config, place, text, inclusion=InclusionLevel.UNDEFINED):
    files.append(File.generated(config, place, content=text, inclusion=inclusion))


def on_page_markdown(markdown, page, config, files):
    """Leads links to files of the repository to their places on the site, and says what the page is to the search."""
    place = page.file.src_uri
    count = next((count for start, count in COUNTS.items() if place.startswith(start)), 1)
    page.meta["search"] = {"exclude": place.startswith("source/"), "boost": count}
    if place in ALSO:
        page.meta["tags"] = ALSO[place]
    def led(link):
        path = in_repository(page.file.src_uri, link[2])
        if path is None or not (ROOT / path).exists():
            return link[0]  # within the site, or broken, which MkDocs reports
        place = posixpath.relpath(place_of(path), posixpath.dirname(page.file.src_uri) or ".")
        return link[1] + place + link[3]
    return LINK.sub(led, markdown)


def on_nav(nav, config, files):
    """Keeps where each page stands: several have the same title."""
    for page in nav.pages:
        sections.update({page.file.url: page.parent.title} if page.parent else {})


@event_priority(-100)  # when the index is there
def on_post_build(config):
    """Names the pages in the index of the search by their places, too: "Streams (Reference)"."""
    path = Path(config.site_dir, "search/search_index.json")
    index = json.loads(path.read_text())
    for entry in index["docs"]:
        if entry["location"] in sections:
            entry["title"] += f" ({sections[entry['location']]})"
        elif entry["location"].startswith("troubleshooting.html"):
            # Of two messages that have all words that are asked for, the one that has no others.
            entry["boost"] += 2 / len(re.findall(r"\w+", entry["title"]))
    path.write_text(json.dumps(index, separators=(",", ":")))


def in_repository(page, target):
    """The path in the repository that a link of a page leads to, if it is one to a file."""
    if "://" in target or target.startswith("mailto:"):
        return None
    source = next((path for path, place in ELSEWHERE.items() if place == page), f"docs/{page}")
    if page.startswith(("reference/", "source/")):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def place_of(path):
    """Where a file or folder of the repository is on the site."""
    if path in ELSEWHERE or path in MEANS:
        return ELSEWHERE.get(path) or MEANS[path]
    if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
        return place_of(posixpath.join(path, "README.md"))
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}.md"


def needs_page(path):
    return (ROOT / path).exists() and place_of(path).startswith("source/")


def as_page(path):
    """A file of the repository as a page; of a folder its list."""
    if (ROOT / path).is_dir():
        names = sorted(os.listdir(ROOT / path))
        return f"# {path}\n\n" + "\n".join(f"- `{name}`" for name in names)
    language = LANGUAGES.get(Path(path).suffix, "text")
    return f"# {path}\n\n~~~~{language}\n{(ROOT / path).read_text()}\n~~~~\n"


# What stays as it is, or a name in code: in a sentence, or as a word of highlighted code.
CODE = re.compile(
    r"<a .*?</a>|<h\d.*?</h\d>"
    r"|<code>((?:cushim|CUSHIM)_\w+)((?:\(\))?)</code>"
    r'|<span class="(n|nf|k|kt|nc|no)">((?:cushim|CUSHIM)_\w+)</span>',
    re.DOTALL,
)


def on_page_content(html, page, config, files):
    """Leads names of the interface to their entries in the reference."""
    def linked(found):
        name = found[1] or found[4]
        place = the_reference.places.get(name)
        if place is None:
            return found[0]
        url = files.get_file_from_path(place[0]).page.url
        here = posixpath.dirname(page.url) or "."
        href = posixpath.relpath(url, here) + (f"#{place[1]}" if place[1] else "")
        if found[1]:
            return f'<code><a href="{href}">{name}{found[2]}</a></code>'
        return f'<a class="{found[3]}" href="{href}">{name}</a>'
    return CODE.sub(linked, html)
