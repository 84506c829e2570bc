/*
 * The table against the look-ups: every entry is where the header says, and holds what a look-up by name and number gives.
 *
 * entries.inc is made from the header: ENTRY(base, number, exported).
 */
#include "check.h"

#define ENTRY(base, number, exported) {#base, number, exported, offsetof(cushim_driver_table, base##_##number)},
static const struct entry {
  const char *base;
  int number;
  const char *exported;
  size_t offset;
} entries[] = {
#include "entries.inc"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static cushim_symbol symbol_at(cushim_driver driver, size_t index, int kind) {
  cushim_symbol symbol;
  memset(&symbol, 0, sizeof symbol);
  symbol.struct_size = sizeof symbol;
  CHECK_OK(cushim_driver_get_symbol(driver, index, kind, &symbol));
  return symbol;
}

static void describes_itself(cushim_driver driver) {
  const cushim_driver_table *table = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK(cushim_symbol_count() == ENTRIES);
  CHECK(table->struct_size == sizeof *table);
  CHECK(sizeof *table == sizeof(size_t) + ENTRIES * sizeof(void *));
  CHECK(table_of(driver, CUSHIM_TABLE_PER_THREAD_STREAM)->struct_size == sizeof *table);
}

/* One entry in one of the tables. Returns whether the driver has it. */
static int agrees(cushim_driver driver, size_t index, int kind) {
  const struct entry *entry = &entries[index];
  void *address = address_at(table_of(driver, kind), entry->offset), *found = &found;
  cushim_symbol symbol = symbol_at(driver, index, kind);
  cushim_status status = cushim_driver_lookup(driver, entry->base, entry->number, kind, &found);

  CHECK(strcmp(symbol.name, entry->base) == 0);
  CHECK(symbol.address == address && found == address);
  CHECK_STATUS(address != NULL ? CUSHIM_SUCCESS : CUSHIM_ERROR_UNSUPPORTED, status);
  CHECK((symbol.status == CUSHIM_SYMBOL_FOUND) == (address != NULL));
  CHECK((symbol.via != NULL) == (address != NULL));
  CHECK(symbol.group != NULL && symbol.group[0] != '\0');
  if (kind == CUSHIM_TABLE_LEGACY_STREAM) {
    CHECK(symbol.abi == entry->number && strcmp(symbol.exported, entry->exported) == 0);
  }
  if (symbol.abi > info_of(driver).version) CHECK(symbol.status == CUSHIM_SYMBOL_NEWER_THAN_DRIVER);
  else CHECK(symbol.status == CUSHIM_SYMBOL_FOUND || symbol.status == CUSHIM_SYMBOL_ABSENT);
  return address != NULL;
}

static void every_entry(cushim_driver driver) {
  size_t i, count = 0;
  for (i = 0; i < ENTRIES; i++) {
    count += agrees(driver, i, CUSHIM_TABLE_LEGACY_STREAM);
    agrees(driver, i, CUSHIM_TABLE_PER_THREAD_STREAM);
  }
  CHECK(count == info_of(driver).symbol_count);
}

static int is_variant(const cushim_symbol *symbol) {
  size_t length = strlen(symbol->exported);
  const char *end = symbol->exported + (length > 5 ? length - 5 : 0);
  return strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0;
}

/* The per-thread table differs exactly where there is a variant for the thread's own default stream. */
static void per_thread(cushim_driver driver) {
  size_t i, variants = 0;
  for (i = 0; i < ENTRIES; i++) {
    cushim_symbol legacy = symbol_at(driver, i, CUSHIM_TABLE_LEGACY_STREAM);
    cushim_symbol own = symbol_at(driver, i, CUSHIM_TABLE_PER_THREAD_STREAM);
    CHECK(!is_variant(&legacy));
    if (is_variant(&own)) {
      variants++;
      CHECK(own.address == NULL || own.address != legacy.address);
      CHECK(own.abi >= legacy.abi);
    } else {
      CHECK(own.address == legacy.address && own.abi == legacy.abi);
    }
  }
  CHECK(variants == 107);
}

static void unknown(cushim_driver driver) {
  void *function = &function;
  cushim_symbol symbol;
  symbol.struct_size = sizeof symbol;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuNoSuchThing", 12000, 0, &function));
  CHECK(function == NULL);
  CHECK_CONTAINS(last_message(), "cuNoSuchThing");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuMemAlloc_v2", 3020, 0, &function));
  CHECK_CONTAINS(last_message(), "base name");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuMemAlloc_v1", 0, 0, &function));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuMemAlloc", -3020, 0, &function));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuMemPrefetchAsync", 12030, 0, &function));
  CHECK_CONTAINS(last_message(), "12030");
  CHECK_CONTAINS(last_message(), "8000");
  CHECK_CONTAINS(last_message(), "12020");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuInit", -1, 0, &function));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, NULL, 2000, 0, &function));
  CHECK_CONTAINS(last_message(), "name");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuInit", 2000, 0, NULL));
  CHECK_CONTAINS(last_message(), "function");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuInit", 2000, 7, &function));
  CHECK_CONTAINS(last_message(), "CUSHIM_TABLE_PER_THREAD_STREAM");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_symbol(driver, ENTRIES, 0, &symbol));
  CHECK_CONTAINS(last_message(), "616");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_symbol(driver, 0, -1, &symbol));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_symbol(driver, 0, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_get_table(driver, 0, NULL));
}

/* The message names the function, the number, the driver's version and path, and the version that has it. */
static void absent(cushim_driver driver) {
  cushim_driver_info info = info_of(driver);
  char version[32];
  size_t i;
  for (i = 0; i < ENTRIES; i++) {
    const struct entry *entry = &entries[i];
    void *function = &function;
    cushim_error_detail detail;
    if (address_at(table_of(driver, CUSHIM_TABLE_LEGACY_STREAM), entry->offset) != NULL) continue;
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_driver_lookup(driver, entry->base, entry->number, 0, &function));
    CHECK(function == NULL);
    detail.struct_size = sizeof detail;
    CHECK_OK(cushim_last_error(&detail));
    CHECK(strcmp(detail.driver_function, entry->base) == 0 && detail.abi == entry->number);
    CHECK_CONTAINS(detail.message, entry->base);
    snprintf(version, sizeof version, "%d", entry->number);
    CHECK_CONTAINS(detail.message, version);
    snprintf(version, sizeof version, "CUDA %d.%d", entry->number / 1000, entry->number % 1000 / 10);
    CHECK_CONTAINS(detail.message, version);
    snprintf(version, sizeof version, "CUDA %d.%d", info.version / 1000, info.version % 1000 / 10);
    CHECK_CONTAINS(detail.message, version);
    CHECK_CONTAINS(detail.message, info.path);
  }
}

/* Landmarks: ABIs that came and went. */
static void landmarks(cushim_driver driver) {
  const cushim_driver_table *table = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  int version = info_of(driver).version;
  CHECK(CUSHIM_HAS(table, cuInit_2000) && CUSHIM_HAS(table, cuMemAlloc_3020) && CUSHIM_HAS(table, cuCtxCreate_3020));
  CHECK(CUSHIM_HAS(table, cuMemPrefetchAsync_8000));
  CHECK(CUSHIM_HAS(table, cuMemPrefetchAsync_12020) == (version >= 12020));
  CHECK(CUSHIM_HAS(table, cuGetProcAddress_12000) == (version >= 12000));
  CHECK(CUSHIM_HAS(table, cuMemcpyBatchAsync_12080) == (version >= 12080));
  CHECK(CUSHIM_HAS(table, cuMemPrefetchBatchAsync_13000) == (version >= 13000));
}

/* By the name that libcuda exports, as a program asks that used dlsym. */
static void exported_names(cushim_driver driver) {
  void *exported, *numbered;
  CHECK_OK(cushim_driver_lookup(driver, "cuMemAlloc_v2", 0, 0, &exported));
  CHECK_OK(cushim_driver_lookup(driver, "cuMemAlloc", 3020, 0, &numbered));
  CHECK(exported == numbered);
  CHECK_OK(cushim_driver_lookup(driver, "cuMemcpyAsync_ptsz", 0, 0, &exported));
  CHECK_OK(cushim_driver_lookup(driver, "cuMemcpyAsync", 4000, CUSHIM_TABLE_PER_THREAD_STREAM, &numbered));
  CHECK(exported == numbered);
  CHECK_OK(cushim_driver_lookup(driver, "cuMemAlloc", 0, 0, &exported));
  CHECK_OK(cushim_driver_lookup(driver, "cuMemAlloc", 2000, 0, &numbered));
  CHECK(exported == numbered);
}

int main(void) {
  cushim_driver driver;
  check_begin();
  driver = open_driver();
  describes_itself(driver);
  every_entry(driver);
  per_thread(driver);
  unknown(driver);
  exported_names(driver);
  absent(driver);
  landmarks(driver);
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
