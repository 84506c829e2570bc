<?php
// cushim.cdef.h as PHP reads it. usage: php -d ffi.enable=1 with_php.php LIBCUSHIM CUSHIM.CDEF.H

function expect(int $is, int $right): void {
    if ($is !== $right) throw new Exception("$is, not $right");
}

$lib = FFI::cdef(file_get_contents($argv[2]), $argv[1]);
$driver = $lib->new('cushim_driver');
$info = $lib->new('cushim_driver_info');
$info->struct_size = FFI::sizeof($info);
expect($lib->cushim_driver_open(null, FFI::addr($driver)), $lib->CUSHIM_SUCCESS);
expect($lib->cushim_driver_get_info($driver, FFI::addr($info)), $lib->CUSHIM_SUCCESS);
expect($lib->cushim_driver_destroy($driver), $lib->CUSHIM_SUCCESS);
expect($lib->cushim_driver_destroy($driver), $lib->CUSHIM_ERROR_ALREADY_DESTROYED);
expect($info->version, (int) getenv('CHECK_VERSION'));
