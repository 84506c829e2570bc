
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a driver, for programs that know dlopen. `driver` is NULL for the one that cushim finds, or "software", or
 * the path of a library. Returns NULL if it cannot be opened; cushim_last_error_message then says what was tried.
 */
CUSHIM_INLINE cushim_driver cushim_loader_open(const char *driver) {
  cushim_driver opened = CUSHIM_NULL;
  cushim_driver_options options;
  options.struct_size = sizeof options;
  options.driver = driver;
  options.getter = CUSHIM_NULL;
  options.getter_user = CUSHIM_NULL;
  options.flags = 0;
  options.reserved = 0;
  return cushim_driver_open(&options, &opened) == 0 ? opened : CUSHIM_NULL;
}

/*
 * Finds a function by its exported name, for programs that know dlsym: "cuMemAlloc_v2", "cuMemcpyAsync_ptsz". Returns
 * NULL if the driver does not have it; cushim_last_error_message then says which CUDA version does.
 */
CUSHIM_INLINE void *cushim_loader_symbol(cushim_driver driver, const char *name) {
  void *function = CUSHIM_NULL;
  return cushim_driver_lookup(driver, name, 0, CUSHIM_TABLE_LEGACY_STREAM, &function) == 0 ? function : CUSHIM_NULL;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CUSHIM_LOADER_H */
