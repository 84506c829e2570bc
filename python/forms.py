#!/usr/bin/env python3
"""Which functions of the interface have a form in the package: a method, a property, or a part of one. absent.txt names those
that have none, and why.

usage: forms.py [--check]

Without an option it prints each function and the file that calls it, or the reason. --check fails if a function has neither a
form nor a reason, or both.
"""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def reasons():
    """The functions of absent.txt, and why they have no form. A line is `function function: reason`; # begins a comment."""
    found = {}
    for number, line in enumerate((HERE / "absent.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        names, colon, reason = line.partition(":")
        if not colon or not reason.strip():
            sys.exit(f"absent.txt, line {number}: a line is `function: reason`, not {line!r}")
        for name in names.split():
            if name in found:
                sys.exit(f"absent.txt, line {number}: {name} stands there twice")
            found[name] = reason.strip()
    return found


def forms(kinds):
    """The functions that the package calls, and where. Some it calls by names that it puts together."""
    found = {f"cushim_{kind}_{verb}": "_object.py" for kind in kinds for verb in ("ref", "destroy")}
    for path in sorted((HERE / "cushim").glob("*.py")):
        if path.name == "_interface.py":  # declares all of them
            continue
        text = path.read_text()
        for name in re.findall(r"\blib\.(cushim_\w+)", text):
            found.setdefault(name, path.name)
        for what in re.findall(r'\b_call\("(\w+)"', text):  # of Node: in the graph, or in an exec
            for name in (f"cushim_node_{what}", f"cushim_exec_{what}"):
                found.setdefault(name, path.name)
    return found


def main():
    interface = json.loads((HERE.parent / "include/cushim.json").read_text(encoding="utf-8"))
    functions = [function["name"] for function in interface["functions"]]
    have, lack = forms(item["kind"] for item in interface["handles"]), reasons()
    if "--check" not in sys.argv:
        for name in functions:
            print(f"{name:50} {have.get(name) or lack.get(name) or '?'}")
        return
    wrong = [f"{name} has no form in Python: write one in python/cushim/, or say why not in python/absent.txt"
             for name in functions if name not in have and name not in lack]
    wrong += [f"{name} has a form in {have[name]}: remove it from python/absent.txt" for name in lack if name in have]
    wrong += [f"{name} is no function of the interface: remove it from python/absent.txt" for name in lack if name not in functions]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
