/* What an episode has from the beginning to its end: a driver, two contexts, memory, and the owners that it lends. */
#ifndef FUZZ_GRAPHS_ROOTS_H
#define FUZZ_GRAPHS_ROOTS_H

#include "code.h"
#include "tokens.h"

enum { PAGE = 4096, PAGES = 4 };

static cushim_driver driver;
static cushim_context contexts[2];
static cushim_library libraries[2];
/* Decides in the body of a loop; of each context. NULL where the driver has no conditions. */
static cushim_kernel guards[2];
static uint64_t device_memory;
static unsigned char pages[PAGES][PAGE] __attribute__((aligned(4096)));

static int version(void) {
  static cushim_driver_info info;
  info.struct_size = sizeof info;
  if (info.version == 0) must(cushim_driver_get_info(driver, &info), "cushim_driver_get_info");
  return info.version;
}

/* Before CUDA 12.4 nobody can tell whether arguments are the kernel's. */
static int tells_parameters(void) { return version() >= 12040; }

static void add_kernel_named(cushim_library library, const char *name) {
  cushim_kernel kernel;
  must(cushim_kernel_create(library, name, &kernel), name);
  add_token(address_of(kernel), FUZZ_kernel, CLAIM, "cushim_kernel_create");
}

static void open_code(int of) {
  cushim_library plain;
  must(cushim_library_load(contexts[of], plain_code, sizeof plain_code, NULL, &plain), "cushim_library_load");
  add_kernel_named(plain, "add");
  add_kernel_named(plain, "store");
  must(cushim_library_destroy(plain), "cushim_library_destroy");
  guards[of] = NULL;
  if (version() < 12030) return;
  must(cushim_library_load(contexts[of], deciding_code, sizeof deciding_code, NULL, &libraries[of]), "cushim_library_load");
  must(cushim_kernel_create(libraries[of], "decide", &guards[of]), "decide");
  if (tells_parameters()) add_kernel_named(libraries[of], "decide");
}

static void close_code(int of) {
  must(cushim_kernel_destroy(guards[of]), "cushim_kernel_destroy");
  if (guards[of] != NULL) must(cushim_library_destroy(libraries[of]), "cushim_library_destroy");
}

/* Owners. */

static uint64_t owners_taken, owners_released, owners_drained;

static void release_owner(void *data) {
  (void)data;
  __atomic_add_fetch(&owners_released, 1, __ATOMIC_RELAXED);
}

static const cushim_owner *draw_owner(void) {
  static const cushim_owner called = {pages, release_owner}, drained = {pages, NULL};
  return once_in(3) ? &drained : &called;
}

static void drain_all(void) {
  cushim_drain_item items[4];
  size_t count = 0, i;
  do {
    must(cushim_drain(items, sizeof *items, 4, &count), "cushim_drain");
    for (i = 0; i < count; i++) owners_drained += items[i].kind == CUSHIM_DRAIN_RELEASE;
  } while (count > 0);
}

/* How long what comes soon may take, in milliseconds; less while a failure is made smaller. */
static int patience(void) { return progress->alone == 1 ? 200 : 5000; }

/* Every owner is released or drained, soon: under softcuda's lazy schedule what nobody waits for runs after a second. */
static void settle_owners(void) {
  int32_t done = 0;
  int milliseconds;
  must(cushim_flush_callbacks(10000000000ull, &done), "cushim_flush_callbacks");
  if (!done) fail("owners are not released within ten seconds");
  for (milliseconds = 0; milliseconds < patience(); milliseconds++) {
    drain_all();
    if (owners_taken == __atomic_load_n(&owners_released, __ATOMIC_RELAXED) + owners_drained) return;
    usleep(1000);
  }
  fail("%" PRIu64 " owners were lent, %" PRIu64 " released and %" PRIu64 " drained", owners_taken, owners_released, owners_drained);
}

#endif
