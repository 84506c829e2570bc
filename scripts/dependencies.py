#!/usr/bin/env python3
"""What cushim depends on, as cargo's metadata has it: licences, and a software bill of materials."""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Licences under which the libraries may be linked into any program, and handed on with their text alone.
PERMISSIVE = {"0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC",
              "MIT", "MIT-0", "Unicode-3.0", "Unlicense", "Zlib"}
# What only builds or tests may change its own files' terms, too.
FOR_DEVELOPMENT = PERMISSIVE | {"MPL-2.0"}

# What is linked into each part of a release: a package of the workspace with all it needs, or what it has for its tests.
PARTS = {"cushim": ("cushim", None), "softcuda": ("softcuda", None), "nvml": ("softcuda-nvml", None), "compilers": ("softcuda-compilers", None), "run": ("softcuda-run", None), "probe": ("cushim-probe", None), "python": ("cushim-python", None)}
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-pc-windows-gnu"]

# What zig compiles and links into the files of a release: in which of its folders, and where the licence is.
ZIG_PARTS = [("compiler_rt", "LICENSE", {"expression": "MIT"}),
             ("libunwind", "lib/libunwind/LICENSE.TXT", {"expression": "Apache-2.0 WITH LLVM-exception"}),
             ("glibc start-up code", "lib/libc/glibc/LICENSES", {"license": {"name": "LGPL-2.1-or-later, with unlimited permission to link"}})]

LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


class Failure(Exception):
    """What is wrong, in words for people."""


def cargo(*arguments):
    try:
        return subprocess.run(["cargo", *arguments, "--locked"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        print("dependencies: needs cargo; install Rust (https://rustup.rs)", file=sys.stderr)
        sys.exit(69)
    except subprocess.CalledProcessError as error:
        raise Failure(f"cargo {arguments[0]} failed, as it says above") from error


def metadata():
    """All packages of the lock file, by name and version."""
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    return {(package["name"], package["version"]): package for package in packages}


def is_permitted(expression, permitted):
    """Whether an SPDX expression can be met with these licences. A slash means OR: cargo's old way.

    >>> [is_permitted(text, PERMISSIVE) for text in ("MIT", "GPL-3.0-only", "MIT/GPL-2.0", "MIT OR GPL-2.0", "MIT AND GPL-2.0")]
    [True, False, True, True, False]
    >>> [is_permitted(f"(MIT OR {name}) AND {name}", PERMISSIVE) for name in ("Unicode-3.0", "MPL-2.0")]
    [True, False]
    >>> [is_permitted(f"Apache-2.0 WITH {name}", PERMISSIVE) for name in ("LLVM-exception", "other-exception")]
    [True, False]
    >>> is_permitted("(MIT", PERMISSIVE)
    Traceback (most recent call last):
    dependencies.Failure: '(MIT' is not an SPDX expression
    """
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        met = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = both() or met
        return met

    def both():
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one():
        if not tokens or tokens[0] in (")", "OR", "AND", "WITH"):
            raise Failure(f"{expression!r} is not an SPDX expression")
        name = tokens.pop(0)
        if name == "(":
            met = either()
            if not tokens or tokens.pop(0) != ")":
                raise Failure(f"{expression!r} is not an SPDX expression")
            return met
        if tokens[:1] == ["WITH"]:
            name = " ".join([name, tokens.pop(0), tokens.pop(0) if tokens else ""])
        return name in permitted

    met = either()
    if tokens:
        raise Failure(f"{expression!r} is not an SPDX expression")
    return met


def linked(parts, targets):
    """The packages that are linked into these parts, each with those that it needs, by name and version."""
    found = {}
    for part in parts:
        root, for_tests = PARTS[part]
        kinds = "normal,dev" if for_tests else "normal"
        features = ["--features", "capi"] if root == "cushim" else []
        for target in targets:
            tree = cargo("tree", "-p", root, "-e", f"{kinds},no-proc-macro", "--target", target, *features,
                         "--no-dedupe", "--prefix", "depth", "--format", " {p}")
            walk(tree, for_tests, found)
    return {key: sorted(found[key]) for key in sorted(found)}


def walk(tree, only, found):
    """Adds the packages of a tree; below its root only this one, if it is named."""
    path = []
    for line in tree.splitlines():
        depth, name, version = line.split()[:3]
        depth, key = int(depth), (name, version.removeprefix("v"))
        path[depth:] = [key]
        if only and depth and path[1][0] != only:
            continue
        found.setdefault(key, set())
        if depth:
            found[path[depth - 1]].add(key)


def check():
    """Refuses licences that are not permissive; everything that the workspace's lock file has is looked at."""
    packages = metadata()
    shipped = linked(PARTS, TARGETS)
    wrong = []
    for key, package in packages.items():
        permitted = PERMISSIVE if key in shipped else FOR_DEVELOPMENT
        name = " ".join(key)
        if not package["license"]:
            wrong.append(f"{name} names no licence")
        elif not is_permitted(package["license"], permitted):
            wrong.append(f"{name} is {package['license']}, which is not among the licences of scripts/dependencies.py")
    foreign = [packages[key] for key in shipped if packages[key]["source"]]
    for package in foreign:
        texts(package)
    if wrong:
        raise Failure("\n".join(wrong))
    print(f"dependencies: {len(packages)} packages, of which {len(foreign)} are linked in: their licences are permissive")


def texts(package):
    """The licence texts in the package's folder."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
    if not files:
        raise Failure(f"{package['name']} {package['version']} comes without the text of its licence ({package['license']})")
    return [(path.name, path.read_text(encoding="utf-8").strip()) for path in files]


def licences(parts, targets, with_zig):
    """The texts, each once, with the packages that have it."""
    packages = metadata()
    foreign = [packages[key] for key in linked(parts, targets) if packages[key]["source"]]
    holders = {}
    for package in foreign:
        for _, text in texts(package):
            holders.setdefault(text, []).append(f"{package['name']} {package['version']}")
    if with_zig:
        version, folder = zig()
        for name, file, _ in ZIG_PARTS:
            holders[(folder / file).read_text(encoding="utf-8").strip()] = [f"{name} of zig {version}"]
    print("Linked into what is installed here are, beside Rust's standard library (COPYRIGHT-rust.html):\n")
    for package in foreign:
        print(f"  {package['name']} {package['version']}  {package['license']}  {package['repository'] or ''}".rstrip())
    if with_zig:
        for name, _, licence in ZIG_PARTS:
            print(f"  {name} of zig {version}  {licence.get('expression') or licence['license']['name']}")
    for text, names in holders.items():
        print(f"\n{'=' * 100}\n{', '.join(names)}\n{'=' * 100}\n\n{text}")


def zig():
    """The version of zig, and its folder."""
    try:
        import ziglang
    except ImportError:
        print("dependencies: needs ziglang; pip install ziglang", file=sys.stderr)
        sys.exit(69)
    version = subprocess.run([sys.executable, "-m", "ziglang", "version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return version, Path(ziglang.__file__).parent


def checksums():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}


def sbom(parts, targets, with_zig):
    """CycloneDX 1.5. It has no time and no random number: the same release has the same bill."""
    packages, sums, found = metadata(), checksums(), linked(parts, targets)
    version = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    std = {"type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": version,
           "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": f"pkg:generic/rust-std@{version}"}

    runtime = [std]
    if with_zig:
        zig_version, _ = zig()
        runtime += [{"type": "library", "bom-ref": f"zig-{name.split()[0]}", "name": name, "version": f"zig {zig_version}",
                     "licenses": [licence]} for name, _, licence in ZIG_PARTS]

    def url(key):
        return f"pkg:cargo/{key[0]}@{key[1]}"

    def component(key):
        package = packages[key]
        entry = {"type": "library", "bom-ref": url(key), "name": key[0], "version": key[1],
                 "description": " ".join((package["description"] or "").split()),
                 "licenses": [{"expression": package["license"].replace("/", " OR ")}], "purl": url(key)}
        if checksum := sums.get(key):
            entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return entry

    root = next(key for key in found if key[0] == "cushim")
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": component(root)},
            "components": [component(key) for key in found if key != root] + runtime,
            "dependencies": [{"ref": url(key), "dependsOn": [url(other) for other in found[key]]
                              + [part["bom-ref"] for part in (runtime if key == root else [std])]} for key in found]}
    print(json.dumps(bill, indent=1))


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/dependencies.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit status: 0 done; 1 a licence is missing or not permissive; 2 wrong usage; 69 a tool is missing.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="refuse dependencies whose licence is not permissive")
    what.add_argument("--licences", action="store_true", help="print the licences of all that is linked in")
    what.add_argument("--sbom", action="store_true", help="print a software bill of materials (CycloneDX, JSON)")
    parser.add_argument("--parts", default=",".join(PARTS), help="of which the licences or the bill are wanted (default: %(default)s)")
    parser.add_argument("--target", help="the Rust target (default: all)")
    parser.add_argument("--zig", action="store_true", help="with what zig links in, for files that it linked")
    args = parser.parse_args()
    parts = args.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    try:
        targets = [args.target] if args.target else TARGETS
        if args.check:
            check()
        elif args.licences:
            licences(parts, targets, args.zig)
        else:
            sbom(parts, targets, args.zig)
    except Failure as failure:
        print(f"dependencies: {failure}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
