/* Managed memory that is attached: to the host at first, to one stream, to all; and what is refused, which does captures no harm. */
#include "managed.h"

static struct objects all;

static cushim_buffer attached_to_host(cushim_resource *resource) {
  cushim_managed_options options = CUSHIM_OPTIONS(cushim_managed_options);
  cushim_buffer buffer = NULL;
  options.flags = CUSHIM_MANAGED_ATTACH_HOST;
  CHECK_OK(cushim_resource_create_managed(all.context, &options, resource));
  if (!CHECK_OK(cushim_buffer_create(*resource, NULL, HALF, &buffer))) exit(1); /* the host is about to read it */
  CHECK_OK(cushim_set_label(buffer, "shared"));
  return buffer;
}

static void used_in_its_stream(void) {
  cushim_resource resource = NULL;
  cushim_buffer buffer = attached_to_host(&resource);
  cushim_range whole = cushim_range_buffer(buffer, 0, 0);
  cushim_stream other = new_stream(all.context);
  const uint64_t pointer = cushim_buffer_pointer(buffer);
  CHECK_OK(cushim_stream_attach(all.stream, &whole, CUSHIM_ATTACH_SINGLE));
  CHECK_OK(fill_bytes(all.stream, pointer, 7, HALF));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(bytes_at(pointer)[0] == 7 && bytes_at(pointer)[HALF - 1] == 7);
  CHECK_OK(cushim_stream_attach(all.stream, &whole, CUSHIM_ATTACH_GLOBAL));
  CHECK_OK(cushim_stream_wait_stream(other, all.stream));
  CHECK_OK(fill_bytes(other, pointer, 8, HALF));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK(bytes_at(pointer)[0] == 8);
  CHECK_OK(cushim_stream_attach(other, &whole, CUSHIM_ATTACH_HOST));
  CHECK_OK(cushim_stream_synchronize(other));
  bytes_at(pointer)[0] = 9;
  CHECK_OK(cushim_stream_destroy(other));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

static void refused(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_resource resource = NULL, pool = NULL;
  cushim_buffer buffer = attached_to_host(&resource), plain = NULL;
  cushim_range whole = cushim_range_buffer(buffer, 0, 0), part = cushim_range_buffer(buffer, 0, 0), of_plain;
  cushim_stream legacy = NULL, foreign = new_stream(all.context);
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  part.offset = 4096;
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_attach(all.stream, &part, CUSHIM_ATTACH_GLOBAL));
  CHECK_CONTAINS(last_message(), "buffer \"shared\"");
  CHECK_CONTAINS(last_message(), "as a whole");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_attach(all.stream, &whole, 3));
  CHECK_CONTAINS(last_message(), "attachment is 3");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_attach(all.stream, NULL, CUSHIM_ATTACH_GLOBAL));
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 4096, &plain));
  of_plain = cushim_range_buffer(plain, 0, 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_attach(all.stream, &of_plain, CUSHIM_ATTACH_GLOBAL));
  CHECK_CONTAINS(last_message(), "needs managed memory");
  CHECK_OK(cushim_buffer_destroy(plain));
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_attach(legacy, &whole, CUSHIM_ATTACH_SINGLE));
  CHECK_CONTAINS(last_message(), "default stream");
  CHECK_OK(cushim_stream_attach(legacy, &whole, CUSHIM_ATTACH_GLOBAL));
  /* In a capture of ours it is refused, and one of others goes on beside it. */
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_attach(cushim_builder_stream(builder), &whole, CUSHIM_ATTACH_GLOBAL));
  CHECK_CONTAINS(last_message(), "graph");
  CHECK_OK(cushim_stream_attach(all.stream, &whole, CUSHIM_ATTACH_GLOBAL));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  begin_capture(cu, foreign);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_attach(foreign, &whole, CUSHIM_ATTACH_GLOBAL));
  CHECK_OK(cushim_stream_attach(all.stream, &whole, CUSHIM_ATTACH_GLOBAL));
  end_capture(cu, foreign);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_stream_destroy(foreign));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

int main(void) {
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    const cushim_range anything = range(0x1000, 64);
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_attach(all.stream, &anything, CUSHIM_ATTACH_GLOBAL));
  } else {
    used_in_its_stream();
    refused();
  }
  close_objects(&all);
  return check_done();
}
