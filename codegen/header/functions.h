/* Whether a table (a pointer, may be NULL) has an entry: it is long enough, and the driver has the function. */
#define CUSHIM_HAS(table, entry) \
  ((table) != CUSHIM_NULL && (table)->struct_size >= offsetof(cushim_driver_table, entry) + sizeof(void *) && \
   (table)->entry != CUSHIM_NULL)

