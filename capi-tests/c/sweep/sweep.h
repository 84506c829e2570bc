/*
 * Every function with good arguments: what they are. The generated calls are in sweep.inc. Include it after objects.h.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "objects.h"

#include "dlpack.h"

#include <sys/mman.h>

enum swept_role { VALUE, COUNT, HANDLE, ENDED, POINTER, ROOM };

struct swept_parameter {
  const char *name;
  enum swept_role role;
  const char *kind; /* of a handle */
  int nullable;
  int alignment; /* of what it points to; 1 if that does not matter */
};

struct swept {
  const char *name;
  cushim_status (*call)(int slot, void *value);
  const struct swept_parameter *parameters;
  int parameter_count;
  int refuses_fork;
  int refuses_callback;
};

static struct objects fixture;

/* Memory to work on: the device's, and the program's, which is all that there is with "none". */
static uint64_t memory;
static unsigned char page[4096] __attribute__((aligned(4096)));
static const cushim_extent good_extent = {8, 2, 1};
static cushim_endpoint good_place;
static cushim_copy good_copies[2];
static const cushim_copy_attributes good_copy_attributes;
/* A window of no bytes. */
static const cushim_launch_attribute good_launch_attribute = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, 0, {0}};
static CUdeviceptr shared; /* managed memory, of which both ranges are parts */
static cushim_range good_ranges[2];
static const int32_t good_file = 0;
static cushim_location good_location = {CUSHIM_LOCATION_HOST, 0};
static cushim_region good_region;
static cushim_edge good_edge;
static const cushim_memory_operation *good_memory_operation;

/* Code with a kernel of the name that the interface has for an example, which takes as many bytes as the code has. A GPU's linker makes 1,736 of it. */
enum { CODE = 2048 };
static char code[CODE + 1] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry kernel(.param .align 4 .b8 block[2048]) {\n"
    "  ret;\n"
    "}\n"
    "//";
static cushim_arg good_arg;
static CUfunction good_function;

/* Bytes of a text that comes out or of memory that goes in, and items of an array that comes out. */
enum { SWEPT_BYTES = CODE, SWEPT_CAPACITY = 4 };

/* Good arguments that are not examples of the interface: addresses, by name of the parameter, and by type. */
#define GOOD_address memory
#define GOOD_address_pointer page
#define GOOD_path code_path()
#define GOOD_source ""
#define GOOD_tensor_pointer new_tensor()
#define GOOD_CUcontext native_context()
#define GOOD_CUevent native_event()
#define GOOD_CUfunction (good_function != NULL ? good_function : (CUfunction)NOT_NULL)
#define GOOD_CUgraph native_graph()
#define GOOD_CUgreenCtx NULL
#define GOOD_CUmemoryPool native_pool()
#define GOOD_CUkernel native_kernel()
#define GOOD_CUstream native_stream()
#define GOOD_cushim_arg &good_arg
#define GOOD_cushim_block_shared_memory none_needed
#define GOOD_cushim_builder &fixture.builder
#define GOOD_cushim_copy good_copies
#define GOOD_cushim_copy_attributes &good_copy_attributes
#define GOOD_cushim_device &fixture.device
#define GOOD_cushim_edge &good_edge
#define GOOD_cushim_extent &good_extent
#define GOOD_cushim_launch_attribute &good_launch_attribute
#define GOOD_cushim_location &good_location
#define GOOD_int32_t &good_file
#define GOOD_cushim_memory_operation good_memory_operation
#define GOOD_cushim_node &good_edge.from_node
#define GOOD_cushim_endpoint &good_place
#define GOOD_cushim_program &fixture.program
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

/* Before driver 12.0 none has one; what is passed there is not looked at. */
static CUkernel native_kernel(void) {
  CUkernel native = NULL;
  cushim_kernel_native(fixture.kernel, &native);
  return native != NULL ? native : (CUkernel)NOT_NULL;
}

static CUcontext native_context(void) {
  CUcontext native = NULL;
  cushim_context_native(fixture.context, &native);
  return native;
}

/* The fixture's graph; it is asked for when that is made, since callbacks and forked processes cannot. */
static CUgraph good_native_graph;

/* A driver without graphs looks at none. */
static CUgraph native_graph(void) { return fixture.graph != NULL ? good_native_graph : (CUgraph)NOT_NULL; }

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
FOR_EACH_OWNED_KIND(ONE_MORE)

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
    good_copies[i].destination = good_copies[i].source = good_place;
    good_copies[i].destination.offset = (uint64_t)i * 64;
    good_copies[i].source.offset = 1024 + (uint64_t)i * 64;
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
  CHECK_OK(cushim_kernel_create(fixture.library, "kernel", &fixture.kernel));
  CHECK_OK(cushim_kernel_native_function(fixture.kernel, &good_function));
}

/* A kernel node that kernels can update: before driver 12.4 there is none. */
static cushim_node updatable_node(cushim_graph graph) {
  const int32_t one = 1;
  cushim_launch_attribute attribute;
  cushim_launch_config config;
  cushim_node node = NULL;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  memcpy(attribute.value, &one, sizeof one);
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.grid.x = config.block.x = 1;
  config.attributes = &attribute;
  config.attribute_count = 1;
  if (cushim_graph_add_kernel(graph, NULL, 0, fixture.kernel, &config, &good_arg, 1, &node) == CUSHIM_SUCCESS) return node;
  cushim_graph_add_kernel(graph, NULL, 0, fixture.kernel, NULL, &good_arg, 1, &node);
  return node;
}

/* A node of the type that a function reads or changes, or NULL where the driver has no such node. */
static cushim_node node_for(const char *function) {
  const cushim_graph graph = fixture.graph;
  cushim_endpoint on_device = cushim_endpoint_device(memory);
  cushim_graph_allocation allocation;
  cushim_node node = NULL;
  uint64_t pointer = 0;
  memset(&allocation, 0, sizeof allocation);
  allocation.struct_size = sizeof allocation;
  allocation.bytes = 64;
  if (strstr(function, "_copy_3d") != NULL) cushim_graph_add_copy_3d(graph, NULL, 0, &good_region, &good_region, &good_extent, &node);
  else if (strstr(function, "_copy") != NULL) cushim_graph_add_copy(graph, NULL, 0, &good_place, &good_place, 64, &node);
  else if (strstr(function, "_fill_2d") != NULL) cushim_graph_add_fill_2d(graph, NULL, 0, &on_device, 64, CUSHIM_VALUE_32(0), 2, 2, &node);
  else if (strstr(function, "_fill") != NULL) cushim_graph_add_fill(graph, NULL, 0, &on_device, CUSHIM_VALUE_32(0), 8, &node);
  else if (strstr(function, "_event") != NULL) cushim_graph_add_event_record(graph, NULL, 0, fixture.event, &node);
  else if (strstr(function, "_host_function") != NULL) cushim_graph_add_host_function(graph, NULL, 0, nothing_to_do, NULL, NULL, &node);
  else if (strstr(function, "_memory_operations") != NULL) cushim_graph_add_memory_operations(graph, NULL, 0, good_memory_operation, 1, &node);
  else if (strstr(function, "_get_condition") != NULL) cushim_graph_add_conditional(graph, NULL, 0, fixture.condition, CUSHIM_CONDITIONAL_IF, 1, &node, NULL);
  else if (strstr(function, "_get_device_node") != NULL) node = updatable_node(graph);
  else if (strstr(function, "_get_allocation") != NULL) cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer);
  else if (strstr(function, "_get_free") != NULL) {
    cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer);
    cushim_graph_add_free(graph, &node, 1, pointer, &node);
  } else {
    cushim_graph_add_kernel(graph, NULL, 0, fixture.kernel, NULL, &good_arg, 1, &node);
  }
  return node;
}

/* A graph with a node for the function, and what is instantiated from it; with "none" there are none, and before driver 12.3 no conditions. */
static void set_up_graph(const char *function) {
  static cushim_memory_operation operation;
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  /* The host has no access to a device's memory. */
  good_location.kind = strstr(function, "_set_access") != NULL || strstr(function, "_location_pool") != NULL ? CUSHIM_LOCATION_DEVICE : CUSHIM_LOCATION_HOST;
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = cushim_endpoint_device(memory);
  good_memory_operation = &operation;
  if (is_none(fixture.driver) || cushim_graph_create(fixture.context, NULL, &fixture.graph) != CUSHIM_SUCCESS) return;
  cushim_condition_create(fixture.graph, NULL, &fixture.condition);
  CHECK_OK(cushim_builder_create(fixture.context, NULL, &fixture.builder));
  fixture.node = node_for(function);
  CHECK_OK(cushim_graph_add_empty(fixture.graph, NULL, 0, &good_edge.from_node));
  CHECK_OK(cushim_graph_add_empty(fixture.graph, NULL, 0, &good_edge.to_node));
  if (strstr(function, "remove_edges") != NULL) CHECK_OK(cushim_graph_add_edges(fixture.graph, &good_edge, 1));
  if (strstr(function, "exec_native") != NULL) options.flags = CUSHIM_EXEC_NATIVE_LAUNCHES;
  CHECK_OK(cushim_exec_create(fixture.graph, &options, &fixture.exec, NULL));
  CHECK_OK(cushim_graph_native(fixture.graph, &good_native_graph));
}

/* Addresses, and memory that is mapped at their end; where there is no virtual memory, NULL. */
static void set_up_virtual_memory(void) {
  const size_t unit = (size_t)2 << 20;
  cushim_allocation mapped = NULL;
  if (is_none(fixture.driver)) return;
  CHECK_OK(cushim_allocation_create(fixture.device, 1, NULL, &fixture.allocation));
  CHECK_OK(cushim_reservation_create(fixture.device, 4 * unit, NULL, &fixture.reservation));
  CHECK_OK(cushim_allocation_create(fixture.device, 1, NULL, &mapped));
  CHECK_OK(cushim_reservation_map(fixture.reservation, 3 * unit, mapped));
  CHECK_OK(cushim_allocation_destroy(mapped));
}

/* What comes of no source, by the name expression that the interface has for an example; NULL where nothing compiles. */
static void set_up_program(void) {
  static const char *const expressions[] = {"kernel"};
  cushim_compile_options options = CUSHIM_OPTIONS(cushim_compile_options);
  options.name_expressions = getenv("CUSHIM_NVRTC") != NULL ? expressions : NULL; /* whose compiler gives any name */
  options.name_expression_count = options.name_expressions != NULL;
  (void)cushim_program_compile(fixture.device, GOOD_source, &options, &fixture.program);
}

/* All objects without code, the context current and the stream, too. */
static void set_up_objects(void) {
  fixture = open_objects();
  CHECK_OK(cushim_context_push(fixture.context));
  CHECK_OK(cushim_stream_push_current(fixture.stream));
  memory = (uint64_t)(uintptr_t)page;
  if (!is_none(fixture.driver)) CHECK_OK(cushim_context_allocate(fixture.context, 4096, &memory));
  good_place.kind = CUSHIM_ENDPOINT_HOST;
  good_place.address = (uint64_t)(uintptr_t)page;
  good_place.flags = CUSHIM_ENDPOINT_CALLER_KEEPS; /* as graphs want it said */
  good_region.endpoint = good_place;
  CHECK_OK(cushim_device_set_resource(fixture.device, fixture.resource));
  native_pool();
  set_up_virtual_memory();
  set_up_program();
  set_up_arrays();
}

/* All objects, and what the function needs. */
static void set_up_everything_for(const char *function) {
  set_up_objects();
  set_up_code();
  set_up_graph(function);
}

static inline void set_up(void) { set_up_everything_for(""); }

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
  close_objects(&fixture);
}

static inline int is(const struct swept *function, const char *name) { return strcmp(function->name, name) == 0; }

#endif
