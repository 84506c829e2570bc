"""cushim.cdef.h as cffi reads it: the layout of each struct is that of cushim.json, and calls go through.

usage: with_cffi.py LIBCUSHIM CUSHIM.CDEF.H CUSHIM.JSON
"""

import json
import os
import pathlib
import sys

import cffi

library, declarations, interface = sys.argv[1:]
ffi = cffi.FFI()
ffi.cdef(pathlib.Path(declarations).read_text())
lib = ffi.dlopen(library)

described = json.loads(pathlib.Path(interface).read_text())
for struct in described["structs"]:
    assert ffi.sizeof(struct["name"]) == struct["size"], struct["name"]
    for field in struct["fields"]:
        assert ffi.offsetof(struct["name"], field["name"]) == field["offset"], (struct["name"], field["name"])
for enum in described["enums"]:
    for value in enum["values"]:
        assert getattr(lib, value["name"]) == value["value"], value["name"]
for function in described["functions"]:
    assert getattr(lib, function["name"]), function["name"]

driver, info = ffi.new("cushim_driver *"), ffi.new("cushim_driver_info *")
info.struct_size = ffi.sizeof("cushim_driver_info")
assert lib.cushim_driver_open(ffi.NULL, driver) == lib.CUSHIM_SUCCESS
assert lib.cushim_driver_get_info(driver[0], info) == lib.CUSHIM_SUCCESS
assert lib.cushim_driver_destroy(driver[0]) == lib.CUSHIM_SUCCESS
assert lib.cushim_driver_destroy(driver[0]) == lib.CUSHIM_ERROR_ALREADY_DESTROYED
assert info.version == int(os.environ["CHECK_VERSION"])
