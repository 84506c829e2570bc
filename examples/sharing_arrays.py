"""Arrays of other libraries in memory of two processes: one fills it with cushim and the other reads and changes it with CuPy, PyTorch
or NumPy; then the other way round.

    python3 examples/sharing_arrays.py [numpy | cupy | torch] ...

The process that has the memory exports its pool, the memory and an event. The bytes go over a Unix socket, and with them the file
descriptor of the pool (SCM_RIGHTS). The event says when the memory is filled: the other process's work waits for it on the GPU. CuPy and
PyTorch use memory of the device, NumPy page-locked memory, of which there are pools since CUDA 13.0.
"""

import array
import importlib
import os
import socket
import subprocess
import sys

import cushim

COUNT = 1 << 16
SUM = COUNT * (COUNT - 1) // 2


class Cushim:
    """What cushim does itself: it copies."""

    def __init__(self, stream, buffer):
        self.stream, self.buffer = stream, buffer

    def fill(self):
        """The numbers from 0 on, in stream order."""
        self.stream.copy(self.buffer, array.array("i", range(COUNT)))

    def add_one(self):
        numbers = self.numbers()
        self.stream.copy(self.buffer, array.array("i", (number + 1 for number in numbers)))

    def total(self):
        return sum(self.numbers())

    def numbers(self):
        numbers = array.array("i", bytes(4 * COUNT))
        self.stream.copy(numbers, self.buffer)
        self.stream.synchronize()
        return numbers


class OfCuPy:
    def __init__(self, stream, buffer):
        self.cupy = importlib.import_module("cupy")
        self.stream = self.cupy.cuda.ExternalStream(stream.native)
        with self.stream:
            self.array = self.cupy.asarray(buffer.view("int32"))

    def fill(self):
        with self.stream:
            self.array[:] = self.cupy.arange(COUNT, dtype="int32")

    def add_one(self):
        with self.stream:
            self.array += 1

    def total(self):
        with self.stream:
            return int(self.array.sum(dtype="int64"))


class OfTorch:
    def __init__(self, stream, buffer):
        self.torch = importlib.import_module("torch")
        self.stream = self.torch.cuda.ExternalStream(stream.native)
        self.array = self.torch.as_tensor(buffer.view("int32"), device="cuda")

    def fill(self):
        with self.torch.cuda.stream(self.stream):
            self.array.copy_(self.torch.arange(COUNT, dtype=self.torch.int32, device="cuda"))

    def add_one(self):
        with self.torch.cuda.stream(self.stream):
            self.array.add_(1)

    def total(self):
        with self.torch.cuda.stream(self.stream):
            return int(self.array.sum(dtype=self.torch.int64))


class OfNumPy:
    """On the host: what it does comes after the work that is in the stream."""

    def __init__(self, stream, buffer):
        self.stream = stream
        stream.synchronize()
        self.numpy = importlib.import_module("numpy")
        self.array = self.numpy.from_dlpack(buffer.view("int32"))

    def fill(self):
        self.stream.synchronize()
        self.array[:] = self.numpy.arange(COUNT, dtype="int32")

    def add_one(self):
        self.stream.synchronize()
        self.array += 1

    def total(self):
        self.stream.synchronize()
        return int(self.array.sum(dtype="int64"))


LIBRARIES = {"cushim": Cushim, "cupy": OfCuPy, "torch": OfTorch, "numpy": OfNumPy}


def has(peer, library, is_on_host):
    """The process that has the memory, and fills it."""
    device = cushim.Driver().device(0)
    with device.primary_context() as context, context.create_stream() as stream:
        filled = context.create_event(interprocess=True)
        pool = context.create_pinned_resource(handle_types=1) if is_on_host else device.create_pool(handle_types=1)
        buffer = pool.allocate(stream, 4 * COUNT)
        array = LIBRARIES[library](stream, buffer)
        array.fill()
        filled.record(stream)
        descriptor, file = pool.export()
        socket.send_fds(peer, [descriptor + buffer.export() + filled.export()], [file])
        os.close(file)
        assert peer.recv(8) == b"done", "the other process has failed"
        assert array.total() == SUM + COUNT, array.total()


def gets(peer, library, _):
    """The process that gets the memory, and adds one to each number."""
    device = cushim.Driver().device(0)
    sent, files, _, _ = socket.recv_fds(peer, 1 << 12, 1)
    assert files, "the other process has failed"
    pool, memory, event = (sent[at : at + len(sent) // 3] for at in (0, len(sent) // 3, 2 * len(sent) // 3))
    with device.primary_context() as context, context.create_stream() as stream:
        imported = device.import_pool(pool, files[0])
        os.close(files[0])
        buffer = imported.import_buffer(stream, memory)
        stream.wait(context.import_event(event))
        array = LIBRARIES[library](stream, buffer)
        assert array.total() == SUM, array.total()
        array.add_one()
        stream.synchronize()
        peer.sendall(b"done")


def in_two_processes(one, other, is_on_host):
    """Both begin anew: a process that is forked cannot use CUDA."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    both = []
    for role, library, end in (("has", one, ends[0]), ("gets", other, ends[1])):
        command = [sys.executable, os.path.abspath(__file__), role, library, str(end.fileno()), str(int(is_on_host))]
        both.append(subprocess.Popen(command, pass_fds=[end.fileno()]))
    for end in ends:
        end.close()
    return [process.wait() for process in both] == [0, 0]


def main(libraries):
    for library in libraries:
        for one, other in (("cushim", library), (library, "cushim")):
            if not in_two_processes(one, other, library == "numpy"):
                sys.exit(f"{one} and {other}: failed")
            print(f"{one} filled the memory, {other} has read {SUM} and added one to each number")


if __name__ == "__main__":
    if sys.argv[1:2] in (["has"], ["gets"]):
        role, library, end, is_on_host = sys.argv[1:]
        {"has": has, "gets": gets}[role](socket.socket(fileno=int(end)), library, is_on_host == "1")
    else:
        main(sys.argv[1:] or ["numpy"])
