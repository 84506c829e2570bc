/* Contexts: whose they are, which is current, when they end, and what is left after a reset. */
#include "objects.h"

#include "control.h"

static struct objects all;
static const cushim_driver_table *cu;
static int version; /* of the driver; 0 for "none" */

static CUcontext native_of(cushim_context context) {
  CUcontext native = NULL;
  CHECK_OK(cushim_context_native(context, &native));
  return native;
}

static int kind_of(cushim_context context) {
  int32_t kind = 0;
  CHECK_OK(cushim_context_get_kind(context, &kind));
  return kind;
}

static cushim_context create(uint32_t flags) {
  cushim_context_options options;
  cushim_context context;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = flags;
  CHECK_OK(cushim_context_create(all.device, &options, &context));
  return context;
}

/* The context that is current on this thread, as the driver names it; NULL if none is. */
static CUcontext current(void) {
  cushim_context object;
  CUcontext native = (CUcontext)NOT_NULL;
  CHECK_OK(cushim_context_get_current(all.driver, &object, &native));
  return native;
}

static void primary(void) {
  cushim_context second, claim;
  cushim_device device;
  CHECK_OK(cushim_context_retain_primary(all.device, &second));
  CHECK(second != all.context && is_same(second, all.context));
  CHECK(kind_of(second) == CUSHIM_CONTEXT_PRIMARY && native_of(second) == native_of(all.context));
  CHECK_OK(cushim_context_ref(second, &claim));
  CHECK_OK(cushim_context_destroy(second));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_context_destroy(second));
  CHECK_OK(cushim_context_get_device(claim, &device));
  CHECK(device == all.device);
  CHECK_OK(cushim_context_destroy(claim));
  CHECK_CONTAINS(description(all.context), "context");
}

static void created(void) {
  cushim_context context = create(0), other = create(0);
  CHECK(kind_of(context) == CUSHIM_CONTEXT_CREATED);
  CHECK(native_of(context) != native_of(other) && !is_same(context, other));
  CHECK(current() == NULL); /* creating makes nothing current */
  CHECK_OK(cushim_context_destroy(other));
  CHECK_OK(cushim_context_synchronize(context));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_context_destroy(NULL));
}

static void options(void) {
  cushim_context_options given;
  cushim_context context = (cushim_context)NOT_NULL;
  memset(&given, 0, sizeof given);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_create(all.device, &given, &context));
  CHECK_CONTAINS(last_message(), "struct_size");
  CHECK(context == NULL);
  given.struct_size = sizeof given;
  given.reserved = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_create(all.device, &given, &context));
  given.reserved = 0;
  given.flags = 0x40000000;
  if (version != 0) CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_create(all.device, &given, &context));
  if (version != 0) CHECK(context == NULL && current() == NULL);
}

/* What the driver hands back finds its object. */
static void current_and_stack(void) {
  cushim_context context = create(0), found;
  CUcontext native;
  CHECK_OK(cushim_context_get_current(all.driver, &found, &native));
  CHECK(found == NULL && native == NULL);
  CHECK_OK(cushim_context_push(context));
  CHECK_OK(cushim_context_push(all.context));
  CHECK_OK(cushim_context_get_current(all.driver, &found, &native));
  CHECK(is_same(found, all.context) && native == native_of(all.context));
  CHECK_OK(cushim_context_pop(all.driver, &found, &native));
  CHECK(is_same(found, all.context) && native == native_of(all.context));
  CHECK_OK(cushim_context_get_current(all.driver, &found, NULL));
  CHECK(is_same(found, context));
  CHECK_OK(cushim_context_set_current(all.context));
  CHECK(current() == native_of(all.context));
  CHECK_OK(cushim_context_clear_current(all.driver));
  CHECK(current() == NULL);
  CHECK_OK(cushim_context_set_current(context));
  CHECK_OK(cushim_context_pop(all.driver, &found, NULL));
  CHECK(is_same(found, context));
  CHECK_STATUS(CUDA_ERROR_INVALID_CONTEXT, cushim_context_pop(all.driver, &found, &native));
  CHECK(found == NULL && native == NULL);
  CHECK_OK(cushim_context_destroy(context));
}

/* A context that somebody else created is unknown, and never guessed at. */
static void foreign(void) {
  cushim_context wrapped, owner, again, found;
  CUcontext native = NULL, popped;
  if (version == 0) return;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxCreate_3020(&native, 0, 0));
  CHECK_OK(cushim_context_get_current(all.driver, &found, &popped));
  CHECK(found == NULL && popped == native);
  CHECK_OK(cushim_context_wrap(all.device, native, CUSHIM_BORROWED, &wrapped));
  CHECK(kind_of(wrapped) == CUSHIM_CONTEXT_WRAPPED && native_of(wrapped) == native);
  CHECK_OK(cushim_context_pop(all.driver, &found, &popped));
  CHECK(found != NULL && is_same(found, wrapped) && popped == native);
  CHECK_OK(cushim_context_destroy(wrapped));

  CHECK_OK(cushim_context_wrap(all.device, native, CUSHIM_OWNED, &owner));
  CHECK_OK(cushim_context_wrap(all.device, native, CUSHIM_BORROWED, &again));
  CHECK(again != owner && is_same(again, owner));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_wrap(all.device, native, CUSHIM_OWNED, &wrapped));
  CHECK_CONTAINS(last_message(), "owns");
  CHECK(wrapped == NULL);
  CHECK_OK(cushim_context_push(owner));
  CHECK_OK(cushim_context_pop(all.driver, &found, NULL));
  CHECK(is_same(found, owner));
  CHECK_OK(cushim_context_destroy(owner));
  CHECK_OK(cushim_context_destroy(again));
  CHECK(current() == NULL);
}

/* A green context is taken in by way of the context that stands for it. Not every driver that has them gives one. */
static void green(void) {
  cushim_context wrapped, found;
  cushim_stream stream;
  CUdevResource resource;
  CUdevResourceDesc description = NULL;
  CUgreenCtx native = NULL;
  if (!CUSHIM_HAS(cu, cuGreenCtxCreate_12040)) return;
  memset(&resource, 0, sizeof resource);
  if (cu->cuDeviceGetDevResource_12040(0, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_ERROR_NOT_SUPPORTED) return;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuDevResourceGenerateDesc_12040(&description, &resource, 1));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGreenCtxCreate_12040(&native, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CHECK_OK(cushim_context_wrap_green(all.device, native, CUSHIM_OWNED, &wrapped));
  CHECK(kind_of(wrapped) == CUSHIM_CONTEXT_GREEN);
  CHECK_OK(cushim_context_push(wrapped));
  CHECK_OK(cushim_context_pop(all.driver, &found, NULL));
  CHECK(is_same(found, wrapped));
  stream = new_stream(wrapped);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_context_destroy(wrapped));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK(current() == NULL);
}

static void wrapping_is_checked(void) {
  cushim_context context = (cushim_context)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_wrap(all.device, NULL, CUSHIM_BORROWED, &context));
  CHECK_CONTAINS(last_message(), "NULL");
  CHECK(context == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_wrap(all.device, native_of(all.context), 2, &context));
  CHECK_CONTAINS(last_message(), "CUSHIM_OWNED");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_wrap_green(all.device, NULL, CUSHIM_BORROWED, &context));
  if (version < 12040) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED,
                 cushim_context_wrap_green(all.device, (CUgreenCtx)NOT_NULL, CUSHIM_BORROWED, &context));
    CHECK_CONTAINS(last_message(), "cuCtxFromGreenCtx");
  }
}

static void identity(void) {
  cushim_context other = create(0);
  uint64_t id = 0, its_id = 0;
  if (version < 12000) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_get_id(all.context, &id));
    if (version != 0) CHECK_CONTAINS(last_message(), "12.0");
  } else {
    CHECK_OK(cushim_context_get_id(all.context, &id));
    CHECK_OK(cushim_context_get_id(other, &its_id));
    CHECK(id != its_id && id != 0 && its_id != 0);
  }
  CHECK_OK(cushim_context_destroy(other));
}

static void properties(void) {
  const cushim_status expected = version == 0 ? (cushim_status)CUSHIM_ERROR_UNSUPPORTED : 0;
  cushim_context context = create(version == 0 ? 0 : CU_CTX_SCHED_YIELD);
  uint32_t flags = 99;
  size_t value = 0;
  int32_t least = 9, greatest = 9;
  CHECK_STATUS(expected, cushim_context_get_flags(context, &flags));
  CHECK(version == 0 || (flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_YIELD);
  CHECK_OK(cushim_context_get_stream_priorities(context, &least, &greatest));
  CHECK(least >= greatest && least == 0);
  CHECK_STATUS(expected, cushim_context_set_limit(context, CU_LIMIT_STACK_SIZE, 2048));
  CHECK_STATUS(expected, cushim_context_get_limit(context, CU_LIMIT_STACK_SIZE, &value));
  CHECK(version == 0 || value >= 2048);
  if (version != 0) {
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_get_limit(context, 99, &value));
    CHECK(value == 0);
  }
  CHECK(current() == NULL); /* calls that need the context current leave it as it was */
  CHECK_OK(cushim_context_destroy(context));
}

static void labels(void) {
  char label[16];
  CHECK_OK(cushim_set_label(all.context, "main"));
  CHECK_OK(cushim_get_label(all.context, label, sizeof label, NULL));
  CHECK(strcmp(label, "main") == 0);
  CHECK_CONTAINS(description(all.context), "main");
  CHECK_OK(cushim_set_label(all.context, NULL));
}

/* Objects keep their context alive, whoever destroys what first. */
static void lifetimes(void) {
  cushim_context context = create(0), borrowed;
  cushim_stream stream = new_stream(context);
  cushim_event event = new_event(context, 0);
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_OK(cushim_stream_get_context(stream, &borrowed));
  CHECK(kind_of(borrowed) == CUSHIM_CONTEXT_CREATED);
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK(kind_of(borrowed) == CUSHIM_CONTEXT_CREATED);
  CHECK_OK(cushim_event_destroy(event));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_synchronize(borrowed));
  CHECK_CONTAINS(last_message(), "gone");
}

/* After a reset everything answers, and says why nothing works. */
static void reset(void) {
  cushim_context again, found;
  cushim_stream stream = new_stream(all.context), new_one;
  cushim_event event = new_event(all.context, 0);
  cushim_status lost = -1;
  int32_t done;
  if (version == 0) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_reset_primary_context(all.device));
  } else {
    CHECK_OK(cushim_context_push(all.context));
    CHECK_OK(cushim_context_get_lost(all.context, &lost));
    CHECK(lost == 0);
    CHECK_OK(cushim_device_reset_primary_context(all.device));
    CHECK_OK(cushim_context_get_lost(all.context, &lost));
    CHECK(lost == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_stream_query(stream, &done));
    CHECK_CONTAINS(last_message(), "reset");
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_event_record(event, stream));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_context_synchronize(all.context));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_context_push(all.context));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_stream_create(all.context, NULL, &new_one));
    /* The driver will use the address again, so it names no object now. */
    CHECK_OK(cushim_context_pop(all.driver, &found, NULL));
    CHECK(found == NULL);
    CHECK_OK(cushim_context_retain_primary(all.device, &again));
    CHECK(!is_same(again, all.context));
    CHECK_OK(cushim_context_get_lost(again, &lost));
    CHECK(lost == 0);
    new_one = new_stream(again);
    CHECK_OK(cushim_stream_query(new_one, &done));
    CHECK_OK(cushim_stream_destroy(new_one));
    CHECK_OK(cushim_context_push(again));
    CHECK_OK(cushim_context_pop(all.driver, &found, NULL));
    CHECK(is_same(found, again));
    CHECK_OK(cushim_context_destroy(again));
  }
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(stream));
}

/* A reset behind the library's back, and a new context at the same address: no call reaches what is gone. */
static void reset_by_others(void) {
  cushim_context found, mine;
  cushim_stream stream;
  cushim_event event;
  CUcontext native = NULL, popped;
  if (version < 12000) return; /* without numbers nobody can tell */
  mine = primary_context(all.device);
  stream = new_stream(mine);
  event = new_event(mine, 0);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuDevicePrimaryCtxReset_11000(0));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuDevicePrimaryCtxRetain_7000(&native, 0));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxPushCurrent_4000(native));
  CHECK_OK(cushim_context_pop(all.driver, &found, &popped));
  CHECK(found == NULL && popped == native);
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_context_destroy(mine));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuDevicePrimaryCtxRelease_11000(0));
}

/*
 * A context that is gone and current makes calls fail that name others; those are as they were. Only softcuda: a real driver may
 * end the process.
 */
static void a_gone_one_is_current(void) {
  static unsigned char page[4096];
  struct control control;
  cushim_context gone;
  if (!find_control(&control)) return;
  CHECK_OK(cushim_context_create(all.device, NULL, &gone));
  CHECK_OK(cushim_context_set_current(gone));
  CHECK_OK(cushim_context_push(gone));
  CHECK_OK(cushim_context_destroy(gone)); /* which takes it from the top, and not from below */
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_context_unregister_host(all.context, page));
  CHECK_CONTAINS(last_message(), "is valid, but the context that is current");
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK_OK(cushim_context_clear_current(all.driver));
}

int main(void) {
  check_begin();
  all = open_context();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  version = info_of(all.driver).version;
  primary();
  created();
  options();
  current_and_stack();
  foreign();
  green();
  wrapping_is_checked();
  identity();
  properties();
  labels();
  lifetimes();
  a_gone_one_is_current();
  reset();
  CHECK_OK(cushim_context_destroy(all.context));
  reset_by_others();
  CHECK_OK(cushim_driver_destroy(all.driver));
  return check_done();
}
