/* Opens the CUDA driver of this machine, whatever its version, and sends a few bytes to the device and back. */
#include <cushim_driver.h>
#include <stdio.h>
#include <string.h>

static const cushim_driver_table *cu;

static int failed(const char *what, CUresult result) {
  const char *name = cushim_status_name(result);
  fprintf(stderr, "%s: %s (%d)\n", what, name ? name : "unknown result", (int)result);
  return 1;
}

static int round_trip(CUdevice device) {
  char text[] = "over to the device and back", back[sizeof text] = "";
  CUcontext context;
  CUdeviceptr memory = 0;
  CUresult result;

  if (!CUSHIM_HAS(cu, cuDevicePrimaryCtxRetain_7000) || !CUSHIM_HAS(cu, cuDevicePrimaryCtxRelease_11000))
    return failed("primary context", CUDA_ERROR_NOT_FOUND);
  if ((result = cu->cuDevicePrimaryCtxRetain_7000(&context, device)) != CUDA_SUCCESS)
    return failed("cuDevicePrimaryCtxRetain", result);
  if ((result = cu->cuCtxSetCurrent_4000(context)) == CUDA_SUCCESS &&
      (result = cu->cuMemAlloc_3020(&memory, sizeof text)) == CUDA_SUCCESS &&
      (result = cu->cuMemcpyHtoD_3020(memory, text, sizeof text)) == CUDA_SUCCESS)
    result = cu->cuMemcpyDtoH_3020(back, memory, sizeof back);
  if (memory != 0) cu->cuMemFree_3020(memory);
  cu->cuDevicePrimaryCtxRelease_11000(device);
  if (result != CUDA_SUCCESS) return failed("round trip", result);
  printf("%s\n", back);
  return strcmp(text, back) != 0;
}

int main(void) {
  cushim_driver driver;
  cushim_driver_info info;
  CUresult result;
  int count = 0;

  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (cushim_driver_open(NULL, &driver) || cushim_driver_get_info(driver, &info) ||
      cushim_driver_get_table(driver, CUSHIM_TABLE_LEGACY_STREAM, &cu)) {
    static cushim_error_detail detail;
    detail.struct_size = sizeof detail;
    cushim_last_error(&detail);
    fprintf(stderr, "%s\n", detail.message);
    return 1;
  }
  printf("CUDA %d.%d, %s\n", info.version / 1000, info.version % 1000 / 10, info.path);
  if (!CUSHIM_HAS(cu, cuInit_2000)) return failed("cuInit", CUDA_ERROR_NOT_FOUND);
  if ((result = cu->cuInit_2000(0)) != CUDA_SUCCESS) return failed("cuInit", result);
  if ((result = cu->cuDeviceGetCount_2000(&count)) != CUDA_SUCCESS) return failed("cuDeviceGetCount", result);
  printf("%d device%s\n", count, count == 1 ? "" : "s");
  return count > 0 ? round_trip(0) : 0;
}
