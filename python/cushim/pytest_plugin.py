"""A pytest plugin that runs tests on softcuda, the driver in software: at chosen versions, with faults and schedules.

    pytest --softcuda 12.4                        on softcuda as CUDA 12.4
    pytest --softcuda 11.4,12.4,13.0              once for each, in a process of its own
    pytest --softcuda 13.0 --softcuda-set SCHEDULE=lazy --softcuda-set DEVICES=2
    pytest --softcuda 13.0 --softcuda-check races,memory      a test whose work races, or uses what is no memory, fails with the report
    pytest --require-gpu                          tests marked `gpu` fail where there is none, and are not skipped

Fixtures: `cushim_driver`, `cushim_device`, `cushim_context`, `cushim_stream`, and `softcuda`, which counts calls and makes them
fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Iterator, List, Optional

import pytest

if TYPE_CHECKING:
    import cushim

NAME = "--softcuda"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cushim")
    group.addoption(NAME, metavar="VERSIONS", help="run on softcuda as these CUDA versions, such as 12.4,13.0")
    group.addoption("--softcuda-set", metavar="NAME=VALUE", action="append", default=[],
                    help="set the variable SOFTCUDA_NAME, such as SCHEDULE=lazy, SEED=7, DEVICES=2, FAULT=cuMemAlloc*#3=2")
    group.addoption("--softcuda-check", metavar="LIST",
                    help="tests fail with what softcuda finds: races, memory, uninitialised, with commas")
    group.addoption("--require-gpu", action="store_true", help="fail tests marked gpu where there is none, instead of skipping them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a GPU; skipped on softcuda and without one, unless --require-gpu is given")
    versions = chosen(config)
    for setting in config.getoption("--softcuda-set"):
        name, equals, value = setting.partition("=")
        if not equals or not name.isupper():
            raise pytest.UsageError(f"--softcuda-set takes NAME=VALUE, such as SCHEDULE=lazy, not {setting!r}")
        os.environ[f"SOFTCUDA_{name.removeprefix('SOFTCUDA_')}"] = value
    if config.getoption("--softcuda-check"):
        os.environ["SOFTCUDA_CHECK"] = config.getoption("--softcuda-check")
    if len(versions) == 1:
        os.environ.update(CUSHIM_DRIVER="software", SOFTCUDA_VERSION=versions[0])


def chosen(config: pytest.Config) -> List[str]:
    text: Optional[str] = config.getoption(NAME)
    return [version.strip() for version in text.split(",") if version.strip()] if text else []


def pytest_cmdline_main(config: pytest.Config) -> Optional[int]:
    """Several versions: the driver has one for the whole process, so each has a process."""
    versions = chosen(config)
    if len(versions) < 2:
        return None
    worst = 0
    for version in versions:
        print(f"== softcuda as CUDA {version}", flush=True)
        arguments = [*without(list(config.invocation_params.args)), NAME, version]
        worst = max(worst, subprocess.run([sys.executable, "-m", "pytest", *map(str, arguments)], check=False).returncode)
    return worst


def without(arguments: List[Any]) -> List[Any]:
    """The arguments without the versions."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == NAME:
            skip = True
        elif not str(argument).startswith(NAME + "="):
            kept.append(argument)
    return kept


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is None:
        return
    reason = no_gpu()
    if reason:
        if item.config.getoption("--require-gpu"):
            pytest.fail(f"--require-gpu: {reason}", pytrace=False)
        pytest.skip(reason)


def no_gpu() -> Optional[str]:
    """Why there is no GPU, or None if there is one."""
    import cushim

    try:
        driver = cushim.Driver()
        if driver.info.kind in (cushim.DriverKind.SOFTWARE, cushim.DriverKind.NONE):
            return f"the driver is {driver.info.kind.name.lower()}"
        return None if driver.devices else "the driver has no device"
    except cushim.CushimError as error:
        return error.message


class Softcuda:
    """What softcuda tells, and does, for a test."""

    def __init__(self, path: str) -> None:
        import ctypes

        self._lib = ctypes.CDLL(path)
        self._lib.softcuda_message.restype = ctypes.c_char_p
        self._lib.softcuda_fault_hits.restype = ctypes.c_uint64
        self._lib.softcuda_call_count.restype = ctypes.c_int64
        self._lib.softcuda_live.restype = ctypes.c_int64
        self._lib.softcuda_check_count.restype = ctypes.c_size_t
        self._lib.softcuda_check_report.restype = ctypes.c_char_p
        self._lib.softcuda_check_report.argtypes = [ctypes.c_size_t]

    def fault(self, text: str) -> None:
        """Has calls fail from now on: "cuMemAlloc*#1=2; cuGraphInstantiate*=801", as in SOFTCUDA_FAULT."""
        if self._lib.softcuda_fault_set(text.encode()):
            raise ValueError(self._lib.softcuda_message().decode())

    @property
    def hits(self) -> int:
        """How many calls have failed by `fault`."""
        return int(self._lib.softcuda_fault_hits())

    def calls(self, name: str) -> int:
        """How many calls of a function of the driver there were in this test."""
        count = int(self._lib.softcuda_call_count(name.encode()))
        if count < 0:
            raise ValueError(self._lib.softcuda_message().decode())
        return count

    def live(self, kind: str) -> int:
        """How many objects of a kind live, such as "stream"."""
        count = int(self._lib.softcuda_live(kind.encode()))
        if count < 0:
            raise ValueError(self._lib.softcuda_message().decode())
        return count


    def reports(self) -> List[str]:
        """What the checks have found since the last time, once the test has waited for its work."""
        count = int(self._lib.softcuda_check_count())
        texts = [self._lib.softcuda_check_report(number).decode() for number in range(count)]
        self._lib.softcuda_check_reset()
        return texts


@pytest.fixture(autouse=True)
def _softcuda_check(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --softcuda-check: a test in which something was found has an error at its end."""
    if not request.config.getoption("--softcuda-check"):
        yield
        return
    import cushim

    info = cushim.Driver().info
    if info.kind != cushim.DriverKind.SOFTWARE:
        pytest.fail("--softcuda-check: the driver is not softcuda: run with --softcuda 13.0", pytrace=False)
    controls = Softcuda(info.path)
    controls.reports()  # of what ran before
    yield
    found = controls.reports()
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.fixture(scope="session")
def cushim_driver() -> cushim.Driver:
    """The driver that the environment, or --softcuda, names."""
    import cushim

    return cushim.Driver()


@pytest.fixture(scope="session")
def cushim_device(cushim_driver: cushim.Driver) -> cushim.Device:
    """The first device."""
    if not cushim_driver.devices:
        pytest.skip("the driver has no device")
    return cushim_driver.device(0)


@pytest.fixture(scope="session")
def cushim_context(cushim_device: cushim.Device) -> cushim.Context:
    """The primary context of the first device."""
    return cushim_device.primary_context()


@pytest.fixture
def cushim_stream(cushim_context: cushim.Context) -> Iterator[cushim.Stream]:
    """A stream, whose work is done before the test ends."""
    with cushim_context.create_stream() as stream:
        yield stream
    stream.synchronize()


@pytest.fixture
def softcuda(cushim_driver: cushim.Driver) -> Iterator[Softcuda]:
    """softcuda's controls; the test is skipped on another driver."""
    import cushim

    info = cushim_driver.info
    if info.kind != cushim.DriverKind.SOFTWARE:
        pytest.skip("the driver is not softcuda: run with --softcuda 13.0")
    controls = Softcuda(info.path)
    controls._lib.softcuda_calls_reset()
    yield controls
    controls._lib.softcuda_fault_clear()
