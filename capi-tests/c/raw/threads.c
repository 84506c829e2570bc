/* Eight threads: each opens, looks up and destroys; then all of them use, and destroy, one handle. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 300 };

static cushim_driver shared;
static pthread_barrier_t together;
static int destroyed, destroyed_before;

static void *own_handles(void *unused) {
  int i;
  (void)unused;
  pthread_barrier_wait(&together);
  for (i = 0; i < ROUNDS; i++) {
    cushim_driver driver = open_driver();
    void *function = NULL;
    CHECK_OK(cushim_driver_lookup(driver, "cuMemAlloc", 3020, 0, &function));
    CHECK(function == address_at(table_of(driver, 0), offsetof(cushim_driver_table, cuMemAlloc_3020)));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_driver_lookup(driver, "cuMemAlloc", i + 20000, 0, &function));
    CHECK(info_of(driver).version == given_number("CHECK_VERSION"));
    CHECK_OK(cushim_driver_destroy(driver));
    CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_driver_destroy(driver));
  }
  return NULL;
}

/* Every call is answered, with the driver or with the fact that it is gone; one destroy wins. */
static void *one_handle(void *unused) {
  cushim_status status = CUSHIM_SUCCESS;
  int i;
  (void)unused;
  pthread_barrier_wait(&together);
  for (i = 0; i < 20; i++) {
    cushim_driver_info info;
    info.struct_size = sizeof info;
    status = cushim_driver_get_info(shared, &info);
    CHECK(status == CUSHIM_ERROR_INVALID_HANDLE ||
          (status == CUSHIM_SUCCESS && info.version == given_number("CHECK_VERSION")));
  }
  status = cushim_driver_destroy(shared);
  if (status == CUSHIM_SUCCESS) __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
  else if (CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, status)) __atomic_add_fetch(&destroyed_before, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void in_threads(void *(*work)(void *)) {
  pthread_t threads[THREADS];
  int i;
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
  int i;
  check_begin();
  CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
  in_threads(own_handles);
  for (i = 0; i < 50; i++) {
    shared = open_driver();
    destroyed = destroyed_before = 0;
    in_threads(one_handle);
    CHECK(destroyed == 1 && destroyed_before == THREADS - 1);
  }
  return check_done();
}
