"""Pools, buffers and events of another process."""

import os
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
