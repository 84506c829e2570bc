/* A driver that shows no device: the answer is the driver's own, with a sentence. */
#include "objects.h"

int main(void) {
  cushim_driver driver;
  cushim_device device = (cushim_device)NOT_NULL;
  int32_t count = -1;
  check_begin();
  driver = open_driver();
  CHECK_STATUS(CUDA_ERROR_NO_DEVICE, cushim_driver_get_device_count(driver, &count));
  CHECK(count == 0);
  CHECK_STATUS(CUDA_ERROR_NO_DEVICE, cushim_driver_get_device(driver, 0, &device));
  CHECK(device == NULL);
  CHECK_CONTAINS(last_message(), "CUDA_ERROR_NO_DEVICE");
  CHECK_CONTAINS(last_message(), "SOFTCUDA_DEVICES"); /* what may hide a device, or nvidia-smi, where there are real ones */
  CHECK_STATUS(CUDA_ERROR_NO_DEVICE, cushim_driver_get_device_by_uuid(driver, "GPU-00000000-0000-0000-0000-000000000000", &device));
  CHECK_STATUS(CUDA_ERROR_NO_DEVICE, cushim_driver_get_device_by_pci_bus_id(driver, "0000:00:06.0", &device));
  CHECK(device == NULL);
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
