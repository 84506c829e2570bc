"""Python ends while functions of its own are called, or are about to be, on threads of cushim and of the driver.

Before 3.14 it then ends each of these threads where they next want the interpreter. The process ends as if they were not there.
"""

import ctypes
import sys
import time

FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p)
DEBUG = 4  # CUSHIM_LOG_DEBUG

what, library = sys.argv[1:3]
lib = ctypes.CDLL(library)
lib.cushim_last_error_message.restype = ctypes.c_char_p
begun = []


class Owner(ctypes.Structure):
    """cushim_owner."""

    _fields_ = [("data", ctypes.c_void_p), ("release", FUNCTION)]


class Lingers:
    """Goes late: no thread but this one gets the interpreter any more then."""

    def __del__(self, sleep=time.sleep):
        sleep(0.5)


def check(status):
    if status != 0:
        raise RuntimeError(f"{status}: {lib.cushim_last_error_message().decode()}")


def made(function, *arguments):
    handle = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(handle)))
    return handle


def takes_long(*_):
    begun.append(what)
    time.sleep(0.2)
    print("it came back", flush=True)


release, logs = FUNCTION(takes_long), LOG(takes_long)
owner = Owner(None, release)
driver = made(lib.cushim_driver_open, None)
sys.lingers = Lingers()  # which goes last


def releases():
    memory = ctypes.c_void_p(4096)
    buffers = [made(lib.cushim_buffer_wrap, driver, None, memory, ctypes.c_size_t(64), None, ctypes.byref(owner))
               for _ in range(50)]
    for buffer in buffers:
        check(lib.cushim_buffer_destroy(buffer))


def host_function():
    device = made(lib.cushim_driver_get_device, driver, 0)
    context = made(lib.cushim_context_retain_primary, device)
    for _ in range(3):
        stream = made(lib.cushim_stream_create, context, None)
        check(lib.cushim_stream_launch_host_function(stream, release, None, ctypes.byref(owner)))


def log():
    check(lib.cushim_log_set_callback(logs, None, None, DEBUG))
    lib.cushim_driver_destroy(made(lib.cushim_driver_open, None))
    lib.cushim_driver_destroy(made(lib.cushim_driver_open, None))


{"releases": releases, "host_function": host_function, "log": log}[what]()
while not begun:
    time.sleep(0.001)
print("it ends", flush=True)
