"""Builds the wheels, without tools of others: for pip (`pip install ./python`, without libcushim), and for scripts/wheel.sh.

usage: build.py FOLDER PREFIX PLATFORM

Writes two wheels for PLATFORM, such as manylinux_2_17_x86_64, into FOLDER, with the libraries that scripts/install.sh has
installed under PREFIX: cushim, and cushim-softcuda, which puts softcuda beside libcushim, where that looks for it, and has softcuda-run.
The files depend on their contents only, and have the time SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "cushim"))
from _version import VERSION  # noqa: E402

PYTHON = ">=3.9"
NEEDS = "cffi>=1.15"
SUMMARY = "The CUDA driver by Python's habits: one package for every driver from 11.4 to 13.x, no toolkit, no compiler"
DRIVER_SUMMARY = "softcuda for cushim: a CUDA driver in software, for tests without a GPU"


# Python's script becomes the program, which finds the libraries beside itself. Not in the package cushim, which would load libcushim.
RUN = '''"""softcuda-run, as a script of Python's."""

import os
import sys


def run():
    program = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cushim", "lib", "softcuda-run")
    os.execv(program, [program, *sys.argv[1:]])
'''


class Wheel:
    """A wheel that is being written."""

    def __init__(self, folder, name, tag, metadata):
        stem = f"{name.replace('-', '_')}-{VERSION}"
        self.info = f"{stem}.dist-info"
        self.path = Path(folder) / f"{stem}-{tag}.whl"
        self.tag, self.metadata = tag, metadata
        self.records = []
        self.file = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED)

    def add(self, name, data, mode=0o644):
        """Adds a file."""
        when = max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800)  # 1980, before which zip has no time
        item = zipfile.ZipInfo(name, time.gmtime(when)[:6])
        item.external_attr = (0o100000 | mode) << 16
        item.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(item, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def close(self, entries=""):
        pure = "true" if self.tag.endswith("-any") else "false"
        self.add(f"{self.info}/METADATA", self.metadata.encode())
        self.add(f"{self.info}/WHEEL",
                 f"Wheel-Version: 1.0\nGenerator: cushim\nRoot-Is-Purelib: {pure}\nTag: {self.tag}\n".encode())
        if entries:
            self.add(f"{self.info}/entry_points.txt", entries.encode())
        record = f"{self.info}/RECORD"
        text = "\n".join([*sorted(self.records), f"{record},,", ""])
        self.add(record, text.encode())
        self.file.close()
        return self.path.name


def metadata(name, summary, more="", text=""):
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\nSummary: {summary}\nRequires-Python: {PYTHON}\n"
        f"License: MIT OR Apache-2.0\nDescription-Content-Type: text/markdown\n{more}\n{text}"
    )


def licences(wheel, notices=()):
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        if (HERE.parent / name).exists():
            wheel.add(f"{wheel.info}/licenses/{name}", (HERE.parent / name).read_bytes())
    for path in notices:
        wheel.add(f"{wheel.info}/licenses/{path.name}", path.read_bytes())


def package(folder, tag, files=(), modules=(), notices=()):
    """The wheel of the package, with these files as cushim/lib, compiled modules, and licences of what is linked in."""
    needs = f"Requires-Dist: {NEEDS}\nProvides-Extra: softcuda\nRequires-Dist: cushim-softcuda=={VERSION}; extra == \"softcuda\"\n"
    wheel = Wheel(folder, "cushim", tag, metadata("cushim", SUMMARY, needs, (HERE / "README.md").read_text()))
    for path in sorted((HERE / "cushim").iterdir()):
        if path.is_file() and not path.name.endswith(".pyc"):
            wheel.add(f"cushim/{path.name}", path.read_bytes())
    for path in files:
        mode = 0o755 if os.access(path, os.X_OK) and ".so" not in path.name else 0o644
        wheel.add(f"cushim/lib/{path.name}", path.resolve().read_bytes(), mode)
    for path in modules:
        wheel.add(f"cushim/{path.name}", path.read_bytes())
    licences(wheel, notices)
    return wheel.close("[pytest11]\ncushim = cushim.pytest_plugin\n")


def softcuda(folder, tag, files, notices=()):
    """The wheel of the driver in software."""
    more = f"Requires-Dist: cushim=={VERSION}\n"
    wheel = Wheel(folder, "cushim-softcuda", tag, metadata("cushim-softcuda", DRIVER_SUMMARY, more, DRIVER_SUMMARY + ".\n"))
    for path in files:
        wheel.add(f"cushim/lib/{path.name}", path.read_bytes(), 0o644 if ".so" in path.name else 0o755)
    wheel.add("cushim_softcuda/__init__.py", RUN.encode())
    licences(wheel, notices)
    return wheel.close("[console_scripts]\nsoftcuda-run = cushim_softcuda:run\n")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook of PEP 517."""
    return package(wheel_directory, "py3-none-any")


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("cushim has no source distribution: build wheels with scripts/wheel.sh")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, prefix, platform = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    found = sorted(prefix.glob("lib*/libcushim.so.?.?")) or sorted(prefix.glob("lib*/libcushim.so.?"))
    if not found:
        sys.exit(f"build: {prefix} has no libcushim.so")
    probe = prefix / "bin/cushim-probe"
    tag = f"py3-none-{platform}"
    modules = sorted(found[0].parent.glob("cushim/*.abi3.so"))
    # What scripts/install.sh --release has of what is linked in.
    texts = prefix / "share/doc/cushim"
    notices = [path for path in (texts / "LICENSES-THIRD-PARTY.txt", texts / "COPYRIGHT-rust.html") if path.exists()]
    print(package(folder, tag, [found[0], *([probe] if probe.exists() else [])], modules, notices))
    drivers = sorted(found[0].parent.glob("libsoftcuda*.so"))
    if drivers:
        drivers += sorted(found[0].parent.glob("softcuda/*.so"))
        print(softcuda(folder, tag, [*drivers, prefix / "bin/softcuda-run"], notices))


if __name__ == "__main__":
    main()
