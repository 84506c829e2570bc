/* Streams that write values to memory and wait for them. */
#include "busy.h"

static struct objects all;
static uint64_t memory; /* eight numbers of 64 bits */

static cushim_memory_operation operation(cushim_memory_action action, uint64_t address, uint64_t value) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = action;
  operation.at = cushim_endpoint_device(address);
  operation.value = value;
  return operation;
}

static uint64_t number_at(uint64_t address) {
  uint64_t number = 0;
  cushim_endpoint to = cushim_endpoint_host(&number), from = cushim_endpoint_device(address);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, sizeof number));
  return number;
}

/* What one stream writes, another waits for. */
static void written_and_waited_for(void) {
  cushim_stream other = new_stream(all.context);
  cushim_memory_operation waits[2], writes[2];
  int32_t done = 1;
  CHECK_OK(set_bytes(all.context, memory, 0, 64));
  waits[0] = operation(CUSHIM_MEMORY_WAIT_32, memory, 7);
  waits[0].flags = CU_STREAM_WAIT_VALUE_EQ;
  waits[1] = operation(CUSHIM_MEMORY_WRITE_32, memory + 8, 70);
  CHECK_OK(cushim_stream_memory_operations(other, waits, 2));
  CHECK_OK(cushim_stream_synchronize_within(other, 2000000, &done));
  CHECK(done == 0);
  writes[0] = operation(CUSHIM_MEMORY_WRITE_32, memory + 16, 1);
  writes[1] = operation(CUSHIM_MEMORY_WRITE_32, memory, 7);
  /* The other would wait for ever: for the writes, or because the next test sets the number to 0. */
  if (!CHECK_OK(cushim_stream_memory_operations(all.stream, writes, 2))) exit(1);
  if (!CHECK_OK(cushim_stream_synchronize(other))) exit(1);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(memory) == 7 && number_at(memory + 8) == 70 && number_at(memory + 16) == 1);
  CHECK_OK(cushim_stream_destroy(other));
}

/* Nothing of a call is done if one operation is not acceptable, and the error says which. */
static void refusals(void) {
  cushim_memory_operation two[2];
  CHECK_OK(set_bytes(all.context, memory, 0, 64));
  two[0] = operation(CUSHIM_MEMORY_WRITE_32, memory, 9);
  two[1] = operation(CUSHIM_MEMORY_WRITE_32, memory + 2, 9);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, two, 2));
  CHECK_CONTAINS(last_message(), "operation 1: ");
  CHECK(last_detail()->item == 1);
  two[1] = operation(CUSHIM_MEMORY_WRITE_32, 0, 9);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, two, 2));
  CHECK(last_detail()->item == 1);
  two[1] = operation((cushim_memory_action)77, memory, 9);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, two, 2));
  CHECK(last_detail()->item == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, two, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, NULL, 1));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_memory_operations(NULL, two, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(memory) == 0);
}

int main(void) {
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    cushim_memory_operation write = operation(CUSHIM_MEMORY_WRITE_32, 64, 1);
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_memory_operations(all.stream, &write, 1));
  } else {
    CHECK_OK(cushim_context_allocate(all.context, 64, &memory));
    /* Before CUDA 11.7 an administrator has to allow them. */
    if (info_of(all.driver).version >= 11070) written_and_waited_for();
    refusals();
    CHECK_OK(cushim_context_free(all.context, memory));
  }
  close_objects(&all);
  return check_done();
}
