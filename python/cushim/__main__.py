"""`python -m cushim`: which driver there is, and what it offers. This is the program cushim-probe, with its options and exit
statuses, where there is one; otherwise a short form of it."""

from __future__ import annotations

import os
import shutil
import sys

from ._library import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def probe() -> Optional[str]:
    """The program, in this package or the system's."""
    inside = FOLDER / "cushim-probe"
    return str(inside) if inside.exists() else shutil.which("cushim-probe")


def short() -> int:
    """Says what a program gets from `cushim.Driver()`."""
    import cushim

    try:
        driver = cushim.Driver()
    except cushim.DriverNotFound as error:
        print(f"no driver: {error}")
        return 10
    info = driver.info
    print(f"CUDA {driver.version[0]}.{driver.version[1]}, {info.kind.name.lower()} driver: {info.path or '(none)'}")
    for device in driver.devices:
        major, minor = device.compute_capability
        print(f"device {device.ordinal}: {device.name}, compute capability {major}.{minor}, {device.total_memory >> 20} MiB")
    return 0


def main() -> int:
    program = probe()
    if program is None:
        if len(sys.argv) > 1:
            print("there is no cushim-probe, which has options; without any this says what it can", file=sys.stderr)
            return 2
        return short()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
