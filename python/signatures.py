#!/usr/bin/env python3
"""The package's public interface as a list, which abi/cushim.python.txt has: what is gone from it, or changed, breaks programs.

usage: signatures.py [--check | --write]

Without an option it prints the list. --check fails if a line of the file is gone; lines that are new are told.
"""

import inspect
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE.parent / "abi/cushim.python.txt"
sys.path.insert(0, str(HERE))
import cushim  # noqa: E402
from cushim import _enums, _records  # noqa: E402


def members(name, kind):
    """The lines of a class: what it is derived from in this package, and its public members, also those that it inherits."""
    bases = [base.__name__ for base in kind.__mro__[1:] if base.__module__ != "builtins" and not base.__name__.startswith("_")]
    yield f"class {name}({', '.join(base for base in bases if not base.endswith('Base'))})"
    for member in sorted(dir(kind)):
        special = member in ("__init__", "__enter__", "__len__", "__getitem__", "__iter__", "__cuda_stream__", "__dlpack__",
                             "__dlpack_device__", "__cuda_array_interface__")
        owner = next((base for base in kind.__mro__ if member in vars(base)), None)
        if (member.startswith("_") and not special) or owner is None or not owner.__module__.startswith("cushim"):
            continue
        what = vars(owner)[member]
        if isinstance(what, property):
            settable = "" if what.fset is None else ", settable"
            yield f"{name}.{member}: {inspect.signature(what.fget).return_annotation}{settable}"
        elif isinstance(what, (classmethod, staticmethod)):
            yield f"{name}.{member}{inspect.signature(what.__func__)}"
        elif inspect.isfunction(what):
            prefix = "async " if inspect.iscoroutinefunction(what) else ""
            yield f"{prefix}{name}.{member}{inspect.signature(what)}"
    for member, hint in sorted(getattr(kind, "__annotations__", {}).items()):
        if not member.startswith("_"):
            yield f"{name}.{member}: {hint}"


def lines():
    for name in sorted(cushim.__all__):
        what = getattr(cushim, name)
        if inspect.isclass(what):
            yield from members(name, what)
        elif inspect.isfunction(what):
            yield f"{name}{inspect.signature(what)}"
        else:
            yield f"{name}: {type(what).__name__.lstrip('_')}"
    for name in sorted(_records.__all__):
        yield from members(name, getattr(_records, name))
    for name in sorted(_enums.__all__):
        for member, value in getattr(_enums, name).__members__.items():
            yield f"{name}.{member} = {int(value)}"


def main():
    now = list(dict.fromkeys(line.replace("'", "") for line in lines()))
    if "--write" in sys.argv:
        LIST.write_text("\n".join(now) + "\n")
    elif "--check" in sys.argv:
        before = LIST.read_text().splitlines()
        gone = [line for line in before if line not in set(now)]
        new = [line for line in now if line not in set(before)]
        if new:
            print("new, to be added with python/signatures.py --write:", *new, sep="\n  ")
        if gone:
            sys.exit("gone or changed:\n  " + "\n  ".join(gone))
    else:
        print("\n".join(now))


if __name__ == "__main__":
    main()
