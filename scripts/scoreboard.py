#!/usr/bin/env python3
"""Runs public test suites of GPU projects under softcuda-run, without a GPU, and counts what passed, failed by cause, and was skipped."""

import argparse
import collections
import contextlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scoreboard.md"
PLUGIN = ROOT / "scripts" / "scoreboard_pytest.py"
BEGIN, END = "<!-- begin of what scripts/scoreboard.py writes -->\n", "<!-- end -->\n"

# What fixtures of a suite's own test runner would do, where its package has the tests alone.
NUMBA_FIXTURES = """import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
"""

# What PyCUDA is built with: the toolkit that pip installs.
PYCUDA_CONFIGURATION = """CUDA_ROOT = {toolkit!r}
CUDA_INC_DIR = [{toolkit!r} + "/include"]
CURAND_LIB_DIR = [{toolkit!r} + "/lib"]
CURAND_LIBNAME = [":libcurand.so.10"]
LDFLAGS = ["-Wl,-rpath," + {toolkit!r} + "/lib"]
"""

# Numba looks for a toolkit as NVIDIA's installer leaves it, under other names than those in pip's packages: what each is a link to.
NUMBA_TOOLKIT = {
    "nvvm/lib64/libnvvm.so.4": "cuda_nvcc/nvvm/lib64/libnvvm.so",
    "nvvm/libdevice": "cuda_nvcc/nvvm/libdevice",
    "include": "cuda_runtime/include",
    "lib64/libcudart.so.12": "cuda_runtime/lib/libcudart.so.12",
    "lib64/libnvrtc.so.12": "cuda_nvrtc/lib/libnvrtc.so.12",
    "lib64/libnvrtc-builtins.so.12.4": "cuda_nvrtc/lib/libnvrtc-builtins.so.12.4",
}

# Each suite: what pip installs, whose versions are written down, what pytest runs, and where tests are if they come with the package. Of some the
# tests are in the source distribution alone; "configuration" is the file that says how one is built from it. "environment" has variables, in which
# {packages} is where pip installs, and {toolkit} what "toolkit" lists; "cuda" the version of a project that does not run with the newest.
SUITES = {
    "numba-cuda": {
        "packages": ["numba-cuda[cu12]", "numba", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-cccl-cu12", "filecheck", "psutil", "cffi", "ml_dtypes", "scipy",
                     "pytest-benchmark"],
        "versions": ["numba-cuda", "numba", "cuda-core", "nvidia-cuda-nvrtc-cu12"],
        "tests": ["--pyargs", "numba.cuda.tests"],
        "fixtures": NUMBA_FIXTURES,
        # A test of it reads one element too many, which a GPU does not notice.
        "options": ["--bounds", "allocation"],
    },
    "numba": {
        # Its own CUDA target, which has been numba-cuda since: up to CUDA 12.4, by libNVVM, and the driver by ctypes.
        "packages": ["numba==0.61.*", "nvidia-cuda-nvcc-cu12==12.4.*", "nvidia-cuda-nvrtc-cu12==12.4.*", "nvidia-cuda-runtime-cu12==12.4.*",
                     "cffi", "psutil", "scipy"],
        "versions": ["numba", "llvmlite", "nvidia-cuda-nvcc-cu12"],
        "cuda": "12.4",
        "toolkit": NUMBA_TOOLKIT,
        "environment": {"CUDA_HOME": "{toolkit}"},
        "tests": ["--pyargs", "numba.cuda.tests"],
        "options": ["--bounds", "allocation"],
    },
    "cuda.core": {
        "packages": ["cuda-core[cu12]", "cuda-bindings<13", "cffi", "ml_dtypes", "psutil"],
        "versions": ["cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc-cu12"],
        "source": "cuda_core/tests of the repository of cuda-python, at the tag of the version that pip installs",
        "options": [],
    },
    "PyCUDA": {
        "packages": ["nvidia-cuda-nvcc==13.0.*", "nvidia-cuda-crt==13.0.*", "nvidia-nvvm==13.0.*", "nvidia-cuda-runtime==13.0.*",
                     "nvidia-cuda-profiler-api==13.0.*", "nvidia-curand==10.4.0.*", "nvidia-cuda-cccl==13.0.*", "numpy", "mako"],
        "distribution": "pycuda",
        "configuration": ("siteconf.py", PYCUDA_CONFIGURATION),
        "versions": ["pycuda", "nvidia-cuda-nvcc", "nvidia-curand", "numpy"],
        "tests": ["test/test_driver.py", "test/test_cumath.py", "test/test_gpuarray.py"],
        # Elements beyond the last one are read there, too.
        "options": ["--bounds", "allocation"],
    },
    "tinygrad": {
        "packages": ["tinygrad", "nvidia-cuda-nvrtc==13.0.*", "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cccl==13.0.*", "nvidia-cuda-crt==13.0.*"],
        "distribution": "tinygrad",
        "versions": ["tinygrad", "nvidia-cuda-nvrtc"],
        "environment": {"DEV": "CUDA", "LD_LIBRARY_PATH": "{packages}/nvidia/cu13/lib", "CUDA_PATH": "{packages}/nvidia/cu13"},
        "tests": ["test/test_tiny.py"],
        "options": [],
    },
}

LIMIT = "takes longer than the limit of a test"

# What a failure says, and its cause in words; the first that matches counts.
CAUSES = [
    (LIMIT, LIMIT),
    (r"fixture '(r|ary)' not found", "no test but a kernel: pytest takes it for one by its name"),
    (r"CUDAAndCPUCachingTest", "Numba and numba-cuda stamp the index of their caches in two ways, and each takes the other's for old; no driver is asked"),
    (r"CUipcMemHandle' object has no attribute", "asks cuda-bindings for an attribute that it has no more, before the driver"),
    (r"libcudadevrt.a. not found", "kernels that start kernels: their library (libcudadevrt) is not where PyCUDA looks"),
    (r"libcudart|cudaRuntime|CUDA runtime", "asks for the CUDA runtime"),
    (r"NO_BINARY_FOR_GPU", "machine code without PTX (a library of NVIDIA's that is linked)"),
    (r"NVRTC_ERROR_COMPILATION", "NVRTC does not compile it: a header that is not installed"),
    (r"INVALID_PTX|PTX JIT compilation failed", "PTX that softcuda does not execute, or that lacks a function"),
    (r"NOT_SUPPORTED", "a call that softcuda answers with CUDA_ERROR_NOT_SUPPORTED"),
    (r"ModuleNotFoundError|No module named|torch|cupy|fixture '", "needs a package that was not installed"),
    (r"ptxas|nvdisasm|cuobjdump|SASS", "looks into machine code"),
]


class Failure(Exception):
    """What is wrong, in words for people."""


def run(*command, **options):
    try:
        return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, **options).stdout
    except FileNotFoundError:
        raise Failure(f"needs {command[0]}") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"{' '.join(map(str, command))} ended with {error.returncode}") from None


def cause(text):
    return next((words for pattern, words in CAUSES if re.search(pattern, text)), None)


def read(record):
    """The counts of a record that pytest has left, the tests that failed by their cause, and failures without a known one."""
    counts, causes, unknown = collections.Counter(), collections.defaultdict(list), []
    for line in lines_of(record):
        if "outcome" not in line:
            continue
        counts[line["outcome"]] += 1
        if line["outcome"] == "failed":
            found = cause(f"{line['test']} {line['text']}")
            causes[found or "not known yet"].append(line["test"])
            if not found:
                unknown.append((line["test"], line["text"].strip().split("\n")[-1][:160]))
    return counts, causes, unknown


def lines_of(record):
    """What the plugin and run_tests have written into a record."""
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def install(name, venv, arguments):
    """An environment with the packages of a suite."""
    suite = SUITES[name]
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin/pip", "install", "-q", "pytest>=9", *suite["packages"])
    if "distribution" in suite:
        unpack(venv, suite["distribution"])
    if "configuration" in suite:
        build(name, venv, arguments)
    link_toolkit(name, venv)


def link_toolkit(name, venv):
    """What a suite looks for as parts of a toolkit, where it looks."""
    for link, target in SUITES[name].get("toolkit", {}).items():
        link = venv / "toolkit" / link
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(packages_of(venv) / "nvidia" / target)


def packages_of(venv):
    """Where pip installs."""
    return next(venv.glob("lib/python3*/site-packages"))


def toolkit_of(venv):
    """Where pip installs the parts of a CUDA toolkit, of version 13 and later."""
    return next(packages_of(venv).glob("nvidia/cu1*"), None)


def environment_of(name, venv, **others):
    toolkit = toolkit_of(venv)
    path = [f"{toolkit}/bin"] if toolkit else []
    own = {variable: value.format(packages=packages_of(venv), toolkit=venv / "toolkit")
           for variable, value in SUITES[name].get("environment", {}).items()}
    return {**os.environ, "PATH": os.pathsep.join([*path, os.environ["PATH"]]), **own, **others}


def unpack(venv, project):
    """The source distribution of a project, which is left for its tests."""
    run(venv / "bin/pip", "download", "-q", "--no-deps", "--no-binary", project, "--dest", venv, project)
    shutil.unpack_archive(next(venv.glob(f"{project}-*.tar.gz")), venv / "sources")


def sources_of(venv):
    return next((venv / "sources").iterdir())


def build(name, venv, arguments):
    """Builds a project, which links with the driver, from its source distribution."""
    file, text = SUITES[name]["configuration"]
    (sources_of(venv) / file).write_text(text.format(toolkit=str(toolkit_of(venv))))
    run(arguments.run, "--cuda", arguments.cuda, venv / "bin/pip", "install", "-q", sources_of(venv), env=environment_of(name, venv))


def tests_of(name, venv, arguments):
    """The tests of a suite, as words for pytest."""
    suite = SUITES[name]
    if "distribution" in suite:
        return [sources_of(venv) / test for test in suite["tests"]]
    return suite.get("tests") or [Path(arguments.sources[name]).resolve()]


def options_of(name, arguments):
    """What softcuda-run is told of the driver."""
    return ["--cuda", SUITES[name].get("cuda", arguments.cuda), *SUITES[name]["options"]]


def file_of(name, folder, arguments, suffix):
    """What a run leaves; one with checks does not replace what one without has left."""
    return folder / ".".join([name, *([arguments.check] if arguments.check else []), suffix])


def checks_of(name, folder, arguments):
    """What softcuda-run is told to look for, and where it writes what it finds."""
    if not arguments.check:
        return []
    log = file_of(name, folder, arguments, "reports")
    log.unlink(missing_ok=True)
    return ["--check", arguments.check, "--check-log", log]


def reports_of(name, folder, arguments):
    """How many reports of the checks there are, as a line."""
    log = file_of(name, folder, arguments, "reports")
    count = len(log.read_text().splitlines()) if log.exists() else 0
    return f"`--check {arguments.check}`: {count} reports" + (f", in {log}" if count else "") + "\n"


def measure(name, folder, arguments):
    """Runs a suite, or finds what a run has left; what is written of it."""
    venv, record = folder / name, file_of(name, folder, arguments, "results")
    if not arguments.counted:
        if not (venv / "bin/python").exists():
            install(name, venv, arguments)
        run_suite(name, folder, arguments)
    elif not record.exists():
        raise Failure(f"there is no {record}")
    return table(name, venv, record, arguments) + (reports_of(name, folder, arguments) if arguments.check else "")


def run_suite(name, folder, arguments):
    """Runs the tests of a suite, in a folder of their own."""
    venv, record, said = folder / name, file_of(name, folder, arguments, "results"), file_of(name, folder, arguments, "log")
    record.unlink(missing_ok=True)
    place = Path(tempfile.mkdtemp(prefix="scoreboard."))
    try:
        (place / "pytest.ini").write_text("[pytest]\nconsider_namespace_packages = true\n")
        (place / "scoreboard_fixtures.py").write_text(SUITES[name].get("fixtures", ""))
        shutil.copy(PLUGIN, place)
        command = [arguments.run, *options_of(name, arguments), *checks_of(name, folder, arguments), *pytest_of(name, venv, arguments)]
        environment = environment_of(name, venv, PYTHONPATH=str(place), SCOREBOARD_RECORD=str(record))
        with open(said, "w") as log:
            if not run_tests(command, record, arguments.limit, cwd=place, env=environment, stdout=log, stderr=subprocess.STDOUT):
                raise Failure(f"the suite {name} did not run to its end: {said} has what it said")
    finally:
        shutil.rmtree(place)


def pytest_of(name, venv, arguments):
    """The command that runs the tests of a suite."""
    command = [venv / "bin/python", "-m", "pytest", "-q", "-p", "scoreboard_pytest", "-p", "scoreboard_fixtures", "-p", "no:cacheprovider",
               *limited(arguments.limit)]
    return command + [*(["-c", "pytest.ini"] if SUITES[name].get("tests") else []), *tests_of(name, venv, arguments)]


def limited(seconds):
    """As words for pytest: a test that takes longer ends the process. One that waits for a kernel cannot be interrupted."""
    return ["-o", f"faulthandler_timeout={seconds}", "-o", "faulthandler_exit_on_timeout=true"]


def run_tests(command, record, limit, **options):
    """Runs pytest until every test is in the record: again without those that have begun, whenever a test ends its process. Whether it did."""
    while True:
        began = time.time()
        status = run_process(command, **options)
        ended = time.time()
        lines = lines_of(record)
        with open(record, "a") as file:
            print(json.dumps({"process": status, "began": began, "seconds": ended - began}), file=file)
            if lines and "session" in lines[-1]:
                # 5: no test is left.
                return lines[-1]["session"] in (0, 1, 5)
            if not lines or "begins" not in lines[-1]:
                return False
            took = ended - lines[-1]["begins"]
            text = LIMIT if took > limit else f"the process ended with {status}"
            print(json.dumps({"test": lines[-1]["test"], "outcome": "failed", "text": text, "seconds": took}), file=file)


def run_process(command, **options):
    """Runs a command, and ends what it leaves behind; its status."""
    with subprocess.Popen([str(word) for word in command], preexec_fn=os.setpgrp, **options) as process:
        try:
            return process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def took(record):
    """The day on which a suite was run, and how long it took."""
    processes = [line for line in lines_of(record) if "process" in line]
    seconds = sum(line["seconds"] for line in processes)
    day = time.strftime("%Y-%m-%d", time.localtime(processes[0]["began"]))
    return day, f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def table(name, venv, record, arguments):
    """What is written of a suite."""
    suite, (counts, causes, unknown) = SUITES[name], read(record)
    list_of = run(venv / "bin/pip", "list", "--format=freeze", "--disable-pip-version-check").splitlines()
    versions = [line.replace("==", " ") for line in list_of if line.split("==")[0] in suite["versions"]]
    options = " ".join(options_of(name, arguments))
    lines = [f"### {name}", "",
             f"{', '.join(versions)}; Python {platform.python_version()}; `softcuda-run {options}`; {', '.join(took(record))}", "",
             "| passed | failed | skipped |", "|--:|--:|--:|", f"| {counts['passed']:,} | {counts['failed']:,} | {counts['skipped']:,} |", ""]
    if causes:
        lines += ["| failed | because |", "|--:|---|", *map(row, sorted(causes.items(), key=lambda item: -len(item[1]))), ""]
    for test, says in unknown:
        print(f"scoreboard: {name}: no known cause: {test}: {says}", file=sys.stderr)
    return "\n".join(lines) + "\n"


def row(item):
    """A cause, and how many failed for it; which, if another machine may not agree."""
    words, tests = item
    names = ": " + ", ".join(f"`{test.split('::')[-1]}`" for test in tests) if words == LIMIT else ""
    return f"| {len(tests):,} | {words}{names} |"


def sections(text):
    """The part of each suite."""
    parts = re.split(r"(?m)^### (.*)\n", text)
    return {name: f"### {name}\n{body}" for name, body in zip(parts[1::2], parts[2::2])}


def write(new):
    before, rest = PAGE.read_text().split(BEGIN)
    old, after = rest.split(END)
    known = {**sections(old), **new}
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(known[name].rstrip("\n") + "\n" for name in SUITES if name in known) + "\n" + END + after)


def origin_of(suite):
    """Where its tests are, in words."""
    return suite.get("source") or f"comes with its {'source distribution' if 'distribution' in suite else 'package'}"


def main():
    parser = argparse.ArgumentParser(
        usage="scripts/scoreboard.py [--suite NAME]... [--source NAME=FOLDER]... [--run FILE] [--cuda VERSION] [--check LIST] "
        "[--limit SECONDS] [--counted] [--write] FOLDER",
        formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__ + "\n\nSuites:\n" + "".join(
            f"  {name:<12} {origin_of(suite)}\n" for name, suite in SUITES.items()),
        epilog="Exit status: 0 the suites ran; 1 one did not; 2 wrong usage; 69 something is missing.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where packages are installed, once, and reports are left")
    parser.add_argument("--suite", metavar="NAME", action="append", help="one of the suites; may be repeated (default: all that are there)")
    parser.add_argument("--source", metavar="NAME=FOLDER", action="append", default=[], help="the tests of a suite that does not come with its package")
    parser.add_argument("--run", metavar="FILE", default="softcuda-run", help="the program softcuda-run (default: that in PATH)")
    parser.add_argument("--cuda", metavar="VERSION", default="13.0",
                        help="the version of CUDA that the driver supports, unless a suite needs another (default: %(default)s)")
    parser.add_argument("--check", metavar="LIST", help="let softcuda look for races and the like, and count its reports; not with --write")
    parser.add_argument("--limit", metavar="SECONDS", type=int, default=600, help="how long a test may take (default: %(default)s)")
    parser.add_argument("--counted", action="store_true", help="run nothing: count what FOLDER has from before")
    parser.add_argument("--write", action="store_true", help="write the results into docs/scoreboard.md")
    arguments = parser.parse_args()
    arguments.sources = dict(source.partition("=")[::2] for source in arguments.source)
    names = arguments.suite or [name for name in SUITES if SUITES[name].get("tests") or name in arguments.sources]
    if arguments.check and arguments.write:
        parser.error("--check is for a run of its own")
    for name in names:
        if name not in SUITES:
            parser.error(f"there is no suite {name}; there are {', '.join(SUITES)}")
        if not SUITES[name].get("tests") and name not in arguments.sources:
            parser.error(f"the tests of {name} are {SUITES[name]['source']}: say where by --source {name}=FOLDER")
    found = shutil.which(arguments.run)
    # The tests run in a folder of their own.
    arguments.run = found and os.path.abspath(found)
    if not (arguments.run or arguments.counted):
        print("scoreboard: needs softcuda-run; install it, or name it by --run", file=sys.stderr)
        return 69
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results, status = {}, 0
    for name in names:
        try:
            results[name] = measure(name, arguments.folder.resolve(), arguments)
            print(results[name], end="", flush=True)
        except Failure as failure:
            print(f"scoreboard: {failure}", file=sys.stderr)
            status = 1
    if arguments.write:
        write(results)
    return status


if __name__ == "__main__":
    sys.exit(main())
