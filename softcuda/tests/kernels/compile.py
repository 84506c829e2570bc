#!/usr/bin/env python3
"""Compiles the kernels of this folder to PTX with NVRTC, which needs no GPU.

    compile.py libnvrtc.so.12 include 12.8 80    writes nvrtc-12.8-sm_80/*.ptx

The library and the headers (for the 16-bit types) are in NVIDIA's wheels nvidia-cuda-nvrtc* and nvidia-cuda-runtime*.
"""
import ctypes, pathlib, sys

library, include, version, arch = sys.argv[1:]
here = pathlib.Path(__file__).parent
nvrtc = ctypes.CDLL(library)
target = here / f"nvrtc-{version}-sm_{arch}"
target.mkdir(exist_ok=True)
for source in sorted(here.glob("*.cu")):
    program = ctypes.c_void_p()
    text = source.read_bytes()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None)
    options = [f"--gpu-architecture=compute_{arch}".encode(), f"--include-path={include}".encode()]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if failed:
        sys.exit(f"{source.name}: {log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    (target / source.with_suffix(".ptx").name).write_bytes(ptx.value)
