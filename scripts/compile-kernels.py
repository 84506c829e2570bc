#!/usr/bin/env python3
"""Compiles kernels/*.cu to PTX with NVRTC of several versions: kernels/ptx/COMPILER/NAME.ptx.

Needs pip and no GPU. The compilers and their headers are wheels that pip downloads, once, into --cache.
"""

import argparse
import ctypes
import pathlib
import platform
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "kernels"

WHEELS = {
    "12.2": ["nvidia-cuda-nvrtc-cu12==12.2.140", "nvidia-cuda-runtime-cu12==12.2.140", "nvidia-cuda-cccl-cu12==12.2.140"],
    "12.8": ["nvidia-cuda-nvrtc-cu12==12.8.93", "nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cccl-cu12==12.8.90"],
    "13.0": ["nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cccl==13.0.85"],
}

# What each kernel is compiled with: release, architecture, options.
COMPILERS = {
    "nvrtc-12.2-compute_70": ("12.2", "compute_70", []),
    "nvrtc-12.8-compute_80": ("12.8", "compute_80", []),
    "nvrtc-13.0-compute_75": ("13.0", "compute_75", []),
    "nvrtc-13.0-compute_90": ("13.0", "compute_90", []),
    "nvrtc-12.8-compute_80-fast": ("12.8", "compute_80", ["--use_fast_math"]),
}

# With fast mathematics only where that changes what comes out.
FAST = ["black_scholes", "elementary", "nbody"]


def unpacked(release, cache):
    """The folder in which the wheels of a release lie unpacked."""
    folder = cache / release
    if (folder / "done").exists():
        return folder
    for wheel in WHEELS[release]:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check",
             "--dest", str(folder / "wheels"), wheel],
            check=True,
        )
    for wheel in (folder / "wheels").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    (folder / "done").touch()
    return folder


class Nvrtc:
    """The compiler of one release. A process can hold one."""

    def __init__(self, folder):
        for builtins in folder.glob("nvidia/*/lib/libnvrtc-builtins.so.*"):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        (library,) = (path for path in folder.glob("nvidia/*/lib/libnvrtc.so.*") if ".alt." not in path.name)
        self.library = ctypes.CDLL(str(library))
        includes = {path for path in folder.glob("nvidia/*/include")}
        includes |= {path for path in folder.glob("nvidia/*/include/cccl")}
        self.includes = [f"--include-path={path}" for path in sorted(includes)]

    def compile(self, source, architecture, options):
        program = ctypes.c_void_p()
        code = self.library.nvrtcCreateProgram(
            ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
        if code:
            sys.exit(f"nvrtcCreateProgram: {code}")
        options = [f"--gpu-architecture={architecture}", "--std=c++17", *self.includes, *options]
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        code = self.library.nvrtcCompileProgram(program, len(options), array)
        log = self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").strip()
        if log:
            print(log, file=sys.stderr)
        ptx = None if code else self.text(program, "nvrtcGetPTXSize", "nvrtcGetPTX")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return ptx

    def text(self, program, size_of, get):
        size = ctypes.c_size_t()
        getattr(self.library, size_of)(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, get)(program, buffer)
        return buffer.value.decode()


def sources(compiler, names):
    found = [KERNELS / f"{name}.cu" for name in names] if names else sorted(KERNELS.glob("*.cu"))
    return [source for source in found if not compiler.endswith("-fast") or source.stem in FAST]


def make(compiler, names, cache):
    release, architecture, options = COMPILERS[compiler]
    nvrtc = Nvrtc(unpacked(release, cache))
    folder = KERNELS / "ptx" / compiler
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for source in sources(compiler, names):
        ptx = nvrtc.compile(source, architecture, options)
        if ptx is None:
            failed.append(source.stem)
        else:
            (folder / f"{source.stem}.ptx").write_text(ptx)
    if failed:
        sys.exit(f"compile-kernels.py: {compiler} refuses {', '.join(failed)}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", help="kernels, such as vector_add; all by default")
    arguments.add_argument("--cache", type=pathlib.Path, default=ROOT / "target" / "nvrtc", help="default: target/nvrtc")
    arguments.add_argument("--compiler", choices=COMPILERS, help="all by default")
    given = arguments.parse_args()
    if platform.machine() != "x86_64" or sys.platform != "linux":
        sys.exit("compile-kernels.py: needs Linux on x86-64")
    if given.compiler:
        return make(given.compiler, given.names, given.cache)
    # One process each: two releases of the compiler do not get on in one.
    for compiler in COMPILERS:
        again = [sys.executable, __file__, "--cache", str(given.cache), "--compiler", compiler, *given.names]
        subprocess.run(again, check=True)


main()
