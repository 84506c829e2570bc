/*
 * Endpoints of copies and memsets, and as arguments of kernels: what keeps the memory alive, and until when; whose it is; and
 * what is refused, with nothing released.
 */
#include "busy.h"
#include "managed.h"
#include "resources.h"

static struct objects all;
static const cushim_driver_table *cu;
static uint64_t device_memory;

/* How often owners were released. */
static int released;

static void release(void *data) {
  (void)data;
  __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
}

static const cushim_owner owner = {NULL, release};

/* Since the last time, with what is due by now. */
static int releases(void) {
  flush_callbacks();
  return __atomic_exchange_n(&released, 0, __ATOMIC_SEQ_CST);
}

static cushim_endpoint owned(cushim_endpoint place) {
  place.owner = &owner;
  return place;
}

static cushim_endpoint flagged(cushim_endpoint place, uint32_t flags) {
  place.flags = flags;
  return place;
}

static cushim_endpoint in_context(cushim_endpoint place, cushim_context context) {
  place.context = context;
  return place;
}

static unsigned byte_at(uint64_t pointer) { return last_byte(all.stream, pointer, 1); }

static const char code[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    /* Tells the address that it gets. */
    ".visible .entry tell(.param .u64 to, .param .u64 address) {\n"
    "  .reg .u64 %to, %address;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u64 %address, [address];\n"
    "  st.global.u64 [%to], %address;\n"
    "  ret;\n"
    "}\n";

/* The kernel writes the address of the argument to the start of the device's memory. */
static cushim_status tell(cushim_arg argument) {
  const cushim_arg args[2] = {CUSHIM_ARG(device_memory), argument};
  return cushim_kernel_launch(all.kernel, all.stream, NULL, args, 2);
}

static cushim_status tell_place(cushim_endpoint place) { return tell(cushim_arg_endpoint(&place)); }

static uint64_t told(void) {
  uint64_t address = 0;
  cushim_endpoint to = cushim_endpoint_host(&address), from = cushim_endpoint_device(device_memory);
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, sizeof address));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  return address;
}

/* Every function that takes endpoints, by number: each with the same two. */
enum { FUNCTIONS = 12, IN_STREAM = 8 };

static cushim_status use(int function, cushim_stream stream, cushim_context context, cushim_endpoint to, cushim_endpoint from) {
  const cushim_extent extent = {32, 2, 1};
  cushim_region rows = cushim_region_at(to, 32), columns = cushim_region_at(from, 32);
  cushim_copy copies[2];
  cushim_arg args[2];
  args[0] = cushim_arg_endpoint(&to);
  args[1] = cushim_arg_endpoint(&from);
  copies[0].destination = copies[1].destination = to;
  copies[0].source = copies[1].source = from;
  copies[0].bytes = copies[1].bytes = 64;
  switch (function) {
  case 0: return cushim_stream_copy(stream, &to, &from, 64);
  case 1: return cushim_stream_copy_3d(stream, &rows, &columns, &extent);
  case 2: return cushim_stream_copy_with_attributes(stream, &to, &from, 64, NULL);
  case 3: return cushim_stream_copy_batch(stream, copies, 1, NULL, 0, NULL);
  case 4: return cushim_stream_copy_batch(stream, copies, 2, NULL, 0, NULL);
  case 5: return cushim_stream_fill(stream, &to, CUSHIM_VALUE_8(0x51), 64);
  case 6: return cushim_stream_fill_2d(stream, &to, 32, CUSHIM_VALUE_8(0x52), 32, 2);
  case 7: return cushim_kernel_launch(all.kernel, stream, NULL, args, 2);
  case 8: return cushim_context_copy(context, &to, &from, 64);
  case 9: return cushim_context_copy_3d(context, &rows, &columns, &extent);
  case 10: return cushim_context_fill(context, &to, CUSHIM_VALUE_8(0x53), 64);
  default: return cushim_context_fill_2d(context, &to, 32, CUSHIM_VALUE_8(0x54), 32, 2);
  }
}

/* How many endpoints the function takes. */
static int endpoints_of(int function) {
  if (function == 4) return 4;
  return function == 5 || function == 6 || function >= 10 ? 1 : 2;
}

static int is_memset(int function) { return endpoints_of(function) == 1; }

static int is_launch(int function) { return function == 7; }

static cushim_status use_here(int function, cushim_endpoint to, cushim_endpoint from) {
  return use(function, all.stream, all.context, to, from);
}

/* Says which function it was. */
static int told_of(int passed, int function, const char *what) {
  char line[120];
  snprintf(line, sizeof line, "function %d: %s: %s", function, what, last_message());
  return check_that(passed, __FILE__, __LINE__, line);
}

/* An owner lives until the work is done, and no longer. */
static void owners_are_released_when_it_is_done(void) {
  const cushim_endpoint to = owned(cushim_endpoint_device(device_memory)), from = owned(cushim_endpoint_device(device_memory + 1024));
  struct busy busy;
  int i;
  for (i = 0; i < FUNCTIONS; i++) {
    if (i < IN_STREAM) busy_begin(&busy, all.driver, all.stream);
    told_of(use_here(i, to, from) == CUSHIM_SUCCESS, i, "succeeds");
    if (i < IN_STREAM) {
      told_of(releases() == 0, i, "is not done yet");
      busy_end(&busy);
      CHECK_OK(cushim_stream_synchronize(all.stream));
    }
    told_of(releases() == endpoints_of(i), i, "releases each owner once");
  }
}

static void a_batch_whose_last_copy_is_bad(cushim_endpoint to, cushim_endpoint from, cushim_endpoint odd) {
  const cushim_endpoint kept = flagged(cushim_endpoint_device(device_memory), CUSHIM_ENDPOINT_KEEP_BYTES);
  cushim_copy copies[2];
  copies[0].destination = copies[1].destination = to;
  copies[0].source = from;
  copies[0].bytes = copies[1].bytes = 64;
  copies[1].source = odd;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_batch(all.stream, copies, 2, NULL, 0, NULL));
  copies[1].source = kept;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_batch(all.stream, copies, 2, NULL, 0, NULL));
}

/* What fails releases nothing, whoever finds the fault. */
static void nothing_is_released_by_a_failure(void) {
  const cushim_endpoint to = owned(cushim_endpoint_device(device_memory)), from = owned(cushim_endpoint_device(device_memory + 1024));
  const cushim_endpoint nowhere = owned(cushim_endpoint_device(0)), beyond = owned(cushim_endpoint_device(device_memory + BYTES - 1));
  cushim_endpoint odd = from;
  cushim_stream gone = new_stream(all.context);
  int i;
  CHECK_OK(cushim_stream_destroy(gone));
  odd.kind = (cushim_endpoint_kind)77;
  for (i = 0; i < FUNCTIONS; i++) {
    told_of(i >= IN_STREAM || use(i, gone, all.context, to, from) == CUSHIM_ERROR_INVALID_HANDLE, i, "a stale stream");
    told_of(i >= IN_STREAM || use(i, NULL, all.context, to, from) == CUSHIM_ERROR_STREAM_REQUIRED, i, "no stream");
    told_of(i < IN_STREAM || use(i, all.stream, NULL, to, from) == CUSHIM_ERROR_INVALID_HANDLE, i, "no context");
    told_of(use_here(i, odd, from) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "a destination of no kind");
    told_of(is_memset(i) || use_here(i, to, odd) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "a source of no kind");
    told_of(use_here(i, flagged(to, CUSHIM_ENDPOINT_CALLER_KEEPS), from) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "kept twice");
    told_of(use_here(i, flagged(to, 64), from) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "flags that there are not");
    told_of(use_here(i, in_context(to, (cushim_context)(void *)all.stream), from) == CUSHIM_ERROR_INVALID_HANDLE, i, "no context's handle");
    if (is_launch(i)) continue; /* to which the memory means nothing */
    told_of(use_here(i, nowhere, from) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "a destination that is NULL");
    told_of(is_memset(i) || use_here(i, to, nowhere) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "a source that is NULL");
    told_of(use_here(i, beyond, from) == CUSHIM_ERROR_INVALID_ARGUMENT, i, "what the driver refuses");
  }
  a_batch_whose_last_copy_is_bad(to, from, odd);
  CHECK(releases() == 0);
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* A buffer keeps its own memory, and at most one thing keeps other memory. */
static void what_keeps_the_memory(void) {
  unsigned char bytes[64] = {0};
  const cushim_endpoint buffer = cushim_endpoint_buffer(all.buffer, 0), to = cushim_endpoint_device(device_memory), from = cushim_endpoint_host(bytes);
  const uint32_t keep = CUSHIM_ENDPOINT_KEEP_BYTES, caller = CUSHIM_ENDPOINT_CALLER_KEEPS;
  const struct {
    cushim_endpoint to, from;
    const char *why;
  } refused[] = {
      {flagged(buffer, caller), from, "destination: a buffer keeps its own memory"},
      {owned(buffer), from, "destination: a buffer keeps its own memory"},
      {to, flagged(buffer, keep), "source: a buffer keeps its own memory"},
      {to, owned(flagged(from, caller)), "source: one of CUSHIM_ENDPOINT_KEEP_BYTES, CUSHIM_ENDPOINT_CALLER_KEEPS and an owner"},
      {to, owned(flagged(from, keep)), "an owner keeps the memory, not several"},
      {to, flagged(from, keep | caller), "not several"},
      {flagged(to, keep), from, "destination: CUSHIM_ENDPOINT_KEEP_BYTES is for a source in host memory"},
      {flagged(from, keep), to, "destination: CUSHIM_ENDPOINT_KEEP_BYTES is for a source in host memory"},
      {from, flagged(to, keep), "source: CUSHIM_ENDPOINT_KEEP_BYTES is for a source in host memory"},
      {to, flagged(cushim_endpoint_auto((uint64_t)(uintptr_t)bytes), keep), "source: CUSHIM_ENDPOINT_KEEP_BYTES is for a source in host memory"},
      {to, flagged(from, 4), "source: flags is 0x4; there are CUSHIM_ENDPOINT_KEEP_BYTES (1) and CUSHIM_ENDPOINT_CALLER_KEEPS (2)"},
  };
  size_t i;
  int function;
  for (i = 0; i < sizeof refused / sizeof *refused; i++) {
    for (function = 0; function < FUNCTIONS; function++) {
      const int is_of_source = strncmp(refused[i].why, "from", 4) == 0 || refused[i].to.flags + (refused[i].to.owner != NULL) == 0;
      if (is_launch(function) || (is_memset(function) && is_of_source)) continue;
      told_of(use_here(function, refused[i].to, refused[i].from) == CUSHIM_ERROR_INVALID_ARGUMENT, function, refused[i].why);
      CHECK_CONTAINS(last_message(), refused[i].why);
    }
  }
  for (function = 0; function < FUNCTIONS; function++) {
    told_of(use_here(function, flagged(to, caller), flagged(from, caller)) == CUSHIM_SUCCESS, function, "the caller keeps it");
    if (function + 1 == IN_STREAM) CHECK_OK(cushim_stream_synchronize(all.stream)); /* the others are in no stream */
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(releases() == 0);
}

/* The source may go before the copy's turn. */
static void bytes_are_kept(void) {
  unsigned char *bytes;
  struct busy busy;
  int i;
  for (i = 0; i < FUNCTIONS; i++) {
    if (is_memset(i) || is_launch(i)) continue;
    bytes = (unsigned char *)malloc(64);
    if (!CHECK(bytes != NULL)) return;
    memset(bytes, 0x60 + i, 64);
    CHECK_OK(set_bytes(all.context, device_memory, 0, 64));
    /* A driver may wait for the stream before it reads pageable memory, which kept bytes are. */
    if (i < IN_STREAM) busy_within(&busy, all.driver, all.stream, 50);
    told_of(use_here(i, cushim_endpoint_device(device_memory), flagged(cushim_endpoint_host(bytes), CUSHIM_ENDPOINT_KEEP_BYTES)) == CUSHIM_SUCCESS, i, "keeps bytes");
    memset(bytes, 0xee, 64);
    free(bytes);
    if (i < IN_STREAM) busy_end(&busy);
    CHECK_OK(cushim_stream_synchronize(all.stream));
    told_of(byte_at(device_memory) == 0x60u + (unsigned)i && byte_at(device_memory + 63) == 0x60u + (unsigned)i, i, "kept them");
  }
}

/* Of rows the gaps between them are not the library's to read. */
static void rows_are_kept(void) {
  unsigned char *memory = (unsigned char *)malloc(64 + 16);
  const cushim_extent extent = {16, 2, 1};
  cushim_region from = cushim_region_at(flagged(cushim_endpoint_host(memory), CUSHIM_ENDPOINT_KEEP_BYTES), 64);
  cushim_region to = cushim_region_at(cushim_endpoint_device(device_memory), 16);
  if (!CHECK(memory != NULL)) return;
  memset(memory, 0x71, 16);
  memset(memory + 64, 0x72, 16);
  CHECK_OK(cushim_stream_copy_3d(all.stream, &to, &from, &extent));
  free(memory);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(device_memory + 15) == 0x71 && byte_at(device_memory + 31) == 0x72);
}

/* An owner without a release function comes out of the queue. */
static void owners_are_drained(void) {
  static int lent;
  const cushim_owner pulled = {&lent, NULL};
  cushim_endpoint to = cushim_endpoint_device(device_memory), from = cushim_endpoint_device(device_memory + 1024);
  cushim_drain_item item;
  size_t count = 9;
  to.owner = &pulled;
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 64));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  flush_callbacks();
  CHECK_OK(cushim_drain(&item, sizeof item, 1, &count));
  CHECK(count == 1 && item.kind == CUSHIM_DRAIN_RELEASE && item.data == &lent);
}

/* A context that is another driver's, and one that is no object any more. */
static void contexts(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  const cushim_endpoint to = cushim_endpoint_device(device_memory), from = cushim_endpoint_device(device_memory + 1024);
  cushim_driver none;
  cushim_context foreign, gone;
  int i;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  foreign = primary_context(first_device(none));
  CHECK_OK(cushim_context_create(all.device, NULL, &gone));
  CHECK_OK(cushim_context_destroy(gone));
  for (i = 0; i < FUNCTIONS; i++) {
    told_of(use_here(i, in_context(to, all.context), in_context(from, all.context)) == CUSHIM_SUCCESS, i, "their context");
    if (i + 1 == IN_STREAM) CHECK_OK(cushim_stream_synchronize(all.stream)); /* the others are in no stream */
    told_of(use_here(i, in_context(to, foreign), from) == CUSHIM_ERROR_INVALID_HANDLE, i, "another driver's context");
    CHECK_CONTAINS(last_message(), "belongs to another driver");
    told_of(use_here(i, in_context(to, gone), from) == CUSHIM_ERROR_INVALID_HANDLE, i, "a destroyed context");
    CHECK_CONTAINS(last_message(), "was destroyed");
    if (is_memset(i)) continue;
    told_of(use_here(i, to, in_context(from, foreign)) == CUSHIM_ERROR_INVALID_HANDLE, i, "another driver's context");
    told_of(use_here(i, to, in_context(from, gone)) == CUSHIM_ERROR_INVALID_HANDLE, i, "a destroyed context");
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_context_destroy(foreign));
  CHECK_OK(cushim_driver_destroy(none));
}

/* A kernel gets the address, that of a buffer with its offset. */
static void arguments(void) {
  void *pinned = NULL;
  cushim_resource pool;
  cushim_buffer buffer;
  cushim_endpoint place = cushim_endpoint_device(device_memory);
  cushim_arg argument = cushim_arg_endpoint(&place);
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 256, &buffer));
  CHECK_OK(cushim_context_allocate_host(all.context, 64, 0, &pinned));
  place.offset = 24;
  CHECK_OK(tell_place(place));
  CHECK(told() == device_memory + 24);
  CHECK_OK(tell_place(cushim_endpoint_buffer(buffer, 40)));
  CHECK(told() == cushim_buffer_pointer(buffer) + 40);
  CHECK_OK(tell(cushim_arg_buffer(buffer)));
  CHECK(told() == cushim_buffer_pointer(buffer));
  CHECK_OK(tell_place(cushim_endpoint_host(pinned)));
  CHECK(told() == (uint64_t)(uintptr_t)pinned);
  CHECK_OK(tell_place(cushim_endpoint_auto(device_memory + 8)));
  CHECK(told() == device_memory + 8);
  CHECK_OK(tell_place(cushim_endpoint_device(0)));
  CHECK(told() == 0);
  /* Each refusal names the argument. */
  argument.size = 8;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, tell(argument));
  CHECK_CONTAINS(last_message(), "argument 1: size is 8");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, tell(cushim_arg_endpoint(NULL)));
  CHECK_CONTAINS(last_message(), "argument 1: value is NULL");
  CHECK(last_detail()->item == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, tell_place(cushim_endpoint_array((CUarray)(uintptr_t)device_memory)));
  CHECK_CONTAINS(last_message(), "argument 1: ");
  CHECK_CONTAINS(last_message(), "array");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, tell_place(flagged(cushim_endpoint_host(pinned), CUSHIM_ENDPOINT_KEEP_BYTES)));
  CHECK_CONTAINS(last_message(), "kept bytes");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, tell_place(cushim_endpoint_buffer(buffer, 257)));
  CHECK_CONTAINS(last_message(), "argument 1: the offset 257 is past the end of buffer of 256 bytes");
  CHECK(last_detail()->item == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, tell_place(cushim_endpoint_buffer((cushim_buffer)(void *)all.stream, 0)));
  CHECK(last_detail()->item == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, tell(cushim_arg_buffer(NULL)));
  CHECK(last_detail()->item == 1);
  CHECK_OK(cushim_context_free_host(all.context, pinned));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* With no driver everything is refused, and nothing is released. */
static void on_none(void) {
  const cushim_endpoint to = owned(cushim_endpoint_device(0x1000)), from = owned(cushim_endpoint_device(0x2000));
  int i;
  for (i = 0; i < FUNCTIONS; i++) {
    if (!is_launch(i)) told_of(use_here(i, to, from) == CUSHIM_ERROR_UNSUPPORTED, i, "no driver");
  }
  CHECK(releases() == 0);
}

int main(void) {
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    on_none();
  } else {
    cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
    CHECK_OK(cushim_library_load(all.context, code, sizeof code, NULL, &all.library));
    CHECK_OK(cushim_kernel_create(all.library, "tell", &all.kernel));
    if (!CHECK_OK(cushim_context_allocate(all.context, BYTES, &device_memory))) exit(1); /* a kernel writes there */
    /* A first launch loads the kernel, which may wait for all work: also for what waits for this thread. */
    CHECK_OK(tell_place(cushim_endpoint_device(device_memory)));
    owners_are_released_when_it_is_done();
    nothing_is_released_by_a_failure();
    what_keeps_the_memory();
    bytes_are_kept();
    rows_are_kept();
    owners_are_drained();
    contexts();
    arguments();
    CHECK_OK(cushim_context_free(all.context, device_memory));
  }
  close_objects(&all);
  return check_done();
}
