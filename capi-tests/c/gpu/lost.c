/*
 * A kernel that traps: nothing in the context works any more, host functions are no longer called, and what was lent for
 * them is released all the same. The driver's log, where it has one, says more than the number.
 */
#include "objects.h"

static const char trap[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry lost() { trap; }\n";

static int called, released;

static void count(void *number) { __atomic_add_fetch((int *)number, 1, __ATOMIC_SEQ_CST); }

static cushim_status enqueue(cushim_stream stream) {
  cushim_owner owner;
  owner.data = &released;
  owner.release = count;
  return cushim_stream_launch_host_function(stream, count, &called, &owner);
}

static void flush(void) {
  int32_t done = 0;
  CHECK_OK(cushim_flush_callbacks(20000000000ull, &done));
  CHECK(done);
}

/* What the driver says of a call that fails, beyond its number. */
static void said(cushim_context context, int version) {
  const char *log;
  CHECK(cushim_context_set_limit(context, 9999, 1) > 0);
  log = last_detail()->driver_log;
  printf("the driver's log: %s\n", log);
  CHECK((version >= 12090) == (strstr(log, "cuCtxSetLimit") != NULL));
}

static void launch_trap(const cushim_driver_table *table, cushim_stream stream) {
  CUmodule module = NULL;
  CUfunction function = NULL;
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_OK(table->cuModuleLoadData_2000(&module, trap));
  CHECK_OK(table->cuModuleGetFunction_2000(&function, module, "lost"));
  CHECK_OK(table->cuLaunchKernel_4000(function, 1, 1, 1, 1, 1, 1, 0, native, NULL, NULL));
}

int main(void) {
  struct objects all;
  int32_t lost = -1;
  check_begin();
  all = open_context();
  all.stream = new_stream(all.context);
  CHECK_OK(cushim_context_push(all.context));
  said(all.context, info_of(all.driver).version);

  CHECK_OK(enqueue(all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  flush();
  CHECK(called == 1 && released == 1);

  launch_trap(table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM), all.stream);
  if (enqueue(all.stream) != CUSHIM_SUCCESS) printf("the loss was known when the host function was enqueued\n");
  else {
    CHECK_STATUS(CUDA_ERROR_LAUNCH_FAILED, cushim_stream_synchronize(all.stream));
    flush();
    printf("after the trap %d called, %d released\n", called - 1, released - 1);
    CHECK(called == 1 && released == 2);
  }
  CHECK_OK(cushim_context_get_lost(all.context, &lost));
  CHECK(lost == CUDA_ERROR_LAUNCH_FAILED);
  CHECK_STATUS(CUDA_ERROR_LAUNCH_FAILED, enqueue(all.stream));
  flush();
  CHECK(called == 1 && released == 2);
  return check_done();
}
