//! Where NVIDIA's own headers differ from each other, and what the catalogue holds. Every line must be true of at least
//! one header that the test fetches: a line that nothing needs fails the test.

/// What an enumerator that counts or combines the others is worth changes whenever one is added. The catalogue has its
/// value in the newest header that it covers; nobody should use one as an array bound.
pub(super) const COUNTERS: &[&str] = &[
    "CU_COREDUMP_LIGHTWEIGHT_FLAGS",
    "CU_COREDUMP_MAX",
    "CU_CTX_FLAGS_MASK",
    "CU_DEVICE_ATTRIBUTE_MAX",
    "CU_FUNC_ATTRIBUTE_MAX",
    "CU_JIT_NUM_OPTIONS",
    "CU_LAUNCH_ATTRIBUTE_MAX",
    "CU_LIMIT_MAX",
];

/// A fact that older headers state otherwise: its name, the first header that states it as the catalogue does, and why.
/// A struct may only have been smaller; a member may only have begun earlier or have had another length.
pub(super) const CHANGED: &[(&str, u32, &str)] = &[
    (
        "value CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS",
        12000,
        "93 before; that number's name got a _V1",
    ),
    (
        "value CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR",
        12000,
        "94 before; that number's name got a _V1",
    ),
    ("type CUDA_KERNEL_NODE_PARAMS", 12000, "the name moved from the first form of the struct to the second"),
    ("struct CUtensorMap", 13000, "its alignment grew"),
    ("struct CUDA_CHILD_GRAPH_NODE_PARAMS", 12090, "it got an ownership"),
    ("field CUgraphNodeParams.graph", 12090, "it got an ownership"),
    ("struct CUDA_HOST_NODE_PARAMS_v2", 13040, "it got a synchronisation mode, then contexts"),
    ("field CUgraphNodeParams.host", 13040, "it got a synchronisation mode, then contexts"),
    ("struct CUDA_EVENT_RECORD_NODE_PARAMS", 13040, "it got contexts"),
    ("field CUgraphNodeParams.eventRecord", 13040, "it got contexts"),
    ("struct CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2", 13040, "it got contexts"),
    ("field CUgraphNodeParams.extSemSignal", 13040, "it got contexts"),
    ("struct CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2", 13040, "it got contexts"),
    ("field CUgraphNodeParams.extSemWait", 13040, "it got contexts"),
    ("struct CUdevSmResource", 13040, "it got what 13.0, 13.1 and 13.4 tell of a partition"),
    ("field CUdevResource_v1.sm", 13040, "it got what 13.0, 13.1 and 13.4 tell of a partition"),
    ("struct CUdevResource_v1", 13010, "its alignment grew with the first pointer in it"),
    ("field CUdevResource_v1._oversize", 13010, "a pointer took its end"),
    ("field CUmemPoolProps_v1.reserved", 13040, "new members took its beginning"),
    ("field CUcheckpointCheckpointArgs.reserved", 13040, "a new member took its beginning"),
    ("field CUcheckpointRestoreArgs.reserved", 13040, "new members took its beginning, and its end moved"),
];

/// A fact that newer headers no longer state: its name, and the first header without it.
pub(super) const DROPPED: &[(&str, u32)] = &[
    ("value CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS", 12000),
    ("value CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V2", 12000),
    ("value CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V2", 12000),
    ("value CU_TARGET_COMPUTE_20", 12000),
    ("value CU_TARGET_COMPUTE_21", 12000),
    ("value CU_TARGET_COMPUTE_101", 13000),
    ("value CU_TARGET_COMPUTE_101A", 13000),
    ("value CU_TARGET_COMPUTE_101F", 13000),
    ("value CU_DEV_RESOURCE_TYPE_MAX", 13010),
];

/// A type that the catalogue dates earlier than its name: the first header that has the name, and why.
pub(super) const NAMED_LATER: &[(&str, u32, &str)] = &[(
    "type CUdevSmResourceSplitByCount_flags",
    13010,
    "12.4 to 13.0 declare its enumerators under another name; declaring them again would clash",
)];

/// Entries of the table whose type is not NVIDIA's own, because `cuda.h` alone does not declare the type of a parameter.
pub(super) const OWN_TYPES: &[(&str, &str)] = &[
    ("cuEGLStreamProducerPresentFrame_7000", "cushim_egl_frame instead of CUeglFrame"),
    ("cuEGLStreamProducerReturnFrame_7000", "cushim_egl_frame instead of CUeglFrame"),
    ("cuGraphicsResourceGetMappedEglFrame_7000", "cushim_egl_frame instead of CUeglFrame"),
    ("cuGLGetDevices_6050", "an integer instead of an enumeration of cudaGL.h"),
    ("cuProfilerInitialize_4000", "an integer instead of an enumeration of cudaProfiler.h"),
    ("cuVDPAUCtxCreate_3020", "void * instead of a pointer type of VDPAU"),
    ("cuVDPAUGetDevice_3010", "void * instead of a pointer type of VDPAU"),
];
