/* Whether the table (a pointer, may be NULL) has the entry: it reaches so far, and this driver has the function. */
#define CUSHIM_HAS(table, entry) \
  ((table) != NULL && (table)->struct_size >= offsetof(cushim_driver_table, entry) + sizeof(void *) && \
   (table)->entry != NULL)

