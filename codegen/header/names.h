
#ifdef __cplusplus
} /* extern "C" */
#endif

#if defined(CUSHIM_OLD_LANGUAGE)
#pragma GCC diagnostic pop
#endif

#endif /* CUSHIM_DRIVER_H */

/*
 * The names of cuda.h: #define CUSHIM_CUDA_NAMES before you include this header, for the first or for a second time.
 *
 * Each function that cuda.h of CUDA 12 declares is then a call of the ABI that cuda.h of CUDA 12 gives the name, on
 * every driver and whichever cuda.h was included: cuCtxCreate(&ctx, flags, dev), cuMemAdvise(ptr, size, advice, dev)
 * and cuMemPrefetchAsync(ptr, size, dev, stream) mean the same with CUDA 11.4, 12.8 and 13.0. A function that is
 * newer than CUDA 12 has the parameters of its first ABI. If the driver does not have the function, the call returns
 * CUDA_ERROR_NOT_FOUND (500) and writes nothing, and cushim_last_error says which driver lacks it. (After any other
 * result cushim_last_error may still have an earlier failure.) cuGetErrorName and cuGetErrorString then use cushim's
 * own list.
 *
 * The first call opens the default driver (cushim_driver_default_table). To use another one, #define
 * CUSHIM_CUDA_TABLE as an expression of type `const cushim_driver_table *` before you include this header. The
 * functions are static inline: each object file and library of a program may choose for itself. With
 * CUDA_API_PER_THREAD_DEFAULT_STREAM they are the variants that use the per-thread default stream.
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

#if defined(CUSHIM_OLD_LANGUAGE)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
#endif

#ifdef __cplusplus
extern "C" {
#endif

CUSHIM_INLINE CUresult cushim_names_missing(const cushim_driver_table *table, const char *name, int abi) {
  return CUSHIM_CAST(CUresult, cushim_table_missing(table, name, abi));
}

/* What cuGetErrorName and cuGetErrorString return without a driver. */
CUSHIM_INLINE CUresult cushim_names_error(const char **pStr, const char *text) {
  if (pStr == CUSHIM_NULL) return CUDA_ERROR_INVALID_VALUE;
  *pStr = text;
  return text != CUSHIM_NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

