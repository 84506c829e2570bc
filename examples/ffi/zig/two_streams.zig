//! Two streams, an event between them, a kernel, a captured graph with a parameter, and a flag that is set when the work is done.
//!
//!     zig translate-c PREFIX/include/cushim.cdef.h > cushim.zig
//!     zig build-exe two_streams.zig PREFIX/lib/libcushim.so.0.1 -rpath PREFIX/lib -lc
//!     ./two_streams
//!
//! PREFIX is where scripts/install.sh has installed cushim. docs/languages/zig.md explains it.
const std = @import("std");
const c = @import("cushim.zig");

extern fn printf(format: [*:0]const u8, ...) c_int;
extern fn fflush(file: ?*anyopaque) c_int;

// What of cushim the program uses, by the habits of Zig. --------------------------------------------------------------------

/// An error of Zig has no text: `message` returns the sentence, on the thread of the call, before another call of it fails.
const Error = error{ InvalidHandle, Unsupported, DriverNotFound, OutOfMemory, Failed };

fn check(status: c.cushim_status) Error!void {
    return switch (status) {
        c.CUSHIM_SUCCESS => {},
        c.CUSHIM_ERROR_INVALID_HANDLE, c.CUSHIM_ERROR_STREAM_REQUIRED => error.InvalidHandle,
        c.CUSHIM_ERROR_UNSUPPORTED => error.Unsupported,
        c.CUSHIM_ERROR_DRIVER_NOT_FOUND => error.DriverNotFound,
        c.CUSHIM_ERROR_OUT_OF_MEMORY, 2 => error.OutOfMemory, // ours, and the driver's
        else => error.Failed,
    };
}

fn message() []const u8 {
    return std.mem.span(c.cushim_last_error_message());
}

const Driver = struct {
    handle: c.cushim_driver = null,

    fn open() Error!Driver {
        var driver = Driver{};
        try check(c.cushim_driver_open(null, &driver.handle));
        return driver;
    }

    fn deinit(driver: Driver) void {
        _ = c.cushim_driver_destroy(driver.handle);
    }

    fn info(driver: Driver) Error!c.cushim_driver_info {
        var result = std.mem.zeroes(c.cushim_driver_info);
        result.struct_size = @sizeOf(c.cushim_driver_info);
        try check(c.cushim_driver_get_info(driver.handle, &result));
        return result;
    }

    /// The handle is borrowed: nobody destroys it.
    fn device(driver: Driver, ordinal: i32) Error!c.cushim_device {
        var result: c.cushim_device = null;
        try check(c.cushim_driver_get_device(driver.handle, ordinal, &result));
        return result;
    }
};

const Context = struct {
    handle: c.cushim_context = null,

    fn primary(device: c.cushim_device) Error!Context {
        var context = Context{};
        try check(c.cushim_context_retain_primary(device, &context.handle));
        return context;
    }

    fn deinit(context: Context) void {
        _ = c.cushim_context_destroy(context.handle);
    }

    fn stream(context: Context, label: [*:0]const u8) Error!Stream {
        var result = Stream{};
        try check(c.cushim_stream_create(context.handle, null, &result.handle));
        errdefer result.deinit();
        try check(c.cushim_set_label(result.handle, label));
        return result;
    }

    fn event(context: Context) Error!Event {
        var result = Event{};
        try check(c.cushim_event_create(context.handle, null, &result.handle));
        return result;
    }

    /// Page-locked memory: from there copies are fastest, and do not wait.
    fn floats(context: Context, length: usize) Error![]f32 {
        var address: ?*anyopaque = null;
        try check(c.cushim_context_allocate_host(context.handle, 4 * length, 0, &address));
        const numbers: [*]f32 = @ptrCast(@alignCast(address.?));
        return numbers[0..length];
    }

    fn free(context: Context, numbers: []f32) void {
        _ = c.cushim_context_free_host(context.handle, numbers.ptr);
    }

    fn load(context: Context, code: []const u8, name: [*:0]const u8) Error!Kernel {
        var library: c.cushim_library = null;
        try check(c.cushim_library_load(context.handle, code.ptr, code.len, null, &library));
        defer _ = c.cushim_library_destroy(library); // the kernel keeps it
        var kernel = Kernel{};
        try check(c.cushim_kernel_create(library, name, &kernel.handle));
        return kernel;
    }

    fn capture(context: Context) Error!Capture {
        var result = Capture{};
        try check(c.cushim_builder_create(context.handle, null, &result.builder));
        errdefer result.deinit();
        try check(c.cushim_builder_begin(result.builder));
        return result;
    }
};

/// From `Context.capture` to `end`, what is enqueued in `stream` becomes a graph.
const Capture = struct {
    builder: c.cushim_builder = null,

    fn deinit(capture: Capture) void {
        _ = c.cushim_builder_destroy(capture.builder);
    }

    fn stream(capture: Capture) Stream {
        return .{ .handle = c.cushim_builder_stream(capture.builder) };
    }

    fn end(capture: Capture) Error!Exec {
        var graph: c.cushim_graph = null;
        try check(c.cushim_builder_end(capture.builder, &graph));
        defer _ = c.cushim_graph_destroy(graph); // the exec keeps what it needs
        var exec = Exec{};
        try check(c.cushim_exec_create(graph, null, &exec.handle, null));
        return exec;
    }
};

const Stream = struct {
    handle: c.cushim_stream = null,

    fn deinit(stream: Stream) void {
        _ = c.cushim_stream_destroy(stream.handle);
    }

    fn wait(stream: Stream, event: Event) Error!void {
        try check(c.cushim_stream_wait_event(stream.handle, event.handle));
    }

    /// The bytes must stay where they are until the copy is done.
    fn upload(stream: Stream, to: Buffer, from: []const u8) Error!void {
        try check(c.cushim_stream_copy(stream.handle, &to.endpoint(), &host(from), from.len));
    }

    fn download(stream: Stream, to: []u8, from: Buffer) Error!void {
        try check(c.cushim_stream_copy(stream.handle, &host(to), &from.endpoint(), to.len));
    }

    fn host(bytes: []const u8) c.cushim_endpoint {
        return .{ .kind = c.CUSHIM_ENDPOINT_HOST, .address = @intFromPtr(bytes.ptr) };
    }

    /// Has `drain` set the flag when the work that is in the stream now is done. The flag must stay where it is until then. The
    /// driver calls nothing.
    fn notify(stream: Stream, flag: *bool) Error!void {
        try check(c.cushim_stream_launch_host_function(stream.handle, null, flag, null));
    }
};

/// Waits until a flag is due, and sets it.
fn drain() Error!void {
    var fd: i32 = undefined;
    try check(c.cushim_drain_fd(&fd));
    var poll = [_]std.c.pollfd{.{ .fd = fd, .events = std.c.POLL.IN, .revents = 0 }};
    _ = std.c.poll(&poll, 1, -1);
    var items: [8]c.cushim_drain_item = undefined;
    var taken: usize = 0;
    try check(c.cushim_drain(&items, @sizeOf(c.cushim_drain_item), items.len, &taken));
    for (items[0..taken]) |item| {
        const flag: *bool = @ptrCast(item.data.?);
        flag.* = true;
    }
}

const Event = struct {
    handle: c.cushim_event = null,

    fn deinit(event: Event) void {
        _ = c.cushim_event_destroy(event.handle);
    }

    fn record(event: Event, stream: Stream) Error!void {
        try check(c.cushim_event_record(event.handle, stream.handle));
    }
};

const Buffer = struct {
    handle: c.cushim_buffer = null,

    fn init(device: c.cushim_device, stream: Stream, bytes: usize) Error!Buffer {
        var buffer = Buffer{};
        try check(c.cushim_buffer_create_default(device, stream.handle, bytes, &buffer.handle));
        return buffer;
    }

    fn deinit(buffer: Buffer) void {
        _ = c.cushim_buffer_destroy(buffer.handle);
    }

    fn endpoint(buffer: Buffer) c.cushim_endpoint {
        return .{ .kind = c.CUSHIM_ENDPOINT_BUFFER, .address = @intFromPtr(buffer.handle) };
    }
};

/// Arguments of kernels. What they point to must stay until the call returns.
fn memory(buffer: Buffer) c.cushim_arg {
    return .{ .kind = c.CUSHIM_ARG_BUFFER, .value = buffer.handle };
}

fn value(of: anytype) c.cushim_arg {
    return .{ .kind = c.CUSHIM_ARG_BYTES, .size = @sizeOf(@TypeOf(of.*)), .value = of };
}

/// A value that has a name: `Exec.set` changes it.
fn parameter(of: *const c.cushim_parameter) c.cushim_arg {
    return .{ .kind = c.CUSHIM_ARG_PARAMETER, .value = of };
}

const Kernel = struct {
    handle: c.cushim_kernel = null,

    fn deinit(kernel: Kernel) void {
        _ = c.cushim_kernel_destroy(kernel.handle);
    }

    fn launch(kernel: Kernel, stream: Stream, grid: u32, block: u32, args: []const c.cushim_arg) Error!void {
        var config = std.mem.zeroes(c.cushim_launch_config);
        config.struct_size = @sizeOf(c.cushim_launch_config);
        config.grid = .{ .x = grid, .y = 1, .z = 1 };
        config.block = .{ .x = block, .y = 1, .z = 1 };
        try check(c.cushim_kernel_launch(kernel.handle, stream.handle, &config, args.ptr, args.len));
    }
};

const Exec = struct {
    handle: c.cushim_exec = null,

    fn deinit(exec: Exec) void {
        _ = c.cushim_exec_destroy(exec.handle);
    }

    fn launch(exec: Exec, stream: Stream) Error!void {
        try check(c.cushim_exec_launch(exec.handle, stream.handle));
    }

    fn set(exec: Exec, name: [*:0]const u8, of: anytype) Error!void {
        try check(c.cushim_exec_set_parameter(exec.handle, name, of, @sizeOf(@TypeOf(of.*)), null));
    }
};

// The program. --------------------------------------------------------------------------------------------------------------

/// numbers[i] *= by
const scale_code =
    \\.version 7.0
    \\.target sm_70
    \\.address_size 64
    \\.visible .entry scale(.param .u64 numbers, .param .f32 by) {
    \\  .reg .u32 %i, %block, %threads;
    \\  .reg .u64 %at, %offset;
    \\  .reg .f32 %by, %number;
    \\  mov.u32 %i, %tid.x;
    \\  mov.u32 %block, %ctaid.x;
    \\  mov.u32 %threads, %ntid.x;
    \\  mad.lo.u32 %i, %block, %threads, %i;
    \\  mul.wide.u32 %offset, %i, 4;
    \\  ld.param.u64 %at, [numbers];
    \\  ld.param.f32 %by, [by];
    \\  add.u64 %at, %at, %offset;
    \\  ld.global.f32 %number, [%at];
    \\  mul.f32 %number, %number, %by;
    \\  st.global.f32 [%at], %number;
    \\  ret;
    \\}
;

const count = 1024;
const two: f32 = 2;
const three: f32 = 3;
const half: f32 = 0.5;

fn run() (Error || error{ WrongNumber, Accepted })!void {
    const driver = try Driver.open();
    defer driver.deinit();
    const info = try driver.info();
    const kinds = [_][]const u8{ "none", "native", "compat", "WSL", "Tegra", "software" };
    const kind: usize = @intCast(info.kind);
    const name = if (kind < kinds.len) kinds[kind] else "other";
    std.debug.print("driver of CUDA {}.{}, {s}\n", .{ @divTrunc(info.version, 1000), @divTrunc(@rem(info.version, 1000), 10), name });

    const device = try driver.device(0);
    const context = try Context.primary(device);
    defer context.deinit();
    const upload = try context.stream("upload");
    const compute = try context.stream("compute");
    defer compute.deinit();
    const uploaded = try context.event();
    defer uploaded.deinit();
    const scale = try context.load(scale_code, "scale");
    defer scale.deinit();

    const numbers = try context.floats(count);
    defer context.free(numbers);
    for (numbers, 0..) |*number, i| number.* = @floatFromInt(i);
    const bytes = std.mem.sliceAsBytes(numbers);
    const buffer = try Buffer.init(device, upload, bytes.len);
    defer buffer.deinit();

    // One stream copies, and the other one waits for that.
    try upload.upload(buffer, bytes);
    try uploaded.record(upload);
    try compute.wait(uploaded);
    try scale.launch(compute, count / 128, 128, &.{ memory(buffer), value(&two) });

    // The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
    const capture = try context.capture();
    defer capture.deinit();
    const by = c.cushim_parameter{ .name = "by", .value = &three, .size = 4 };
    try scale.launch(capture.stream(), count / 128, 128, &.{ memory(buffer), parameter(&by) });
    const exec = try capture.end();
    defer exec.deinit();
    try exec.launch(compute);
    try exec.set("by", &half);
    try exec.launch(compute);

    var done = false;
    try compute.download(bytes, buffer);
    try compute.notify(&done);
    while (!done) try drain();
    for (numbers, 0..) |number, i| {
        if (number != @as(f32, @floatFromInt(3 * i))) {
            std.debug.print("number {} is {} instead of {}\n", .{ i, number, 3 * i });
            return error.WrongNumber;
        }
    }
    _ = printf("%d numbers are right\n", @as(c_int, count));

    // A handle that was destroyed is refused, with a sentence.
    upload.deinit();
    if (uploaded.record(upload)) {
        return error.Accepted;
    } else |refused| {
        if (std.mem.indexOf(u8, message(), "upload") == null) return refused;
        _ = printf("%s\n", c.cushim_last_error_message());
    }
    _ = fflush(null);
}

pub fn main() u8 {
    run() catch |failure| {
        std.debug.print("{s}: {s}\n", .{ @errorName(failure), message() });
        return 1;
    };
    return 0;
}
