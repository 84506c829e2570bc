
#ifdef __cplusplus
} /* extern "C" */
#endif

#if defined(CUSHIM_OLD_LANGUAGE)
#pragma GCC diagnostic pop
#endif

#endif /* CUSHIM_CUDA_NAMES */
