/* Labels of streams, buffers and contexts stand in what softcuda's checks report: cushim hands them to the driver. */
#include "graphs.h"

static size_t (*report_count)(void);
static const char *(*report_text)(size_t number);
static void (*forget_reports)(void);
static void (*look_for_leaks)(void);

static void *function(const char *name) {
  void *library = dlopen("libsoftcuda.so", RTLD_NOW | RTLD_NOLOAD), *found = library == NULL ? NULL : dlsym(library, name);
  CHECK(found != NULL);
  return found;
}

static void find_checks(void) {
  void *found[4] = {function("softcuda_check_count"), function("softcuda_check_report"), function("softcuda_check_reset"),
                    function("softcuda_check_leaks")};
  memcpy(&report_count, &found[0], sizeof found[0]);
  memcpy(&report_text, &found[1], sizeof found[0]);
  memcpy(&forget_reports, &found[2], sizeof found[0]);
  memcpy(&look_for_leaks, &found[3], sizeof found[0]);
}

static const char *one_report(void) {
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK(report_count() == 1);
  return report_count() == 0 ? "" : report_text(0);
}

static cushim_stream labelled(const char *label) {
  cushim_stream stream = new_stream(all.context);
  CHECK_OK(cushim_set_label(stream, label));
  return stream;
}

/* Nothing orders the fill and the copy. */
static void race(cushim_stream filling, cushim_stream reading, uint64_t from, uint64_t to) {
  cushim_endpoint source = cushim_endpoint_device(from), target = cushim_endpoint_device(to);
  forget_reports();
  CHECK_OK(cushim_stream_fill(filling, &source, CUSHIM_VALUE_8(7), 64));
  CHECK_OK(cushim_stream_copy(reading, &target, &source, 64));
}

static void a_race_of_labelled_streams_in_a_labelled_buffer(void) {
  cushim_stream filling = labelled("filling"), reading = labelled("reading");
  cushim_resource resource;
  cushim_buffer buffer;
  uint64_t from, to;
  const char *report;
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, 4096, &buffer));
  CHECK_OK(cushim_set_label(buffer, "image"));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &from));
  CHECK_OK(cushim_context_allocate(all.context, 64, &to));

  race(filling, reading, from, to);
  report = one_report();
  CHECK_CONTAINS(report, " \"filling\" writes the same bytes, a copy in stream ");
  CHECK_CONTAINS(report, " \"reading\" reads them");
  CHECK_CONTAINS(report, "offset 0 of the 4096 bytes of device memory at ");
  CHECK_CONTAINS(report, " \"image\"\n");
  CHECK_CONTAINS(report, " \"filling\") after operation ");

  /* A label that was taken away, and one that is another. */
  CHECK_OK(cushim_set_label(buffer, NULL));
  CHECK_OK(cushim_set_label(reading, "shown"));
  race(filling, reading, from, to);
  report = one_report();
  CHECK(strstr(report, "image") == NULL && strstr(report, "reading") == NULL);
  CHECK_CONTAINS(report, " \"shown\", device 0: a copy reads");

  CHECK_OK(cushim_context_free(all.context, to));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_stream_destroy(filling));
  CHECK_OK(cushim_stream_destroy(reading));
}

/* What was never released; of each kind the first one is named. */
static void a_context_that_stays(void) {
  size_t i;
  int found = 0;
  CHECK_OK(cushim_set_label(all.context, "rendering"));
  forget_reports();
  look_for_leaks();
  for (i = 0; i < report_count(); i++) found += strstr(report_text(i), " \"rendering\"") != NULL;
  CHECK(found == 1);
  CHECK_OK(cushim_set_label(all.context, NULL));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  find_checks();
  a_race_of_labelled_streams_in_a_labelled_buffer();
  a_context_that_stays();
  forget_reports();
  return close_graphs();
}
