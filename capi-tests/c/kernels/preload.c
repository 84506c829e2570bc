/* The code of a kernel is loaded before its first launch. */
#include "graphs.h"

static void loaded(void) {
  cushim_kernel kernel = kernel_of(all.library, "append"), wrapped = NULL;
  CUfunction function = NULL;
  cushim_graph graph;
  CHECK_OK(cushim_kernel_preload(kernel));
  CHECK_OK(cushim_kernel_preload(kernel));
  /* A function of the driver's, too. */
  CHECK_OK(cushim_kernel_native_function(kernel, &function));
  CHECK_OK(cushim_kernel_wrap_function(all.context, function, NULL, NULL, &wrapped));
  CHECK_OK(cushim_kernel_preload(wrapped));
  graph = new_graph();
  add_append(graph, NULL, 0, 4);
  CHECK(result_of(graph) == 4);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(wrapped));
  CHECK_OK(cushim_kernel_destroy(kernel));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_kernel_preload(kernel));
}

/* While a stream is captured, the kernel that it is about to launch. */
static void in_a_capture(void) {
  cushim_kernel kernel = kernel_of(all.library, "append");
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_kernel_preload(kernel));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_kernel_destroy(kernel));
}

static void too_old(void) {
  cushim_kernel kernel = kernel_of(all.library, "append");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_preload(kernel));
  CHECK_CONTAINS(last_message(), "12.4");
  CHECK_CONTAINS(last_message(), "CUDA_MODULE_LOADING=EAGER");
  CHECK_OK(cushim_kernel_destroy(kernel));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    if (version >= 12040) {
      loaded();
      in_a_capture();
    } else {
      too_old();
    }
  }
  return close_graphs();
}
