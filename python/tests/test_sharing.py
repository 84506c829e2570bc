"""One process fills memory with cushim, and another one reads it with another library, and the other way round: the example does it."""

import os
import pathlib
import subprocess
import sys

import cushim
import pytest
from neighbours import neighbour

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "sharing_arrays.py"
SUM = (1 << 16) * ((1 << 16) - 1) // 2


def run(library):
    path = os.pathsep.join(filter(None, (os.path.dirname(os.path.dirname(cushim.__file__)), os.environ.get("PYTHONPATH"))))
    return subprocess.run([sys.executable, EXAMPLE, library], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=300)


def check(library):
    done = run(library)
    said = "".join(f"{one} filled the memory, {other} has read {SUM} and added one to each number\n"
                   for one, other in (("cushim", library), (library, "cushim")))
    assert done.returncode == 0 and done.stdout == said, done.stderr


def test_cushim_in_both():
    check("cushim")


def test_numpy(device):
    pytest.importorskip("numpy")
    if "host-memory-pools" not in device.features:
        pytest.skip("there are pools of page-locked memory since CUDA 13.0")
    check("numpy")


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_on_a_gpu(library):
    neighbour(library)
    check(library)


def test_a_process_that_fails_is_told():
    done = run("none")
    assert done.returncode != 0 and "cushim and none: failed" in done.stderr
