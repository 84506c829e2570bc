"""Other libraries on one stream with cushim, and on memory of each other: CuPy, PyTorch, numba and cuda.core.

They need a GPU, or more of one than softcuda has; `neighbours.py` says when they are skipped.
"""

import gc

import cushim
import pytest
from neighbours import neighbour

numpy = pytest.importorskip("numpy")
COUNT = 1 << 16


@pytest.fixture
def x(device, stream):
    """Floats of cushim's: 1 everywhere."""
    buffer = device.allocate(stream, 4 * COUNT)
    stream.copy(buffer, numpy.ones(COUNT, numpy.float32))
    stream.synchronize()
    return buffer


def read(stream, what):
    back = numpy.zeros(COUNT, numpy.float32)
    stream.copy(back, what)
    stream.synchronize()
    return back


def add(saxpy, stream, y, x, a):
    """y += a * x, by cushim's kernel."""
    saxpy.launch(stream, COUNT // 256, 256, y, x, numpy.int32(COUNT), numpy.float32(a))


class TestCuPy:
    @pytest.fixture
    def cupy(self, context):
        with context:
            yield neighbour("cupy")

    def test_its_work_in_our_stream(self, cupy, stream, x, saxpy):
        theirs = cupy.cuda.ExternalStream(stream.native)
        with theirs:
            y = cupy.asarray(x.view("float32")) * 3
            add(saxpy, stream, y, x, 4)
            y += 1
        assert (read(stream, y) == 8).all()

    def test_our_work_in_its_stream(self, cupy, context, x, saxpy):
        theirs = cupy.cuda.Stream(non_blocking=True)
        ours = context.wrap_stream(theirs.ptr)
        with theirs:
            y = cupy.full(COUNT, 5, cupy.float32)
            add(saxpy, ours, y, x, 2)
            total = float(y.sum())
        assert total == 7 * COUNT

    def test_its_kernel_in_our_capture(self, cupy, context, stream, x):
        view = cupy.asarray(x.view("float32"))
        cupy.add(view, 1, out=view)  # compiled before the capture
        cupy.cuda.Device().synchronize()
        with stream.capture() as capture, cupy.cuda.ExternalStream(stream.native):
            cupy.add(view, 1, out=view)
            cupy.multiply(view, 2, out=view)
        exec = capture.graph.instantiate()
        for _ in range(2):
            exec.launch(stream)
        assert (read(stream, x) == 14).all()  # ((2 + 1) * 2 + 1) * 2

    def test_our_kernel_in_its_capture(self, cupy, context, x, saxpy):
        theirs = cupy.cuda.Stream(non_blocking=True)
        ours = context.wrap_stream(theirs.ptr)
        with theirs:
            y = cupy.zeros(COUNT, cupy.float32)
            theirs.synchronize()
            theirs.begin_capture()
            add(saxpy, ours, y, x, 3)
            graph = theirs.end_capture()
            for _ in range(3):
                graph.launch(theirs)
            theirs.synchronize()
        assert (read(ours, y) == 9).all()

    def test_dlpack_both_ways(self, cupy, driver, stream, x):
        with cupy.cuda.ExternalStream(stream.native):
            y = cupy.from_dlpack(x.view("float32", (COUNT // 4, 4)))
            assert y.shape == (COUNT // 4, 4) and y.data.ptr == x.pointer
            y *= 6
        back = driver.from_dlpack(y)
        assert back.pointer == x.pointer and back.size == x.size
        stream.copy(x, back)
        del y
        assert (read(stream, back) == 6).all()
        back.close()
        gc.collect()
        assert cushim.flush(10)


class TestTorch:
    @pytest.fixture
    def torch(self, context):
        with context:
            torch = neighbour("torch")
            torch.cuda.init()
            yield torch

    def test_its_work_in_our_stream(self, torch, stream, x, saxpy):
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.native)):
            y = torch.as_tensor(x.view("float32"), device="cuda") * 3
            add(saxpy, stream, y, x, 4)
            y += 1
        assert (read(stream, y) == 8).all()

    def test_our_work_in_its_stream(self, torch, context, x, saxpy):
        theirs = torch.cuda.Stream()
        ours = context.wrap_stream(theirs.cuda_stream)
        with torch.cuda.stream(theirs):
            y = torch.full((COUNT,), 5.0, device="cuda")
            add(saxpy, ours, y, x, 2)
            assert float(y.sum()) == 7 * COUNT

    def test_its_kernel_in_our_capture(self, torch, stream, x):
        view = torch.as_tensor(x.view("float32"), device="cuda")
        view.add_(1)
        torch.cuda.synchronize()
        with stream.capture(mode=cushim.CaptureMode.RELAXED) as capture, torch.cuda.stream(torch.cuda.ExternalStream(stream.native)):
            view.add_(1).mul_(2)
        exec = capture.graph.instantiate()
        for _ in range(2):
            exec.launch(stream)
        assert (read(stream, x) == 14).all()

    def test_our_kernel_in_its_graph(self, torch, context, x, saxpy):
        y = torch.zeros(COUNT, device="cuda")
        graph = torch.cuda.CUDAGraph()
        theirs = torch.cuda.Stream()
        ours = context.wrap_stream(theirs.cuda_stream)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=theirs):
            add(saxpy, ours, y, x, 3)
            y.add_(1)
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert (read(ours, y) == 12).all()

    def test_dlpack_both_ways(self, torch, driver, stream, x):
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.native)):
            y = torch.from_dlpack(x.view("float32", (COUNT // 4, 4)))
            assert tuple(y.shape) == (COUNT // 4, 4) and y.data_ptr() == x.pointer
            y *= 6
        back = driver.from_dlpack(y)
        assert back.pointer == x.pointer and back.size == x.size
        del y
        assert (read(stream, back) == 6).all()
        back.close()
        gc.collect()
        assert cushim.flush(10)


class TestNumba:
    @pytest.fixture
    def cuda(self, context):
        with context:
            neighbour("numba")
            yield neighbour("numba.cuda")

    @pytest.fixture
    def plus(self, cuda):
        @cuda.jit("void(float32[::1], float32)")
        def plus(y, a):
            i = cuda.grid(1)
            if i < y.size:
                y[i] += a
        return plus

    def test_its_kernel_in_our_stream(self, cuda, stream, x, saxpy, plus, device):
        theirs = cuda.external_stream(stream.native)
        y = cuda.as_cuda_array(x.view("float32"), sync=False)
        plus[COUNT // 256, 256, theirs](y, 4)
        add(saxpy, stream, y, x, 1)
        assert (read(stream, x) == 10).all()

    def test_our_kernel_in_its_stream(self, cuda, context, x, saxpy, plus):
        theirs = cuda.stream()
        handle = getattr(theirs.handle, "value", theirs.handle)
        ours = context.wrap_stream(int(handle))
        y = cuda.to_device(numpy.zeros(COUNT, numpy.float32), stream=theirs)
        plus[COUNT // 256, 256, theirs](y, 2)
        add(saxpy, ours, y, x, 5)
        assert (y.copy_to_host(stream=theirs) == 7).all()

    def test_its_kernel_in_our_capture(self, cuda, stream, x, plus):
        y = cuda.as_cuda_array(x.view("float32"), sync=False)
        plus[COUNT // 256, 256, cuda.external_stream(stream.native)](y, 1)
        stream.synchronize()
        with stream.capture() as capture:
            plus[COUNT // 256, 256, cuda.external_stream(stream.native)](y, 3)
        exec = capture.graph.instantiate()
        for _ in range(2):
            exec.launch(stream)
        assert (read(stream, x) == 8).all()


class TestCudaCore:
    @pytest.fixture
    def core(self, context):
        with context:
            try:
                core = neighbour("cuda.core")
                core.Device  # before 0.5 it is in cuda.core.experimental
            except AttributeError:
                core = neighbour("cuda.core.experimental")
            yield core

    @pytest.fixture
    def theirs(self, core):
        device = core.Device(0)
        device.set_current()
        return device

    def test_our_stream_is_theirs(self, core, theirs, stream, x):
        """A stream is taken by __cuda_stream__, and a copy of theirs is ordered in it."""
        stream_of_theirs = theirs.create_stream(stream)
        memory = theirs.memory_resource.allocate(4 * COUNT, stream=stream_of_theirs)
        stream.fill(x, 0x40)
        source = core.Buffer.from_handle(x.pointer, x.size)
        memory.copy_from(source, stream=stream_of_theirs)
        assert read(stream, cushim.Pointer(int(memory.handle), memory.size)).view(numpy.uint8).all()
        memory.close(stream_of_theirs)

    def test_their_stream_is_ours(self, core, context, theirs, x, saxpy):
        stream_of_theirs = theirs.create_stream()
        ours = context.wrap_stream(stream_of_theirs)
        assert ours.native == int(stream_of_theirs.handle)
        add(saxpy, ours, x, x, 1)
        stream_of_theirs.sync()
        assert (read(ours, x) == 2).all()

    def test_their_capture_takes_our_kernel(self, core, context, theirs, x, saxpy):
        builder = theirs.create_graph_builder()
        builder.begin_building()
        ours = context.wrap_stream(builder.stream)
        add(saxpy, ours, x, x, 1)
        graph = builder.end_building().complete()
        stream_of_theirs = theirs.create_stream()
        for _ in range(3):
            graph.launch(stream_of_theirs)
        stream_of_theirs.sync()
        assert (read(context.wrap_stream(stream_of_theirs), x) == 8).all()

    def test_our_capture_takes_their_copy(self, core, theirs, stream, x, device):
        stream_of_theirs = theirs.create_stream(stream)
        y = device.allocate(stream, x.size)
        stream.synchronize()
        source, target = (core.Buffer.from_handle(one.pointer, one.size) for one in (x, y))
        with stream.capture() as capture:
            target.copy_from(source, stream=stream_of_theirs)
        capture.graph.instantiate().launch(stream)
        assert (read(stream, y) == 1).all()
