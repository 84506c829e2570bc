typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long size_t;
typedef void *CUarray;
typedef void *CUcontext;
typedef int32_t CUctx_flags;
typedef int CUdevice;
typedef int32_t CUdevice_attribute;
typedef void *CUevent;
typedef int32_t CUevent_record_flags;
typedef void *CUfunction;
typedef int32_t CUfunction_attribute;
typedef void *CUgraph;
typedef int32_t CUgraphDebugDot_flags;
typedef int32_t CUgraphDependencyType;
typedef void *CUgraphDeviceNode;
typedef void *CUgraphExec;
typedef int32_t CUgraphExecUpdateResult;
typedef int32_t CUgraphInstantiateResult;
typedef void *CUgraphNode;
typedef void *CUgraphicsResource;
typedef void *CUgreenCtx;
typedef int32_t CUjit_option;
typedef void *CUkernel;
typedef int32_t CUlaunchAttributeID;
typedef void *CUlibrary;
typedef int32_t CUlimit;
typedef int32_t CUmemAllocationHandleType;
typedef int32_t CUmem_advise;
typedef void *CUmemoryPool;
typedef int32_t CUmemorytype;
typedef void *CUmodule;
typedef void *CUstream;
typedef int32_t CUstreamMemoryBarrier_flags;
typedef int32_t CUstreamWaitValue_flags;
typedef int32_t CUstreamWriteValue_flags;
typedef int32_t cushim_arg_kind;
typedef int32_t cushim_attachment;
typedef int32_t cushim_batch_flags;
typedef int32_t cushim_builder_kind;
typedef int32_t cushim_builder_state;
typedef int32_t cushim_capture_mode;
typedef int32_t cushim_child_ownership;
typedef int32_t cushim_code_kind;
typedef int32_t cushim_compile_flags;
typedef int32_t cushim_condition_flags;
typedef int32_t cushim_conditional_kind;
typedef int32_t cushim_context_kind;
typedef int32_t cushim_copy_flags;
typedef int32_t cushim_descriptor_size;
typedef int32_t cushim_dlpack_flags;
typedef int32_t cushim_dma_buf_flags;
typedef int32_t cushim_drain_item_kind;
typedef int32_t cushim_driver_flags;
typedef int32_t cushim_driver_kind;
typedef struct cushim_driver_table cushim_driver_table;
typedef int32_t cushim_endpoint_flags;
typedef int32_t cushim_endpoint_kind;
typedef int32_t cushim_event_flags;
typedef int32_t cushim_exec_flags;
typedef int32_t cushim_flush_scope;
typedef int32_t cushim_graph_allocation_flags;
typedef int32_t cushim_graphics_flags;
typedef int32_t cushim_host_flags;
typedef int32_t cushim_json_flags;
typedef int32_t cushim_launch_flags;
typedef int32_t cushim_library_flags;
typedef int32_t cushim_location_kind;
typedef int32_t cushim_log_level;
typedef int32_t cushim_managed_flags;
typedef int32_t cushim_memory_action;
typedef int32_t cushim_memory_sync_domain;
typedef int32_t cushim_node_type;
typedef int32_t cushim_ownership;
typedef int32_t cushim_pinned_form;
typedef int32_t cushim_pool_attribute;
typedef int32_t cushim_pool_choice;
typedef int32_t cushim_pool_memory;
typedef int32_t cushim_range_kind;
typedef int32_t cushim_register_flags;
typedef int32_t cushim_resource_kind;
typedef int32_t cushim_shareable;
typedef int32_t cushim_sleep_flags;
typedef int32_t cushim_source_access;
typedef int32_t cushim_status;
typedef int32_t cushim_status_code;
typedef int32_t cushim_stream_flags;
typedef int32_t cushim_stream_kind;
typedef int32_t cushim_symbol_status;
typedef int32_t cushim_table_kind;
typedef int32_t cushim_virtual_access;
typedef int32_t cushim_virtual_flags;
typedef struct cushim_driver_s *cushim_driver;
typedef struct cushim_error_s *cushim_error;
typedef struct cushim_device_s *cushim_device;
typedef struct cushim_context_s *cushim_context;
typedef struct cushim_stream_s *cushim_stream;
typedef struct cushim_event_s *cushim_event;
typedef struct cushim_resource_s *cushim_resource;
typedef struct cushim_buffer_s *cushim_buffer;
typedef struct cushim_allocation_s *cushim_allocation;
typedef struct cushim_reservation_s *cushim_reservation;
typedef struct cushim_graphics_s *cushim_graphics;
typedef struct cushim_program_s *cushim_program;
typedef struct cushim_library_s *cushim_library;
typedef struct cushim_kernel_s *cushim_kernel;
typedef struct cushim_graph_s *cushim_graph;
typedef struct cushim_node_s *cushim_node;
typedef struct cushim_condition_s *cushim_condition;
typedef struct cushim_exec_s *cushim_exec;
typedef struct cushim_builder_s *cushim_builder;
enum {
  CUSHIM_SUCCESS = 0,
  CUSHIM_ERROR_INVALID_ARGUMENT = -1,
  CUSHIM_ERROR_INVALID_HANDLE = -2,
  CUSHIM_ERROR_ALREADY_DESTROYED = -3,
  CUSHIM_ERROR_UNSUPPORTED = -4,
  CUSHIM_ERROR_DRIVER_NOT_FOUND = -5,
  CUSHIM_ERROR_DRIVER_UNUSABLE = -6,
  CUSHIM_ERROR_INTERNAL = -7,
  CUSHIM_ERROR_FORKED = -8,
  CUSHIM_ERROR_TIMING_DISABLED = -9,
  CUSHIM_ERROR_NOT_RECORDED = -10,
  CUSHIM_ERROR_STREAM_REQUIRED = -11,
  CUSHIM_ERROR_IN_CALLBACK = -12,
  CUSHIM_ERROR_TOO_MANY_HANDLES = -13,
  CUSHIM_ERROR_OUT_OF_MEMORY = -14
};
enum {
  CUSHIM_DRIVER_IGNORE_ENVIRONMENT = 1,
  CUSHIM_DRIVER_GETTER_V1 = 2,
  CUSHIM_DRIVER_CHECK_GRAPHS = 4
};
enum {
  CUSHIM_TABLE_LEGACY_STREAM = 0,
  CUSHIM_TABLE_PER_THREAD_STREAM = 1
};
enum {
  CUSHIM_DRIVER_KIND_NONE = 0,
  CUSHIM_DRIVER_KIND_NATIVE = 1,
  CUSHIM_DRIVER_KIND_COMPAT = 2,
  CUSHIM_DRIVER_KIND_WSL = 3,
  CUSHIM_DRIVER_KIND_TEGRA = 4,
  CUSHIM_DRIVER_KIND_SOFTWARE = 5,
  CUSHIM_DRIVER_KIND_CUSTOM = 6,
  CUSHIM_DRIVER_KIND_STUB = 7
};
enum {
  CUSHIM_SYMBOL_FOUND = 0,
  CUSHIM_SYMBOL_NEWER_THAN_DRIVER = 1,
  CUSHIM_SYMBOL_ABSENT = 2,
  CUSHIM_SYMBOL_NO_DRIVER = 3
};
enum {
  CUSHIM_BORROWED = 0,
  CUSHIM_OWNED = 1
};
enum {
  CUSHIM_CONTEXT_PRIMARY = 1,
  CUSHIM_CONTEXT_CREATED = 2,
  CUSHIM_CONTEXT_WRAPPED = 3,
  CUSHIM_CONTEXT_GREEN = 4
};
enum {
  CUSHIM_STREAM_BLOCKING = 1
};
enum {
  CUSHIM_STREAM_CREATED = 1,
  CUSHIM_STREAM_WRAPPED = 2,
  CUSHIM_STREAM_LEGACY = 3,
  CUSHIM_STREAM_PER_THREAD = 4
};
enum {
  CUSHIM_EVENT_TIMING = 1,
  CUSHIM_EVENT_BLOCKING_SYNC = 2,
  CUSHIM_EVENT_INTERPROCESS = 4
};
enum {
  CUSHIM_ENDPOINT_HOST = 1,
  CUSHIM_ENDPOINT_DEVICE = 2,
  CUSHIM_ENDPOINT_ARRAY = 3,
  CUSHIM_ENDPOINT_AUTO = 4,
  CUSHIM_ENDPOINT_BUFFER = 5
};
enum {
  CUSHIM_ENDPOINT_KEEP_BYTES = 1,
  CUSHIM_ENDPOINT_CALLER_KEEPS = 2
};
enum {
  CUSHIM_SOURCE_IN_STREAM_ORDER = 1,
  CUSHIM_SOURCE_DURING_CALL = 2,
  CUSHIM_SOURCE_ANY_TIME = 3
};
enum {
  CUSHIM_COPY_OVERLAP_WITH_COMPUTE = 1
};
enum {
  CUSHIM_MEMORY_WAIT_32 = 1,
  CUSHIM_MEMORY_WAIT_64 = 2,
  CUSHIM_MEMORY_WRITE_32 = 3,
  CUSHIM_MEMORY_WRITE_64 = 4,
  CUSHIM_MEMORY_FLUSH_REMOTE_WRITES = 5,
  CUSHIM_MEMORY_BARRIER = 6
};
enum {
  CUSHIM_HOST_PORTABLE = 1,
  CUSHIM_HOST_MAPPED = 2,
  CUSHIM_HOST_WRITE_COMBINED = 4
};
enum {
  CUSHIM_REGISTER_PORTABLE = 1,
  CUSHIM_REGISTER_MAPPED = 2,
  CUSHIM_REGISTER_IO_MEMORY = 4,
  CUSHIM_REGISTER_READ_ONLY = 8
};
enum {
  CUSHIM_BATCH_REFUSE_LOOP = 1
};
enum {
  CUSHIM_LOCATION_UNSET = 0,
  CUSHIM_LOCATION_DEVICE = 1,
  CUSHIM_LOCATION_HOST = 2,
  CUSHIM_LOCATION_HOST_NUMA = 3,
  CUSHIM_LOCATION_HOST_NUMA_CURRENT = 4
};
enum {
  CUSHIM_RANGE_POINTER = 1,
  CUSHIM_RANGE_BUFFER = 2
};
enum {
  CUSHIM_ATTACH_GLOBAL = 1,
  CUSHIM_ATTACH_HOST = 2,
  CUSHIM_ATTACH_SINGLE = 4
};
enum {
  CUSHIM_DRAIN_RELEASE = 1,
  CUSHIM_DRAIN_HOST_FUNCTION = 2,
  CUSHIM_DRAIN_LOG_LINE = 3
};
enum {
  CUSHIM_RESOURCE_DEVICE_POOL = 1,
  CUSHIM_RESOURCE_PINNED_POOL = 2,
  CUSHIM_RESOURCE_PINNED = 3,
  CUSHIM_RESOURCE_MANAGED = 4,
  CUSHIM_RESOURCE_MANAGED_POOL = 5,
  CUSHIM_RESOURCE_DEVICE = 6,
  CUSHIM_RESOURCE_CUSTOM = 7,
  CUSHIM_RESOURCE_GRAPH = 8,
  CUSHIM_RESOURCE_ARENA = 9,
  CUSHIM_RESOURCE_VIRTUAL = 10
};
enum {
  CUSHIM_POOL_CURRENT = 0,
  CUSHIM_POOL_DEFAULT = 1,
  CUSHIM_POOL_OWN = 2
};
enum {
  CUSHIM_PINNED_ANY = 0,
  CUSHIM_PINNED_SYNCHRONOUS = 1,
  CUSHIM_PINNED_POOL = 2
};
enum {
  CUSHIM_MANAGED_ATTACH_HOST = 1
};
enum {
  CUSHIM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
  CUSHIM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
  CUSHIM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
  CUSHIM_POOL_RELEASE_THRESHOLD = 4,
  CUSHIM_POOL_RESERVED_CURRENT = 5,
  CUSHIM_POOL_RESERVED_HIGH = 6,
  CUSHIM_POOL_USED_CURRENT = 7,
  CUSHIM_POOL_USED_HIGH = 8,
  CUSHIM_POOL_ALLOCATION_TYPE = 9,
  CUSHIM_POOL_HANDLE_TYPES = 10,
  CUSHIM_POOL_LOCATION_ID = 11,
  CUSHIM_POOL_LOCATION_KIND = 12,
  CUSHIM_POOL_MAX_SIZE = 13,
  CUSHIM_POOL_HARDWARE_DECOMPRESSION = 14
};
enum {
  CUSHIM_POOL_PINNED = 1,
  CUSHIM_POOL_MANAGED = 2
};
enum {
  CUSHIM_VIRTUAL_READ_WRITE = 0,
  CUSHIM_VIRTUAL_READ = 1,
  CUSHIM_VIRTUAL_NO_ACCESS = 2
};
enum {
  CUSHIM_SHAREABLE_NONE = 0,
  CUSHIM_SHAREABLE_POSIX_FD = 1,
  CUSHIM_SHAREABLE_FABRIC = 2
};
enum {
  CUSHIM_VIRTUAL_LEAST_GRANULARITY = 1,
  CUSHIM_VIRTUAL_GPU_DIRECT_RDMA = 2
};
enum {
  CUSHIM_SLEEP_KEEP_CONTENTS = 1
};
enum {
  CUSHIM_DMA_BUF_PCIE = 1
};
enum {
  CUSHIM_FLUSH_TO_OWNER = 100,
  CUSHIM_FLUSH_TO_ALL_DEVICES = 200
};
enum {
  CUSHIM_DLPACK_READ_ONLY = 1,
  CUSHIM_DLPACK_UNVERSIONED = 2,
  CUSHIM_DLPACK_PULL = 4
};
enum {
  CUSHIM_DESCRIPTOR_BYTES = 160
};
enum {
  CUSHIM_GRAPHICS_READ_ONLY = 1,
  CUSHIM_GRAPHICS_WRITE_DISCARD = 2,
  CUSHIM_GRAPHICS_SURFACE = 4,
  CUSHIM_GRAPHICS_TEXTURE_GATHER = 8
};
enum {
  CUSHIM_CODE_DEFAULT = 0,
  CUSHIM_CODE_PTX = 1,
  CUSHIM_CODE_CUBIN = 2,
  CUSHIM_CODE_LTO_IR = 3
};
enum {
  CUSHIM_COMPILE_UNCACHED = 1
};
enum {
  CUSHIM_LIBRARY_LINE_INFO = 1,
  CUSHIM_LIBRARY_DEBUG_INFO = 2,
  CUSHIM_LIBRARY_VERBOSE = 4
};
enum {
  CUSHIM_ARG_BYTES = 1,
  CUSHIM_ARG_OWNED = 2,
  CUSHIM_ARG_BUFFER = 3,
  CUSHIM_ARG_ENDPOINT = 4,
  CUSHIM_ARG_CONDITION = 5,
  CUSHIM_ARG_PARAMETER = 6
};
enum {
  CUSHIM_LAUNCH_COOPERATIVE = 1,
  CUSHIM_LAUNCH_PRIORITY = 2,
  CUSHIM_LAUNCH_PROGRAMMATIC_SERIALIZATION = 4,
  CUSHIM_LAUNCH_TRIGGER_AT_BLOCK_START = 8
};
enum {
  CUSHIM_MEMORY_SYNC_DOMAIN_UNSET = 0,
  CUSHIM_MEMORY_SYNC_DOMAIN_DEFAULT = 1,
  CUSHIM_MEMORY_SYNC_DOMAIN_REMOTE = 2
};
enum {
  CUSHIM_JSON_WITHOUT_ADDRESSES = 1
};
enum {
  CUSHIM_CHILD_CLONE = 0,
  CUSHIM_CHILD_MOVE = 1
};
enum {
  CUSHIM_CONDITIONAL_IF = 1,
  CUSHIM_CONDITIONAL_IF_ELSE = 2,
  CUSHIM_CONDITIONAL_WHILE = 3,
  CUSHIM_CONDITIONAL_SWITCH = 4
};
enum {
  CUSHIM_CONDITION_RESET = 1
};
enum {
  CUSHIM_GRAPH_ALLOCATION_MANAGED = 1
};
enum {
  CUSHIM_NODE_KERNEL = 1,
  CUSHIM_NODE_COPY = 2,
  CUSHIM_NODE_FILL = 3,
  CUSHIM_NODE_HOST_FUNCTION = 4,
  CUSHIM_NODE_CHILD = 5,
  CUSHIM_NODE_EMPTY = 6,
  CUSHIM_NODE_EVENT_WAIT = 7,
  CUSHIM_NODE_EVENT_RECORD = 8,
  CUSHIM_NODE_ALLOCATION = 9,
  CUSHIM_NODE_FREE = 10,
  CUSHIM_NODE_MEMORY_OPERATIONS = 11,
  CUSHIM_NODE_CONDITIONAL = 12,
  CUSHIM_NODE_OTHER = 13
};
enum {
  CUSHIM_EXEC_AUTO_FREE = 1,
  CUSHIM_EXEC_DEVICE_LAUNCH = 2,
  CUSHIM_EXEC_NODE_PRIORITY = 4,
  CUSHIM_EXEC_NATIVE_LAUNCHES = 8
};
enum {
  CUSHIM_CAPTURE_RELAXED = 0,
  CUSHIM_CAPTURE_THREAD_LOCAL = 1,
  CUSHIM_CAPTURE_GLOBAL = 2
};
enum {
  CUSHIM_BUILDER_NOT_STARTED = 1,
  CUSHIM_BUILDER_CAPTURING = 2,
  CUSHIM_BUILDER_ENDED = 3,
  CUSHIM_BUILDER_CLOSED = 4
};
enum {
  CUSHIM_BUILDER_PRIMARY = 1,
  CUSHIM_BUILDER_FORKED = 2,
  CUSHIM_BUILDER_BODY = 3
};
enum {
  CUSHIM_LOG_OFF = 0,
  CUSHIM_LOG_ERROR = 1,
  CUSHIM_LOG_WARN = 2,
  CUSHIM_LOG_INFO = 3,
  CUSHIM_LOG_DEBUG = 4,
  CUSHIM_LOG_TRACE = 5
};
enum {
  CU_CTX_SCHED_AUTO = 0,
  CU_CTX_SCHED_SPIN = 1,
  CU_CTX_SCHED_YIELD = 2,
  CU_CTX_SCHED_BLOCKING_SYNC = 4,
  CU_CTX_BLOCKING_SYNC = 4,
  CU_CTX_SCHED_MASK = 7,
  CU_CTX_MAP_HOST = 8,
  CU_CTX_LMEM_RESIZE_TO_MAX = 16,
  CU_CTX_FLAGS_MASK = 255,
  CU_CTX_COREDUMP_ENABLE = 32,
  CU_CTX_USER_COREDUMP_ENABLE = 64,
  CU_CTX_SYNC_MEMOPS = 128
};
enum {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH = 21,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH = 22,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT = 23,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH = 24,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT = 25,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH = 26,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_WIDTH = 27,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_HEIGHT = 28,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES = 29,
  CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT = 30,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43,
  CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER = 44,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH = 45,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 46,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 47,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 48,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 49,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH = 52,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 53,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 54,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH = 55,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH = 56,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT = 57,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH = 58,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT = 59,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH = 60,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH = 61,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS = 62,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH = 63,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 64,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS = 65,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH = 66,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 67,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 68,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 73,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 74,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 77,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED = 79,
  CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED = 80,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
  CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
  CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
  CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = 90,
  CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
  CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS = 92,
  CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
  CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH = 96,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
  CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
  CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 105,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
  CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 108,
  CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
  CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED = 112,
  CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
  CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 114,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
  CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
  CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 121,
  CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V2 = 122,
  CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V2 = 123,
  CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
  CU_DEVICE_ATTRIBUTE_MAX = 162,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
  CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 = 92,
  CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
  CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = 94,
  CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = 125,
  CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT = 126,
  CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED = 127,
  CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS = 129,
  CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132,
  CU_DEVICE_ATTRIBUTE_NUMA_CONFIG = 130,
  CU_DEVICE_ATTRIBUTE_NUMA_ID = 131,
  CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128,
  CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
  CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED = 135,
  CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK = 136,
  CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH = 137,
  CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID = 139,
  CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID = 140,
  CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED = 143,
  CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED = 138,
  CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
  CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
  CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED = 144,
  CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
  CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED = 146,
  CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 147,
  CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED = 148,
  CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED = 151,
  CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED = 152,
  CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED = 153,
  CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED = 154,
  CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED = 155,
  CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED = 156,
  CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT = 149,
  CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK = 150,
  CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT = 157,
  CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES = 158,
  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED = 161,
  CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED = 159,
  CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE = 160
};
enum {
  CU_EVENT_RECORD_DEFAULT = 0,
  CU_EVENT_RECORD_EXTERNAL = 1
};
enum {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
  CU_FUNC_ATTRIBUTE_MAX = 18,
  CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15,
  CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED = 16,
  CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE = 17
};
enum {
  CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE = 1,
  CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES = 2,
  CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS = 4,
  CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS = 8,
  CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS = 16,
  CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS = 32,
  CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS = 64,
  CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_SIGNAL_NODE_PARAMS = 128,
  CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_WAIT_NODE_PARAMS = 256,
  CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES = 512,
  CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES = 1024,
  CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS = 2048,
  CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS = 4096,
  CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS = 8192,
  CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO = 16384,
  CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS = 32768,
  CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_BATCH_NODE_PARAMS = 65536,
  CU_GRAPH_DEBUG_DOT_FLAGS_FABRIC_CPY_BATCH_NODE_PARAMS = 131072
};
enum {
  CU_GRAPH_DEPENDENCY_TYPE_DEFAULT = 0,
  CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1
};
enum {
  CU_GRAPH_EXEC_UPDATE_SUCCESS = 0,
  CU_GRAPH_EXEC_UPDATE_ERROR = 1,
  CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
  CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3,
  CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED = 4,
  CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED = 5,
  CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED = 6,
  CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE = 7,
  CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED = 8
};
enum {
  CUDA_GRAPH_INSTANTIATE_SUCCESS = 0,
  CUDA_GRAPH_INSTANTIATE_ERROR = 1,
  CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE = 2,
  CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3,
  CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED = 4,
  CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5
};
enum {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_THREADS_PER_BLOCK = 1,
  CU_JIT_WALL_TIME = 2,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
  CU_JIT_TARGET_FROM_CUCONTEXT = 8,
  CU_JIT_TARGET = 9,
  CU_JIT_FALLBACK_STRATEGY = 10,
  CU_JIT_GENERATE_DEBUG_INFO = 11,
  CU_JIT_LOG_VERBOSE = 12,
  CU_JIT_GENERATE_LINE_INFO = 13,
  CU_JIT_CACHE_MODE = 14,
  CU_JIT_NEW_SM3X_OPT = 15,
  CU_JIT_FAST_COMPILE = 16,
  CU_JIT_GLOBAL_SYMBOL_NAMES = 17,
  CU_JIT_GLOBAL_SYMBOL_ADDRESSES = 18,
  CU_JIT_GLOBAL_SYMBOL_COUNT = 19,
  CU_JIT_LTO = 20,
  CU_JIT_FTZ = 21,
  CU_JIT_PREC_DIV = 22,
  CU_JIT_PREC_SQRT = 23,
  CU_JIT_FMA = 24,
  CU_JIT_REFERENCED_KERNEL_NAMES = 25,
  CU_JIT_REFERENCED_KERNEL_COUNT = 26,
  CU_JIT_REFERENCED_VARIABLE_NAMES = 27,
  CU_JIT_REFERENCED_VARIABLE_COUNT = 28,
  CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES = 29,
  CU_JIT_NUM_OPTIONS = 36,
  CU_JIT_POSITION_INDEPENDENT_CODE = 30,
  CU_JIT_MIN_CTA_PER_SM = 31,
  CU_JIT_MAX_THREADS_PER_BLOCK = 32,
  CU_JIT_OVERRIDE_DIRECTIVE_VALUES = 33,
  CU_JIT_SPLIT_COMPILE = 34,
  CU_JIT_BINARY_LOADER_THREAD_COUNT = 35
};
enum {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 7,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
  CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9,
  CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN = 10,
  CU_LAUNCH_ATTRIBUTE_MAX = 19,
  CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12,
  CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13,
  CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14,
  CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11,
  CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING = 16,
  CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE = 17,
  CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE = 18
};
enum {
  CU_LIMIT_STACK_SIZE = 0,
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,
  CU_LIMIT_MALLOC_HEAP_SIZE = 2,
  CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3,
  CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
  CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5,
  CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6,
  CU_LIMIT_MAX = 11,
  CU_LIMIT_SHMEM_SIZE = 7,
  CU_LIMIT_CIG_ENABLED = 8,
  CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9,
  CU_LIMIT_PER_BLOCK_MEMORY_SIZE = 10
};
enum {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  CU_MEM_HANDLE_TYPE_WIN32 = 2,
  CU_MEM_HANDLE_TYPE_WIN32_KMT = 4,
  CU_MEM_HANDLE_TYPE_MAX = 2147483647,
  CU_MEM_HANDLE_TYPE_FABRIC = 8
};
enum {
  CU_MEM_ADVISE_SET_READ_MOSTLY = 1,
  CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2,
  CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
  CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4,
  CU_MEM_ADVISE_SET_ACCESSED_BY = 5,
  CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6
};
enum {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4
};
enum {
  CU_STREAM_MEMORY_BARRIER_TYPE_SYS = 0,
  CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 1
};
enum {
  CU_STREAM_WAIT_VALUE_GEQ = 0,
  CU_STREAM_WAIT_VALUE_EQ = 1,
  CU_STREAM_WAIT_VALUE_AND = 2,
  CU_STREAM_WAIT_VALUE_NOR = 3,
  CU_STREAM_WAIT_VALUE_FLUSH = 1073741824
};
enum {
  CU_STREAM_WRITE_VALUE_DEFAULT = 0,
  CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1
};
typedef struct cushim_error_detail cushim_error_detail;
typedef struct cushim_driver_options cushim_driver_options;
typedef struct cushim_driver_info cushim_driver_info;
typedef struct cushim_candidate cushim_candidate;
typedef struct cushim_symbol cushim_symbol;
typedef struct cushim_context_options cushim_context_options;
typedef struct cushim_stream_options cushim_stream_options;
typedef struct cushim_event_options cushim_event_options;
typedef struct cushim_endpoint cushim_endpoint;
typedef struct cushim_extent cushim_extent;
typedef struct cushim_pointer_attributes cushim_pointer_attributes;
typedef struct cushim_batch_options cushim_batch_options;
typedef struct cushim_location cushim_location;
typedef struct cushim_range cushim_range;
typedef struct cushim_owner cushim_owner;
typedef struct cushim_drain_item cushim_drain_item;
typedef struct cushim_memory_properties cushim_memory_properties;
typedef struct cushim_device_pool_options cushim_device_pool_options;
typedef struct cushim_pinned_options cushim_pinned_options;
typedef struct cushim_resource_functions cushim_resource_functions;
typedef struct cushim_dlpack_options cushim_dlpack_options;
typedef struct cushim_compile_header cushim_compile_header;
typedef struct cushim_compile_options cushim_compile_options;
typedef struct cushim_link_code cushim_link_code;
typedef struct cushim_link_options cushim_link_options;
typedef struct cushim_program_properties cushim_program_properties;
typedef struct cushim_jit_option cushim_jit_option;
typedef struct cushim_library_options cushim_library_options;
typedef struct cushim_arg cushim_arg;
typedef struct cushim_parameter cushim_parameter;
typedef struct cushim_dim3 cushim_dim3;
typedef struct cushim_launch_attribute cushim_launch_attribute;
typedef struct cushim_graph_options cushim_graph_options;
typedef struct cushim_edge cushim_edge;
typedef struct cushim_condition_options cushim_condition_options;
typedef struct cushim_exec_options cushim_exec_options;
typedef struct cushim_exec_result cushim_exec_result;
typedef struct cushim_builder_options cushim_builder_options;
typedef struct cushim_graph_memory cushim_graph_memory;
typedef struct cushim_region cushim_region;
typedef struct cushim_copy_attributes cushim_copy_attributes;
typedef struct cushim_copy cushim_copy;
typedef struct cushim_memory_operation cushim_memory_operation;
typedef struct cushim_range_attributes cushim_range_attributes;
typedef struct cushim_managed_options cushim_managed_options;
typedef struct cushim_virtual_options cushim_virtual_options;
typedef struct cushim_owned_pointer cushim_owned_pointer;
typedef struct cushim_launch_config cushim_launch_config;
typedef struct cushim_graph_allocation cushim_graph_allocation;
typedef struct cushim_fill_node cushim_fill_node;
typedef struct cushim_allocation_node cushim_allocation_node;
typedef struct cushim_kernel_node cushim_kernel_node;
typedef struct cushim_copy_node cushim_copy_node;
typedef int (*cushim_driver_getter)(void *user, const char *symbol, void **address, int version, uint64_t flags, int *found);
typedef void (*cushim_release_function)(void *data);
typedef void (*cushim_host_function)(void *data);
typedef cushim_status (*cushim_allocate_function)(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer);
typedef cushim_status (*cushim_free_function)(void *user, cushim_stream stream, uint64_t pointer, size_t bytes);
typedef cushim_status (*cushim_properties_function)(void *user, cushim_memory_properties *properties);
typedef size_t (*cushim_block_shared_memory)(void *data, uint32_t threads);
typedef void (*cushim_log_callback)(void *user, cushim_log_level level, const char *target, const char *message);
struct cushim_error_detail {
  size_t struct_size;
  cushim_status status;
  int32_t abi;
  char driver_function[64];
  char message[4096];
  int64_t item;
  int32_t driver_code;
  int32_t reserved;
  char driver_code_name[64];
  char object[256];
  char label[256];
  char driver_log[4096];
};
struct cushim_driver_options {
  size_t struct_size;
  const char *driver;
  cushim_driver_getter getter;
  void *getter_user;
  uint32_t flags;
  uint32_t reserved;
};
struct cushim_driver_info {
  size_t struct_size;
  int32_t version;
  cushim_driver_kind kind;
  const char *path;
  const char *getter;
  size_t candidate_count;
  size_t symbol_count;
  int32_t older_than_supported;
  int32_t reserved;
};
struct cushim_candidate {
  size_t struct_size;
  const char *path;
  const char *error;
  const char *origin;
};
struct cushim_symbol {
  size_t struct_size;
  const char *name;
  const char *exported;
  const char *group;
  const char *via;
  void *address;
  int32_t abi;
  cushim_symbol_status status;
};
struct cushim_context_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved;
};
struct cushim_stream_options {
  size_t struct_size;
  int32_t priority;
  uint32_t flags;
};
struct cushim_event_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved;
};
struct cushim_endpoint {
  cushim_endpoint_kind kind;
  uint32_t flags;
  uint64_t address;
  uint64_t offset;
  cushim_context context;
  const cushim_owner *owner;
};
struct cushim_extent {
  size_t width;
  size_t height;
  size_t depth;
};
struct cushim_pointer_attributes {
  size_t struct_size;
  CUmemorytype memory_type;
  int32_t device;
  CUcontext context;
  uint64_t device_pointer;
  void *host_pointer;
  CUmemoryPool pool;
  uint64_t range_start;
  size_t range_bytes;
  uint64_t buffer_id;
  int32_t managed;
  int32_t mapped;
  int32_t synchronous;
  int32_t ipc_capable;
  int32_t rdma_capable;
  int32_t reserved;
};
struct cushim_batch_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved;
};
struct cushim_location {
  cushim_location_kind kind;
  int32_t id;
};
struct cushim_range {
  cushim_range_kind kind;
  uint32_t reserved;
  uint64_t address;
  uint64_t offset;
  size_t bytes;
};
struct cushim_owner {
  void *data;
  cushim_release_function release;
};
struct cushim_drain_item {
  cushim_drain_item_kind kind;
  cushim_log_level level;
  void *data;
  char target[48];
  char text[960];
};
struct cushim_memory_properties {
  size_t struct_size;
  int32_t device;
  int32_t device_accessible;
  int32_t host_accessible;
  int32_t managed;
  int32_t stream_ordered;
  int32_t reserved;
};
struct cushim_device_pool_options {
  size_t struct_size;
  cushim_pool_choice choice;
  int32_t handle_types;
  size_t max_size;
};
struct cushim_pinned_options {
  size_t struct_size;
  cushim_pinned_form form;
  uint32_t flags;
  int32_t own_pool;
  int32_t numa_node;
  size_t max_size;
  int32_t handle_types;
  int32_t reserved;
};
struct cushim_resource_functions {
  size_t struct_size;
  void *user;
  cushim_allocate_function allocate;
  cushim_free_function free;
  cushim_release_function destroy;
  cushim_properties_function properties;
};
struct cushim_dlpack_options {
  size_t struct_size;
  int32_t code;
  int32_t bits;
  int32_t lanes;
  uint32_t flags;
  const int64_t *shape;
  size_t dimensions;
  uint64_t offset;
};
struct cushim_compile_header {
  const char *name;
  const char *text;
};
struct cushim_compile_options {
  size_t struct_size;
  cushim_code_kind kind;
  uint32_t flags;
  const char *name;
  const char *compiler;
  const char *const *options;
  size_t option_count;
  const cushim_compile_header *headers;
  size_t header_count;
  size_t header_stride;
  const char *const *name_expressions;
  size_t name_expression_count;
};
struct cushim_link_code {
  const void *code;
  size_t size;
  const char *name;
};
struct cushim_link_options {
  size_t struct_size;
  cushim_code_kind kind;
  uint32_t reserved;
  const char *name;
  const char *linker;
  const char *const *options;
  size_t option_count;
  const cushim_link_code *codes;
  size_t code_count;
  size_t code_stride;
};
struct cushim_program_properties {
  size_t struct_size;
  cushim_code_kind kind;
  int32_t was_cached;
  size_t size;
  uint32_t compiler_version;
  uint32_t reserved;
  char architecture[32];
};
struct cushim_jit_option {
  CUjit_option option;
  uint32_t reserved;
  uint64_t value;
};
struct cushim_library_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t max_registers;
  const cushim_jit_option *jit_options;
  size_t jit_option_count;
  size_t jit_option_stride;
};
struct cushim_arg {
  cushim_arg_kind kind;
  uint32_t size;
  const void *value;
};
struct cushim_parameter {
  const char *name;
  const void *value;
  uint32_t size;
  uint32_t reserved;
};
struct cushim_dim3 {
  uint32_t x;
  uint32_t y;
  uint32_t z;
};
struct cushim_launch_attribute {
  CUlaunchAttributeID id;
  uint32_t reserved;
  uint8_t value[64];
};
struct cushim_graph_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved;
};
struct cushim_edge {
  cushim_node from_node;
  cushim_node to_node;
  uint8_t from_port;
  uint8_t to_port;
  uint8_t type;
  uint8_t reserved[5];
};
struct cushim_condition_options {
  size_t struct_size;
  uint32_t initial;
  uint32_t flags;
};
struct cushim_exec_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved;
  cushim_stream upload_stream;
};
struct cushim_exec_result {
  size_t struct_size;
  int32_t reason;
  uint32_t reserved;
  cushim_node node;
  cushim_node other;
};
struct cushim_builder_options {
  size_t struct_size;
  cushim_capture_mode mode;
  uint32_t reserved;
};
struct cushim_graph_memory {
  size_t struct_size;
  uint64_t used;
  uint64_t used_peak;
  uint64_t reserved;
  uint64_t reserved_peak;
};
struct cushim_region {
  cushim_endpoint endpoint;
  size_t x;
  size_t y;
  size_t z;
  size_t pitch;
  size_t rows;
};
struct cushim_copy_attributes {
  cushim_source_access source_access;
  uint32_t flags;
  cushim_location source_hint;
  cushim_location destination_hint;
};
struct cushim_copy {
  cushim_endpoint destination;
  cushim_endpoint source;
  size_t bytes;
};
struct cushim_memory_operation {
  cushim_memory_action action;
  uint32_t flags;
  cushim_endpoint at;
  uint64_t value;
};
struct cushim_range_attributes {
  size_t struct_size;
  int32_t read_mostly;
  int32_t reserved;
  cushim_location preferred_location;
  cushim_location last_prefetch_location;
};
struct cushim_managed_options {
  size_t struct_size;
  uint32_t flags;
  uint32_t reserved;
  cushim_location pool_location;
};
struct cushim_virtual_options {
  size_t struct_size;
  cushim_location location;
  uint32_t flags;
  cushim_shareable shareable;
  size_t alignment;
  uint64_t address_hint;
  cushim_virtual_access access;
  cushim_virtual_access peer_access;
  const int32_t *peers;
  size_t peer_count;
};
struct cushim_owned_pointer {
  uint64_t pointer;
  cushim_owner owner;
};
struct cushim_launch_config {
  size_t struct_size;
  cushim_dim3 grid;
  cushim_dim3 block;
  cushim_dim3 cluster;
  uint32_t shared_bytes;
  uint32_t flags;
  int32_t priority;
  cushim_memory_sync_domain memory_sync_domain;
  uint32_t programmatic_event_flags;
  cushim_event programmatic_event;
  const cushim_launch_attribute *attributes;
  size_t attribute_count;
  size_t attribute_stride;
  cushim_context context;
};
struct cushim_graph_allocation {
  size_t struct_size;
  size_t bytes;
  cushim_location location;
  uint32_t flags;
  uint32_t reserved;
  const int32_t *peers;
  size_t peer_count;
};
struct cushim_fill_node {
  size_t struct_size;
  cushim_endpoint destination;
  size_t pitch;
  uint32_t value;
  uint32_t value_size;
  size_t width;
  size_t height;
};
struct cushim_allocation_node {
  size_t struct_size;
  uint64_t pointer;
  size_t bytes;
  cushim_location location;
  int32_t managed;
  uint32_t reserved;
  size_t peer_count;
};
struct cushim_kernel_node {
  size_t struct_size;
  cushim_kernel kernel;
  cushim_launch_config config;
  size_t arg_count;
  size_t block_size;
};
struct cushim_copy_node {
  size_t struct_size;
  int32_t is_3d;
  uint32_t reserved;
  cushim_region destination;
  cushim_region source;
  cushim_extent extent;
};
cushim_status cushim_last_error(cushim_error_detail *detail);
const char *cushim_last_error_message(void);
const char *cushim_status_name(cushim_status status);
const char *cushim_status_string(cushim_status status);
cushim_status cushim_driver_open(const cushim_driver_options *options, cushim_driver *driver);
cushim_status cushim_driver_destroy(cushim_driver driver);
cushim_status cushim_driver_get_table(cushim_driver driver, cushim_table_kind kind, const cushim_driver_table **table);
const cushim_driver_table *cushim_driver_default_table(cushim_table_kind kind);
int32_t cushim_table_missing(const cushim_driver_table *table, const char *name, int32_t abi);
cushim_status cushim_driver_lookup(cushim_driver driver, const char *name, int32_t abi, cushim_table_kind kind, void **function);
cushim_status cushim_driver_get_info(cushim_driver driver, cushim_driver_info *info);
cushim_status cushim_driver_get_candidate(cushim_driver driver, size_t index, cushim_candidate *candidate);
size_t cushim_symbol_count(void);
cushim_status cushim_driver_get_symbol(cushim_driver driver, size_t index, cushim_table_kind kind, cushim_symbol *symbol);
cushim_status cushim_error_take(cushim_error *error);
cushim_status cushim_error_ref(cushim_error error, cushim_error *reference);
cushim_status cushim_error_destroy(cushim_error error);
cushim_status cushim_error_get_detail(cushim_error error, cushim_error_detail *detail);
cushim_status cushim_error_get_message(cushim_error error, char *buffer, size_t size, size_t *needed);
cushim_status cushim_error_get_driver_log(cushim_error error, char *buffer, size_t size, size_t *needed);
cushim_status cushim_set_label(const void *handle, const char *label);
cushim_status cushim_get_label(const void *handle, char *buffer, size_t size, size_t *needed);
cushim_status cushim_same(const void *a, const void *b, int32_t *same);
cushim_status cushim_get_identity(const void *handle, uint64_t *number);
cushim_status cushim_describe(const void *handle, char *buffer, size_t size, size_t *needed);
cushim_status cushim_driver_ref(cushim_driver driver, cushim_driver *reference);
cushim_status cushim_driver_get_unreported_errors(cushim_driver driver, uint64_t *count);
cushim_status cushim_driver_get_device_count(cushim_driver driver, int32_t *count);
cushim_status cushim_driver_get_device(cushim_driver driver, int32_t ordinal, cushim_device *device);
cushim_status cushim_driver_get_device_by_uuid(cushim_driver driver, const char *uuid, cushim_device *device);
cushim_status cushim_driver_get_device_by_pci_bus_id(cushim_driver driver, const char *pci_bus_id, cushim_device *device);
cushim_status cushim_device_ref(cushim_device device, cushim_device *reference);
cushim_status cushim_device_destroy(cushim_device device);
cushim_status cushim_device_get_driver(cushim_device device, cushim_driver *driver);
cushim_status cushim_device_get_ordinal(cushim_device device, int32_t *ordinal);
cushim_status cushim_device_native(cushim_device device, CUdevice *native);
cushim_status cushim_device_get_name(cushim_device device, char *buffer, size_t size, size_t *needed);
cushim_status cushim_device_get_uuid(cushim_device device, uint8_t *uuid);
cushim_status cushim_device_get_pci_bus_id(cushim_device device, char *buffer, size_t size, size_t *needed);
cushim_status cushim_device_get_total_memory(cushim_device device, size_t *bytes);
cushim_status cushim_device_get_attribute(cushim_device device, CUdevice_attribute attribute, int32_t *value);
cushim_status cushim_device_supports(cushim_device device, const char *feature, int32_t *yes);
const char *cushim_feature_name(size_t index);
cushim_status cushim_device_can_access_peer(cushim_device device, cushim_device peer, int32_t *yes);
cushim_status cushim_device_get_primary_state(cushim_device device, int32_t *active, uint32_t *flags);
cushim_status cushim_device_reset_primary_context(cushim_device device);
cushim_status cushim_context_retain_primary(cushim_device device, cushim_context *context);
cushim_status cushim_context_create(cushim_device device, const cushim_context_options *options, cushim_context *context);
cushim_status cushim_context_wrap(cushim_device device, CUcontext native, cushim_ownership ownership, cushim_context *context);
cushim_status cushim_context_wrap_green(cushim_device device, CUgreenCtx native, cushim_ownership ownership, cushim_context *context);
cushim_status cushim_context_ref(cushim_context context, cushim_context *reference);
cushim_status cushim_context_destroy(cushim_context context);
cushim_status cushim_context_get_device(cushim_context context, cushim_device *device);
cushim_status cushim_context_get_kind(cushim_context context, cushim_context_kind *kind);
cushim_status cushim_context_native(cushim_context context, CUcontext *native);
cushim_status cushim_context_get_lost(cushim_context context, cushim_status *lost);
cushim_status cushim_context_get_id(cushim_context context, uint64_t *id);
cushim_status cushim_context_get_flags(cushim_context context, uint32_t *flags);
cushim_status cushim_context_get_stream_priorities(cushim_context context, int32_t *least, int32_t *greatest);
cushim_status cushim_context_get_limit(cushim_context context, CUlimit limit, size_t *value);
cushim_status cushim_context_set_limit(cushim_context context, CUlimit limit, size_t value);
cushim_status cushim_context_synchronize(cushim_context context);
cushim_status cushim_context_set_current(cushim_context context);
cushim_status cushim_context_clear_current(cushim_driver driver);
cushim_status cushim_context_get_current(cushim_driver driver, cushim_context *context, CUcontext *native);
cushim_status cushim_context_push(cushim_context context);
cushim_status cushim_context_pop(cushim_driver driver, cushim_context *context, CUcontext *native);
cushim_status cushim_context_enable_peer_access(cushim_context context, cushim_context peer);
cushim_status cushim_context_disable_peer_access(cushim_context context, cushim_context peer);
cushim_status cushim_stream_create(cushim_context context, const cushim_stream_options *options, cushim_stream *stream);
cushim_status cushim_stream_wrap(cushim_context context, CUstream native, cushim_ownership ownership, cushim_stream *stream);
cushim_status cushim_context_get_legacy_stream(cushim_context context, cushim_stream *stream);
cushim_status cushim_context_get_per_thread_stream(cushim_context context, cushim_stream *stream);
cushim_stream cushim_stream_current(void);
cushim_status cushim_stream_push_current(cushim_stream stream);
cushim_status cushim_stream_pop_current(cushim_stream *stream);
cushim_status cushim_stream_get_current(cushim_stream *stream);
cushim_status cushim_stream_ref(cushim_stream stream, cushim_stream *reference);
cushim_status cushim_stream_destroy(cushim_stream stream);
cushim_status cushim_stream_get_context(cushim_stream stream, cushim_context *context);
cushim_status cushim_stream_get_kind(cushim_stream stream, cushim_stream_kind *kind);
cushim_status cushim_stream_native(cushim_stream stream, CUstream *native);
cushim_status cushim_stream_get_flags(cushim_stream stream, uint32_t *flags);
cushim_status cushim_stream_get_priority(cushim_stream stream, int32_t *priority);
cushim_status cushim_stream_get_id(cushim_stream stream, uint64_t *id);
uint64_t cushim_stream_id(cushim_stream stream);
cushim_status cushim_stream_query(cushim_stream stream, int32_t *done);
cushim_status cushim_stream_synchronize(cushim_stream stream);
cushim_status cushim_stream_synchronize_within(cushim_stream stream, uint64_t nanoseconds, int32_t *done);
cushim_status cushim_stream_wait_event(cushim_stream stream, cushim_event event);
cushim_status cushim_stream_wait_event_external(cushim_stream stream, cushim_event event);
cushim_status cushim_stream_wait_stream(cushim_stream stream, cushim_stream other);
cushim_status cushim_stream_get_attribute(cushim_stream stream, CUlaunchAttributeID id, cushim_launch_attribute *attribute);
cushim_status cushim_stream_set_attribute(cushim_stream stream, const cushim_launch_attribute *attribute);
cushim_status cushim_stream_copy_attributes(cushim_stream stream, cushim_stream source);
cushim_status cushim_event_create(cushim_context context, const cushim_event_options *options, cushim_event *event);
cushim_status cushim_event_wrap(cushim_context context, CUevent native, cushim_ownership ownership, const cushim_event_options *options, cushim_event *event);
cushim_status cushim_event_ref(cushim_event event, cushim_event *reference);
cushim_status cushim_event_destroy(cushim_event event);
cushim_status cushim_event_get_context(cushim_event event, cushim_context *context);
cushim_status cushim_event_native(cushim_event event, CUevent *native);
cushim_status cushim_event_get_flags(cushim_event event, uint32_t *flags);
cushim_status cushim_event_record(cushim_event event, cushim_stream stream);
cushim_status cushim_event_record_external(cushim_event event, cushim_stream stream);
cushim_status cushim_event_query(cushim_event event, int32_t *done);
cushim_status cushim_event_synchronize(cushim_event event);
cushim_status cushim_event_synchronize_within(cushim_event event, uint64_t nanoseconds, int32_t *done);
cushim_status cushim_event_elapsed(cushim_event start, cushim_event end, float *milliseconds);
cushim_status cushim_context_allocate(cushim_context context, size_t bytes, uint64_t *pointer);
cushim_status cushim_context_free(cushim_context context, uint64_t pointer);
cushim_status cushim_stream_allocate(cushim_stream stream, size_t bytes, uint64_t *pointer);
cushim_status cushim_stream_free(cushim_stream stream, uint64_t pointer);
cushim_status cushim_context_get_memory_info(cushim_context context, size_t *free, size_t *total);
cushim_status cushim_stream_copy(cushim_stream stream, const cushim_endpoint *destination, const cushim_endpoint *source, size_t bytes);
cushim_status cushim_stream_copy_3d(cushim_stream stream, const cushim_region *destination, const cushim_region *source, const cushim_extent *extent);
cushim_status cushim_context_copy(cushim_context context, const cushim_endpoint *destination, const cushim_endpoint *source, size_t bytes);
cushim_status cushim_context_copy_3d(cushim_context context, const cushim_region *destination, const cushim_region *source, const cushim_extent *extent);
cushim_status cushim_stream_fill(cushim_stream stream, const cushim_endpoint *destination, const void *value, size_t value_size, size_t count);
cushim_status cushim_stream_fill_2d(cushim_stream stream, const cushim_endpoint *destination, size_t pitch, const void *value, size_t value_size, size_t width, size_t height);
cushim_status cushim_context_fill(cushim_context context, const cushim_endpoint *destination, const void *value, size_t value_size, size_t count);
cushim_status cushim_context_fill_2d(cushim_context context, const cushim_endpoint *destination, size_t pitch, const void *value, size_t value_size, size_t width, size_t height);
cushim_status cushim_stream_copy_with_attributes(cushim_stream stream, const cushim_endpoint *destination, const cushim_endpoint *source, size_t bytes, const cushim_copy_attributes *attributes);
cushim_status cushim_stream_copy_batch(cushim_stream stream, const cushim_copy *copies, size_t copy_count, const cushim_copy_attributes *attributes, size_t attribute_count, const cushim_batch_options *options);
cushim_status cushim_stream_memory_operations(cushim_stream stream, const cushim_memory_operation *operations, size_t operation_count);
cushim_status cushim_context_allocate_host(cushim_context context, size_t bytes, uint32_t flags, void **address);
cushim_status cushim_context_free_host(cushim_context context, void *address);
cushim_status cushim_context_register_host(cushim_context context, void *address, size_t bytes, uint32_t flags);
cushim_status cushim_context_unregister_host(cushim_context context, void *address);
cushim_status cushim_context_get_device_pointer(cushim_context context, void *address, uint64_t *pointer);
cushim_status cushim_context_get_pointer_attributes(cushim_context context, uint64_t address, cushim_pointer_attributes *attributes);
cushim_status cushim_context_get_address_range(cushim_context context, uint64_t pointer, uint64_t *start, size_t *bytes);
cushim_status cushim_context_advise(cushim_context context, const cushim_range *range, CUmem_advise advice, const cushim_location *location);
cushim_status cushim_context_advise_batch(cushim_context context, const cushim_range *ranges, size_t range_count, CUmem_advise advice, const cushim_location *locations, size_t location_count);
cushim_status cushim_stream_prefetch(cushim_stream stream, const cushim_range *range, const cushim_location *location);
cushim_status cushim_stream_prefetch_batch(cushim_stream stream, const cushim_range *ranges, size_t range_count, const cushim_location *locations, size_t location_count, const cushim_batch_options *options);
cushim_status cushim_stream_discard(cushim_stream stream, const cushim_range *range);
cushim_status cushim_stream_discard_batch(cushim_stream stream, const cushim_range *ranges, size_t range_count, const cushim_batch_options *options);
cushim_status cushim_stream_discard_prefetch(cushim_stream stream, const cushim_range *range, const cushim_location *location);
cushim_status cushim_stream_discard_prefetch_batch(cushim_stream stream, const cushim_range *ranges, size_t range_count, const cushim_location *locations, size_t location_count, const cushim_batch_options *options);
cushim_status cushim_stream_attach(cushim_stream stream, const cushim_range *range, cushim_attachment attachment);
cushim_status cushim_context_get_range_attributes(cushim_context context, const cushim_range *range, cushim_range_attributes *attributes);
cushim_status cushim_context_get_accessed_by(cushim_context context, const cushim_range *range, cushim_location *accessors, size_t capacity, size_t *count);
cushim_status cushim_context_add_accessed_by(cushim_context context, const cushim_range *range, const cushim_location *accessors, size_t accessor_count);
cushim_status cushim_context_remove_accessed_by(cushim_context context, const cushim_range *range, const cushim_location *accessors, size_t accessor_count);
cushim_status cushim_context_set_accessed_by(cushim_context context, const cushim_range *range, const cushim_location *accessors, size_t accessor_count);
cushim_status cushim_stream_launch_host_function(cushim_stream stream, cushim_host_function function, void *data, const cushim_owner *owner);
cushim_status cushim_stream_launch_host_function_bytes(cushim_stream stream, cushim_host_function function, const void *bytes, size_t size);
cushim_status cushim_drain(cushim_drain_item *items, size_t stride, size_t capacity, size_t *count);
cushim_status cushim_drain_fd(int32_t *fd);
cushim_status cushim_get_leaked_releases(uint64_t *count);
cushim_status cushim_flush_callbacks(uint64_t nanoseconds, int32_t *done);
cushim_status cushim_resource_ref(cushim_resource resource, cushim_resource *reference);
cushim_status cushim_resource_destroy(cushim_resource resource);
cushim_status cushim_resource_get_driver(cushim_resource resource, cushim_driver *driver);
cushim_status cushim_resource_get_kind(cushim_resource resource, cushim_resource_kind *kind);
cushim_status cushim_resource_get_properties(cushim_resource resource, cushim_memory_properties *properties);
cushim_status cushim_resource_native(cushim_resource resource, CUmemoryPool *native);
cushim_status cushim_resource_create_device_pool(cushim_device device, const cushim_device_pool_options *options, cushim_resource *resource);
cushim_status cushim_resource_wrap_pool(cushim_device device, CUmemoryPool native, cushim_ownership ownership, cushim_resource *resource);
cushim_status cushim_resource_create_pinned(cushim_context context, const cushim_pinned_options *options, cushim_resource *resource);
cushim_status cushim_resource_create_managed(cushim_context context, const cushim_managed_options *options, cushim_resource *resource);
cushim_status cushim_resource_create_device(cushim_context context, cushim_resource *resource);
cushim_status cushim_resource_create_graph(cushim_device device, cushim_resource *resource);
cushim_status cushim_resource_create_arena(cushim_context context, size_t bytes, cushim_resource *resource);
cushim_status cushim_resource_get_arena_bytes(cushim_resource resource, size_t *bytes);
cushim_status cushim_resource_create_custom(cushim_driver driver, const cushim_resource_functions *functions, cushim_resource *resource);
cushim_status cushim_resource_allocate(cushim_resource resource, cushim_stream stream, size_t bytes, uint64_t *pointer);
cushim_status cushim_resource_free(cushim_resource resource, cushim_stream stream, uint64_t pointer, size_t bytes);
cushim_status cushim_resource_get_attribute(cushim_resource resource, cushim_pool_attribute pool_attribute, uint64_t *value);
cushim_status cushim_resource_set_attribute(cushim_resource resource, cushim_pool_attribute pool_attribute, uint64_t value);
cushim_status cushim_resource_trim(cushim_resource resource, size_t bytes);
cushim_status cushim_resource_get_peers(cushim_resource resource, cushim_device *devices, size_t capacity, size_t *count);
cushim_status cushim_resource_set_peers(cushim_resource resource, const cushim_device *devices, size_t device_count);
cushim_status cushim_resource_add_peers(cushim_resource resource, const cushim_device *devices, size_t device_count);
cushim_status cushim_resource_remove_peers(cushim_resource resource, const cushim_device *devices, size_t device_count);
cushim_status cushim_resource_create_location_pool(cushim_device device, const cushim_location *place, cushim_pool_memory memory, cushim_pool_choice choice, cushim_resource *resource);
cushim_status cushim_device_set_location_pool(cushim_device device, const cushim_location *place, cushim_pool_memory memory, cushim_resource resource);
cushim_status cushim_buffer_create(cushim_resource resource, cushim_stream stream, size_t bytes, cushim_buffer *buffer);
cushim_status cushim_buffer_wrap(cushim_driver driver, cushim_stream stream, uint64_t pointer, size_t bytes, cushim_resource resource, const cushim_owner *owner, cushim_buffer *buffer);
cushim_status cushim_buffer_ref(cushim_buffer buffer, cushim_buffer *reference);
cushim_status cushim_buffer_destroy(cushim_buffer buffer);
cushim_status cushim_buffer_destroy_on(cushim_buffer buffer, cushim_stream stream);
cushim_status cushim_buffer_get_pointer(cushim_buffer buffer, uint64_t *pointer);
uint64_t cushim_buffer_pointer(cushim_buffer buffer);
size_t cushim_buffer_size(cushim_buffer buffer);
cushim_status cushim_buffer_get_size(cushim_buffer buffer, size_t *bytes);
cushim_status cushim_buffer_get_properties(cushim_buffer buffer, cushim_memory_properties *properties);
cushim_status cushim_buffer_get_resource(cushim_buffer buffer, cushim_resource *resource);
cushim_status cushim_buffer_get_owner(cushim_buffer buffer, int32_t *owned, void **data);
cushim_status cushim_buffer_get_context(cushim_buffer buffer, cushim_context *context);
cushim_status cushim_buffer_get_stream(cushim_buffer buffer, cushim_stream *stream);
cushim_status cushim_buffer_set_stream(cushim_buffer buffer, cushim_stream stream);
cushim_status cushim_buffer_create_copy(cushim_buffer buffer, cushim_stream stream, cushim_buffer *copy);
cushim_status cushim_buffer_create_scratch(cushim_resource resource, cushim_stream stream, const void *source, size_t bytes, cushim_buffer *buffer);
cushim_status cushim_buffer_destroy_scratch(cushim_buffer buffer, cushim_stream stream, void *destination);
cushim_status cushim_device_get_resource(cushim_device device, cushim_resource *resource);
cushim_status cushim_device_set_resource(cushim_device device, cushim_resource resource);
cushim_status cushim_buffer_create_default(cushim_device device, cushim_stream stream, size_t bytes, cushim_buffer *buffer);
cushim_status cushim_resource_create_virtual(cushim_device device, const cushim_virtual_options *options, cushim_resource *resource);
cushim_status cushim_buffer_grow(cushim_buffer buffer, size_t bytes, const cushim_virtual_options *options, cushim_buffer *grown);
cushim_status cushim_buffer_sleep(cushim_buffer buffer, cushim_stream stream, uint32_t flags);
cushim_status cushim_buffer_wake(cushim_buffer buffer, cushim_stream stream);
cushim_status cushim_buffer_get_asleep(cushim_buffer buffer, int32_t *asleep);
cushim_status cushim_allocation_create(cushim_device device, size_t bytes, const cushim_virtual_options *options, cushim_allocation *allocation);
cushim_status cushim_allocation_ref(cushim_allocation allocation, cushim_allocation *reference);
cushim_status cushim_allocation_destroy(cushim_allocation allocation);
cushim_status cushim_allocation_get_size(cushim_allocation allocation, size_t *bytes);
cushim_status cushim_allocation_get_location(cushim_allocation allocation, cushim_location *location);
cushim_status cushim_allocation_native(cushim_allocation allocation, uint64_t *native);
cushim_status cushim_reservation_create(cushim_device device, size_t bytes, const cushim_virtual_options *options, cushim_reservation *reservation);
cushim_status cushim_reservation_ref(cushim_reservation reservation, cushim_reservation *reference);
cushim_status cushim_reservation_destroy(cushim_reservation reservation);
cushim_status cushim_reservation_get_pointer(cushim_reservation reservation, uint64_t *pointer);
cushim_status cushim_reservation_get_size(cushim_reservation reservation, size_t *bytes);
cushim_status cushim_reservation_map(cushim_reservation reservation, size_t offset, cushim_allocation allocation);
cushim_status cushim_reservation_unmap(cushim_reservation reservation, cushim_stream stream, size_t offset, size_t bytes);
cushim_status cushim_reservation_set_access(cushim_reservation reservation, size_t offset, size_t bytes, const cushim_location *location, cushim_virtual_access access);
cushim_status cushim_reservation_get_access(cushim_reservation reservation, size_t offset, const cushim_location *location, cushim_virtual_access *access);
cushim_status cushim_allocation_export(cushim_allocation allocation, void *descriptor, size_t size, int32_t *file);
cushim_status cushim_allocation_import(cushim_device device, const cushim_virtual_options *options, const void *descriptor, size_t size, int32_t file, cushim_allocation *allocation);
cushim_status cushim_buffer_get_part_count(cushim_buffer buffer, size_t *count);
cushim_status cushim_buffer_export_parts(cushim_buffer buffer, void *descriptors, size_t size, int32_t *files, size_t count);
cushim_status cushim_buffer_import_parts(cushim_resource resource, cushim_stream stream, const void *descriptors, size_t size, const int32_t *files, size_t count, cushim_buffer *buffer);
cushim_status cushim_buffer_export_dma_buf(cushim_buffer buffer, size_t offset, size_t bytes, uint32_t flags, int32_t *file);
cushim_status cushim_buffer_set_sync_memops(cushim_buffer buffer, int32_t on);
cushim_status cushim_buffer_get_sync_memops(cushim_buffer buffer, int32_t *on);
cushim_status cushim_context_flush_direct_writes(cushim_context context, cushim_flush_scope scope);
cushim_status cushim_buffer_export_dlpack(cushim_buffer buffer, const cushim_dlpack_options *options, void **tensor);
cushim_status cushim_buffer_import_dlpack(cushim_driver driver, void *tensor, uint32_t flags, cushim_buffer *buffer, int32_t *read_only);
cushim_status cushim_event_export(cushim_event event, void *descriptor, size_t size);
cushim_status cushim_event_import(cushim_context context, const void *descriptor, size_t size, cushim_event *event);
cushim_status cushim_resource_export(cushim_resource resource, void *descriptor, size_t size, int32_t *file);
cushim_status cushim_resource_import(cushim_device device, const void *descriptor, size_t size, int32_t file, cushim_resource *resource);
cushim_status cushim_buffer_export(cushim_buffer buffer, void *descriptor, size_t size);
cushim_status cushim_buffer_import(cushim_resource resource, cushim_stream stream, const void *descriptor, size_t size, cushim_buffer *buffer);
cushim_status cushim_buffer_open(cushim_context context, cushim_stream stream, const void *descriptor, size_t size, cushim_buffer *buffer);
cushim_status cushim_graphics_register_gl_buffer(cushim_context context, uint32_t gl_buffer, uint32_t flags, cushim_graphics *graphics);
cushim_status cushim_graphics_register_gl_image(cushim_context context, uint32_t gl_image, uint32_t target, uint32_t flags, cushim_graphics *graphics);
cushim_status cushim_graphics_ref(cushim_graphics graphics, cushim_graphics *reference);
cushim_status cushim_graphics_destroy(cushim_graphics graphics);
cushim_status cushim_graphics_map(cushim_graphics graphics, cushim_stream stream, cushim_buffer *buffer);
cushim_status cushim_graphics_map_array(cushim_graphics graphics, cushim_stream stream, uint32_t layer, uint32_t level, CUarray *array);
cushim_status cushim_graphics_get_array(cushim_graphics graphics, uint32_t layer, uint32_t level, CUarray *array);
cushim_status cushim_graphics_unmap(cushim_graphics graphics, cushim_stream stream);
cushim_status cushim_graphics_get_mapped(cushim_graphics graphics, int32_t *mapped);
cushim_status cushim_graphics_native(cushim_graphics graphics, CUgraphicsResource *native);
cushim_status cushim_program_compile(cushim_device device, const char *source, const cushim_compile_options *options, cushim_program *program);
cushim_status cushim_driver_find_compiler(cushim_driver driver, uint32_t *version, char *buffer, size_t size, size_t *needed);
cushim_status cushim_program_link(cushim_context context, const cushim_program *programs, size_t program_count, const cushim_link_options *options, cushim_program *linked);
cushim_status cushim_driver_find_linker(cushim_driver driver, uint32_t *version, char *buffer, size_t size, size_t *needed);
cushim_status cushim_program_ref(cushim_program program, cushim_program *reference);
cushim_status cushim_program_destroy(cushim_program program);
cushim_status cushim_program_get_properties(cushim_program program, cushim_program_properties *properties);
cushim_status cushim_program_get_code(cushim_program program, void *code, size_t size, size_t *needed);
cushim_status cushim_program_get_log(cushim_program program, char *buffer, size_t size, size_t *needed);
cushim_status cushim_program_get_name(cushim_program program, const char *expression, char *buffer, size_t size, size_t *needed);
cushim_status cushim_library_load(cushim_context context, const void *image, size_t size, const cushim_library_options *options, cushim_library *library);
cushim_status cushim_library_load_file(cushim_context context, const char *path, const cushim_library_options *options, cushim_library *library);
cushim_status cushim_library_load_program(cushim_context context, cushim_program program, const cushim_library_options *options, cushim_library *library);
cushim_status cushim_library_ref(cushim_library library, cushim_library *reference);
cushim_status cushim_library_destroy(cushim_library library);
cushim_status cushim_library_get_context(cushim_library library, cushim_context *context);
cushim_status cushim_library_get_log(cushim_library library, char *buffer, size_t size, size_t *needed);
cushim_status cushim_library_native(cushim_library library, CUlibrary *native);
cushim_status cushim_library_native_module(cushim_library library, CUmodule *native);
cushim_status cushim_library_get_kernel_count(cushim_library library, size_t *count);
cushim_status cushim_library_get_kernel_name(cushim_library library, size_t index, char *buffer, size_t size, size_t *needed);
cushim_status cushim_library_get_global(cushim_library library, const char *name, uint64_t *pointer, size_t *bytes);
cushim_status cushim_library_get_managed(cushim_library library, const char *name, uint64_t *pointer, size_t *bytes);
cushim_status cushim_kernel_create(cushim_library library, const char *name, cushim_kernel *kernel);
cushim_status cushim_kernel_wrap(cushim_context context, CUkernel native, cushim_library library, const cushim_owner *owner, cushim_kernel *kernel);
cushim_status cushim_kernel_wrap_function(cushim_context context, CUfunction native, cushim_library library, const cushim_owner *owner, cushim_kernel *kernel);
cushim_status cushim_kernel_ref(cushim_kernel kernel, cushim_kernel *reference);
cushim_status cushim_kernel_destroy(cushim_kernel kernel);
cushim_status cushim_kernel_get_name(cushim_kernel kernel, char *buffer, size_t size, size_t *needed);
cushim_status cushim_kernel_get_context(cushim_kernel kernel, cushim_context *context);
cushim_status cushim_kernel_get_library(cushim_kernel kernel, cushim_library *library);
cushim_status cushim_kernel_native(cushim_kernel kernel, CUkernel *native);
cushim_status cushim_kernel_native_function(cushim_kernel kernel, CUfunction *native);
cushim_status cushim_kernel_get_attribute(cushim_kernel kernel, CUfunction_attribute attribute, int32_t *value);
cushim_status cushim_kernel_set_attribute(cushim_kernel kernel, CUfunction_attribute attribute, int32_t value);
cushim_status cushim_kernel_preload(cushim_kernel kernel);
cushim_status cushim_kernel_get_parameter_count(cushim_kernel kernel, size_t *count);
cushim_status cushim_kernel_get_parameter(cushim_kernel kernel, size_t index, size_t *offset, size_t *size);
cushim_status cushim_kernel_launch(cushim_kernel kernel, cushim_stream stream, const cushim_launch_config *config, const cushim_arg *args, size_t arg_count);
cushim_status cushim_kernel_launch_packed(cushim_kernel kernel, cushim_stream stream, const cushim_launch_config *config, const void *block, size_t size);
cushim_status cushim_kernel_get_active_blocks(cushim_kernel kernel, uint32_t threads, size_t shared_bytes, uint32_t *blocks);
cushim_status cushim_kernel_suggest_block_size(cushim_kernel kernel, size_t shared_bytes, cushim_block_shared_memory shared_memory, void *data, uint32_t limit, uint32_t *threads, uint32_t *blocks);
cushim_status cushim_kernel_get_available_shared_memory(cushim_kernel kernel, uint32_t blocks, uint32_t threads, size_t *bytes);
cushim_status cushim_kernel_get_largest_cluster(cushim_kernel kernel, cushim_stream stream, const cushim_launch_config *config, uint32_t *blocks);
cushim_status cushim_kernel_get_active_clusters(cushim_kernel kernel, cushim_stream stream, const cushim_launch_config *config, uint32_t *clusters);
cushim_status cushim_graph_create(cushim_context context, const cushim_graph_options *options, cushim_graph *graph);
cushim_status cushim_graph_wrap(cushim_context context, CUgraph native, cushim_ownership ownership, cushim_graph *graph);
cushim_status cushim_graph_ref(cushim_graph graph, cushim_graph *reference);
cushim_status cushim_graph_destroy(cushim_graph graph);
cushim_status cushim_graph_get_context(cushim_graph graph, cushim_context *context);
cushim_status cushim_graph_get_parent(cushim_graph graph, cushim_node *node);
cushim_status cushim_graph_native(cushim_graph graph, CUgraph *native);
cushim_status cushim_graph_get_id(cushim_graph graph, uint32_t *id);
cushim_status cushim_graph_clone(cushim_graph graph, cushim_graph *clone);
cushim_status cushim_node_find_in(cushim_node node, cushim_graph clone, cushim_node *found);
cushim_status cushim_graph_get_nodes(cushim_graph graph, cushim_node *nodes, size_t capacity, size_t *count);
cushim_status cushim_graph_write_dot(cushim_graph graph, const char *path, uint32_t flags);
cushim_status cushim_graph_write_json(cushim_graph graph, const char *path, uint32_t flags);
cushim_status cushim_graph_get_edges(cushim_graph graph, cushim_edge *edges, size_t capacity, size_t *count);
cushim_status cushim_graph_add_edges(cushim_graph graph, const cushim_edge *edges, size_t edge_count);
cushim_status cushim_graph_remove_edges(cushim_graph graph, const cushim_edge *edges, size_t edge_count);
cushim_status cushim_node_get_dependencies(cushim_node node, cushim_edge *edges, size_t capacity, size_t *count);
cushim_status cushim_node_get_dependents(cushim_node node, cushim_edge *edges, size_t capacity, size_t *count);
cushim_status cushim_node_set_dependencies(cushim_node node, const cushim_node *after, size_t after_count);
cushim_status cushim_node_set_dependents(cushim_node node, const cushim_node *before, size_t before_count);
cushim_status cushim_graph_add_empty(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_node *node);
cushim_status cushim_graph_add_event_record(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_event event, cushim_node *node);
cushim_status cushim_graph_add_event_wait(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_event event, cushim_node *node);
cushim_status cushim_graph_add_host_function(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_host_function function, void *data, const cushim_owner *owner, cushim_node *node);
cushim_status cushim_graph_add_host_function_bytes(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_host_function function, const void *bytes, size_t size, cushim_node *node);
cushim_status cushim_graph_add_child(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_graph child, cushim_child_ownership ownership, cushim_node *node, cushim_graph *inner);
cushim_status cushim_condition_create(cushim_graph graph, const cushim_condition_options *options, cushim_condition *condition);
cushim_status cushim_condition_native(cushim_condition condition, uint64_t *native);
cushim_status cushim_graph_add_conditional(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_condition condition, cushim_conditional_kind kind, size_t body_count, cushim_node *node, cushim_graph *bodies);
cushim_status cushim_node_get_condition(cushim_node node, cushim_condition *condition, cushim_conditional_kind *kind);
cushim_status cushim_graph_add_kernel(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_kernel kernel, const cushim_launch_config *config, const cushim_arg *args, size_t arg_count, cushim_node *node);
cushim_status cushim_graph_add_kernel_packed(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_kernel kernel, const cushim_launch_config *config, const void *block, size_t size, cushim_node *node);
cushim_status cushim_graph_add_copy(cushim_graph graph, const cushim_node *after, size_t after_count, const cushim_endpoint *destination, const cushim_endpoint *source, size_t bytes, cushim_node *node);
cushim_status cushim_graph_add_copy_3d(cushim_graph graph, const cushim_node *after, size_t after_count, const cushim_region *destination, const cushim_region *source, const cushim_extent *extent, cushim_node *node);
cushim_status cushim_graph_add_fill(cushim_graph graph, const cushim_node *after, size_t after_count, const cushim_endpoint *destination, const void *value, size_t value_size, size_t count, cushim_node *node);
cushim_status cushim_graph_add_fill_2d(cushim_graph graph, const cushim_node *after, size_t after_count, const cushim_endpoint *destination, size_t pitch, const void *value, size_t value_size, size_t width, size_t height, cushim_node *node);
cushim_status cushim_graph_add_allocation(cushim_graph graph, const cushim_node *after, size_t after_count, const cushim_graph_allocation *allocation, cushim_node *node, uint64_t *pointer);
cushim_status cushim_graph_add_free(cushim_graph graph, const cushim_node *after, size_t after_count, uint64_t pointer, cushim_node *node);
cushim_status cushim_graph_add_memory_operations(cushim_graph graph, const cushim_node *after, size_t after_count, const cushim_memory_operation *operations, size_t operation_count, cushim_node *node);
cushim_status cushim_node_get_type(cushim_node node, cushim_node_type *node_type);
cushim_status cushim_node_get_graph(cushim_node node, cushim_graph *graph);
cushim_status cushim_node_get_graphs(cushim_node node, cushim_graph *graphs, size_t capacity, size_t *count);
cushim_status cushim_node_get_id(cushim_node node, uint32_t *id);
cushim_status cushim_node_get_tools_id(cushim_node node, uint64_t *id);
cushim_status cushim_node_get_device_node(cushim_node node, CUgraphDeviceNode *handle);
cushim_status cushim_node_native(cushim_node node, CUgraphNode *native);
cushim_status cushim_node_remove(cushim_node node);
cushim_status cushim_node_set_owner(cushim_node node, size_t slot, const cushim_owner *owner);
cushim_status cushim_node_get_owner(cushim_node node, size_t slot, void **data);
cushim_status cushim_node_get_kernel(cushim_node node, cushim_kernel_node *kernel);
cushim_status cushim_node_get_arguments(cushim_node node, cushim_arg *args, size_t capacity, size_t *count, void *values, size_t size, size_t *needed);
cushim_status cushim_node_get_copy(cushim_node node, cushim_copy_node *copy);
cushim_status cushim_node_get_fill(cushim_node node, cushim_fill_node *fill);
cushim_status cushim_node_get_allocation(cushim_node node, cushim_allocation_node *allocation, int32_t *peers, size_t capacity);
cushim_status cushim_node_get_free(cushim_node node, uint64_t *pointer);
cushim_status cushim_node_get_event(cushim_node node, cushim_event *event, CUevent *native);
cushim_status cushim_node_get_host_function(cushim_node node, cushim_host_function *function, void **data);
cushim_status cushim_node_get_memory_operations(cushim_node node, cushim_memory_operation *operations, size_t capacity, size_t *count);
cushim_status cushim_exec_create(cushim_graph graph, const cushim_exec_options *options, cushim_exec *exec, cushim_exec_result *result);
cushim_status cushim_exec_ref(cushim_exec exec, cushim_exec *reference);
cushim_status cushim_exec_destroy(cushim_exec exec);
cushim_status cushim_exec_get_graph(cushim_exec exec, cushim_graph *graph);
cushim_status cushim_exec_get_flags(cushim_exec exec, uint32_t *flags);
cushim_status cushim_exec_native(cushim_exec exec, CUgraphExec *native);
cushim_status cushim_exec_get_id(cushim_exec exec, uint32_t *id);
cushim_status cushim_exec_upload(cushim_exec exec, cushim_stream stream);
cushim_status cushim_exec_launch(cushim_exec exec, cushim_stream stream);
cushim_status cushim_exec_update(cushim_exec exec, cushim_graph graph, cushim_exec_result *result);
cushim_status cushim_exec_get_enabled(cushim_exec exec, cushim_node node, int32_t *enabled);
cushim_status cushim_exec_set_enabled(cushim_exec exec, cushim_node node, int32_t enabled);
cushim_status cushim_exec_get_kernel(cushim_exec exec, cushim_node node, cushim_kernel_node *kernel);
cushim_status cushim_exec_get_arguments(cushim_exec exec, cushim_node node, cushim_arg *args, size_t capacity, size_t *count, void *values, size_t size, size_t *needed);
cushim_status cushim_exec_get_copy(cushim_exec exec, cushim_node node, cushim_copy_node *copy);
cushim_status cushim_exec_get_fill(cushim_exec exec, cushim_node node, cushim_fill_node *fill);
cushim_status cushim_exec_get_event(cushim_exec exec, cushim_node node, cushim_event *event, CUevent *native);
cushim_status cushim_exec_get_host_function(cushim_exec exec, cushim_node node, cushim_host_function *function, void **data);
cushim_status cushim_exec_get_memory_operations(cushim_exec exec, cushim_node node, cushim_memory_operation *operations, size_t capacity, size_t *count);
cushim_status cushim_node_get_attribute(cushim_node node, CUlaunchAttributeID id, cushim_launch_attribute *attribute);
cushim_status cushim_node_set_attribute(cushim_node node, const cushim_launch_attribute *attribute);
cushim_status cushim_node_copy_attributes(cushim_node node, cushim_node source);
cushim_status cushim_node_set_kernel(cushim_node node, cushim_kernel kernel, const cushim_launch_config *config, const cushim_arg *args, size_t arg_count);
cushim_status cushim_node_set_kernel_packed(cushim_node node, cushim_kernel kernel, const cushim_launch_config *config, const void *block, size_t size);
cushim_status cushim_node_set_argument(cushim_node node, size_t index, const cushim_arg *arg);
cushim_status cushim_node_set_copy(cushim_node node, const cushim_endpoint *destination, const cushim_endpoint *source, size_t bytes);
cushim_status cushim_node_set_copy_3d(cushim_node node, const cushim_region *destination, const cushim_region *source, const cushim_extent *extent);
cushim_status cushim_node_set_fill(cushim_node node, const cushim_endpoint *destination, const void *value, size_t value_size, size_t count);
cushim_status cushim_node_set_fill_2d(cushim_node node, const cushim_endpoint *destination, size_t pitch, const void *value, size_t value_size, size_t width, size_t height);
cushim_status cushim_node_set_event(cushim_node node, cushim_event event);
cushim_status cushim_node_set_host_function(cushim_node node, cushim_host_function function, void *data, const cushim_owner *owner);
cushim_status cushim_node_set_host_function_bytes(cushim_node node, cushim_host_function function, const void *bytes, size_t size);
cushim_status cushim_node_set_memory_operations(cushim_node node, const cushim_memory_operation *operations, size_t operation_count);
cushim_status cushim_exec_set_kernel(cushim_exec exec, cushim_node node, cushim_kernel kernel, const cushim_launch_config *config, const cushim_arg *args, size_t arg_count);
cushim_status cushim_exec_set_kernel_packed(cushim_exec exec, cushim_node node, cushim_kernel kernel, const cushim_launch_config *config, const void *block, size_t size);
cushim_status cushim_exec_set_argument(cushim_exec exec, cushim_node node, size_t index, const cushim_arg *arg);
cushim_status cushim_exec_set_copy(cushim_exec exec, cushim_node node, const cushim_endpoint *destination, const cushim_endpoint *source, size_t bytes);
cushim_status cushim_exec_set_copy_3d(cushim_exec exec, cushim_node node, const cushim_region *destination, const cushim_region *source, const cushim_extent *extent);
cushim_status cushim_exec_set_fill(cushim_exec exec, cushim_node node, const cushim_endpoint *destination, const void *value, size_t value_size, size_t count);
cushim_status cushim_exec_set_fill_2d(cushim_exec exec, cushim_node node, const cushim_endpoint *destination, size_t pitch, const void *value, size_t value_size, size_t width, size_t height);
cushim_status cushim_exec_set_event(cushim_exec exec, cushim_node node, cushim_event event);
cushim_status cushim_exec_set_host_function(cushim_exec exec, cushim_node node, cushim_host_function function, void *data, const cushim_owner *owner);
cushim_status cushim_exec_set_host_function_bytes(cushim_exec exec, cushim_node node, cushim_host_function function, const void *bytes, size_t size);
cushim_status cushim_exec_set_child(cushim_exec exec, cushim_node node, cushim_graph graph);
cushim_status cushim_exec_set_memory_operations(cushim_exec exec, cushim_node node, const cushim_memory_operation *operations, size_t operation_count);
cushim_status cushim_exec_rebind(cushim_exec exec, cushim_buffer from_buffer, cushim_buffer to_buffer, size_t *nodes);
cushim_status cushim_exec_set_parameter(cushim_exec exec, const char *name, const void *value, size_t size, size_t *nodes);
cushim_status cushim_builder_create(cushim_context context, const cushim_builder_options *options, cushim_builder *builder);
cushim_status cushim_builder_create_on(cushim_stream stream, const cushim_builder_options *options, cushim_builder *builder);
cushim_status cushim_builder_ref(cushim_builder builder, cushim_builder *reference);
cushim_status cushim_builder_destroy(cushim_builder builder);
cushim_status cushim_builder_close(cushim_builder builder);
cushim_status cushim_builder_get_context(cushim_builder builder, cushim_context *context);
cushim_status cushim_builder_begin(cushim_builder builder);
cushim_status cushim_builder_recapture(cushim_builder builder, cushim_graph graph);
cushim_status cushim_builder_end(cushim_builder builder, cushim_graph *graph);
cushim_stream cushim_builder_stream(cushim_builder builder);
cushim_status cushim_builder_get_state(cushim_builder builder, cushim_builder_state *state, cushim_builder_kind *kind);
cushim_status cushim_builder_get_graph(cushim_builder builder, cushim_graph *graph);
cushim_status cushim_builder_get_tail(cushim_builder builder, cushim_node *nodes, size_t capacity, size_t *count);
cushim_status cushim_builder_fork(cushim_builder builder, cushim_builder *forks, size_t fork_count);
cushim_status cushim_builder_join(cushim_builder builder, const cushim_builder *others, size_t other_count);
cushim_status cushim_builder_add_child(cushim_builder builder, cushim_graph graph, cushim_child_ownership ownership, cushim_node *node);
cushim_status cushim_builder_create_condition(cushim_builder builder, const cushim_condition_options *options, cushim_condition *condition);
cushim_status cushim_builder_add_conditional(cushim_builder builder, cushim_condition condition, cushim_conditional_kind kind, size_t body_count, cushim_node *node, cushim_builder *bodies);
cushim_status cushim_device_get_graph_memory(cushim_device device, cushim_graph_memory *memory);
cushim_status cushim_device_reset_graph_memory_peaks(cushim_device device);
cushim_status cushim_device_trim_graph_memory(cushim_device device);
cushim_status cushim_log_set_callback(cushim_log_callback callback, void *user, const cushim_owner *owner, cushim_log_level level);
cushim_status cushim_log_set_pull(cushim_log_level level);
