
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CUSHIM_CUDA_NAMES */
