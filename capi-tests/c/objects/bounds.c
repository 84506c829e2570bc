/*
 * Texts, counts and nested pointers over their limits: refused before anything is read behind them. What has no place among
 * the parameters of a function, where the sweep looks.
 */
#include "objects.h"

#include <malloc.h>
#include <sys/mman.h>

static struct objects all;

/* Memory that ends with the last byte that may be read. */
static char *before_the_end(size_t bytes) {
  const size_t page = 4096, pages = (bytes + page - 1) / page * page;
  char *start = (char *)mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!CHECK(start != (char *)MAP_FAILED && mprotect(start + pages, page, PROT_NONE) == 0)) exit(1);
  return start + pages - bytes;
}

/* A text of so many bytes, which does not end. */
static char *endless(size_t bytes) {
  char *text = before_the_end(bytes);
  memset(text, 'x', bytes);
  return text;
}

static void *misaligned(void *address) { return (char *)address + 4; }

#define REFUSED(part, call)                           \
  do {                                                \
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call); \
    CHECK_CONTAINS(last_message(), part);             \
  } while (0)

static void labels(void) {
  char text[4098], found[4098];
  memset(text, 'l', sizeof text);
  text[4096] = 0;
  CHECK_OK(cushim_set_label(all.event, text));
  CHECK_OK(cushim_get_label(all.event, found, sizeof found, NULL));
  CHECK(strcmp(text, found) == 0);
  REFUSED("label is longer than 4096 bytes", cushim_set_label(all.event, endless(4097)));
  CHECK_OK(cushim_get_label(all.event, found, sizeof found, NULL));
  CHECK(strcmp(text, found) == 0);
  CHECK_OK(cushim_set_label(all.event, NULL));
}

static void texts(void) {
  char *text = endless(65537);
  cushim_driver_options options;
  cushim_driver driver = (cushim_driver)NOT_NULL;
  cushim_library library = (cushim_library)NOT_NULL;
  int32_t has = 9;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = text;
  REFUSED("driver is longer than 65536 bytes", cushim_driver_open(&options, &driver));
  CHECK(driver == NULL);
  REFUSED("path is longer", cushim_library_load_file(all.context, text, NULL, &library));
  CHECK(library == NULL);
  REFUSED("feature is longer", cushim_device_supports(all.device, text, &has));
  CHECK(has == 0);
}

static void sizes(void) {
  static const size_t huge[] = {SIZE_MAX, (size_t)1 << 63, (size_t)1 << 60, ((size_t)1 << 31) + 1};
  cushim_library library;
  size_t i, count = 9;
  cushim_drain_item items[2];
  for (i = 0; i < sizeof huge / sizeof *huge; i++) {
    library = (cushim_library)NOT_NULL;
    REFUSED("image has a count of", cushim_library_load(all.context, ".version", huge[i], NULL, &library));
    CHECK(library == NULL);
    REFUSED("stride", cushim_drain(items, huge[i], 2, &count));
    CHECK(count == 0);
  }
  REFUSED("stride", cushim_drain(items, sizeof *items + 1, 2, &count));
}

/* One location for two ranges is read; a number that fits neither is refused before the second one is. */
static void locations(void) {
  cushim_range ranges[2];
  cushim_location *location = (cushim_location *)(void *)before_the_end(sizeof *location);
  memset(ranges, 0, sizeof ranges);
  ranges[0].kind = ranges[1].kind = CUSHIM_RANGE_POINTER;
  ranges[0].address = ranges[1].address = (uint64_t)(uintptr_t)own_memory;
  ranges[0].bytes = ranges[1].bytes = 1;
  location->kind = CUSHIM_LOCATION_HOST;
  location->id = 0;
  REFUSED("for 2 ranges", cushim_stream_prefetch_batch(all.stream, ranges, 2, location, 1 << 20, NULL));
  REFUSED("more than the 4096", cushim_context_set_accessed_by(all.context, ranges, location, 4097));
}

static void load_kernel(void) {
  static const char code[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry kernel(.param .u64 number) {\n  ret;\n}\n";
  CHECK_OK(cushim_library_load(all.context, code, sizeof code, NULL, &all.library));
  CHECK_OK(cushim_kernel_create(all.library, "kernel", &all.kernel));
}

static void launches(void) {
  union {
    uint64_t aligned;
    char bytes[256];
  } room;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_arg arg;
  static const int32_t pointing[] = {CUSHIM_ARG_OWNED, CUSHIM_ARG_ENDPOINT, CUSHIM_ARG_PARAMETER};
  size_t i;
  if (is_none(all.driver)) return;
  load_kernel();
  memset(&room, 0, sizeof room);
  memset(&arg, 0, sizeof arg);
  config.grid.x = config.block.x = 1;
  REFUSED("more than the 32764", cushim_kernel_launch(all.kernel, all.stream, &config, &arg, 32765));
  REFUSED("more than the 65536", cushim_kernel_launch_packed(all.kernel, all.stream, &config, room.bytes, 65537));
  for (i = 0; i < sizeof pointing / sizeof *pointing; i++) {
    arg.kind = (enum cushim_arg_kind)pointing[i];
    arg.value = misaligned(room.bytes);
    REFUSED("not aligned to 8 bytes", cushim_kernel_launch(all.kernel, all.stream, &config, &arg, 1));
  }
  config.attributes = (cushim_launch_attribute *)(void *)room.bytes;
  config.attribute_count = 257;
  REFUSED("more than the 256", cushim_kernel_launch(all.kernel, all.stream, &config, NULL, 0));
  config.attribute_count = 1;
  config.attributes = (cushim_launch_attribute *)(void *)(room.bytes + 1);
  REFUSED("not aligned to", cushim_kernel_launch(all.kernel, all.stream, &config, NULL, 0));
  config.attributes = (cushim_launch_attribute *)(void *)room.bytes;
  config.attribute_stride = sizeof(cushim_launch_attribute) + 1;
  REFUSED("stride", cushim_kernel_launch(all.kernel, all.stream, &config, NULL, 0));
}

static void owners(void) {
  cushim_owner owners[2];
  cushim_endpoint to;
  memset(owners, 0, sizeof owners);
  memset(&to, 0, sizeof to);
  to.kind = CUSHIM_ENDPOINT_HOST;
  to.address = (uint64_t)(uintptr_t)own_memory;
  to.owner = (const cushim_owner *)misaligned(owners);
  REFUSED("owner is 0x", cushim_stream_copy(all.stream, &to, &to, 8));
}

static void round_of_events(const char *label) {
  enum { AT_ONCE = 10000 };
  static cushim_event events[AT_ONCE];
  int i;
  for (i = 0; i < AT_ONCE; i++) {
    events[i] = new_event(all.context, 0);
    CHECK_OK(cushim_set_label(events[i], label));
  }
  for (i = 0; i < AT_ONCE; i++) CHECK_OK(cushim_event_destroy(events[i]));
}

/* Labels go with their objects, but for the last ones, which messages about destroyed handles have: 1 MiB. */
static void nothing_piles_up(void) {
  char label[4097];
  size_t before;
  int i;
  memset(label, 'l', 4096);
  label[4096] = 0;
  round_of_events(NULL);
  before = mallinfo2().uordblks;
  for (i = 0; i < 10; i++) round_of_events(label);
  if (!CHECK(mallinfo2().uordblks < before + (4 << 20))) {
    printf("%zu bytes more than before\n", mallinfo2().uordblks - before);
  }
}

int main(void) {
  check_begin();
  all = open_objects();
  labels();
  texts();
  sizes();
  locations();
  launches();
  owners();
  nothing_piles_up();
  close_objects(&all);
  return check_done();
}
