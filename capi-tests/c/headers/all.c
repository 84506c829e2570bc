/* All of cushim's own headers, with the familiar names. */
#define CUSHIM_CUDA_NAMES
#include <cushim.h>
#include <cushim_driver.h>
#include <softcuda.h>

CUresult everything(void);
CUresult everything(void) { return cuInit(0); }
