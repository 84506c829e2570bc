# Two streams, an event between them, a kernel, a captured graph with a parameter, and a block that is called when the work is done.
#
#   ruby two_streams.rb PREFIX     PREFIX is where scripts/install.sh has installed cushim
#
# docs/languages/ruby.md explains it.
require "fiddle/import"
require "io/wait"

# What of cushim the program uses.
module Cushim
  # As cushim.cdef.h has it. A handle is a pointer that is never followed, and a number for Fiddle.
  module Lib
    extend Fiddle::Importer
    dlload File.join(ARGV.fetch(0) { abort "usage: ruby two_streams.rb PREFIX" }, "lib/libcushim.so.0.1")

    Info = struct ["size_t struct_size", "int version", "int kind", "char *path", "char *getter", "size_t candidates", "size_t symbols",
                   "int older_than_supported", "int reserved"]
    Endpoint = struct ["int kind", "unsigned int flags", "uint64_t address", "uint64_t offset", "void *context", "void *owner"]
    Config = struct ["size_t struct_size", "unsigned int grid[3]", "unsigned int block[3]", "unsigned int cluster[3]",
                     "unsigned int shared_bytes", "unsigned int flags", "int priority", "int memory_sync_domain",
                     "unsigned int event_flags", "void *event", "void *attributes", "size_t attribute_count",
                     "size_t attribute_stride", "void *context"]
    Parameter = struct ["char *name", "void *value", "unsigned int size", "unsigned int reserved"]
    Item = struct ["int kind", "int level", "uintptr_t data", "char target[48]", "char text[960]"]

    ENDPOINT_HOST, ENDPOINT_BUFFER = 1, 5
    ARG_BYTES, ARG_BUFFER, ARG_PARAMETER = 1, 3, 6

    extern "char *cushim_last_error_message()"
    extern "int cushim_set_label(void *handle, char *label)"
    extern "int cushim_driver_open(void *options, void *driver)"
    extern "int cushim_driver_get_info(void *driver, void *info)"
    extern "int cushim_driver_get_device(void *driver, int ordinal, void *device)"
    extern "int cushim_context_retain_primary(void *device, void *context)"
    extern "int cushim_context_allocate_host(void *context, size_t bytes, int flags, void *address)"
    extern "int cushim_context_free_host(void *context, void *address)"
    extern "int cushim_stream_create(void *context, void *options, void *stream)"
    extern "int cushim_stream_wait_event(void *stream, void *event)"
    extern "int cushim_stream_copy(void *stream, void *destination, void *source, size_t bytes)"
    extern "int cushim_stream_launch_host_function(void *stream, void *function, uintptr_t data, void *owner)"
    extern "int cushim_event_create(void *context, void *options, void *event)"
    extern "int cushim_event_record(void *event, void *stream)"
    extern "int cushim_buffer_create_default(void *device, void *stream, size_t bytes, void *buffer)"
    extern "int cushim_library_load(void *context, char *image, size_t size, void *options, void *library)"
    extern "int cushim_kernel_create(void *library, char *name, void *kernel)"
    extern "int cushim_kernel_launch(void *kernel, void *stream, void *config, void *args, size_t arg_count)"
    extern "int cushim_builder_create(void *context, void *options, void *builder)"
    extern "int cushim_builder_begin(void *builder)"
    extern "void *cushim_builder_stream(void *builder)"
    extern "int cushim_builder_end(void *builder, void *graph)"
    extern "int cushim_exec_create(void *graph, void *options, void *exec, void *result)"
    extern "int cushim_exec_launch(void *exec, void *stream)"
    extern "int cushim_exec_set_parameter(void *exec, char *name, void *value, size_t size, void *nodes)"
    extern "int cushim_drain_fd(void *fd)"
    extern "int cushim_drain(void *items, size_t stride, size_t capacity, void *count)"
    %w[driver context stream event buffer library kernel builder graph exec].each do |kind|
      extern "int cushim_#{kind}_destroy(void *handle)"
    end
  end

  class Error < StandardError
    attr_reader :status

    def initialize(status)
      @status = status
      super(Lib.cushim_last_error_message.to_s.force_encoding(Encoding::UTF_8)) # of this thread's last failed call
    end
  end

  def self.check(status)
    raise Error, status unless status.zero?
  end

  # Calls the block with a place for `bytes` bytes, and returns them.
  def self.out(bytes = 8)
    place = "\0" * bytes
    check yield(place)
    place
  end

  # Calls the block with a place for a handle, and returns that.
  def self.handle(&call) = out(&call).unpack1("J")

  # An object of the library with a handle of its own. Ruby destroys it some time after nothing refers to it, unless `close` did.
  class Owned
    attr_reader :handle

    def initialize(&create)
      @handle = Cushim.handle(&create)
      ObjectSpace.define_finalizer(self, Owned.finalizer(destroy, @handle))
    end

    # Not in `initialize`: the block would refer to the object, which would then never go.
    def self.finalizer(destroy, handle) = proc { Lib.public_send(destroy, handle) }

    def close
      ObjectSpace.undefine_finalizer(self)
      Cushim.check Lib.public_send(destroy, @handle)
    end

    def destroy = "cushim_#{self.class.name.split("::").last.downcase}_destroy"
  end

  # A borrowed handle, which nobody destroys.
  Borrowed = Struct.new(:handle)

  class Driver < Owned
    def initialize = super { |place| Lib.cushim_driver_open(nil, place) }

    def info
      Lib::Info.malloc(Fiddle::RUBY_FREE).tap do |info|
        info.struct_size = Lib::Info.size
        Cushim.check Lib.cushim_driver_get_info(handle, info)
      end
    end

    def device(ordinal) = Borrowed.new(Cushim.handle { |place| Lib.cushim_driver_get_device(handle, ordinal, place) })
  end

  class Context < Owned
    def initialize(device) = super() { |place| Lib.cushim_context_retain_primary(device.handle, place) }

    # Page-locked memory: Ruby neither moves nor frees it.
    def allocate_host(bytes)
      Fiddle::Pointer.new(Cushim.handle { |place| Lib.cushim_context_allocate_host(handle, bytes, 0, place) }, bytes)
    end

    def free_host(memory) = Cushim.check(Lib.cushim_context_free_host(handle, memory))

    def load(code) = Library.new { |place| Lib.cushim_library_load(handle, code, code.bytesize, nil, place) }

    # What the block enqueues in the stream that it gets, as a graph.
    def capture
      builder = Builder.new { |place| Lib.cushim_builder_create(handle, nil, place) }
      Cushim.check Lib.cushim_builder_begin(builder.handle)
      yield Borrowed.new(Lib.cushim_builder_stream(builder.handle))
      Graph.new { |place| Lib.cushim_builder_end(builder.handle, place) }
    ensure
      builder&.close
    end
  end

  class Stream < Owned
    def initialize(context, label)
      super() { |place| Lib.cushim_stream_create(context.handle, nil, place) }
      Cushim.check Lib.cushim_set_label(handle, label)
    end

    def wait(event) = Cushim.check(Lib.cushim_stream_wait_event(handle, event.handle))

    def copy(to, from, bytes) = Cushim.check(Lib.cushim_stream_copy(handle, to, from, bytes))

    # Has `Cushim.drain` call the block when the work that is in the stream now is done. The driver calls no Ruby: it hands back
    # a number, under which the block waits.
    def call(&block)
      number = Object.new.object_id # which is never used again
      WAITING[number] = block
      Cushim.check Lib.cushim_stream_launch_host_function(handle, nil, number, nil)
    end
  end

  WAITING = {}

  # Waits until the work is done after which a block is to be called, and calls it.
  def self.drain
    fd = out(4) { |place| Lib.cushim_drain_fd(place) }.unpack1("l")
    IO.for_fd(fd, autoclose: false).wait_readable # other threads and fibers run
    items = "\0" * (8 * Lib::Item.size)
    count = out { |place| Lib.cushim_drain(items, Lib::Item.size, 8, place) }.unpack1("J")
    count.times { |index| WAITING.delete(items.unpack1("J", offset: index * Lib::Item.size + 8)).call }
  end

  class Event < Owned
    def initialize(context) = super() { |place| Lib.cushim_event_create(context.handle, nil, place) }

    def record(stream) = Cushim.check(Lib.cushim_event_record(handle, stream.handle))
  end

  class Buffer < Owned
    def initialize(device, stream, bytes)
      super() { |place| Lib.cushim_buffer_create_default(device.handle, stream.handle, bytes, place) }
    end
  end

  class Library < Owned
    def kernel(name) = Kernel.new { |place| Lib.cushim_kernel_create(handle, name, place) }
  end

  class Builder < Owned; end

  class Graph < Owned
    def instantiate = Exec.new { |place| Lib.cushim_exec_create(handle, nil, place, nil) }
  end

  class Exec < Owned
    def launch(stream) = Cushim.check(Lib.cushim_exec_launch(handle, stream.handle))

    # The value is a packed string.
    def set(name, value) = Cushim.check(Lib.cushim_exec_set_parameter(handle, name, value, value.bytesize, nil))
  end

  class Kernel < Owned
    def launch(stream, grid, block, *args)
      config = Lib::Config.malloc(Fiddle::RUBY_FREE)
      config.to_ptr[0, Lib::Config.size] = "\0" * Lib::Config.size
      config.struct_size = Lib::Config.size
      config.grid = [grid, 1, 1]
      config.block = [block, 1, 1]
      packed = args.map { |arg| [arg.kind, arg.size, arg.value.to_i].pack("lLJ") }.join
      Cushim.check Lib.cushim_kernel_launch(handle, stream.handle, config, packed, args.size)
    end
  end

  # Where a copy begins or ends.
  def self.endpoint(kind, address)
    Lib::Endpoint.malloc(Fiddle::RUBY_FREE).tap do |it|
      it.to_ptr[0, Lib::Endpoint.size] = "\0" * Lib::Endpoint.size
      it.kind = kind
      it.address = address
    end
  end

  def self.on_host(memory) = endpoint(Lib::ENDPOINT_HOST, memory.to_i)
  def self.on_device(buffer) = endpoint(Lib::ENDPOINT_BUFFER, buffer.handle)

  # An argument of a kernel. `keeps` is what `value` points to: it has to stay until the call returns.
  Arg = Struct.new(:kind, :size, :value, :keeps)

  def self.memory(buffer) = Arg.new(Lib::ARG_BUFFER, 0, buffer.handle)

  def self.value(packed) = Arg.new(Lib::ARG_BYTES, packed.bytesize, Fiddle::Pointer[packed], packed)

  # A value that has a name: Exec#set changes it.
  def self.parameter(name, packed)
    named = Lib::Parameter.malloc(Fiddle::RUBY_FREE)
    named.name, named.value, named.size, named.reserved = name, Fiddle::Pointer[packed], packed.bytesize, 0
    Arg.new(Lib::ARG_PARAMETER, 0, named.to_ptr, [named, name, packed])
  end
end

# numbers[i] *= by
SCALE = <<~PTX
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
PTX

COUNT = 1024
BYTES = 4 * COUNT

def float(number) = [number].pack("f")

driver = Cushim::Driver.new
info = driver.info
kind = %w[none native compat WSL Tegra software].fetch(info.kind, "other")
warn "driver of CUDA #{info.version / 1000}.#{info.version % 1000 / 10}, #{kind}"

device = driver.device(0)
context = Cushim::Context.new(device)
upload = Cushim::Stream.new(context, "upload")
compute = Cushim::Stream.new(context, "compute")
uploaded = Cushim::Event.new(context)
scale = context.load(SCALE).kernel("scale")

numbers = context.allocate_host(BYTES)
numbers[0, BYTES] = COUNT.times.to_a.pack("f*")
buffer = Cushim::Buffer.new(device, upload, BYTES)

# One stream copies, and the other one waits for that.
upload.copy(Cushim.on_device(buffer), Cushim.on_host(numbers), BYTES)
uploaded.record(upload)
compute.wait(uploaded)
scale.launch(compute, COUNT / 128, 128, Cushim.memory(buffer), Cushim.value(float(2)))

# The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
graph = context.capture do |stream|
  scale.launch(stream, COUNT / 128, 128, Cushim.memory(buffer), Cushim.parameter("by", float(3)))
end
exec = graph.instantiate
exec.launch(compute)
exec.set("by", float(0.5))
exec.launch(compute)

done = false
compute.copy(Cushim.on_host(numbers), Cushim.on_device(buffer), BYTES)
compute.call { done = true }
Cushim.drain until done

numbers[0, BYTES].unpack("f*").each_with_index do |number, i|
  raise "number #{i} is #{number} instead of #{i * 3}" if number != i * 3
end
puts "#{COUNT} numbers are right"
context.free_host(numbers)

# A handle that was destroyed is refused, with a sentence.
upload.close
begin
  uploaded.record(upload)
  abort "a destroyed stream was accepted"
rescue Cushim::Error => error
  raise unless error.message.include?("upload")
  puts error.message
end
