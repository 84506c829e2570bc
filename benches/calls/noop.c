/* A CUDA driver that does nothing: every call answers with success at once. What is measured on it is who calls. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int result;
typedef void *handle;

static _Thread_local handle current;

/* A handle, or an address, that was not given before. Threads share nothing for that, so that they lose nothing to each other here. */
static uintptr_t fresh(void) {
  static _Thread_local __attribute__((tls_model("initial-exec"))) uintptr_t last;
  static _Atomic uintptr_t threads;
  if (last == 0) last = ++threads << 40;
  return last += 0x10000;
}
static char primary;

result cuInit(unsigned flags) { return 0; }
result cuDriverGetVersion(int *version) { return *version = 12080, 0; }
result cuGetErrorName(result code, const char **name) { return *name = "an error", 0; }

result cuDeviceGetCount(int *count) { return *count = 1, 0; }
result cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
result cuDeviceGetAttribute(int *value, int attribute, int device) { return *value = 1, 0; }
result cuDeviceGetName(char *name, int size, int device) {
  if (size > 0) strncpy(name, "a device that does nothing", size)[size - 1] = 0;
  return 0;
}
result cuDeviceGetDefaultMemPool(handle *pool, int device) { return *pool = &primary, 0; }
result cuDeviceGetMemPool(handle *pool, int device) { return *pool = &primary, 0; }
result cuMemPoolSetAttribute(handle pool, int attribute, void *value) { return 0; }

result cuDevicePrimaryCtxRetain(handle *context, int device) { return *context = &primary, 0; }
result cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
result cuCtxGetId(handle context, unsigned long long *id) { return *id = 1, 0; }
result cuCtxGetCurrent(handle *context) { return *context = current, 0; }
result cuCtxSetCurrent(handle context) { return current = context, 0; }
result cuCtxPushCurrent_v2(handle context) { return current = context, 0; }
result cuCtxPopCurrent_v2(handle *context) { return *context = current, 0; }
result cuCtxSynchronize(void) { return 0; }

result cuStreamCreate(handle *stream, unsigned flags) { return *stream = (handle)fresh(), 0; }
result cuStreamCreateWithPriority(handle *stream, unsigned flags, int priority) { return *stream = (handle)fresh(), 0; }
result cuStreamDestroy_v2(handle stream) { return 0; }
result cuStreamGetFlags(handle stream, unsigned *flags) { return *flags = 1, 0; } /* non-blocking */
result cuStreamQuery(handle stream) { return 0; }
result cuStreamSynchronize(handle stream) { return 0; }
result cuStreamWaitEvent(handle stream, handle event, unsigned flags) { return 0; }

result cuEventCreate(handle *event, unsigned flags) { return *event = (handle)fresh(), 0; }
result cuEventDestroy_v2(handle event) { return 0; }
result cuEventRecord(handle event, handle stream) { return 0; }
result cuEventQuery(handle event) { return 0; }
result cuEventSynchronize(handle event) { return 0; }
result cuEventElapsedTime(float *milliseconds, handle start, handle end) { return *milliseconds = 1, 0; }

result cuMemAlloc_v2(uint64_t *pointer, size_t bytes) { return *pointer = fresh(), 0; }
result cuMemFree_v2(uint64_t pointer) { return 0; }
result cuMemAllocAsync(uint64_t *pointer, size_t bytes, handle stream) { return *pointer = fresh(), 0; }
result cuMemAllocFromPoolAsync(uint64_t *pointer, size_t bytes, handle pool, handle stream) { return *pointer = fresh(), 0; }
result cuMemFreeAsync(uint64_t pointer, handle stream) { return 0; }
result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  static char page[1 << 16];
  return *pointer = page, 0;
}
result cuMemFreeHost(void *pointer) { return 0; }
result cuMemsetD8Async(uint64_t pointer, unsigned char value, size_t count, handle stream) { return 0; }
result cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, handle stream) { return 0; }
result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, handle stream) { return 0; }
result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, handle stream) { return 0; }
result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, handle stream) { return 0; }

/* The handle of a kernel, and of a function of a module, says how many parameters it has, numbers of 8 bytes; so does the end of
   its name. One without such an end takes a pointer and a number of 4 bytes. */
enum { MOST = 257, UNNUMBERED = MOST };
static char kernels[UNNUMBERED + 1], functions[UNNUMBERED + 1];
static int index_of(const char *name) {
  const char *number = strrchr(name, '_');
  return number != NULL ? atoi(number + 1) : UNNUMBERED;
}
static result parameter(size_t count, size_t index, size_t *offset, size_t *size) {
  if (index >= (count == UNNUMBERED ? 2 : count)) return 1;
  return *offset = 8 * index, *size = count == UNNUMBERED && index == 1 ? 4 : 8, 0;
}

result cuLibraryLoadData(handle *library, const void *code, int *options, void **values, unsigned count, int *others,
                         void **other_values, unsigned other_count) {
  return *library = (handle)fresh(), 0;
}
result cuLibraryGetModule(handle *module, handle library) { return *module = library, 0; }
result cuLibraryGetKernel(handle *kernel, handle library, const char *name) { return *kernel = kernels + index_of(name), 0; }
result cuLibraryUnload(handle library) { return 0; }
result cuModuleLoadData(handle *module, const void *code) { return *module = (handle)fresh(), 0; }
result cuModuleGetFunction(handle *function, handle module, const char *name) { return *function = functions + index_of(name), 0; }
result cuModuleUnload(handle module) { return 0; }
result cuKernelGetParamInfo(handle kernel, size_t index, size_t *offset, size_t *size) {
  return parameter((char *)kernel - kernels, index, offset, size);
}
result cuFuncGetParamInfo(handle function, size_t index, size_t *offset, size_t *size) {
  return parameter((char *)function - functions, index, offset, size);
}

/* Graphs: nothing but a list of the user objects that each refers to, so that what they keep is let go of as with any driver. */
typedef void (*destructor)(void *data);
struct object { destructor destroy; void *data; unsigned references; };
struct graph { struct object **objects; size_t count, room; };

result cuUserObjectCreate(handle *object, void *data, destructor destroy, unsigned references, unsigned flags) {
  struct object *made = malloc(sizeof *made);
  *made = (struct object){destroy, data, references};
  return *object = made, 0;
}
result cuUserObjectRelease(handle object, unsigned count) {
  struct object *released = object;
  if ((released->references -= count) == 0) {
    released->destroy(released->data);
    free(released);
  }
  return 0;
}
result cuGraphRetainUserObject(handle graph, handle object, unsigned count, unsigned flags) {
  struct graph *to = graph;
  if (to->count == to->room) {
    to->room = to->room == 0 ? 16 : 2 * to->room;
    to->objects = realloc(to->objects, to->room * sizeof *to->objects);
  }
  return to->objects[to->count++] = object, 0;
}
result cuGraphReleaseUserObject(handle graph, handle object, unsigned count) {
  struct graph *from = graph;
  for (size_t i = from->count; i-- > 0;) {
    if (from->objects[i] != object) continue;
    from->objects[i] = from->objects[--from->count];
    break;
  }
  return cuUserObjectRelease(object, 1);
}

result cuGraphCreate(handle *graph, unsigned flags) { return *graph = calloc(1, sizeof(struct graph)), 0; }
result cuGraphDestroy(handle graph) {
  struct graph *destroyed = graph;
  for (size_t i = 0; i < destroyed->count; i++) cuUserObjectRelease(destroyed->objects[i], 1);
  free(destroyed->objects);
  free(destroyed);
  return 0;
}
result cuGraphAddKernelNode_v2(handle *node, handle graph, const handle *after, size_t count, const void *parameters) {
  return *node = (handle)fresh(), 0;
}
result cuGraphInstantiateWithFlags(handle *exec, handle graph, unsigned long long flags) {
  const struct graph *from = graph;
  struct graph *made = calloc(1, sizeof *made);
  made->objects = malloc(from->count * sizeof *made->objects + 1);
  for (size_t i = 0; i < from->count; i++) {
    made->objects[made->count++] = from->objects[i];
    from->objects[i]->references++;
  }
  made->room = made->count;
  return *exec = made, 0;
}
result cuGraphLaunch(handle exec, handle stream) { return 0; }
result cuGraphExecKernelNodeSetParams_v2(handle exec, handle node, const void *parameters) { return 0; }
result cuGraphExecDestroy(handle exec) { return cuGraphDestroy(exec); }

/* Captures: of one stream at a time, whatever the stream; each launch is a node. */
static struct { handle graph, last; unsigned long long id; } capture;
enum { NOT_CAPTURING, CAPTURING };

result cuThreadExchangeStreamCaptureMode(int *mode) {
  static _Thread_local int now;
  const int before = now;
  return now = *mode, *mode = before, 0;
}
result cuStreamBeginCapture_v2(handle stream, int mode) {
  capture.id++, capture.last = NULL;
  return cuGraphCreate(&capture.graph, 0);
}
result cuStreamEndCapture(handle stream, handle *graph) { return *graph = capture.graph, capture.graph = NULL, 0; }
result cuStreamIsCapturing(handle stream, int *status) {
  return *status = capture.graph != NULL ? CAPTURING : NOT_CAPTURING, 0;
}
result cuStreamGetCaptureInfo_v3(handle stream, int *status, unsigned long long *id, handle *graph, const handle **after,
                                 const void **edges, size_t *count) {
  if (capture.graph == NULL) return *status = NOT_CAPTURING, 0;
  *id = capture.id, *graph = capture.graph, *after = &capture.last, *edges = NULL, *count = capture.last != NULL;
  return *status = CAPTURING, 0;
}

static result launch(void) {
  if (capture.graph != NULL) capture.last = (handle)fresh();
  return 0;
}
result cuLaunchKernelEx(const void *config, handle kernel, void **arguments, void **extra) { return launch(); }
result cuLaunchKernel(handle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared, handle stream, void **arguments, void **extra) {
  return launch();
}
