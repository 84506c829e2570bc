/* The kernels. All take an address and a number first, so that arguments fit wherever a driver cannot tell whether they do. */
#ifndef FUZZ_GRAPHS_CODE_H
#define FUZZ_GRAPHS_CODE_H

static const char plain_code[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry add(.param .u64 to, .param .u32 number) {\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %number;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u32 %number, [number];\n"
    "  red.global.add.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry store(.param .u64 to, .param .u32 number) {\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %number;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u32 %number, [number];\n"
    "  st.volatile.global.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n";

static const char deciding_code[] =
    ".version 8.3\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 asked;\n"
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    /* Sets the condition to 0 to 3, as if at random: a loop ends, however many of these are in it. */
    ".visible .entry decide(.param .u64 to, .param .u32 number, .param .u64 condition) {\n"
    "  .reg .u64 %condition;\n"
    "  .reg .u32 %value;\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  atom.global.add.u32 %value, [asked], 1;\n"
    "  mul.lo.u32 %value, %value, 0x9e3779b1;\n"
    "  shr.u32 %value, %value, 30;\n"
    "  {\n"
    "    .param .b64 handle;\n"
    "    .param .b32 number;\n"
    "    st.param.b64 [handle], %condition;\n"
    "    st.param.b32 [number], %value;\n"
    "    call.uni cudaGraphSetConditional, (handle, number);\n"
    "  }\n"
    "  ret;\n"
    "}\n";

#endif
