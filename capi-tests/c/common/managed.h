/* Managed memory for test programs, by the driver's own call, and ranges and locations in it. */
#ifndef MANAGED_H
#define MANAGED_H

#include "objects.h"

enum { HALF = 2 << 20, WHOLE = 2 * HALF };

static const cushim_location host = {CUSHIM_LOCATION_HOST, 0};
static const cushim_location first = {CUSHIM_LOCATION_DEVICE, 0};
static const cushim_location nowhere = {CUSHIM_LOCATION_UNSET, 0};
static const cushim_location node = {CUSHIM_LOCATION_HOST_NUMA, 0};
static const cushim_location current_node = {CUSHIM_LOCATION_HOST_NUMA_CURRENT, 0};

static inline cushim_location location(int32_t kind, int32_t id) {
  cushim_location location;
  location.kind = kind;
  location.id = id;
  return location;
}

/* Equal locations are equal byte for byte. */
static inline int is_at(cushim_location a, cushim_location b) { return memcmp(&a, &b, sizeof a) == 0; }

static inline cushim_range range(uint64_t address, size_t bytes) {
  cushim_range range;
  memset(&range, 0, sizeof range);
  range.kind = CUSHIM_RANGE_POINTER;
  range.address = address;
  range.bytes = bytes;
  return range;
}

/* Managed memory; the context must be current. */
static inline uint64_t managed(const cushim_driver_table *cu, size_t bytes) {
  CUdeviceptr pointer = 0;
  if (!CHECK_STATUS(CUDA_SUCCESS, cu->cuMemAllocManaged_6000(&pointer, bytes, CU_MEM_ATTACH_GLOBAL))) exit(1);
  PROGRAMS_OWN(pointer);
  return pointer;
}

static inline unsigned char *bytes_at(uint64_t pointer) { return (unsigned char *)(uintptr_t)pointer; }

/* Begins a capture of the stream by the driver's own call; nothing else knows of it. */
static inline void begin_capture(const cushim_driver_table *cu, cushim_stream stream) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  if (!CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(native, CU_STREAM_CAPTURE_MODE_RELAXED))) exit(1);
}

/* Ends it; whatever was refused meanwhile has done it no harm. A stream that goes on capturing does nothing of what comes. */
static inline void end_capture(const cushim_driver_table *cu, cushim_stream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUstream native = NULL;
  CUgraph graph = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamIsCapturing_10000(native, &status));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  /* All that follows would be captured too. */
  if (!CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(native, &graph))) exit(1);
  if (graph != NULL && CUSHIM_HAS(cu, cuGraphDestroy_10000)) cu->cuGraphDestroy_10000(graph);
}

#endif
