/* What the examples of the pages find: `check`, `expect`, a driver, a device, a context, a stream and two kernels. */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char code[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry add(.param .u64 data, .param .u32 value, .param .u32 count) {\n"
    "  .reg .pred %beyond;\n"
    "  .reg .u32 %i, %block, %threads, %value, %count, %number;\n"
    "  .reg .u64 %data, %offset;\n"
    "  ld.param.u64 %data, [data];\n"
    "  ld.param.u32 %value, [value];\n"
    "  ld.param.u32 %count, [count];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %i;\n"
    "  setp.ge.u32 %beyond, %i, %count;\n"
    "  @%beyond bra done;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %data, %data, %offset;\n"
    "  ld.global.u32 %number, [%data];\n"
    "  add.u32 %number, %number, %value;\n"
    "  st.global.u32 [%data], %number;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry count_down(.param .u64 left, .param .u64 condition) {\n"
    "  .reg .u32 %number;\n"
    "  .reg .u64 %left, %condition;\n"
    "  ld.param.u64 %left, [left];\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  ld.global.u32 %number, [%left];\n"
    "  sub.u32 %number, %number, 1;\n"
    "  st.global.u32 [%left], %number;\n"
    "  {\n"
    "    .param .b64 handle;\n"
    "    .param .b32 value;\n"
    "    st.param.b64 [handle], %condition;\n"
    "    st.param.b32 [value], %number;\n"
    "    call.uni cudaGraphSetConditional, (handle, value);\n"
    "  }\n"
    "  ret;\n"
    "}\n";

static void check_at(cushim_status status, const char *page, int line, const char *call) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s:%d: %s\n%s\n", page, line, call, cushim_last_error_message());
  exit(1);
}
#define check(call) check_at((call), __FILE__, __LINE__, #call)

static void expect_at(int holds, const char *page, int line, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s:%d: %s is wrong\n%s\n", page, line, what, cushim_last_error_message());
  exit(1);
}
#define expect(what) expect_at((what) ? 1 : 0, __FILE__, __LINE__, #what)

static cushim_driver driver;
static cushim_device device;
static cushim_context context;
static cushim_stream stream;
static cushim_library code_library;
static cushim_kernel add_kernel, count_down;

static void set_up(void) {
  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_library_load(context, code, sizeof code, NULL, &code_library));
  check(cushim_kernel_create(code_library, "add", &add_kernel));
  check(cushim_kernel_create(code_library, "count_down", &count_down));
}

static void tear_down(void) {
  check(cushim_stream_synchronize(stream));
  check(cushim_kernel_destroy(add_kernel));
  check(cushim_kernel_destroy(count_down));
  check(cushim_library_destroy(code_library));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
}
