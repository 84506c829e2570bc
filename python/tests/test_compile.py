"""CUDA C++ that is compiled when the program runs. `CUSHIM_NVRTC` names a compiler for tests, whose sources are PTX, or a real one."""

import os

import cushim
import pytest

from conftest import PTX

is_for_tests = "fakes" in os.environ.get("CUSHIM_NVRTC", "")
needs_it = pytest.mark.skipif(not is_for_tests, reason="CUSHIM_NVRTC names no compiler for tests")

SOURCE = """
#include "factor.h"
template <class T> __global__ void scale(T *to, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] *= FACTOR;
}
"""


@needs_it
def test_a_program_is_loaded(device, context):
    program = cushim.compile(PTX, device, name="saxpy.cu", options=["-w"], headers={"a.h": "//", "b.h": ""})
    assert program.log == "saxpy.cu: warning: 2 headers"
    assert program.code.decode() == PTX
    told = program.properties
    assert told.kind == cushim.CodeKind.PTX and told.compiler_version == 11040 and not told.was_cached
    assert told.architecture.startswith("compute_") and told.size == len(PTX)
    assert "PTX of saxpy.cu for compute_" in str(program)
    assert context.load(program).kernel("set").name == "set"
    with cushim.compile(PTX, device) as other:
        assert other != program
    with pytest.raises(cushim.InvalidHandle):
        other.code


@needs_it
def test_kernels_are_named_by_expressions(device, context):
    program = cushim.compile("template <class T> __global__ void nothing() {}", device, name_expressions=["nothing<int>"])
    library = context.load(program)
    assert library.kernel("nothing<int>") == library.kernel(program.name_of("nothing<int>"))
    with pytest.raises(cushim.InvalidArgument, match="the name expressions of this program are: nothing<int>"):
        program.name_of("nothing<float>")


@needs_it
def test_lto_ir_is_not_loaded(device, context):
    program = cushim.compile(PTX, device, kind=cushim.CodeKind.LTO_IR)
    assert program.properties.kind == cushim.CodeKind.LTO_IR
    with pytest.raises(cushim.InvalidArgument, match="LTO IR"):
        context.load(program)


KERNEL = """.version 7.0
.target sm_70
.address_size 64
.extern .func f();
.visible .entry k() { call f; ret; }
"""
FUNCTION = """.version 7.0
.target sm_70
.address_size 64
.visible .func f() { ret; }
"""


@needs_it
@pytest.mark.parametrize("kind", [cushim.CodeKind.PTX, cushim.CodeKind.LTO_IR])
def test_programs_are_linked(driver, device, context, kind):
    kernel, function = (cushim.compile(text, device, kind=kind) for text in (KERNEL, FUNCTION))
    linked = cushim.link(context, [kernel, function], name="both", options=["-lineinfo"])
    is_lto_ir = kind == cushim.CodeKind.LTO_IR
    assert linked.properties.kind == (cushim.CodeKind.PTX if is_lto_ir else cushim.CodeKind.CUBIN)
    assert linked.log == ("INFO: 2 inputs" if is_lto_ir else "")
    assert " of both for " in str(linked)
    assert context.load(linked).kernel("k").name == "k"
    mixed = cushim.link(context, [kernel], codes={"function.ptx": FUNCTION.encode()})
    assert context.load(mixed).kernel("k").name == "k"
    version, path = driver.find_linker()
    assert version == (11, 4) and os.path.exists(path)
    with pytest.raises(cushim.CushimError, match="linked is not linked: .*The linker says: ") as raised:
        cushim.link(context, [kernel])
    assert raised.value.driver_log


@needs_it
def test_what_is_not_linked(device, context, tmp_path):
    program = cushim.compile(FUNCTION, device, kind=cushim.CodeKind.LTO_IR)
    with pytest.raises(cushim.InvalidArgument, match="there is no code to link"):
        cushim.link(context, [])
    with pytest.raises(cushim.InvalidArgument, match="unrecognized option: --nonsense"):
        cushim.link(context, [program], options=["--nonsense"])
    with pytest.raises(cushim.InvalidArgument, match="part is not linked: the image is no PTX"):
        cushim.link(context, [program], codes={"part": b"nonsense"})
    with pytest.raises(cushim.Unsupported, match="cannot be used as nvJitLink"):
        cushim.link(context, [program], linker=str(tmp_path / "none.so"))
    with pytest.raises(TypeError, match="`programs` is a Program"):
        cushim.link(context, ["program"])


@needs_it
def test_mistakes_are_told(device, tmp_path):
    with pytest.raises(cushim.InvalidArgument, match="found errors in wrong.cu: ") as raised:
        cushim.compile("#error", device, name="wrong.cu")
    assert "1 error detected" in raised.value.driver_log
    with pytest.raises(cushim.Unsupported, match="cannot be used as NVRTC"):
        cushim.compile("", device, compiler=str(tmp_path / "none.so"))
    with pytest.raises(ValueError, match="NUL"):
        cushim.compile("a\0b", device)
    with pytest.raises(TypeError, match="list of texts"):
        cushim.compile("", device, options="-w")
    with pytest.raises(TypeError, match="`device` is a Device"):
        cushim.compile("", None)


def test_no_compiler(driver, device, monkeypatch):
    monkeypatch.setenv("CUSHIM_NVRTC", "/nowhere/libnvrtc.so")
    with pytest.raises(cushim.Unsupported, match="name another library in CUSHIM_NVRTC"):
        cushim.compile("", device)
    with pytest.raises(cushim.Unsupported):
        driver.find_compiler()


@pytest.mark.skipif(is_for_tests, reason="CUSHIM_NVRTC names no real compiler")
def test_a_real_compiler(driver, device, context, stream, tmp_path, monkeypatch):
    monkeypatch.setenv("CUSHIM_CACHE", str(tmp_path))
    try:
        version, path = driver.find_compiler()
    except cushim.Unsupported as why:
        pytest.skip(str(why))
    assert version >= (11, 2) and os.path.exists(path)
    for was_cached in False, True:
        program = cushim.compile(SOURCE, device, headers={"factor.h": "#define FACTOR 3"}, name_expressions=["scale<float>"])
        assert program.properties.was_cached == was_cached
        kernel = context.load(program)["scale<float>"]
        numbers = device.allocate(stream, 400)
        stream.fill(numbers, 0x40000000, 4)  # 2.0f
        kernel.launch(stream, 1, 128, numbers, (100).to_bytes(4, "little"))
        result = bytearray(400)
        stream.copy(result, numbers)
        stream.synchronize()
        assert memoryview(result).cast("f").tolist() == [6.0] * 100
