
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CUSHIM_DRIVER_H */

/*
 * The familiar names: #define CUSHIM_CUDA_NAMES before including this header (also before a second inclusion).
 *
 * Every name that cuda.h of CUDA 12 declares becomes a call of the ABI which that header gives the name, on every driver:
 * cuCtxCreate(&ctx, flags, dev), cuMemAdvise(ptr, size, advice, dev), cuMemPrefetchAsync(ptr, size, dev, stream) mean the
 * same on an 11.4, a 12.8 and a 13.0 driver, whatever the cuda.h that was included says. A function that is younger than
 * CUDA 12 has the parameters of its first ABI. Where the driver lacks the function the call returns CUDA_ERROR_NOT_FOUND
 * (500) and writes nothing, and cushim_last_error says which driver lacks what (after another result it may still tell of an
 * earlier failure); cuGetErrorName and cuGetErrorString answer
 * from cushim's own list then.
 *
 * The first call opens the default driver (cushim_driver_default_table). To use another one, #define CUSHIM_CUDA_TABLE as
 * an expression of type `const cushim_driver_table *` beforehand. The names are static inline functions: several objects
 * and libraries of one program may each have theirs. A program compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM gets the
 * variants whose default stream is the thread's own.
 */
#if defined(CUSHIM_CUDA_NAMES) && !defined(CUSHIM_CUDA_NAMES_DEFINED)
#define CUSHIM_CUDA_NAMES_DEFINED

#ifndef CUSHIM_CUDA_TABLE
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define CUSHIM_CUDA_TABLE cushim_driver_default_table(CUSHIM_TABLE_PER_THREAD_STREAM)
#else
#define CUSHIM_CUDA_TABLE cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM)
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

static inline CUresult cushim_names_missing(const cushim_driver_table *table, const char *name, int abi) {
  return (CUresult)cushim_table_missing(table, name, abi);
}

/* What cuGetErrorName and cuGetErrorString answer without a driver. */
static inline CUresult cushim_names_error(const char **pStr, const char *text) {
  if (pStr == NULL) return CUDA_ERROR_INVALID_VALUE;
  *pStr = text;
  return text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

