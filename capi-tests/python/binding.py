"""A binding for ctypes, made of cushim.json and nothing else; then a kernel is launched with it.

usage: binding.py LIBCUSHIM CUSHIM.JSON PTX, where PTX has a kernel saxpy(int n, float a, const float *x, float *y).
"""

import ctypes
import json
import pathlib
import sys

PLAIN = {
    "void": None, "char": ctypes.c_char, "int": ctypes.c_int, "float": ctypes.c_float, "size_t": ctypes.c_size_t,
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


class Failed(Exception):
    """A status that is not success, with the sentence."""


class Cushim:
    """Each function of the interface, under its name; each struct and each enumerator."""

    def __init__(self, library, interface):
        self.library = ctypes.CDLL(library)
        self.types = dict(PLAIN)
        for name, to in interface["types"].items():
            self.types[name] = self.type(to)
        for handle in interface["handles"]:
            self.types[handle["type"]] = ctypes.c_void_p
        for enum in interface["enums"]:
            for value in enum["values"]:
                setattr(self, value["name"], value["value"])
        for item in interface["structs"]:
            self.types[item["name"]] = type(item["name"], (ctypes.Structure,), {})
        for item in interface["callbacks"]:
            parameters = [self.type(parameter["type"]) for parameter in item["parameters"]]
            self.types[item["name"]] = ctypes.CFUNCTYPE(self.type(item["returns"]), *parameters)
        by_name = {item["name"]: item for item in interface["structs"]}
        for item in interface["structs"]:
            self.complete(item, by_name)
        for item in interface["functions"]:
            setattr(self, item["name"], self.function(item))

    def type(self, text):
        """The type that a text in C names."""
        words = text.replace("*", " * ").replace("const", " ").split()
        kind = self.types[words[0]]
        for _ in words[1:]:
            kind = ctypes.c_void_p if kind is None else ctypes.POINTER(kind)
        return ctypes.c_char_p if kind is ctypes.POINTER(ctypes.c_char) else kind

    def complete(self, item, by_name):
        """Gives a struct its members, after those that it has as members, and sees that they lie where they should."""
        struct = self.types[item["name"]]
        if hasattr(struct, "_fields_"):
            return
        for field in item["fields"]:
            if field["type"] in by_name:
                self.complete(by_name[field["type"]], by_name)
        kinds = [(field["name"], self.type(field["type"]), field["count"]) for field in item["fields"]]
        struct._fields_ = [(name, kind * count if count else kind) for name, kind, count in kinds]
        assert (ctypes.sizeof(struct), ctypes.alignment(struct)) == (item["size"], item["align"]), item["name"]
        for field in item["fields"]:
            member = getattr(struct, field["name"])
            assert (member.offset, member.size) == (field["offset"], field["size"]), (item["name"], field["name"])
        setattr(self, item["name"], self.sized(struct) if item["grows"] else struct)

    @staticmethod
    def sized(struct):
        return lambda **members: struct(struct_size=ctypes.sizeof(struct), **members)

    def function(self, item):
        """A function that raises what fails, and returns what comes out."""
        function = getattr(self.library, item["name"])
        parameters = item["parameters"]
        function.argtypes = [self.type(parameter["type"]) for parameter in parameters]
        function.restype = self.type(item["returns"]["type"])
        if item["returns"]["type"] != "cushim_status":
            return function
        places = [self.place(parameter) for parameter in parameters]

        def call(*given):
            given, made = iter(given), [place and place() for place in places]
            status = function(*[next(given) if place is None else place for place in made])
            if status != self.CUSHIM_SUCCESS:
                raise Failed(status, self.cushim_last_error_message().decode())
            results = [place[0] if len(place) == 1 else list(place) for place in made if place is not None]
            return results[0] if len(results) == 1 else results or None

        return call

    def place(self, parameter):
        """What makes room for one value, or several, that a call gives; nothing if the caller passes the argument."""
        if parameter["direction"] != "out" or parameter["role"] not in ("value", "owned", "borrowed"):
            return None
        to = parameter["type"].removesuffix("*")
        return self.type(to) * parameter.get("bytes", 1)


def saxpy(cushim, ptx):
    """a x + y for a thousand numbers, and how many are wrong."""
    driver = cushim.cushim_driver_open(None)
    device = cushim.cushim_driver_get_device(driver, 0)
    assert len(cushim.cushim_device_get_uuid(device)) == 16
    context = cushim.cushim_context_retain_primary(device)
    stream = cushim.cushim_stream_create(context, None)
    library = cushim.cushim_library_load(context, ptx, len(ptx), None)
    kernel = cushim.cushim_kernel_create(library, b"saxpy")

    count = 1000
    size = 4 * count
    x, y = (ctypes.c_float * count)(*range(count)), (ctypes.c_float * count)(*[1] * count)
    on_host = [cushim.cushim_endpoint(kind=cushim.CUSHIM_ENDPOINT_HOST, address=ctypes.addressof(place)) for place in (x, y)]
    pointers = [cushim.cushim_stream_allocate(stream, size) for _ in on_host]
    on_device = [cushim.cushim_endpoint(kind=cushim.CUSHIM_ENDPOINT_DEVICE, address=pointer) for pointer in pointers]
    for to, source in zip(on_device, on_host):
        cushim.cushim_stream_copy(stream, to, source, size)

    values = [ctypes.c_int32(count), ctypes.c_float(2), *map(ctypes.c_uint64, pointers)]
    arguments = [(cushim.CUSHIM_ARG_BYTES, ctypes.sizeof(v), ctypes.cast(ctypes.pointer(v), ctypes.c_void_p)) for v in values]
    config = cushim.cushim_launch_config(grid=(count // 250,), block=(250,))
    cushim.cushim_kernel_launch(kernel, stream, config, (cushim.cushim_arg * 4)(*arguments), 4)
    cushim.cushim_stream_copy(stream, on_host[1], on_device[1], size)
    for pointer in pointers:
        cushim.cushim_stream_free(stream, pointer)
    cushim.cushim_stream_synchronize(stream)

    try:
        cushim.cushim_kernel_create(library, b"saxpi")
        raise AssertionError("there is no such kernel")
    except Failed as failed:
        assert failed.args[0] == 500 and "saxpi" in failed.args[1], failed
    for kind, handle in zip(("kernel", "library", "stream", "context", "driver"), (kernel, library, stream, context, driver)):
        getattr(cushim, f"cushim_{kind}_destroy")(handle)
    return sum(y[i] != 2 * i + 1 for i in range(count))


if __name__ == "__main__":
    description = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    wrong = saxpy(Cushim(sys.argv[1], description), pathlib.Path(sys.argv[3]).read_bytes())
    print(f"{wrong} of 1000 numbers are wrong")
