"""Finds and loads libcushim."""

from __future__ import annotations

import os
from pathlib import Path

from ._interface import ffi
from ._version import SONAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

# What the system's library is called.
SYSTEM = "cushim.dll" if os.name == "nt" else SONAME
FOLDER = Path(__file__).parent / "lib"


def candidates() -> List[str]:
    """Where the library may be: what CUSHIM_LIBRARY names and nothing else, or else in this package, or the system's."""
    named = os.environ.get("CUSHIM_LIBRARY")
    if named:
        return [named]
    inside = FOLDER / SYSTEM
    return [str(inside)] if inside.exists() else [SYSTEM]


def load() -> Any:
    failures = []
    for path in candidates():
        try:
            return ffi.dlopen(path, ffi.RTLD_NOW | ffi.RTLD_LOCAL)
        except OSError as error:
            failures.append(str(error))
    raise ImportError(
        f"cushim found no libcushim: {'; '.join(failures)}. Install a wheel of cushim, which has it inside, "
        "or set CUSHIM_LIBRARY to its path"
    )


lib: Any = load()
