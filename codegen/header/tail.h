
#ifdef __cplusplus
} /* extern "C" */
#endif

#if defined(__GNUC__) && !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#pragma GCC diagnostic pop
#endif

#endif /* CUSHIM_CUDA_NAMES */
