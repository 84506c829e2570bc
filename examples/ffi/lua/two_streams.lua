-- Two streams, an event between them, a kernel, a captured graph with a parameter, and a message when the work is done.
--
--   luajit two_streams.lua PREFIX     PREFIX is where scripts/install.sh has installed cushim
--
-- docs/languages/lua.md explains it.
local ffi = require "ffi"

local prefix = assert(arg[1], "usage: luajit two_streams.lua PREFIX")
ffi.cdef(assert(io.open(prefix .. "/include/cushim.cdef.h")):read "*a")
ffi.cdef [[
struct pollfd { int fd; short events, revents; };
int poll(struct pollfd *fds, unsigned long count, int timeout);
]]
local lib = ffi.load(prefix .. "/lib/libcushim.so.0.1")

-- What of cushim the program uses, by the habits of Lua. ------------------------------------------------------------

-- Raises the message of a call that failed. It is the thread's, and Lua stays on its thread.
local function check(status)
  if status ~= lib.CUSHIM_SUCCESS then error(ffi.string(lib.cushim_last_error_message()), 0) end
end

-- Calls a function whose last parameter returns a handle; the collector destroys the handle, unless the program has done so before.
local function new(kind, create, ...)
  local place = ffi.new("cushim_" .. kind .. "[1]")
  local arguments = {...}
  arguments[select("#", ...) + 1] = place
  check(create(unpack(arguments, 1, select("#", ...) + 1)))
  return ffi.gc(place[0], lib["cushim_" .. kind .. "_destroy"])
end

-- Methods of handles: `stream:synchronize()`.
local function class(kind, methods)
  local destroy = lib["cushim_" .. kind .. "_destroy"]
  function methods.close(handle)
    ffi.gc(handle, nil)
    check(destroy(handle))
  end
  function methods.label(handle, text)
    check(lib.cushim_set_label(handle, text))
    return handle
  end
  ffi.metatype("struct cushim_" .. kind .. "_s", {__index = methods})
end

local function host(address)
  return ffi.new("cushim_endpoint", {kind = lib.CUSHIM_ENDPOINT_HOST, address = ffi.cast("uintptr_t", address)})
end

local function on_device(buffer)
  return ffi.new("cushim_endpoint", {kind = lib.CUSHIM_ENDPOINT_BUFFER, address = ffi.cast("uintptr_t", buffer)})
end

class("driver", {
  -- A handle that a getter returns is borrowed: nobody destroys it.
  device = function(driver, ordinal)
    local place = ffi.new "cushim_device[1]"
    check(lib.cushim_driver_get_device(driver, ordinal, place))
    return place[0]
  end,
  info = function(driver)
    local info = ffi.new("cushim_driver_info", {struct_size = ffi.sizeof "cushim_driver_info"})
    check(lib.cushim_driver_get_info(driver, info))
    return info
  end,
})

class("context", {
  stream = function(context, label)
    return new("stream", lib.cushim_stream_create, context, nil):label(label)
  end,
  event = function(context) return new("event", lib.cushim_event_create, context, nil) end,
  load = function(context, code) return new("library", lib.cushim_library_load, context, code, #code, nil) end,
  -- Page-locked memory: it does not move, and copies are fastest from there. To free it takes the context, so it has a handle of that.
  floats = function(context, count)
    local place, own = ffi.new "void *[1]", new("context", lib.cushim_context_ref, context)
    check(lib.cushim_context_allocate_host(context, count * 4, 0, place))
    return ffi.gc(ffi.cast("float *", place[0]), function(address) lib.cushim_context_free_host(own, address) end)
  end,
  -- What `record` enqueues in the stream that it gets, as a graph.
  capture = function(context, record)
    local builder = new("builder", lib.cushim_builder_create, context, nil)
    check(lib.cushim_builder_begin(builder))
    record(lib.cushim_builder_stream(builder))
    return new("graph", lib.cushim_builder_end, builder)
  end,
})

-- Who waits for work: by a number, which the library gives back when the stream has come so far. No function of Lua is called on
-- a thread of the driver's.
local waiting, last = {}, 0

class("stream", {
  copy = function(stream, to, from, bytes) check(lib.cushim_stream_copy(stream, to, from, bytes)) end,
  wait = function(stream, event) check(lib.cushim_stream_wait_event(stream, event)) end,
  synchronize = function(stream) check(lib.cushim_stream_synchronize(stream)) end,
  call = function(stream, callback)
    last = last + 1
    waiting[last] = callback
    check(lib.cushim_stream_launch_host_function(stream, nil, ffi.cast("void *", last), nil))
  end,
})

-- Waits until something was enqueued by `call`, and calls it.
local function drain()
  local fd, count = ffi.new "int32_t[1]", ffi.new "size_t[1]"
  check(lib.cushim_drain_fd(fd))
  ffi.C.poll(ffi.new("struct pollfd", {fd[0], 1, 0}), 1, -1) -- or with the descriptors of an event loop
  local items = ffi.new "cushim_drain_item[8]"
  check(lib.cushim_drain(items, ffi.sizeof "cushim_drain_item", 8, count))
  for index = 0, tonumber(count[0]) - 1 do
    local number = tonumber(ffi.cast("uintptr_t", items[index].data))
    local callback = waiting[number]
    waiting[number] = nil
    callback()
  end
end

class("event", {record = function(event, stream) check(lib.cushim_event_record(event, stream)) end})
class("library", {kernel = function(library, name) return new("kernel", lib.cushim_kernel_create, library, name) end})

-- A value of a launch: what is passed to the library stays until the call returns.
local function value(type, number)
  local kept = ffi.new(type .. "[1]", number)
  return {kind = lib.CUSHIM_ARG_BYTES, size = ffi.sizeof(type), value = kept}
end

-- A value that has a name: `exec:set` changes it.
local function parameter(name, type, number)
  local kept = ffi.new(type .. "[1]", number)
  local named = ffi.new("cushim_parameter", {name = name, value = kept, size = ffi.sizeof(type)})
  return {kind = lib.CUSHIM_ARG_PARAMETER, value = named, kept = {name, kept}}
end

local function memory(buffer) return {kind = lib.CUSHIM_ARG_BUFFER, value = buffer} end

class("kernel", {
  launch = function(kernel, stream, grid, block, ...)
    local config = ffi.new("cushim_launch_config", {grid = {grid, 1, 1}, block = {block, 1, 1}})
    config.struct_size = ffi.sizeof(config)
    local given = {...}
    local args = ffi.new("cushim_arg[?]", #given)
    for index, arg in ipairs(given) do
      args[index - 1] = {kind = arg.kind, size = arg.size or 0, value = arg.value}
    end
    check(lib.cushim_kernel_launch(kernel, stream, config, args, #given))
  end,
})

class("graph", {
  instantiate = function(graph)
    return new("exec", function(place) return lib.cushim_exec_create(graph, nil, place, nil) end)
  end,
})

class("exec", {
  launch = function(exec, stream) check(lib.cushim_exec_launch(exec, stream)) end,
  set = function(exec, name, type, number)
    check(lib.cushim_exec_set_parameter(exec, name, ffi.new(type .. "[1]", number), ffi.sizeof(type), nil))
  end,
})

class("device", {
  allocate = function(device, stream, bytes) return new("buffer", lib.cushim_buffer_create_default, device, stream, bytes) end,
})
class("buffer", {})
class("builder", {})

-- The program. ------------------------------------------------------------------------------------------------------

-- numbers[i] *= by
local SCALE = [[
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 numbers, .param .f32 by) {
  .reg .u32 %i, %block, %threads;
  .reg .u64 %at, %offset;
  .reg .f32 %by, %number;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  mul.wide.u32 %offset, %i, 4;
  ld.param.u64 %at, [numbers];
  ld.param.f32 %by, [by];
  add.u64 %at, %at, %offset;
  ld.global.f32 %number, [%at];
  mul.f32 %number, %number, %by;
  st.global.f32 [%at], %number;
  ret;
}
]]

local COUNT, BYTES = 1024, 4096
local KINDS = {"none", "native", "compat", "WSL", "Tegra", "software"}

local driver = new("driver", lib.cushim_driver_open, nil)
local info = driver:info()
io.stderr:write(("driver of CUDA %d.%d, %s\n"):format(info.version / 1000, info.version % 1000 / 10, KINDS[info.kind + 1] or "other"))

local device = driver:device(0)
local context = new("context", lib.cushim_context_retain_primary, device)
local upload, compute = context:stream "upload", context:stream "compute"
local uploaded = context:event()
local scale = context:load(SCALE):kernel "scale"

local numbers = context:floats(COUNT)
for i = 0, COUNT - 1 do numbers[i] = i end
local buffer = device:allocate(upload, BYTES)

-- One stream copies, and the other one waits for that.
upload:copy(on_device(buffer), host(numbers), BYTES)
uploaded:record(upload)
compute:wait(uploaded)
scale:launch(compute, COUNT / 128, 128, memory(buffer), value("float", 2))

-- The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
local graph = context:capture(function(stream) scale:launch(stream, COUNT / 128, 128, memory(buffer), parameter("by", "float", 3)) end)
local exec = graph:instantiate()
exec:launch(compute)
exec:set("by", "float", 0.5)
exec:launch(compute)

local done = false
compute:copy(host(numbers), on_device(buffer), BYTES)
compute:call(function() done = true end)
while not done do drain() end

for i = 0, COUNT - 1 do
  if numbers[i] ~= i * 3 then error(("number %d is %g instead of %g"):format(i, numbers[i], i * 3)) end
end
print(COUNT .. " numbers are right")

-- A handle that was destroyed is refused, with a sentence.
upload:close()
local accepted, message = pcall(uploaded.record, uploaded, upload)
assert(not accepted and message:find "upload", "a destroyed stream was accepted")
print(message)
