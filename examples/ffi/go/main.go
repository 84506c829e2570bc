// Two streams, an event between them, a kernel, a captured graph with a parameter, and a channel that is closed when the work is done.
//
//	export PKG_CONFIG_PATH=PREFIX/lib/pkgconfig CGO_LDFLAGS=-Wl,-rpath,PREFIX/lib
//	go run .
//
// PREFIX is where scripts/install.sh has installed cushim. docs/languages/go.md explains it.
package main

/*
#cgo pkg-config: cushim
#include <cushim.h>
#include <stdlib.h>

// A number that C calls `void *` must not stand in Go as a pointer: Go's stacks and collector look at those.
static cushim_status notify(cushim_stream stream, uintptr_t number) {
  return cushim_stream_launch_host_function(stream, NULL, (void *)number, NULL);
}

static cushim_status drain(uintptr_t *numbers, size_t *count) {
  cushim_drain_item items[8];
  size_t i;
  cushim_status status = cushim_drain(items, sizeof items[0], 8, count);
  for (i = 0; i < *count; i++) numbers[i] = (uintptr_t)items[i].data;
  return status;
}

// cgo calls no macros.
static cushim_endpoint on_host(void *address) { return cushim_endpoint_host(address); }
static cushim_endpoint on_device(cushim_buffer buffer) { return cushim_endpoint_buffer(buffer, 0); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/cgo"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// Error is what a failed call left.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// call makes a call and reads its message on one thread: goroutines move from thread to thread. The objects stay alive until it is
// made; the last use of an object in Go is where its handle is read, and its finalizer may run right after that.
func call(function func() C.cushim_status, objects ...any) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer runtime.KeepAlive(objects)
	if status := function(); status != C.CUSHIM_SUCCESS {
		return &Error{int(status), C.GoString(C.cushim_last_error_message())}
	}
	return nil
}

// Driver is an open driver.
type Driver struct{ handle C.cushim_driver }

// OpenDriver opens the driver of this machine, or what CUSHIM_DRIVER says.
func OpenDriver() (*Driver, error) {
	d := &Driver{}
	if err := call(func() C.cushim_status { return C.cushim_driver_open(nil, &d.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(d, func(d *Driver) { C.cushim_driver_destroy(d.handle) })
	return d, nil
}

// Info returns the driver's CUDA version, and what kind of driver it is.
func (d *Driver) Info() (version int, kind string, err error) {
	info := C.cushim_driver_info{struct_size: C.sizeof_cushim_driver_info}
	if err := call(func() C.cushim_status { return C.cushim_driver_get_info(d.handle, &info) }, d); err != nil {
		return 0, "", err
	}
	kinds := []string{"none", "native", "compat", "WSL", "Tegra", "software"}
	if int(info.kind) < len(kinds) {
		return int(info.version), kinds[info.kind], nil
	}
	return int(info.version), "other", nil
}

// Device is a device of a driver. Its handle is borrowed: nobody destroys it.
type Device struct {
	driver *Driver
	handle C.cushim_device
}

// Device returns a device.
func (d *Driver) Device(ordinal int) (*Device, error) {
	device := &Device{driver: d}
	return device, call(func() C.cushim_status {
		return C.cushim_driver_get_device(d.handle, C.int32_t(ordinal), &device.handle)
	}, d)
}

// Context is a device's primary context.
type Context struct{ handle C.cushim_context }

// PrimaryContext retains the primary context of the device.
func (d *Device) PrimaryContext() (*Context, error) {
	c := &Context{}
	err := call(func() C.cushim_status { return C.cushim_context_retain_primary(d.handle, &c.handle) }, d)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(c, func(c *Context) { C.cushim_context_destroy(c.handle) })
	return c, nil
}

// Floats allocates page-locked memory. It is not Go's, so it may stay with the library after a call returns. FreeFloats frees it.
func (c *Context) Floats(count int) ([]float32, error) {
	var address unsafe.Pointer
	err := call(func() C.cushim_status {
		return C.cushim_context_allocate_host(c.handle, C.size_t(4*count), 0, &address)
	}, c)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*float32)(address), count), nil
}

// FreeFloats frees what Floats has allocated.
func (c *Context) FreeFloats(numbers []float32) error {
	return call(func() C.cushim_status { return C.cushim_context_free_host(c.handle, unsafe.Pointer(&numbers[0])) }, c)
}

// Kernel is a kernel.
type Kernel struct{ handle C.cushim_kernel }

// Load loads PTX, and returns one of its kernels, which keeps what was loaded.
func (c *Context) Load(ptx, name string) (*Kernel, error) {
	code, of := C.CString(ptx), C.CString(name)
	defer C.free(unsafe.Pointer(code))
	defer C.free(unsafe.Pointer(of))
	var library C.cushim_library
	err := call(func() C.cushim_status {
		return C.cushim_library_load(c.handle, unsafe.Pointer(code), C.size_t(len(ptx)), nil, &library)
	}, c)
	if err != nil {
		return nil, err
	}
	defer C.cushim_library_destroy(library)
	k := &Kernel{}
	if err := call(func() C.cushim_status { return C.cushim_kernel_create(library, of, &k.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(k, func(k *Kernel) { C.cushim_kernel_destroy(k.handle) })
	return k, nil
}

// Stream is a stream. One that is captured is borrowed.
type Stream struct{ handle C.cushim_stream }

// Stream creates a stream. Messages about it have the label.
func (c *Context) Stream(label string) (*Stream, error) {
	text := C.CString(label)
	defer C.free(unsafe.Pointer(text))
	s := &Stream{}
	err := call(func() C.cushim_status { return C.cushim_stream_create(c.handle, nil, &s.handle) }, c)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(s, func(s *Stream) { C.cushim_stream_destroy(s.handle) })
	return s, call(func() C.cushim_status { return C.cushim_set_label(unsafe.Pointer(s.handle), text) }, s)
}

// Close destroys the handle now, instead of some time after nothing refers to the stream. Work in it still runs.
func (s *Stream) Close() error {
	runtime.SetFinalizer(s, nil)
	return call(func() C.cushim_status { return C.cushim_stream_destroy(s.handle) })
}

// Wait has work that is enqueued from now on wait for the event.
func (s *Stream) Wait(e *Event) error {
	return call(func() C.cushim_status { return C.cushim_stream_wait_event(s.handle, e.handle) }, s, e)
}

// Upload copies to the buffer. The numbers are page-locked, and stay as they are until that is done.
func (s *Stream) Upload(to *Buffer, from []float32) error {
	destination, source := C.on_device(to.handle), C.on_host(unsafe.Pointer(&from[0]))
	return call(func() C.cushim_status {
		return C.cushim_stream_copy(s.handle, &destination, &source, C.size_t(4*len(from)))
	}, s, to)
}

// Download copies from the buffer.
func (s *Stream) Download(to []float32, from *Buffer) error {
	destination, source := C.on_host(unsafe.Pointer(&to[0])), C.on_device(from.handle)
	return call(func() C.cushim_status {
		return C.cushim_stream_copy(s.handle, &destination, &source, C.size_t(4*len(to)))
	}, s, from)
}

// Done returns a channel that is closed when the work that is in the stream now is done. The driver calls no Go: the library gives
// the number of the channel to the goroutine that drains.
func (s *Stream) Done() (<-chan struct{}, error) {
	if err := startDraining(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	number := cgo.NewHandle(done)
	if err := call(func() C.cushim_status { return C.notify(s.handle, C.uintptr_t(number)) }, s); err != nil {
		number.Delete()
		return nil, err
	}
	return done, nil
}

var (
	draining    sync.Once
	drainingErr error
)

// startDraining starts a goroutine that waits for the library's descriptor as for any socket: no thread is blocked.
func startDraining() error {
	draining.Do(func() {
		var fd C.int32_t
		if drainingErr = call(func() C.cushim_status { return C.cushim_drain_fd(&fd) }); drainingErr != nil {
			return
		}
		var own int // what Go has as a file is closed by its finalizer
		if own, drainingErr = syscall.Dup(int(fd)); drainingErr != nil {
			return
		}
		syscall.CloseOnExec(own)
		file, err := os.NewFile(uintptr(own), "cushim").SyscallConn()
		if drainingErr = err; err == nil {
			go file.Read(func(uintptr) bool { drain(); return false })
		}
	})
	return drainingErr
}

// drain takes all items out of the queue.
func drain() {
	var numbers [8]C.uintptr_t
	for count := C.size_t(len(numbers)); count == C.size_t(len(numbers)); {
		if err := call(func() C.cushim_status { return C.drain(&numbers[0], &count) }); err != nil {
			panic(err)
		}
		for _, number := range numbers[:count] {
			handle := cgo.Handle(number)
			close(handle.Value().(chan struct{}))
			handle.Delete()
		}
	}
}

// Event is an event.
type Event struct{ handle C.cushim_event }

// Event creates an event.
func (c *Context) Event() (*Event, error) {
	e := &Event{}
	if err := call(func() C.cushim_status { return C.cushim_event_create(c.handle, nil, &e.handle) }, c); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(e, func(e *Event) { C.cushim_event_destroy(e.handle) })
	return e, nil
}

// Record records the work that is in the stream now.
func (e *Event) Record(s *Stream) error {
	return call(func() C.cushim_status { return C.cushim_event_record(e.handle, s.handle) }, e, s)
}

// Buffer is memory of a device.
type Buffer struct{ handle C.cushim_buffer }

// Allocate allocates memory in the order of the stream.
func (d *Device) Allocate(s *Stream, bytes int) (*Buffer, error) {
	b := &Buffer{}
	err := call(func() C.cushim_status {
		return C.cushim_buffer_create_default(d.handle, s.handle, C.size_t(bytes), &b.handle)
	}, d, s)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(b, func(b *Buffer) { C.cushim_buffer_destroy(b.handle) })
	return b, nil
}

// Arg is an argument of a kernel: it fills the struct in. What that points to is C's, too, because C must not get memory of Go's that
// has pointers to memory of Go's.
type Arg func(arg *C.cushim_arg, memory *arena)

// Memory is an argument that is memory of a device.
func Memory(b *Buffer) Arg {
	return func(arg *C.cushim_arg, _ *arena) {
		arg.kind, arg.value = C.CUSHIM_ARG_BUFFER, unsafe.Pointer(b.handle)
	}
}

// Float is an argument that is a number.
func Float(value float32) Arg {
	return func(arg *C.cushim_arg, memory *arena) {
		arg.kind, arg.size, arg.value = C.CUSHIM_ARG_BYTES, 4, memory.float(value)
	}
}

// Parameter is a number that has a name: Exec.Set changes it.
func Parameter(name string, value float32) Arg {
	return func(arg *C.cushim_arg, memory *arena) {
		parameter := (*C.cushim_parameter)(memory.allocate(C.sizeof_cushim_parameter))
		parameter.name, parameter.value, parameter.size = memory.text(name), memory.float(value), 4
		arg.kind, arg.value = C.CUSHIM_ARG_PARAMETER, unsafe.Pointer(parameter)
	}
}

// arena is memory of C's that is freed together.
type arena []unsafe.Pointer

func (a *arena) allocate(bytes C.size_t) unsafe.Pointer {
	*a = append(*a, C.calloc(1, bytes))
	return (*a)[len(*a)-1]
}

func (a *arena) text(text string) *C.char {
	*a = append(*a, unsafe.Pointer(C.CString(text)))
	return (*C.char)((*a)[len(*a)-1])
}

func (a *arena) float(value float32) unsafe.Pointer {
	address := a.allocate(4)
	*(*float32)(address) = value
	return address
}

func (a *arena) free() {
	for _, address := range *a {
		C.free(address)
	}
}

// Launch launches the kernel.
func (k *Kernel) Launch(s *Stream, grid, block int, args ...Arg) error {
	var memory arena
	defer memory.free()
	config := C.cushim_launch_config{struct_size: C.sizeof_cushim_launch_config}
	config.grid = C.cushim_dim3{C.uint32_t(grid), 1, 1}
	config.block = C.cushim_dim3{C.uint32_t(block), 1, 1}
	first := (*C.cushim_arg)(memory.allocate(C.size_t(len(args)) * C.sizeof_cushim_arg))
	for i, slot := 0, unsafe.Slice(first, len(args)); i < len(args); i++ {
		args[i](&slot[i], &memory)
	}
	return call(func() C.cushim_status {
		return C.cushim_kernel_launch(k.handle, s.handle, &config, first, C.size_t(len(args)))
	}, k, s, args)
}

// Exec is a graph that can be launched.
type Exec struct{ handle C.cushim_exec }

// Capture makes a graph of what the function enqueues in the stream that it gets.
func (c *Context) Capture(record func(*Stream) error) (*Exec, error) {
	var builder C.cushim_builder
	var graph C.cushim_graph
	defer func() { C.cushim_builder_destroy(builder); C.cushim_graph_destroy(graph) }() // NULL is allowed
	err := call(func() C.cushim_status { return C.cushim_builder_create(c.handle, nil, &builder) }, c)
	if err == nil {
		err = call(func() C.cushim_status { return C.cushim_builder_begin(builder) })
	}
	if err == nil {
		err = record(&Stream{C.cushim_builder_stream(builder)})
	}
	if err == nil {
		err = call(func() C.cushim_status { return C.cushim_builder_end(builder, &graph) })
	}
	e := &Exec{}
	if err == nil {
		err = call(func() C.cushim_status { return C.cushim_exec_create(graph, nil, &e.handle, nil) })
	}
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(e, func(e *Exec) { C.cushim_exec_destroy(e.handle) })
	return e, nil
}

// Launch launches the graph.
func (e *Exec) Launch(s *Stream) error {
	return call(func() C.cushim_status { return C.cushim_exec_launch(e.handle, s.handle) }, e, s)
}

// Set gives a parameter another value, for launches from now on.
func (e *Exec) Set(name string, value float32) error {
	of := C.CString(name)
	defer C.free(unsafe.Pointer(of))
	return call(func() C.cushim_status {
		return C.cushim_exec_set_parameter(e.handle, of, unsafe.Pointer(&value), 4, nil)
	}, e)
}

// numbers[i] *= by
const scaleCode = `
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
`

const count = 1024

func run() error {
	driver, err := OpenDriver()
	if err != nil {
		return err
	}
	version, kind, err := driver.Info()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "driver of CUDA %d.%d, %s\n", version/1000, version%1000/10, kind)
	device, err := driver.Device(0)
	if err != nil {
		return err
	}
	context, err := device.PrimaryContext()
	if err != nil {
		return err
	}
	upload, err := context.Stream("upload")
	if err != nil {
		return err
	}
	compute, err := context.Stream("compute")
	if err != nil {
		return err
	}
	uploaded, err := context.Event()
	if err != nil {
		return err
	}
	scale, err := context.Load(scaleCode, "scale")
	if err != nil {
		return err
	}
	numbers, err := context.Floats(count)
	if err != nil {
		return err
	}
	defer context.FreeFloats(numbers)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	buffer, err := device.Allocate(upload, 4*count)
	if err != nil {
		return err
	}

	// One stream copies, and the other one waits for that.
	if err := upload.Upload(buffer, numbers); err != nil {
		return err
	}
	if err := uploaded.Record(upload); err != nil {
		return err
	}
	if err := compute.Wait(uploaded); err != nil {
		return err
	}
	if err := scale.Launch(compute, count/128, 128, Memory(buffer), Float(2)); err != nil {
		return err
	}

	// The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
	exec, err := context.Capture(func(stream *Stream) error {
		return scale.Launch(stream, count/128, 128, Memory(buffer), Parameter("by", 3))
	})
	if err != nil {
		return err
	}
	if err := exec.Launch(compute); err != nil {
		return err
	}
	if err := exec.Set("by", 0.5); err != nil {
		return err
	}
	if err := exec.Launch(compute); err != nil {
		return err
	}

	if err := compute.Download(numbers, buffer); err != nil {
		return err
	}
	done, err := compute.Done()
	if err != nil {
		return err
	}
	<-done // or in a select
	for i, number := range numbers {
		if number != float32(i)*3 {
			return fmt.Errorf("number %d is %g instead of %d", i, number, i*3)
		}
	}
	fmt.Println(count, "numbers are right")

	// A handle that was destroyed is refused, with a sentence.
	if err := upload.Close(); err != nil {
		return err
	}
	refused := uploaded.Record(upload)
	if refused == nil || !strings.Contains(refused.Error(), "upload") {
		return fmt.Errorf("a destroyed stream was accepted: %v", refused)
	}
	fmt.Println(refused)
	runtime.KeepAlive(buffer) // of which the work in the streams is not a use that Go sees
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
