-- cushim.cdef.h as LuaJIT reads it. usage: luajit with_luajit.lua LIBCUSHIM CUSHIM.CDEF.H
local ffi = require "ffi"
ffi.cdef(assert(io.open(arg[2])):read "*a")
local lib = ffi.load(arg[1])

local driver, info = ffi.new "cushim_driver[1]", ffi.new "cushim_driver_info"
info.struct_size = ffi.sizeof "cushim_driver_info"
assert(lib.cushim_driver_open(nil, driver) == lib.CUSHIM_SUCCESS)
assert(lib.cushim_driver_get_info(driver[0], info) == lib.CUSHIM_SUCCESS)
assert(lib.cushim_driver_destroy(driver[0]) == lib.CUSHIM_SUCCESS)
assert(lib.cushim_driver_destroy(driver[0]) == lib.CUSHIM_ERROR_ALREADY_DESTROYED)
assert(info.version == tonumber(os.getenv "CHECK_VERSION"))
