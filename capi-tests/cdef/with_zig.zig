// cushim.cdef.h as `zig translate-c` reads it: cushim.zig, beside this file, is what that printed.
const std = @import("std");
const cushim = @import("cushim.zig");

extern fn getenv(name: [*:0]const u8) ?[*:0]const u8;
extern fn atoi(text: [*:0]const u8) c_int;

fn expect(is: cushim.cushim_status, right: cushim.cushim_status) !void {
    if (is != right) return error.Wrong;
}

pub fn main() !void {
    var driver: cushim.cushim_driver = null;
    var info = std.mem.zeroes(cushim.cushim_driver_info);
    info.struct_size = @sizeOf(cushim.cushim_driver_info);
    try expect(cushim.cushim_driver_open(null, &driver), cushim.CUSHIM_SUCCESS);
    try expect(cushim.cushim_driver_get_info(driver, &info), cushim.CUSHIM_SUCCESS);
    try expect(cushim.cushim_driver_destroy(driver), cushim.CUSHIM_SUCCESS);
    try expect(cushim.cushim_driver_destroy(driver), cushim.CUSHIM_ERROR_ALREADY_DESTROYED);
    try expect(info.version, atoi(getenv("CHECK_VERSION") orelse return error.NoVersion));
}
