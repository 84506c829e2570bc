/* The header by itself, twice, and beside the familiar names. */
#include <cushim.h>
#include <cushim.h>
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>
#include "interface.inc"

int main(void) {
  cushim_stream_options options = {sizeof options, 0, CUSHIM_STREAM_BLOCKING};
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  if (cushim_driver_open(NULL, &driver) != CUSHIM_SUCCESS || cuInit(0) != CUDA_SUCCESS) return 1;
  if (cushim_driver_get_device(driver, 0, &device) != CUSHIM_SUCCESS) return 2;
  if (cushim_context_retain_primary(device, &context) != CUSHIM_SUCCESS) return 3;
  if (cushim_stream_create(context, &options, &stream) != CUSHIM_SUCCESS) return 4;
  return (int)cushim_stream_destroy(stream);
}
