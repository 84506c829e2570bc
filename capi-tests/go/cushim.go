// Package cushim is as much of a binding as the test beside it needs, and an example of how to write one.
//
// A handle is a pointer to a C struct that has no body. Go's collector and its moving stacks look at pointers, and a handle
// points nowhere: for such structs Go knows that the memory is none of its own, and leaves the value alone.
package cushim

/*
#include <cushim.h>
#include <stdlib.h>

// A number of Go's own as the data of a host function; a cgo.Handle is one.
static cushim_status enqueue(cushim_stream stream, uintptr_t number) {
  return cushim_stream_launch_host_function(stream, NULL, (void *)number, NULL);
}

static cushim_status drain(uintptr_t *numbers, size_t capacity, size_t *count) {
  cushim_drain_item items[16];
  size_t i;
  cushim_status status = cushim_drain(items, sizeof items[0], capacity < 16 ? capacity : 16, count);
  for (i = 0; status == CUSHIM_SUCCESS && i < *count; i++) numbers[i] = (uintptr_t)items[i].data;
  return status;
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Error is an error object, which every thread can read: goroutines move from thread to thread.
type Error struct {
	handle C.cushim_error
}

// Error gives the sentence.
func (e *Error) Error() string {
	var message [4096]C.char
	if C.cushim_error_get_message(e.handle, &message[0], C.size_t(len(message)), nil) != 0 {
		return "the error was destroyed"
	}
	return C.GoString(&message[0])
}

// Destroy destroys the handle of the error.
func (e *Error) Destroy() { C.cushim_error_destroy(e.handle) }

// call runs a function of the library and takes its error, both on one thread: there the error is.
func call(function func() C.cushim_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if function() == C.CUSHIM_SUCCESS {
		return nil
	}
	failed := &Error{}
	if C.cushim_error_take(&failed.handle) != C.CUSHIM_SUCCESS {
		panic("a call failed and left no error")
	}
	return failed
}

// Context is a device's primary context.
type Context struct{ handle C.cushim_context }

// Stream is a stream.
type Stream struct{ handle C.cushim_stream }

// Event is an event.
type Event struct{ handle C.cushim_event }

// Open opens the driver of the environment and retains the primary context of its first device.
func Open() (*Context, error) {
	var driver C.cushim_driver
	var device C.cushim_device
	context := &Context{}
	for _, step := range []func() C.cushim_status{
		func() C.cushim_status { return C.cushim_driver_open(nil, &driver) },
		func() C.cushim_status { return C.cushim_driver_get_device(driver, 0, &device) },
		func() C.cushim_status { return C.cushim_context_retain_primary(device, &context.handle) },
		func() C.cushim_status { return C.cushim_driver_destroy(driver) },
	} {
		if err := call(step); err != nil {
			return nil, err
		}
	}
	return context, nil
}

// Destroy destroys the handle of the context.
func (c *Context) Destroy() error {
	return call(func() C.cushim_status { return C.cushim_context_destroy(c.handle) })
}

// Stream creates a stream with a label.
func (c *Context) Stream(label string) (*Stream, error) {
	text := C.CString(label)
	defer C.free(unsafe.Pointer(text))
	stream := &Stream{}
	if err := call(func() C.cushim_status { return C.cushim_stream_create(c.handle, nil, &stream.handle) }); err != nil {
		return nil, err
	}
	return stream, call(func() C.cushim_status { return C.cushim_set_label(unsafe.Pointer(stream.handle), text) })
}

// Event creates an event with a label. It does not measure time.
func (c *Context) Event(label string) (*Event, error) {
	text := C.CString(label)
	defer C.free(unsafe.Pointer(text))
	event := &Event{}
	if err := call(func() C.cushim_status { return C.cushim_event_create(c.handle, nil, &event.handle) }); err != nil {
		return nil, err
	}
	return event, call(func() C.cushim_status { return C.cushim_set_label(unsafe.Pointer(event.handle), text) })
}

// Synchronize waits for the stream.
func (s *Stream) Synchronize() error {
	return call(func() C.cushim_status { return C.cushim_stream_synchronize(s.handle) })
}

// Enqueue has Drain give the number once the stream has come so far.
func (s *Stream) Enqueue(number uintptr) error {
	return call(func() C.cushim_status { return C.enqueue(s.handle, C.uintptr_t(number)) })
}

// Destroy destroys the handle of the stream.
func (s *Stream) Destroy() error {
	return call(func() C.cushim_status { return C.cushim_stream_destroy(s.handle) })
}

// Record records the stream's work so far.
func (e *Event) Record(stream *Stream) error {
	return call(func() C.cushim_status { return C.cushim_event_record(e.handle, stream.handle) })
}

// Since gives the milliseconds since the other event.
func (e *Event) Since(start *Event) (float32, error) {
	var milliseconds C.float
	err := call(func() C.cushim_status { return C.cushim_event_elapsed(start.handle, e.handle, &milliseconds) })
	return float32(milliseconds), err
}

// Destroy destroys the handle of the event.
func (e *Event) Destroy() error {
	return call(func() C.cushim_status { return C.cushim_event_destroy(e.handle) })
}

// Drain gives the numbers that streams have reached, instead of calls on threads that Go does not know.
func Drain() ([]uintptr, error) {
	var numbers [16]C.uintptr_t
	var count C.size_t
	err := call(func() C.cushim_status { return C.drain(&numbers[0], C.size_t(len(numbers)), &count) })
	drained := make([]uintptr, count)
	for i := range drained {
		drained[i] = uintptr(numbers[i])
	}
	return drained, err
}
