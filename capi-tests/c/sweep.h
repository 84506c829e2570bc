/*
 * Every function with good arguments: what they are. The generated calls are in sweep.inc. Include it after objects.h.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "objects.h"

#include "dlpack.h"

#include <sys/mman.h>

enum swept_role { VALUE, HANDLE, ENDED, POINTER, ROOM };

struct swept_parameter {
  const char *name;
  enum swept_role role;
  const char *kind; /* of a handle */
  int nullable;
};

struct swept {
  const char *name;
  cushim_status (*call)(int slot, void *value);
  const struct swept_parameter *parameters;
  int parameter_count;
  int refuses_fork;
  int refuses_callback;
};

/* A place for any value that comes out. */
union sweep_room {
  long long aligned;
  unsigned char bytes[64];
};

static struct objects fixture;

/* Memory to work on: the device's, and the program's, which is all that there is with "none". */
static uint64_t memory;
static unsigned char page[4096] __attribute__((aligned(4096)));
static const cushim_extent good_extent = {8, 2, 1};
static cushim_place good_place;
static cushim_copy good_copies[2];
static CUdeviceptr shared; /* managed memory, of which both ranges are parts */
static cushim_range good_ranges[2];
static const cushim_location good_location = {CUSHIM_LOCATION_HOST, 0};
static cushim_region good_region;

/* Code of the bytes that GOOD_size says, with a kernel of the name that GOOD_name says, which takes as many. */
enum { CODE = 256 };
static char code[CODE + 1] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry cuInit(.param .align 4 .b8 block[256]) {\n"
    "  ret;\n"
    "}\n"
    "//";
static cushim_arg good_arg;
static CUfunction good_function;

/* Good arguments, by the name of the parameter or by its type. */
#define GOOD_abi 2000
#define GOOD_accessor_count 0
#define GOOD_address 0
#define GOOD_arg_count 1
#define GOOD_blocks 1
#define GOOD_address_pointer page
#define GOOD_advice CU_MEM_ADVISE_SET_READ_MOSTLY
#define GOOD_attribute CU_DEVICE_ATTRIBUTE_WARP_SIZE
#define GOOD_attribute_count 0
#define GOOD_bytes 64
#define GOOD_capacity 4
#define GOOD_change CUSHIM_PEERS_ADD
#define GOOD_copy_count 2
#define GOOD_count 8
#define GOOD_device_count 1
#define GOOD_feature "memory-pools"
#define GOOD_flags 0
#define GOOD_from memory
#define GOOD_height 2
#define GOOD_index 0
#define GOOD_kind 0
#define GOOD_label "label"
#define GOOD_level CUSHIM_LOG_WARN
#define GOOD_limit CU_LIMIT_STACK_SIZE
#define GOOD_location_count 1
#define GOOD_name "cuInit"
#define GOOD_nanoseconds 0
#define GOOD_offset 0
#define GOOD_ordinal 0
#define GOOD_ownership CUSHIM_BORROWED
#define GOOD_path code_path()
#define GOOD_pitch 32
#define GOOD_pointer memory
#define GOOD_pool_attribute CUSHIM_POOL_RELEASE_THRESHOLD
#define GOOD_range_count 2
#define GOOD_shared_bytes 0
#define GOOD_size 256
#define GOOD_tensor_pointer new_tensor()
#define GOOD_stride sizeof(cushim_item)
#define GOOD_threads 32
#define GOOD_timeout_ms 0
#define GOOD_to memory
#define GOOD_value 2048
#define GOOD_value_bytes 2
#define GOOD_width 8
#define GOOD_CUcontext native_context()
#define GOOD_CUevent native_event()
#define GOOD_CUfunction good_function
#define GOOD_CUgreenCtx NULL
#define GOOD_CUmemoryPool native_pool()
#define GOOD_CUkernel native_kernel()
#define GOOD_CUstream native_stream()
#define GOOD_cushim_arg &good_arg
#define GOOD_cushim_block_shared_memory none_needed
#define GOOD_cushim_copy good_copies
#define GOOD_cushim_device &fixture.device
#define GOOD_cushim_extent &good_extent
#define GOOD_cushim_location &good_location
#define GOOD_cushim_place &good_place
#define GOOD_cushim_range good_ranges
#define GOOD_cushim_region &good_region
#define GOOD_cushim_host_function nothing_to_do
#define GOOD_cushim_log_callback nothing_to_say
#define GOOD_void code

static inline void nothing_to_do(void *data) { (void)data; }

static inline void nothing_to_say(void *user, int32_t level, const char *target, const char *message) {
  (void)user, (void)level, (void)target, (void)message;
}

static size_t none_needed(void *data, uint32_t threads) {
  (void)data, (void)threads;
  return 0;
}

/* The code as a file, which goes with the process. */
static const char *code_path(void) {
  static char path[32];
  if (path[0] == 0) {
    int file = memfd_create("code", 0);
    if (!CHECK(file >= 0 && write(file, code, CODE) == CODE)) exit(1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  return path;
}

static CUkernel native_kernel(void) {
  CUkernel native = NULL;
  cushim_kernel_native(fixture.kernel, &native);
  return native;
}

static CUcontext native_context(void) {
  CUcontext native = NULL;
  cushim_context_native(fixture.context, &native);
  return native;
}

static CUevent native_event(void) {
  CUevent native = NULL;
  cushim_event_native(fixture.event, &native);
  return native;
}

static CUstream native_stream(void) {
  CUstream native = NULL;
  cushim_stream_native(fixture.stream, &native);
  return native;
}

/* Every destroy is refused, so the claims at hand serve. */
static int none_is_destroyed;

static void keep_tensor(DLManagedTensorVersioned *tensor) { (void)tensor; }

/* A tensor of the page; its deleter leaves it as it is. */
static void *new_tensor(void) {
  static DLManagedTensorVersioned tensor;
  static int64_t shape[1] = {64};
  tensor.version.major = 1;
  tensor.deleter = keep_tensor;
  tensor.dl_tensor.data = page;
  tensor.dl_tensor.device.device_type = kDLCPU;
  tensor.dl_tensor.ndim = 1;
  tensor.dl_tensor.dtype.code = kDLUInt;
  tensor.dl_tensor.dtype.bits = 8;
  tensor.dl_tensor.dtype.lanes = 1;
  tensor.dl_tensor.shape = shape;
  return &tensor;
}

static void delete_tensor(void *tensor) {
  DLManagedTensorVersioned *exported = (DLManagedTensorVersioned *)tensor;
  exported->deleter(exported);
}

/* The device's pool; with none, a value that is never looked at. Asked for before the calls that count, and before a fork. */
static CUmemoryPool native_pool(void) {
  static CUmemoryPool native;
  static int is_known;
  if (!is_known && !is_none(fixture.driver)) {
    table_of(fixture.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuDeviceGetMemPool_11020(&native, 0);
  }
  is_known = 1;
  return native != NULL ? native : (CUmemoryPool)NOT_NULL;
}

/* A claim of one's own; in the child of a fork there is no more than the one at hand. */
#define ONE_MORE(kind)                                                                    \
  static cushim_##kind one_more_##kind(void) {                                            \
    cushim_##kind more;                                                                   \
    if (none_is_destroyed) return fixture.kind;                                           \
    return cushim_##kind##_ref(fixture.kind, &more) == CUSHIM_SUCCESS ? more : fixture.kind; \
  }
ONE_MORE(driver)
ONE_MORE(device)
ONE_MORE(context)
ONE_MORE(stream)
ONE_MORE(event)
ONE_MORE(error)
ONE_MORE(resource)
ONE_MORE(buffer)
ONE_MORE(library)
ONE_MORE(kernel)

static int is_zero(const void *place, size_t size) {
  const unsigned char *bytes = (const unsigned char *)place;
  size_t i;
  for (i = 0; i < size; i++) {
    if (bytes[i] != 0) return 0;
  }
  return 1;
}

#include "sweep.inc"

enum { SWEPT = sizeof swept / sizeof *swept };

/* Two copies within the page, and two ranges of managed memory. */
static void set_up_arrays(void) {
  const cushim_driver_table *cu = table_of(fixture.driver, CUSHIM_TABLE_LEGACY_STREAM);
  int i;
  shared = (uint64_t)(uintptr_t)page;
  if (!is_none(fixture.driver)) {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuMemAllocManaged_6000(&shared, 8192, CU_MEM_ATTACH_GLOBAL));
  }
  for (i = 0; i < 2; i++) {
    good_copies[i].to = good_copies[i].from = good_place;
    good_copies[i].to.offset = (uint64_t)i * 64;
    good_copies[i].from.offset = 1024 + (uint64_t)i * 64;
    good_copies[i].bytes = 64;
    good_ranges[i].kind = CUSHIM_RANGE_POINTER;
    good_ranges[i].address = shared;
    good_ranges[i].offset = (uint64_t)i * 4096;
    good_ranges[i].bytes = 4096;
  }
}

/* Code that is as long as it says, and what is in it. With "none" there is none. */
static void set_up_code(void) {
  if (code[CODE - 1] == 0) memset(code + strlen(code), ' ', CODE - strlen(code));
  good_arg.kind = CUSHIM_ARG_BYTES;
  good_arg.size = CODE;
  good_arg.value = page;
  if (is_none(fixture.driver)) return;
  CHECK_OK(cushim_library_load(fixture.context, code, CODE, NULL, &fixture.library));
  CHECK_OK(cushim_kernel_create(fixture.library, "cuInit", &fixture.kernel));
  CHECK_OK(cushim_kernel_native_function(fixture.kernel, &good_function));
}

/* All objects without code, the context current and the stream, too. */
static void set_up_objects(void) {
  fixture = open_objects();
  CHECK_OK(cushim_context_push(fixture.context));
  CHECK_OK(cushim_stream_push_current(fixture.stream));
  memory = (uint64_t)(uintptr_t)page;
  if (!is_none(fixture.driver)) CHECK_OK(cushim_context_allocate(fixture.context, 4096, &memory));
  good_place.kind = CUSHIM_PLACE_HOST;
  good_place.address = (uint64_t)(uintptr_t)page;
  good_region.place = good_place;
  CHECK_OK(cushim_device_set_resource(fixture.device, fixture.resource));
  native_pool();
  set_up_arrays();
}

static void set_up(void) {
  set_up_objects();
  set_up_code();
}

static void tear_down(void) {
  cushim_context context;
  CHECK_OK(cushim_device_set_resource(fixture.device, NULL));
  /* The function may have done this, or what makes it impossible. */
  (void)cushim_context_free(fixture.context, memory);
  if (!is_none(fixture.driver)) (void)cushim_context_free(fixture.context, shared);
  (void)cushim_context_unregister_host(fixture.context, page);
  cushim_stream_pop_current(NULL);
  while (cushim_context_pop(fixture.driver, &context, NULL) == CUSHIM_SUCCESS) {
  }
  CHECK_OK(cushim_kernel_destroy(fixture.kernel));
  CHECK_OK(cushim_library_destroy(fixture.library));
  close_objects(&fixture);
}

static inline int is(const struct swept *function, const char *name) { return strcmp(function->name, name) == 0; }

#endif
