#!/usr/bin/env python3
"""What the package costs, beside a sketch with nothing but ctypes and beside cuda.core, if that is there (pip install cuda-core):
import, record, wait, query and launch, in nanoseconds of processor time, so that a busy machine does not matter.

usage: bench.py; CUSHIM_LIBRARY may name libcushim, CUSHIM_DRIVER the driver. A wheel that is installed is measured as it is, with its
compiled module. On softcuda beside cuda.core: softcuda-run --cuda 13.0 python bench.py
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = sys.path.pop(0)  # this folder, whose package has no library and no compiled module
try:
    import cushim
except ImportError:
    sys.path.insert(0, HERE)
    import cushim
FOLDER = Path(cushim.__file__).resolve().parent.parent

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 to, .param .u64 from, .param .u32 n, .param .f32 a) { ret; }
"""
ROUNDS, CALLS = 7, 2000


def best(call, after=lambda: None):
    """The quickest round, per call."""
    times = []
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        for _ in range(CALLS):
            call()
        times.append((time.thread_time_ns() - begin) / CALLS)
        after()
    return min(times)


def imports():
    """The quickest import in a process of its own, in milliseconds."""
    code = "import time; t = time.process_time(); import cushim; print(time.process_time() - t)"
    with tempfile.TemporaryDirectory() as compiled:
        env = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        runs = [subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
                for _ in range(10)]
    return 1000 * min(float(run.stdout) for run in runs)


class Arg(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("size", ctypes.c_uint32), ("value", ctypes.c_void_p)]


class Dim(ctypes.Structure):
    _fields_ = [(axis, ctypes.c_uint32) for axis in "xyz"]


class Config(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("grid", Dim), ("block", Dim), ("rest", ctypes.c_char * 80)]


def sketch(kernel, stream, event, buffer):
    """The same calls as somebody writes them with ctypes."""
    lib = ctypes.CDLL(cushim._library.candidates()[0])
    number = lambda it: int(cushim._object.ffi.cast("uintptr_t", it._h))  # noqa: E731
    kernel, stream, event, buffer = (ctypes.c_void_p(number(it)) for it in (kernel, stream, event, buffer))

    def check(status):
        if status:
            raise RuntimeError(status)

    def record():
        check(lib.cushim_event_record(event, stream))

    def launch():
        n, a = ctypes.c_int32(5), ctypes.c_float(2.0)
        args = (Arg * 4)((3, 0, buffer), (3, 0, buffer), (1, 4, ctypes.addressof(n)), (1, 4, ctypes.addressof(a)))
        config = Config(ctypes.sizeof(Config), Dim(1, 1, 1), Dim(1, 1, 1))
        check(lib.cushim_kernel_launch(kernel, stream, ctypes.byref(config), args, ctypes.c_size_t(4)))

    return record, launch


def core():
    """The same through cuda.core; nothing where it is not installed."""
    try:
        from cuda.core import Device, LaunchConfig, ObjectCode, launch
    except ImportError:
        return {}
    device = Device()
    device.set_current()
    stream, event, config = device.create_stream(), device.create_event(), LaunchConfig(grid=1, block=1)
    kernel, buffer = ObjectCode.from_ptx(PTX).get_kernel("nothing"), device.allocate(64, stream=stream)
    n, a = ctypes.c_int32(5), ctypes.c_float(2.0)
    calls = {
        "record": lambda: stream.record(event),
        "wait": lambda: stream.wait(event),
        "query": lambda: event.is_done,
        "launch": lambda: launch(stream, config, kernel, buffer, buffer, n, a),
    }
    return {name: best(call, stream.sync) for name, call in calls.items()}


def main():
    context = cushim.Driver().device(0).primary_context()
    stream, event = context.create_stream(), context.create_event()
    kernel = context.load(PTX).kernel("nothing")
    buffer = context.device.allocate(stream, 64)
    record, launch = sketch(kernel, stream, event, buffer)
    others = core()
    print(f"import {imports():.1f} ms; {'with' if cushim._object.NATIVE else 'without'} the compiled module")
    print(f"{'ns':8}{'cushim':>10}{'ctypes':>10}{'cuda.core':>10}")
    for name, mine, theirs in [
        ("record", lambda: event.record(stream), record),
        ("wait", lambda: stream.wait(event), None),
        ("query", event.query, None),
        ("launch", lambda: cushim.launch(kernel, stream, 1, 1, buffer, buffer, 5, 2.0), launch),
    ]:
        plain = f"{best(theirs, stream.synchronize):.0f}" if theirs else ""
        other = f"{others[name]:.0f}" if others else ""
        print(f"{name:8}{best(mine, stream.synchronize):10.0f}{plain:>10}{other:>10}")


if __name__ == "__main__":
    main()
