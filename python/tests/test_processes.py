"""Pools, buffers and events of another process."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys

import cushim
import pytest

CHILD = """
import sys
import cushim

pool, buffer, event, plain = (bytes.fromhex(text) for text in sys.argv[1:5])
device = cushim.Driver().device(0)
context = device.primary_context()
stream = context.create_stream()
done = context.import_event(event)
imported = device.import_pool(pool, int(sys.argv[5]))
stream.wait(done)
back = bytearray(64)
stream.copy(back, imported.import_buffer(stream, buffer))
opened = context.open_buffer(plain)
stream.fill(opened, 9)
stream.synchronize()
print(set(back))
"""


def test_another_process_has_the_memory(context, device, stream):
    pool = device.create_pool(handle_types=1)
    buffer, event = pool.allocate(stream, 64), context.create_event(interprocess=True)
    plain = context.create_device_resource().allocate(None, 64)
    stream.fill(buffer, 7)
    event.record(stream)
    stream.synchronize()
    descriptor, file = pool.export()
    texts = [part.hex() for part in (descriptor, buffer.export(), event.export(), plain.export())]
    path = os.pathsep.join(filter(None, (os.path.dirname(os.path.dirname(cushim.__file__)), os.environ.get("PYTHONPATH"))))
    child = subprocess.run([sys.executable, "-c", CHILD, *texts, str(file)], pass_fds=[file], capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": path}, timeout=120)
    os.close(file)
    assert child.returncode == 0 and child.stdout == "{7}\n", child.stderr
    back = bytearray(64)
    context.copy(back, plain)
    assert set(back) == {9}


def test_what_is_no_descriptor_is_refused(context, device, stream):
    event = context.create_event(interprocess=True)
    with pytest.raises(ValueError):
        context.import_event(event.export())  # of this process
    for wrong in (b"", b"x" * 160, event.export()[:20]):
        for call in (context.import_event, context.open_buffer, lambda it: device.import_pool(it, 0)):
            with pytest.raises(ValueError):
                call(wrong)
    with pytest.raises(cushim.CushimError):
        context.create_event().export()
    with pytest.raises(cushim.CushimError):
        device.create_pool().export()


def first_bytes_of(parts, allocation, pool, answers):
    """In another process: what it finds in memory that was sent to it, and a byte of its own."""
    device = cushim.Driver().device(0)
    with device.primary_context() as context, context.create_stream() as stream:
        space = device.create_virtual_resource()
        found = [space.import_parts(stream, parts), space.import_parts(None, [allocation])]
        device.import_pool(*pool).close()
        size = device.import_allocation(*parts[1]).size
        back = bytearray(2)
        for i, buffer in enumerate(found):
            stream.copy(memoryview(back)[i : i + 1], buffer[0:1])
        stream.fill(found[0], 9)
        stream.synchronize()
        for exported in (*parts, allocation, pool):
            os.close(exported.file)
        answers.put((bytes(back), len(found[0]), size))


def test_virtual_memory_is_sent_by_multiprocessing(context, device, stream):
    space = device.create_virtual_resource(shareable=1)
    first = space.allocate(stream, 1)
    buffer, unit = first.grow(2 * len(first)), len(first)
    alone, pool = device.create_allocation(1, shareable=1), device.create_pool(handle_types=1)
    assert buffer.part_count == 2
    stream.fill(buffer, 7)
    stream.synchronize()
    parts, allocation, exported = buffer.export_parts(), alone.export(), pool.export()
    method = multiprocessing.get_context("spawn")
    answers = method.Queue()
    child = method.Process(target=first_bytes_of, args=(parts, allocation, exported, answers))
    child.start()
    found, size, part = answers.get(timeout=100)
    child.join()
    for one in (*parts, allocation, exported):
        os.close(one.file)
    assert (found[0], size, part, child.exitcode) == (7, 2 * unit, unit, 0)
    back = bytearray(1)
    stream.copy(back, buffer[0:1])
    stream.synchronize()
    assert back[0] == 9


def test_what_stays_in_its_process_is_not_pickled(context, device, stream):
    for one in (device.allocate(stream, 64), device.create_pool(), context.create_event(), stream):
        for attempt in (pickle.dumps, copy.copy):
            with pytest.raises(TypeError, match="belongs to its process"):
                attempt(one)
    with pytest.raises(cushim.CushimError):
        device.create_virtual_resource().allocate(None, 1).export_parts()
    with pytest.raises(ValueError):
        device.create_virtual_resource().import_parts(None, [(b"x" * 160, 0)])
