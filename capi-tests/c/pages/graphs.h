/* What the examples of docs/graphs.md find: `check`, `expect`, a device, a context, a stream and two kernels. */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

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

static void check_at(cushim_status status, int line, const char *call) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "line %d of the examples: %s\n%s\n", line, call, cushim_last_error_message());
  exit(1);
}
#define check(call) check_at((call), __LINE__, #call)

static void expect_at(int holds, int line, const char *what) {
  if (holds) return;
  fprintf(stderr, "line %d of the examples: %s is wrong\n", line, what);
  exit(1);
}
#define expect(what) expect_at((what) ? 1 : 0, __LINE__, #what)
