"""CUDA C++ that is compiled when the program runs."""

from __future__ import annotations

from ._handles import ContextBase, DeviceBase, ProgramBase
from ._object import check, Closing, ffi, handle, lib, made, sized, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Optional, Sequence

    from ._context import Context
    from ._driver import Device


class Program(ProgramBase, Closing, of=True):
    """CUDA C++ that was compiled, or programs that were linked. It belongs to no context: `Context.load` loads it."""

    __slots__ = ()

    @property
    def code(self) -> bytes:
        """PTX, or the bytes of a cubin or of LTO IR; `properties.kind` says which."""
        needed = ffi.new("size_t *")
        check(lib.cushim_program_get_code(self._h, ffi.NULL, 0, needed))
        room = bytearray(needed[0])
        check(lib.cushim_program_get_code(self._h, ffi.from_buffer(room), len(room), needed))
        return bytes(room)

    def name_of(self, expression: str) -> str:
        """What the code calls that which a name expression names. Libraries of the program know it by the expression, too."""
        return text_of(lib.cushim_program_get_name, self._h, expression.encode())


def compile(source: str, device: Device, *, name: Optional[str] = None, options: Sequence[str] = (),
            headers: Optional[Mapping[str, str]] = None, name_expressions: Sequence[str] = (), kind: int = 0,
            cached: bool = True, compiler: Optional[str] = None) -> Program:
    """Compiles CUDA C++ for a device with NVRTC, or takes what was compiled before from disk.

    NVRTC is found when this is called first: `pip install nvidia-cuda-nvrtc-cu12` has it; where there is none, the `Unsupported` that is
    raised says what to install. A source with errors raises `InvalidArgument`, whose `driver_log` has all that the compiler says.

    - `name`: what messages of the compiler call the source
    - `options`: options of NVRTC's, such as "--std=c++17"; one that names an architecture takes the place of the device's
    - `headers`: texts of headers by the names by which the source includes them
    - `name_expressions`: kernels and variables as C++ names them, such as "scale<float>"
    - `kind`: a `CodeKind`; by default machine code of the device, or PTX where that is not to be had
    - `cached`: whether code is taken from disk and kept there
    - `compiler`: the path of NVRTC, instead of the one that is found
    """
    texts = _Texts()
    given = sized("cushim_compile_options")
    given.kind, given.flags = kind, 0 if cached else 1
    given.name, given.compiler = texts.perhaps(name), texts.perhaps(compiler)
    given.options, given.option_count = texts.all(options), len(options)
    given.name_expressions, given.name_expression_count = texts.all(name_expressions), len(name_expressions)
    items = ffi.new("cushim_compile_header[]", [[texts.one(it), texts.one(text)] for it, text in (headers or {}).items()])
    given.headers, given.header_count = items, len(items)
    return made("program", lib.cushim_program_compile, handle(device, DeviceBase, "device"), texts.one(source), given)


def link(context: Context, programs: Sequence[Program], *, name: Optional[str] = None, options: Sequence[str] = (),
         codes: Optional[Mapping[str, bytes]] = None, kind: int = 0, linker: Optional[str] = None) -> Program:
    """Links programs to one, for the device of a context: functions and variables of one may be declared in another.

    Sources that become PTX or cubins are compiled for that with the option "-rdc=true"; LTO IR (`CodeKind.LTO_IR`) is optimised as one.
    nvJitLink links: `pip install nvidia-nvjitlink-cu12` has it. Where there is none, the driver links what is no LTO IR, and for LTO IR the
    `Unsupported` that is raised says what to install. If something is missing, `driver_log` of the error has all that the linker says.

    - `name`: what messages call the result
    - `options`: options of nvJitLink's, such as "-O3"; one that names an architecture takes the place of the device's
    - `codes`: code that is linked besides, by names for messages: PTX, a cubin, a fatbin, LTO IR, an object of nvcc's, or a library of those
    - `kind`: a `CodeKind`; by default a cubin, or of LTO IR on softcuda PTX
    - `linker`: the path of nvJitLink, instead of the one that is found
    """
    texts = _Texts()
    given = sized("cushim_link_options")
    given.kind, given.name, given.linker = kind, texts.perhaps(name), texts.perhaps(linker)
    given.options, given.option_count = texts.all(options), len(options)
    buffers = {it: ffi.from_buffer(code) for it, code in (codes or {}).items()}
    items = ffi.new("cushim_link_code[]", [[code, len(code), texts.one(it)] for it, code in buffers.items()])
    given.codes, given.code_count = items, len(items)
    handles = ffi.new("cushim_program[]", [handle(it, ProgramBase, "programs") for it in programs])
    return made("program", lib.cushim_program_link, handle(context, ContextBase, "context"), handles, len(handles), given)


class _Texts:
    """Texts in C, kept as long as this."""

    def __init__(self) -> None:
        self._kept: List[Any] = []

    def one(self, text: str) -> Any:
        if "\0" in text:
            raise ValueError(f"a text for the compiler has a NUL inside, which C takes for its end: {text!r}")
        self._kept.append(ffi.new("char[]", text.encode()))
        return self._kept[-1]

    def perhaps(self, text: Optional[str]) -> Any:
        return ffi.NULL if text is None else self.one(text)

    def all(self, texts: Sequence[str]) -> Any:
        if isinstance(texts, str):
            raise TypeError(f"a list of texts is needed, not {texts!r}")
        self._kept.append(ffi.new("char *[]", [self.one(text) for text in texts]))
        return self._kept[-1]


__all__ = ["Program", "compile", "link"]
