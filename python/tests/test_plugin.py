"""The pytest plugin, and `python -m cushim`."""

import importlib.metadata
import os
import subprocess
import sys

import cushim
import pytest

TEST = """
import os, pytest
def test_a(cushim_driver, cushim_device, cushim_stream, softcuda):
    assert os.environ["SOFTCUDA_VERSION"] == "%d.%d" % cushim_driver.version
    buffer = cushim_device.allocate(cushim_stream, 64)
    assert softcuda.calls("cuMemAllocFromPoolAsync") + softcuda.calls("cuMemAllocAsync") == 1
    assert softcuda.live("stream") >= 1

def test_b(cushim_device, cushim_stream, softcuda):
    import cushim
    softcuda.fault("cuMemAlloc*#1=2")
    with pytest.raises(cushim.OutOfMemory):
        cushim_device.allocate(cushim_stream, 64)
    assert softcuda.hits == 1
    with pytest.raises(ValueError):
        softcuda.fault("no such fault")
    with pytest.raises(ValueError):
        softcuda.calls("cuNoSuchFunction")

def test_c(cushim_device, cushim_stream, softcuda):
    cushim_device.allocate(cushim_stream, 64)

@pytest.mark.gpu
def test_d():
    pass
"""


def has_entry_point():
    """Whether the package is installed as a wheel, so that pytest finds the plugin by itself."""
    found = importlib.metadata.entry_points()
    chosen = found.select(group="pytest11") if hasattr(found, "select") else found.get("pytest11", ())
    return any(point.value == "cushim.pytest_plugin" for point in chosen)


@pytest.fixture
def run(tmp_path):
    (tmp_path / "test_it.py").write_text(TEST)

    def go(*arguments):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("SOFTCUDA_", "CUSHIM_DRIVER"))}
        path = cushim.Driver().info.path
        env["CUSHIM_SOFTCUDA"] = os.path.join(os.path.dirname(path), "libsoftcuda.so")
        if not os.path.exists(env["CUSHIM_SOFTCUDA"]):
            del env["CUSHIM_SOFTCUDA"]
        if not has_entry_point():
            env["PYTEST_PLUGINS"] = "cushim.pytest_plugin"
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)

    return go


def test_on_one_version(run):
    done = run("--softcuda", "12.4", "--softcuda-set", "SCHEDULE=lazy")
    assert done.returncode == 0 and "3 passed, 1 skipped" in done.stdout, done.stdout + done.stderr


def test_on_several(run):
    done = run("--softcuda=11.4,13.0")
    assert done.returncode == 0 and done.stdout.count("3 passed, 1 skipped") == 2, done.stdout + done.stderr
    assert "CUDA 11.4" in done.stdout and "CUDA 13.0" in done.stdout


RACE = """
def fill_twice(device, context, ordered):
    with context.create_stream() as one, context.create_stream() as two:
        buffer = device.allocate(one, 64)
        one.synchronize()
        one.fill(buffer, 1)
        if ordered:
            two.wait(one.record())
        two.fill(buffer, 2)
        two.synchronize()
        one.synchronize()
        buffer.close(two)
        two.synchronize()

def test_race(cushim_device, cushim_context):
    fill_twice(cushim_device, cushim_context, False)

def test_order(cushim_device, cushim_context):
    fill_twice(cushim_device, cushim_context, True)
"""


def test_what_checks_find(run, tmp_path):
    (tmp_path / "test_it.py").write_text(RACE)
    done = run("--softcuda", "13.0", "--softcuda-check", "races")
    assert done.returncode == 1 and "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "nothing orders the two" in done.stdout and "cuStreamWaitEvent" in done.stdout
    assert "ERROR test_it.py::test_race" in done.stdout
    done = run("--softcuda", "13.0")
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_gpu_that_is_required_and_missing(run):
    done = run("--softcuda", "13.0", "--require-gpu")
    assert done.returncode == 1 and "1 error" in done.stdout and "the driver is software" in done.stdout


def test_wrong_settings(run):
    assert run("--softcuda", "13.0", "--softcuda-set", "SCHEDULE").returncode == 4
    assert run("--softcuda", "9.0").returncode == 1


def test_the_probe(monkeypatch, capsys, driver):
    from cushim import __main__

    monkeypatch.setattr(__main__, "probe", lambda: None)
    monkeypatch.setattr(sys, "argv", ["cushim"])
    assert __main__.main() == 0
    assert "CUDA %d.%d, %s driver" % (*driver.version, driver.info.kind.name.lower()) in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["cushim", "--json"])
    assert __main__.main() == 2
    monkeypatch.setattr(sys, "argv", ["cushim"])
    monkeypatch.setenv("CUSHIM_DRIVER", "/nowhere/libcuda.so")
    assert __main__.main() == 10
    assert "no driver" in capsys.readouterr().out
