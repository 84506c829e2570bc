"""Functions that are called, and the ends of the process."""

import asyncio
import gc
import os
import select
import subprocess
import sys
import threading
import weakref

import cushim
import pytest


def test_a_function_is_called_by_who_drains(stream):
    calls = []
    stream.add_callback(lambda *given: calls.append((given, threading.get_ident())), 1, 2)
    stream.synchronize()
    assert not calls
    assert cushim.drain() == 1
    assert calls == [((1, 2), threading.get_ident())]
    assert cushim.drain() == 0


def test_an_exception_leaves_the_others_due(stream):
    calls = []
    stream.add_callback(lambda: 1 / 0)
    stream.add_callback(calls.append, 5)
    stream.synchronize()
    with pytest.raises(ZeroDivisionError):
        cushim.drain()
    assert not calls
    cushim.drain()
    assert calls == [5]


def test_a_function_goes_when_it_was_called(stream):
    class Function:
        def __call__(self):
            pass

    function = Function()
    gone = weakref.ref(function)
    stream.add_callback(function)
    del function
    stream.synchronize()
    assert cushim.flush(10)
    cushim.drain()
    gc.collect()
    assert gone() is None


def test_a_function_of_a_graph_is_called_at_each_launch(context, stream):
    calls = []
    graph = context.create_graph()
    graph.add_callback(calls.append, 1)
    exec = graph.instantiate()
    for _ in range(3):
        exec.launch(stream)
    stream.synchronize()
    cushim.drain()
    assert calls == [1, 1, 1]


def test_what_is_lent_does_not_pile_up(device, stream):
    from cushim import _callbacks

    buffer, memory = device.allocate(stream, 8), bytes(8)
    for _ in range(1000):
        stream.copy(buffer, memory)
    stream.synchronize()
    assert cushim.flush(10)
    assert len(_callbacks._lent) < 100


@pytest.mark.skipif(os.name == "nt", reason="no descriptor there")
def test_asyncio(context, device, stream):
    calls = []

    async def wait():
        buffer = device.allocate(stream, 1 << 16)
        event = context.create_event()
        for i in range(20):
            stream.fill(buffer, i)
            event.record(stream)
            await asyncio.gather(stream.synchronize_async(), event.synchronize_async())
            assert event.query()
        stream.add_callback(calls.append, 1)
        await stream.synchronize_async()

    asyncio.run(wait())
    asyncio.run(wait())
    assert calls == [1, 1]


@pytest.mark.skipif(os.name == "nt", reason="no descriptor there")
def test_select(stream):
    cushim.drain()
    descriptor, calls = cushim.drain_fd(), []
    stream.add_callback(calls.append, 1)
    assert select.select([descriptor], [], [], 10)[0]
    cushim.drain()
    assert calls == [1]


def python(code, **more):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **more})


START = """
import cushim, os, sys, threading
device = cushim.Driver().device(0)
context = device.primary_context()
stream = context.create_stream()
buffer = device.allocate(stream, 64)
"""


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del stream, buffer, context", "sys.keep = stream, buffer"])
def test_python_ends_with_functions_pending(end):
    done = python(START + """
numbers = bytearray(64)
for _ in range(100):
    stream.copy(numbers, buffer)
    stream.add_callback(print, "never")
""" + end)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_a_forked_child_is_told_and_ends():
    done = python(START + """
stream.add_callback(print, "in the parent")
stream.synchronize()
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork of a process with threads
child = os.fork()
if child == 0:
    try:
        stream.synchronize()
    except cushim.Forked as error:
        print(type(error).__name__, flush=True)
    del buffer
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
cushim.drain()
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Forked\nin the parent\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_workers_that_are_forked_before_the_driver_is_opened():
    done = python("""
import cushim, multiprocessing
def work(n):
    stream = cushim.Driver().device(0).primary_context().create_stream()
    buffer, back = stream.context.device.allocate(stream, 4), bytearray(4)
    stream.fill(buffer, n)
    stream.copy(back, buffer)
    stream.synchronize()
    return back[0]
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(6)))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 2, 3, 4, 5]\n", "")


def test_threads_that_still_work_when_python_ends():
    done = python(START + """
def work():
    while True:
        stream.fill(buffer, 1)
        stream.synchronize()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_a_library_it_says_so():
    done = python("import cushim", CUSHIM_LIBRARY="/nowhere/libcushim.so")
    assert done.returncode == 1 and "CUSHIM_LIBRARY" in done.stderr and "/nowhere/libcushim.so" in done.stderr
