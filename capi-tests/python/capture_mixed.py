"""Work of cushim and of another library in one capture of one stream, whoever began it, launched again and again.

usage: capture_mixed.py LIBCUSHIM [DRIVER]

The other libraries are CuPy and PyTorch, where they are installed, and plain calls of the driver, which DRIVER names (default:
libcuda.so.1). Prints one line for each and exits with 0 unless one of them fails.
"""

import ctypes
import sys

COUNT = 1024
BYTES = COUNT * 4
DEVICE, BUFFER = 2, 5  # cushim_endpoint_kind
GLOBAL = 2  # CUSHIM_CAPTURE_GLOBAL

lib = ctypes.CDLL(sys.argv[1])
lib.cushim_last_error_message.restype = ctypes.c_char_p
lib.cushim_builder_stream.restype = ctypes.c_void_p
lib.cushim_builder_stream.argtypes = [ctypes.c_void_p]


class Place(ctypes.Structure):
    """cushim_endpoint."""

    _fields_ = [("kind", ctypes.c_int32), ("flags", ctypes.c_uint32), ("address", ctypes.c_uint64),
                ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("owner", ctypes.c_void_p)]


class BuilderOptions(ctypes.Structure):
    """cushim_builder_options."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("mode", ctypes.c_int32), ("reserved", ctypes.c_uint32)]


def check(status):
    if status != 0:
        raise RuntimeError(f"{status}: {lib.cushim_last_error_message().decode()}")


def made(function, *arguments):
    handle = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(handle)))
    return handle


class Plain:
    """Calls of the driver, as a library makes them that knows nothing of cushim."""

    name = "driver"

    def __init__(self):
        self.cu = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libcuda.so.1")
        context = ctypes.c_void_p()
        check(lib.cushim_context_native(primary, ctypes.byref(context)))
        self.call("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ADD)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"add")

    def call(self, name, *arguments):
        result = getattr(self.cu, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: {result}")

    def native(self):
        return self.stream.value

    def numbers(self):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(BYTES))
        return pointer.value

    def address(self, numbers):
        return numbers

    def set(self, numbers, value):
        self.call("cuMemsetD32Async", ctypes.c_uint64(numbers), value, ctypes.c_size_t(COUNT), self.stream)

    def add(self, to, value):
        values = [ctypes.c_uint64(to), ctypes.c_uint64(value)]
        pointers = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.pointer(it), ctypes.c_void_p) for it in values))
        self.call("cuLaunchKernel", self.function, COUNT // 256, 1, 1, 256, 1, 1, 0, self.stream, pointers, None)

    def read(self, numbers):
        values = (ctypes.c_int32 * COUNT)()
        self.call("cuStreamSynchronize", self.stream)
        self.call("cuMemcpyDtoH_v2", values, ctypes.c_uint64(numbers), ctypes.c_size_t(BYTES))
        return list(values)

    def capture(self, work):
        self.call("cuStreamBeginCapture_v2", self.stream, 0)
        work()
        graph, execution = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(execution), graph, ctypes.c_uint64(0))
        self.call("cuGraphDestroy", graph)
        return lambda: self.call("cuGraphLaunch", execution, self.stream)

    def inside(self, work):
        work()


# add(to, from): to[i] += from[i]
ADD = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to, .param .u64 from) {
  .reg .u32 %i, %block, %threads, %a, %b;
  .reg .u64 %to, %from, %offset;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  mul.wide.u32 %offset, %i, 4;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  add.u64 %to, %to, %offset;
  add.u64 %from, %from, %offset;
  ld.global.u32 %a, [%to];
  ld.global.u32 %b, [%from];
  add.u32 %a, %a, %b;
  st.global.u32 [%to], %a;
  ret;
}
"""


class Cupy:
    """CuPy; its capture is begun by its stream."""

    name = "cupy"

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.inside(lambda: self.add(self.numbers(), self.numbers()))  # compiles what the captures launch
        self.inside(lambda: self.set(self.numbers(), 1))
        self.stream.synchronize()

    def native(self):
        return self.stream.ptr

    def numbers(self):
        with self.stream:
            return self.cupy.zeros(COUNT, dtype=self.cupy.int32)

    def address(self, numbers):
        return numbers.data.ptr

    def set(self, numbers, value):
        numbers.fill(value)

    def add(self, to, value):
        self.cupy.add(to, value, out=to)

    def read(self, numbers):
        self.stream.synchronize()
        return numbers.get().tolist()

    def capture(self, work):
        with self.stream:
            self.stream.begin_capture()
            work()
            graph = self.stream.end_capture()
        return lambda: graph.launch(self.stream)

    def inside(self, work):
        with self.stream:
            work()


class Torch:
    """PyTorch; its capture is global, so the driver refuses unsafe calls of every thread."""

    name = "torch"

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch has no GPU")
        self.torch = torch
        self.stream = torch.cuda.Stream()
        self.inside(lambda: self.add(self.numbers(), self.numbers()))
        self.stream.synchronize()

    def native(self):
        return self.stream.cuda_stream

    def numbers(self):
        numbers = self.torch.zeros(COUNT, dtype=self.torch.int32, device="cuda")
        self.torch.cuda.synchronize()
        return numbers

    def address(self, numbers):
        return numbers.data_ptr()

    def set(self, numbers, value):
        numbers.fill_(value)

    def add(self, to, value):
        to.add_(value)

    def read(self, numbers):
        self.stream.synchronize()
        return numbers.cpu().tolist()

    def capture(self, work):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            work()
        return lambda: self.inside(graph.replay)

    def inside(self, work):
        with self.torch.cuda.stream(self.stream):
            work()


def at(address):
    return ctypes.byref(Place(kind=DEVICE, address=address))


class Mixed:
    """Work of both, in turns: each uses what the other has left."""

    def __init__(self, other):
        self.other = other
        self.first, self.second = other.numbers(), other.numbers()
        self.stream = made(lib.cushim_stream_wrap, primary, ctypes.c_void_p(other.native()), 0)
        check(lib.cushim_stream_synchronize(self.stream))
        self.buffer = made(lib.cushim_buffer_create, resource, beside, ctypes.c_size_t(BYTES))
        check(lib.cushim_stream_synchronize(beside))

    def work(self, stream):
        first, second = self.other.address(self.first), self.other.address(self.second)
        kept = Place(kind=BUFFER, address=self.buffer.value)
        bytes_ = ctypes.c_size_t(BYTES)
        self.other.set(self.first, 5)
        check(lib.cushim_stream_copy(stream, ctypes.byref(kept), at(first), bytes_))
        check(lib.cushim_stream_fill(stream, at(second), ctypes.byref(ctypes.c_uint32(7)), ctypes.c_size_t(4), ctypes.c_size_t(COUNT)))
        self.other.add(self.first, self.second)  # 12
        self.disturb()
        check(lib.cushim_stream_copy(stream, at(second), ctypes.byref(kept), bytes_))
        self.other.add(self.second, self.first)  # 17

    def disturb(self):
        """Calls that the driver would refuse beside a capture, and invalidate that. cushim makes them so that it does not."""
        pointer = ctypes.c_uint64()
        check(lib.cushim_context_allocate(primary, ctypes.c_size_t(4096), ctypes.byref(pointer)))
        check(lib.cushim_context_free(primary, pointer))
        check(lib.cushim_stream_synchronize(beside))

    def check_replays(self, replay):
        check(lib.cushim_buffer_destroy(self.buffer))  # the graph keeps it
        for _ in range(3):
            self.other.inside(lambda: self.other.set(self.second, 1))
            replay()
            for numbers, expected in [(self.first, 12), (self.second, 17)]:
                values = self.other.read(numbers)
                assert values == [expected] * COUNT, f"{values[:4]} ..., and not {expected}"
        check(lib.cushim_stream_destroy(self.stream))

    def begun_by_the_other(self):
        self.check_replays(self.other.capture(lambda: self.work(self.stream)))

    def begun_by_cushim(self, mode):
        options = BuilderOptions(struct_size=ctypes.sizeof(BuilderOptions), mode=mode)
        builder = made(lib.cushim_builder_create_on, self.stream, ctypes.byref(options))
        check(lib.cushim_builder_begin(builder))
        stream = ctypes.c_void_p(lib.cushim_builder_stream(builder))
        self.other.inside(lambda: self.work(stream))
        graph = made(lib.cushim_builder_end, builder)
        check(lib.cushim_builder_destroy(builder))
        execution = ctypes.c_void_p()
        check(lib.cushim_exec_create(graph, None, ctypes.byref(execution), None))
        check(lib.cushim_graph_destroy(graph))
        self.check_replays(lambda: check(lib.cushim_exec_launch(execution, self.stream)))
        check(lib.cushim_exec_destroy(execution))


def run(kind):
    try:
        other = kind()
    except ImportError as missing:
        print(f"capture_mixed {kind.name}: skipped, {missing}")
        return True
    try:
        Mixed(other).begun_by_the_other()
        for mode in (0, GLOBAL):
            Mixed(other).begun_by_cushim(mode)
    except (RuntimeError, AssertionError) as failure:
        print(f"capture_mixed {kind.name}: FAILED, {failure}")
        return False
    print(f"capture_mixed {kind.name}: ok")
    return True


driver = made(lib.cushim_driver_open, None)
device = made(lib.cushim_driver_get_device, driver, 0)
primary = made(lib.cushim_context_retain_primary, device)
beside = made(lib.cushim_stream_create, primary, None)
resource = made(lib.cushim_device_get_resource, device)
results = [run(kind) for kind in (Plain, Cupy, Torch)]
sys.exit(0 if all(results) else 1)
