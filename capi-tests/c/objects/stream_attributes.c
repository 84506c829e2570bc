/* Attributes of streams: read, set, and copied from one stream to another. */
#include "objects.h"

static struct objects all;
static int version;

static cushim_launch_attribute attribute_of(CUlaunchAttributeID id, int32_t value) {
  cushim_launch_attribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = id;
  memcpy(attribute.value, &value, sizeof value);
  return attribute;
}

static int32_t value_of(cushim_stream stream, CUlaunchAttributeID id) {
  cushim_launch_attribute attribute = attribute_of(CU_LAUNCH_ATTRIBUTE_IGNORE, -7);
  int32_t value;
  CHECK_OK(cushim_stream_get_attribute(stream, id, &attribute));
  CHECK(attribute.id == id && attribute.reserved == 0);
  memcpy(&value, attribute.value, sizeof value);
  return value;
}

static void set(cushim_stream stream, CUlaunchAttributeID id, int32_t value) {
  const cushim_launch_attribute attribute = attribute_of(id, value);
  CHECK_OK(cushim_stream_set_attribute(stream, &attribute));
}

static void values(void) {
  cushim_stream stream = new_stream(all.context);
  int32_t least = 0, greatest = 0, priority = 0;
  set(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_SYNC_POLICY_YIELD);
  CHECK(value_of(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) == CU_SYNC_POLICY_YIELD);
  if (version >= 11070) {
    const cushim_launch_attribute much = attribute_of(CU_LAUNCH_ATTRIBUTE_PRIORITY, -1000);
    CHECK_OK(cushim_context_get_stream_priorities(all.context, &least, &greatest));
    set(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, greatest);
    CHECK_OK(cushim_stream_get_priority(stream, &priority));
    CHECK(priority == greatest && value_of(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY) == greatest);
    /* The driver would take the nearest. */
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_set_attribute(stream, &much));
    CHECK_CONTAINS(last_message(), "-1000");
    CHECK(value_of(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY) == greatest);
  }
  if (version >= 12000) {
    set(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    CHECK(value_of(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  }
  CHECK_OK(cushim_stream_destroy(stream));
}

static void copies(void) {
  cushim_stream source = new_stream(all.context), stream = new_stream(all.context), elsewhere;
  cushim_context context = NULL;
  set(source, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_SYNC_POLICY_BLOCKING_SYNC);
  CHECK_OK(cushim_stream_copy_attributes(stream, source));
  CHECK(value_of(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) == CU_SYNC_POLICY_BLOCKING_SYNC);
  /* Default streams are those of their context, whichever is current. */
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &elsewhere));
  CHECK_OK(cushim_stream_copy_attributes(stream, elsewhere));
  CHECK(value_of(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) != CU_SYNC_POLICY_BLOCKING_SYNC);
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &elsewhere));
  CHECK_OK(cushim_stream_copy_attributes(elsewhere, stream));
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  elsewhere = new_stream(context);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_attributes(elsewhere, source));
  CHECK_CONTAINS(last_message(), "streams of one context");
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_copy_attributes(NULL, source));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_copy_attributes(stream, NULL));
  CHECK_OK(cushim_stream_destroy(source));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_copy_attributes(stream, source));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_stream_destroy(elsewhere));
  CHECK_OK(cushim_context_destroy(context));
}

static void refusals(void) {
  cushim_launch_attribute attribute = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_set_attribute(all.stream, &attribute));
  CHECK_CONTAINS(last_message(), "SYNCHRONIZATION_POLICY (3)");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_get_attribute(all.stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute));
  CHECK(attribute.id == 0 && attribute.value[0] == 0);
  attribute = attribute_of(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, 99);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_set_attribute(all.stream, &attribute));
  attribute.reserved = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_set_attribute(all.stream, &attribute));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_set_attribute(all.stream, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_stream_get_attribute(all.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL));
}

/* A stream that is captured is asked and told as any other, and the capture goes on; of a default stream that would end it. */
static void in_captures(void) {
  const cushim_launch_attribute attribute = attribute_of(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_SYNC_POLICY_SPIN);
  cushim_launch_attribute told;
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  cushim_stream recorded, legacy = NULL;
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_stream_get_attribute(legacy, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &told));
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  recorded = cushim_builder_stream(builder);
  CHECK_OK(cushim_stream_set_attribute(recorded, &attribute));
  CHECK(value_of(recorded, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) == CU_SYNC_POLICY_SPIN);
  CHECK_OK(cushim_stream_copy_attributes(recorded, all.stream));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

int main(void) {
  cushim_launch_attribute told;
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  if (is_none(all.driver)) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED,
                 cushim_stream_get_attribute(all.stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &told));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_copy_attributes(all.stream, all.stream));
  } else {
    values();
    copies();
    refusals();
    in_captures();
  }
  close_objects(&all);
  return check_done();
}
