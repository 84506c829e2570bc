/* Kernels: loaded, looked at, launched with arguments of every sort, and refused with the limit that was met. */
#include "busy.h"

#include <stddef.h>

static struct objects all;
static int version; /* of the driver; 0 for "none" */
static cushim_library library;
static uint64_t memory; /* 64 numbers on the device */

enum { NUMBERS = 64 };

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 counter[4] = {1, 2, 3, 4};\n"
    ".visible .global .attribute(.managed) .align 4 .u32 everywhere[2] = {5, 6};\n"
    ".visible .entry store(.param .u64 to, .param .u32 number) {\n"
    "  .reg .u64 %to, %offset;\n"
    "  .reg .u32 %number, %i, %block, %threads;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u32 %number, [number];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %i;\n"
    "  add.u32 %number, %number, %i;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %to, %to, %offset;\n"
    "  st.global.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n"
    /* Parameters with holes between them: the sum of their bytes goes to where the second points. */
    ".visible .entry mixed(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[20]) {\n"
    "  .reg .u64 %b;\n"
    "  .reg .u32 %sum, %x;\n"
    "  ld.param.u64 %b, [b];\n"
    "  ld.param.u8 %sum, [a];\n"
    "  ld.param.u16 %x, [c];\n"
    "  add.u32 %sum, %sum, %x;\n"
    "  ld.param.u32 %x, [d];\n"
    "  add.u32 %sum, %sum, %x;\n"
    "  ld.param.u32 %x, [d+16];\n"
    "  add.u32 %sum, %sum, %x;\n"
    "  st.global.u32 [%b], %sum;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry narrow() .maxntid 64, 1, 1 { ret; }\n";

static cushim_arg bytes(const void *value, size_t size) {
  cushim_arg arg;
  arg.kind = CUSHIM_ARG_BYTES;
  arg.size = (uint32_t)size;
  arg.value = value;
  return arg;
}

static cushim_launch_config shape(uint32_t blocks, uint32_t threads) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  config.grid.x = blocks;
  config.block.x = threads;
  return config;
}

static cushim_kernel kernel_of(const char *name) {
  cushim_kernel kernel = NULL;
  CHECK_OK(cushim_kernel_create(library, name, &kernel));
  return kernel;
}

static void synchronize(void) { CHECK_OK(cushim_stream_synchronize(all.stream)); }

static uint32_t number_at(uint64_t pointer) {
  uint32_t number = 0;
  cushim_endpoint to = cushim_endpoint_host(&number), from = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, sizeof number));
  return number;
}

static void clear(void) { CHECK_OK(set_bytes(all.context, memory, 0, 4 * NUMBERS)); }

static void images(void) {
  static const char elf[] = "\177ELF and no more";
  static const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 99};
  cushim_library none = (cushim_library)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, NULL, 4, NULL, &none));
  CHECK(none == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, "", 0, NULL, &none));
  CHECK_CONTAINS(last_message(), "empty");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, "a\0b", 3, NULL, &none));
  CHECK_CONTAINS(last_message(), "neither PTX, nor a cubin, nor a fatbin");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, elf, sizeof elf, NULL, &none));
  CHECK_CONTAINS(last_message(), "cut off");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, fatbin, sizeof fatbin, NULL, &none));
  CHECK_CONTAINS(last_message(), "115 bytes, 16 are there");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load_file(all.context, "/no/such.ptx", NULL, &none));
  CHECK_CONTAINS(last_message(), "/no/such.ptx cannot be read");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load_file(all.context, "/dev/zero", NULL, &none));
  CHECK_CONTAINS(last_message(), "/dev/zero cannot be read: it is a pipe, a socket or a device");
}

/* What the compiler says of a broken kernel reaches the caller. */
static void broken(void) {
  static const char broken[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() {\n  add.u33 %r1, %r2, %r3;\n  ret;\n}\n";
  static const char young[] = ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
  cushim_library none = (cushim_library)NOT_NULL;
  CHECK_STATUS(CUDA_ERROR_INVALID_PTX, cushim_library_load(all.context, broken, sizeof broken, NULL, &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), "The compiler says: ");
  CHECK_CONTAINS(last_detail()->driver_log, "line 5");
  CHECK_CONTAINS(last_detail()->driver_log, "u33");
  CHECK_STATUS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cushim_library_load(all.context, young, sizeof young, NULL, &none));
  CHECK_CONTAINS(last_detail()->driver_log, "99.0");
}

/* Code for other devices only. */
static const unsigned char turing[] = {
#include "turing.inc"
};

static void machine_code(void) {
  cushim_library loaded = (cushim_library)NOT_NULL;
  int32_t major = 0, minor = 0;
  CHECK_OK(cushim_device_get_attribute(all.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major));
  CHECK_OK(cushim_device_get_attribute(all.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor));
  if (major == 7 && minor >= 5) return; /* for this one, too */
  CHECK_STATUS(CUDA_ERROR_NO_BINARY_FOR_GPU, cushim_library_load(all.context, turing, sizeof turing, NULL, &loaded));
  CHECK(loaded == NULL);
}

static void options(void) {
  cushim_library_options given;
  cushim_jit_option jit[2];
  cushim_library loaded;
  char log[64];
  size_t needed = 0;
  memset(&given, 0, sizeof given);
  memset(jit, 0, sizeof jit);
  given.struct_size = sizeof given;
  given.flags = CUSHIM_LIBRARY_LINE_INFO | CUSHIM_LIBRARY_VERBOSE;
  given.max_registers = 32;
  given.jit_options = jit;
  given.jit_option_count = 1;
  jit[0].option = CU_JIT_OPTIMIZATION_LEVEL;
  jit[0].value = 1;
  CHECK_OK(cushim_library_load(all.context, ptx, sizeof ptx, &given, &loaded));
  CHECK_OK(cushim_library_get_log(loaded, log, sizeof log, &needed));
  CHECK(needed >= 1);
  CHECK_OK(cushim_library_destroy(loaded));
  jit[0].option = CU_JIT_ERROR_LOG_BUFFER;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, ptx, sizeof ptx, &given, &loaded));
  CHECK_CONTAINS(last_message(), "the log is kept");
  given.jit_options = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, ptx, sizeof ptx, &given, &loaded));
  given.jit_option_count = 0;
  given.flags = 64;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load(all.context, ptx, sizeof ptx, &given, &loaded));
  CHECK(loaded == NULL);
}

static void file(void) {
  char path[] = "/tmp/kernels-XXXXXX";
  cushim_library loaded = NULL;
  int made = mkstemp(path);
  CHECK(made >= 0 && write(made, ptx, sizeof ptx - 1) == (ssize_t)(sizeof ptx - 1));
  close(made);
  CHECK_OK(cushim_library_load_file(all.context, path, NULL, &loaded));
  CHECK_OK(cushim_library_destroy(loaded));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_library_destroy(loaded));
  unlink(path);
}

static void libraries(void) {
  cushim_library claim;
  cushim_context context;
  CUlibrary native = NULL;
  CUmodule module = NULL;
  char text[32];
  size_t count = 0, i, found = 0;
  CHECK_OK(cushim_library_ref(library, &claim));
  CHECK(is_same(claim, library));
  CHECK_OK(cushim_library_destroy(claim));
  CHECK_OK(cushim_library_get_context(library, &context));
  CHECK(is_same(context, all.context));
  CHECK_OK(cushim_set_label(library, "mine"));
  CHECK_OK(cushim_get_label(library, text, sizeof text, NULL));
  CHECK(strcmp(text, "mine") == 0);
  CHECK_OK(cushim_library_native(library, &native));
  CHECK((native != NULL) == (version >= 12000));
  CHECK_OK(cushim_library_native_module(library, &module));
  CHECK(module != NULL);
  if (version < 12040) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_library_get_kernel_count(library, &count));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_library_get_kernel_name(library, 0, text, sizeof text, NULL));
    CHECK_CONTAINS(last_message(), "12.4");
    return;
  }
  CHECK_OK(cushim_library_get_kernel_count(library, &count));
  CHECK(count == 4);
  for (i = 0; i < count; i++) {
    CHECK_OK(cushim_library_get_kernel_name(library, i, text, sizeof text, NULL));
    found += strcmp(text, "store") == 0 || strcmp(text, "mixed") == 0 || strcmp(text, "nothing") == 0 ||
             strcmp(text, "narrow") == 0;
  }
  CHECK(found == count);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_get_kernel_name(library, count, text, sizeof text, NULL));
}

static void variables(void) {
  uint64_t pointer = 1;
  size_t size = 1;
  CHECK_OK(cushim_library_get_global(library, "counter", &pointer, &size));
  CHECK(size == 16 && number_at(pointer + 8) == 3);
  CHECK_OK(cushim_library_get_global(library, "counter", &pointer, NULL));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_library_get_global(library, "none", &pointer, &size));
  CHECK_CONTAINS(last_message(), "has no variable \"none\"");
  CHECK(pointer == 0 && size == 0);
  CHECK_OK(cushim_library_get_managed(library, "everywhere", &pointer, &size));
  CHECK(size == 8 && number_at(pointer + 4) == 6);
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_library_get_managed(library, "none", &pointer, &size));
  /* A variable that is there, and is not managed, on every driver. */
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_library_get_managed(library, "counter", &pointer, &size));
  CHECK_CONTAINS(last_message(), "has no managed variable \"counter\"");
  CHECK(pointer == 0 && size == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_get_global(library, NULL, &pointer, &size));
}

static void kernels(void) {
  cushim_kernel store = kernel_of("store"), again = kernel_of("store"), none = (cushim_kernel)NOT_NULL;
  cushim_library of;
  cushim_context context;
  char text[32];
  int32_t value = 0;
  CHECK(store != again && is_same(store, again));
  CHECK_OK(cushim_kernel_destroy(again));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_kernel_destroy(again));
  CHECK_OK(cushim_kernel_get_name(store, text, sizeof text, NULL));
  CHECK(strcmp(text, "store") == 0);
  CHECK_OK(cushim_kernel_get_library(store, &of));
  CHECK(is_same(of, library));
  CHECK_OK(cushim_kernel_get_context(store, &context));
  CHECK(is_same(context, all.context));
  CHECK_OK(cushim_set_label(store, "keeper"));
  CHECK_OK(cushim_get_label(store, text, sizeof text, NULL));
  CHECK(strcmp(text, "keeper") == 0);
  CHECK_OK(cushim_set_label(store, NULL));
  CHECK_OK(cushim_kernel_get_attribute(store, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &value));
  CHECK(value >= 64);
  CHECK_OK(cushim_kernel_set_attribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
  CHECK_OK(cushim_kernel_get_attribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &value));
  CHECK(value == 1024);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_kernel_set_attribute(store, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
  CHECK_CONTAINS(last_message(), "is only read, or cannot be 1");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE,
               cushim_kernel_set_attribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30));
  CHECK_CONTAINS(last_message(), "1073741824 bytes of dynamic shared memory; kernel ");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_kernel_get_attribute(store, 999, &value));
  CHECK(value == 0);
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_kernel_create(library, "stor", &none));
  CHECK(none == NULL);
  CHECK_CONTAINS(last_message(), "has no kernel \"stor\"");
  if (version >= 12040) CHECK_CONTAINS(last_message(), "mixed");
  CHECK_OK(cushim_kernel_destroy(store));
  CHECK_OK(cushim_kernel_destroy(NULL));
}

static void parameters(void) {
  static const size_t offsets[] = {0, 8, 16, 32}, sizes[] = {1, 8, 2, 20};
  cushim_kernel mixed = kernel_of("mixed");
  size_t count = 9, offset, size, i;
  if (version < 12040) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_get_parameter_count(mixed, &count));
    CHECK_CONTAINS(last_message(), "12.4");
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_get_parameter(mixed, 0, &offset, &size));
    CHECK(count == 0);
  } else {
    CHECK_OK(cushim_kernel_get_parameter_count(mixed, &count));
    CHECK(count == 4);
    for (i = 0; i < 4; i++) {
      CHECK_OK(cushim_kernel_get_parameter(mixed, i, &offset, &size));
      CHECK(offset == offsets[i] && size == sizes[i]);
    }
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_get_parameter(mixed, 4, &offset, &size));
    CHECK(offset == 0 && size == 0);
    CHECK_CONTAINS(last_message(), "4 parameters");
  }
  CHECK_OK(cushim_kernel_destroy(mixed));
}

static void launches(void) {
  cushim_kernel store = kernel_of("store"), nothing = kernel_of("nothing");
  cushim_launch_config config = shape(2, 32);
  uint32_t number = 100, i;
  cushim_arg args[2];
  cushim_stream legacy, own;
  args[0] = bytes(&memory, sizeof memory);
  args[1] = bytes(&number, sizeof number);
  clear();
  CHECK(cushim_kernel_launch(store, all.stream, &config, NULL, 0) != 0); /* on every driver: a status, not a crash */
  CHECK_OK(cushim_kernel_launch(store, all.stream, &config, args, 2));
  number = 0; /* it was read at the call */
  synchronize();
  for (i = 0; i < NUMBERS; i += 21) CHECK(number_at(memory + 4 * i) == 100 + i);
  CHECK_OK(cushim_kernel_launch(nothing, all.stream, NULL, NULL, 0));
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &own));
  number = 7;
  CHECK_OK(cushim_kernel_launch(store, legacy, NULL, args, 2));
  CHECK_OK(cushim_stream_synchronize(legacy));
  CHECK(number_at(memory) == 7);
  number = 8;
  CHECK_OK(cushim_kernel_launch(store, own, NULL, args, 2));
  CHECK_OK(cushim_stream_synchronize(own));
  CHECK(number_at(memory) == 8);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_kernel_launch(store, NULL, NULL, args, 2));
  CHECK_OK(cushim_kernel_destroy(store));
  CHECK_OK(cushim_kernel_destroy(nothing));
}

static void packed(void) {
  struct {
    uint8_t a;
    uint64_t b;
    uint16_t c;
    char hole[14];
    uint32_t d[5];
  } block;
  cushim_kernel mixed = kernel_of("mixed"), nothing = kernel_of("nothing");
  cushim_launch_config config = shape(1, 1);
  cushim_arg args[4];
  memset(&block, 0, sizeof block);
  block.a = 1;
  block.b = memory;
  block.c = 20;
  block.d[0] = 300;
  block.d[4] = 4000;
  clear();
  CHECK_OK(cushim_kernel_launch_packed(mixed, all.stream, NULL, &block, version >= 12040 ? sizeof block : 52));
  synchronize();
  CHECK(number_at(memory) == 4321);
  args[0] = bytes(&block.a, sizeof block.a);
  args[1] = bytes(&block.b, sizeof block.b);
  args[2] = bytes(&block.c, sizeof block.c);
  args[3] = bytes(&block.d, sizeof block.d);
  block.c = 30;
  CHECK_OK(cushim_kernel_launch(mixed, all.stream, NULL, args, 4));
  synchronize();
  CHECK(number_at(memory) == 4331);
  CHECK_OK(cushim_kernel_launch_packed(nothing, all.stream, NULL, NULL, 0));
  config.block.x = 100000;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch_packed(nothing, all.stream, &config, NULL, 0));
  config.block.x = 1;
  config.flags = CUSHIM_LAUNCH_PRIORITY;
  CHECK_STATUS(version < 11080 ? CUSHIM_ERROR_UNSUPPORTED : CUSHIM_SUCCESS,
               cushim_kernel_launch_packed(nothing, all.stream, &config, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch_packed(mixed, all.stream, NULL, NULL, 52));
  if (version >= 12040) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch_packed(mixed, all.stream, NULL, &block, 51));
    CHECK_CONTAINS(last_message(), "has 51 bytes; kernel mixed takes 52");
  }
  CHECK_OK(cushim_kernel_destroy(mixed));
  CHECK_OK(cushim_kernel_destroy(nothing));
}

static void wrong_arguments(void) {
  cushim_kernel store = kernel_of("store");
  uint64_t wide = 1;
  cushim_arg args[3];
  args[0] = bytes(&memory, sizeof memory);
  args[1] = bytes(&wide, sizeof wide);
  args[2] = args[1];
  if (version >= 12040) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 2));
    CHECK_CONTAINS(last_message(), "argument 1 of kernel store takes 4 bytes, and 8 are given");
    CHECK(last_detail()->item == 1);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 1));
    CHECK_CONTAINS(last_message(), "takes 2 arguments, and 1 are given");
    args[1].size = 4;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 3));
    CHECK_CONTAINS(last_message(), "takes 2 arguments, and 3 are given");
  }
  args[1].size = 4;
  args[1].kind = 77;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK_CONTAINS(last_message(), "argument 1: kind is 77; use CUSHIM_ARG_BYTES");
  CHECK(last_detail()->item == 1);
  args[1] = bytes(NULL, 4);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK_CONTAINS(last_message(), "argument 1: value is NULL");
  CHECK(last_detail()->item == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, NULL, 2));
  CHECK_OK(cushim_kernel_destroy(store));
}

static int released;

static void release(void *data) {
  (void)data;
  __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
}

/* What an argument needs is released once, after the kernel; if the launch fails it stays the caller's. */
static void owned_arguments(void) {
  cushim_kernel store = kernel_of("store");
  uint32_t number = 55;
  cushim_owned_pointer owned;
  cushim_arg args[2];
  cushim_launch_config config = shape(1, 1);
  int32_t done = 0;
  owned.pointer = memory;
  owned.owner.data = &owned;
  owned.owner.release = release;
  args[0].kind = CUSHIM_ARG_OWNED;
  args[0].size = 0;
  args[0].value = &owned;
  args[1] = bytes(&number, sizeof number);
  config.block.x = 100000;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, &config, args, 2));
  args[0].size = 8;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK_OK(cushim_flush_callbacks(20000000000ull, &done));
  CHECK(released == 0);
  args[0].size = 0;
  CHECK_OK(cushim_kernel_launch(store, all.stream, NULL, args, 2));
  synchronize();
  CHECK(number_at(memory) == 55);
  CHECK_OK(cushim_flush_callbacks(20000000000ull, &done));
  CHECK(done == 1 && released == 1);
  CHECK_OK(cushim_kernel_destroy(store));
}

/* A buffer gives its address. */
static void buffers(void) {
  cushim_kernel store = kernel_of("store");
  cushim_resource resource;
  cushim_buffer buffer;
  cushim_arg args[2];
  uint64_t pointer = 0;
  uint32_t number = 66;
  CHECK_OK(cushim_device_get_resource(all.device, &resource));
  CHECK_OK(cushim_buffer_create(resource, all.stream, 256, &buffer));
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  args[0].kind = CUSHIM_ARG_BUFFER;
  args[0].size = 0;
  args[0].value = buffer;
  args[1] = bytes(&number, sizeof number);
  CHECK_OK(cushim_kernel_launch(store, all.stream, NULL, args, 2));
  synchronize();
  CHECK(number_at(pointer) == 66);
  args[0].size = 8;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK_CONTAINS(last_message(), "argument 0: size is 8; the kind says how large it is");
  args[0].size = 0;
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK(last_detail()->item == 0);
  args[0].value = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK(last_detail()->item == 0);
  CHECK_OK(cushim_kernel_destroy(store));
}

/* Numbers of the host are there for the time of a launch, and what it made of them is back when the stream is done. */
static void host_numbers(void) {
  uint32_t numbers[NUMBERS], number = 300, i;
  cushim_kernel store = kernel_of("store");
  cushim_launch_config config = shape(1, NUMBERS - 1);
  cushim_buffer scratch = NULL;
  cushim_arg args[2];
  for (i = 0; i < NUMBERS; i++) numbers[i] = i;
  CHECK_OK(cushim_buffer_create_scratch(NULL, all.stream, numbers, sizeof numbers, &scratch));
  args[0].kind = CUSHIM_ARG_BUFFER;
  args[0].size = 0;
  args[0].value = scratch;
  args[1] = bytes(&number, sizeof number);
  CHECK_OK(cushim_kernel_launch(store, all.stream, &config, args, 2));
  CHECK_OK(cushim_buffer_destroy_scratch(scratch, all.stream, numbers));
  synchronize();
  for (i = 0; i < NUMBERS - 1; i++) CHECK(numbers[i] == 300 + i);
  CHECK(numbers[NUMBERS - 1] == NUMBERS - 1); /* it had no thread */
  CHECK_OK(cushim_kernel_destroy(store));
}

/* The driver's answer is one number; the sentence has the limit. */
static void refusals(void) {
  cushim_kernel nothing = kernel_of("nothing"), narrow = kernel_of("narrow");
  cushim_launch_config config = shape(1, 65);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(narrow, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "A block of 65 threads; kernel narrow takes at most 64 on");
  config = shape(1, 1);
  config.block.z = 65;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "The block is 65 in z");
  config = shape(1, 1);
  config.grid.y = 65536;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "The grid is 65536 in y");
  config = shape(1, 1);
  config.shared_bytes = 50000;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
  config.shared_bytes = 1 << 30;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "has at most");
  config = shape(1000000, 64);
  config.flags = CUSHIM_LAUNCH_COOPERATIVE;
  CHECK_STATUS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
               cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "1000000 blocks are to run at once");
  config = shape(1, 1);
  config.flags = 1 << 20;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  config = shape(1, 1);
  config.priority = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  config = shape(1, 1);
  config.flags = CUSHIM_LAUNCH_TRIGGER_AT_BLOCK_START;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  config = shape(1, 1);
  config.memory_sync_domain = 3;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  config = shape(1, 1);
  config.attribute_count = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  synchronize();
  CHECK_OK(cushim_kernel_destroy(nothing));
  CHECK_OK(cushim_kernel_destroy(narrow));
}

/* A launch that is refused for its event enqueues nothing. */
static void event_of_another_context(void) {
  cushim_kernel store = kernel_of("store");
  cushim_launch_config config = shape(1, 1);
  cushim_context other;
  const uint32_t number = 7;
  cushim_arg args[2];
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  CHECK_OK(cushim_event_create(other, NULL, &config.programmatic_event));
  args[0] = bytes(&memory, sizeof memory);
  args[1] = bytes(&number, sizeof number);
  clear();
  CHECK(cushim_kernel_launch(store, all.stream, &config, args, 2) != CUSHIM_SUCCESS);
  synchronize();
  CHECK(number_at(memory) == 0);
  CHECK_OK(cushim_event_destroy(config.programmatic_event));
  CHECK_OK(cushim_context_destroy(other));
  CHECK_OK(cushim_kernel_destroy(store));
}

/* A computed size of 0 in x is a mistake; directions that are left out have 1. */
static void sizes(void) {
  cushim_kernel nothing = kernel_of("nothing");
  cushim_launch_config config = shape(0, 64), full = shape(2, 3);
  cushim_dim3 zero = {0, 0, 0};
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "kernel nothing cannot be launched: the grid has 0 blocks in x");
  config = shape(1, 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch_packed(nothing, all.stream, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "the block has 0 threads in x");
  config.block = zero;
  config.block.y = config.block.z = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  CHECK_OK(cushim_kernel_launch(nothing, all.stream, &full, NULL, 0));
  CHECK_OK(cushim_kernel_launch_packed(nothing, all.stream, NULL, NULL, 0));
  synchronize();
  CHECK_OK(cushim_kernel_destroy(nothing));
}

static void attributes(void) {
  cushim_kernel nothing = kernel_of("nothing");
  cushim_launch_config config = shape(4, 32);
  cushim_launch_attribute attribute;
  cushim_event event = new_event(all.context, 0);
  int32_t cooperative = 0, clusters = 0;
  CHECK_OK(cushim_device_supports(all.device, "cooperative-launch", &cooperative));
  CHECK_OK(cushim_device_supports(all.device, "thread-block-clusters", &clusters));
  memset(&attribute, 0, sizeof attribute);
  if (cooperative) {
    config.flags = CUSHIM_LAUNCH_COOPERATIVE;
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
  }
  config.flags = CUSHIM_LAUNCH_PRIORITY;
  if (version < 11080) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    CHECK_CONTAINS(last_message(), "a launch with a priority of its own needs a driver for CUDA 11.8 or newer");
    config.flags = 0;
    config.programmatic_event = event;
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    CHECK_CONTAINS(last_message(), "a launch with a programmatic event needs a driver for CUDA 11.8 or newer");
    config.programmatic_event = NULL;
  } else {
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    config.flags = CUSHIM_LAUNCH_PROGRAMMATIC_SERIALIZATION;
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    config.flags = 0;
    config.programmatic_event = event;
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    CHECK_OK(cushim_event_synchronize(event));
    event_of_another_context();
    config.programmatic_event = all.event;
    CHECK_OK(cushim_set_label(all.event, "timed"));
    CHECK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0) > 0);
    CHECK_CONTAINS(last_message(), "The programmatic event, event \"timed\", measures time; create it without timing");
    CHECK_OK(cushim_set_label(all.event, NULL));
    config.programmatic_event = NULL;
    attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
    config.attributes = &attribute;
    config.attribute_count = 1;
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    attribute.id = 777;
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    config.attribute_count = 25;
    config.attribute_stride = sizeof attribute + 8;
    config.attribute_count = 0;
  }
  if (version >= 12000) {
    config.memory_sync_domain = CUSHIM_MEMORY_SYNC_DOMAIN_DEFAULT;
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    config.memory_sync_domain = CUSHIM_MEMORY_SYNC_DOMAIN_UNSET;
  }
  if (clusters) {
    config.cluster.x = 2;
    CHECK_OK(cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    config.cluster.x = 3;
    CHECK_STATUS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    CHECK_CONTAINS(last_message(), "The grid, 4 in x, is not divisible by the cluster, 3");
    config = shape(16, 32);
    config.cluster.x = 16;
    CHECK_STATUS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cushim_kernel_launch(nothing, all.stream, &config, NULL, 0));
    CHECK_CONTAINS(last_message(), "A cluster of 16 blocks; kernel nothing takes at most 8");
  }
  synchronize();
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_kernel_destroy(nothing));
}

static size_t asked;

static size_t four_bytes_each(void *data, uint32_t threads) {
  (void)data;
  asked++;
  return threads * 4;
}

static void occupancy(void) {
  cushim_kernel nothing = kernel_of("nothing");
  cushim_launch_config config = shape(16, 64);
  uint32_t blocks = 0, threads = 0, limited = 0;
  size_t available = 0;
  int32_t clusters = 0;
  CHECK_OK(cushim_kernel_get_active_blocks(nothing, 128, 0, &blocks));
  CHECK(blocks >= 1);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_kernel_get_active_blocks(nothing, 0, 0, &blocks));
  CHECK(blocks == 0);
  CHECK_OK(cushim_kernel_suggest_block_size(nothing, 0, NULL, NULL, 0, &threads, &blocks));
  CHECK(threads >= 32 && blocks >= 1);
  CHECK_OK(cushim_kernel_suggest_block_size(nothing, 0, four_bytes_each, NULL, 64, &limited, NULL));
  CHECK(limited >= 1 && limited <= 64 && asked > 0);
  CHECK_OK(cushim_kernel_get_available_shared_memory(nothing, 1, 128, &available));
  CHECK(available >= 16384);
  if (version < 11080) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_get_largest_cluster(nothing, all.stream, &config, &blocks));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_kernel_get_active_clusters(nothing, all.stream, &config, &blocks));
  } else {
    CHECK_OK(cushim_device_supports(all.device, "thread-block-clusters", &clusters));
    config.cluster.x = 2;
    if (clusters) {
      CHECK_OK(cushim_kernel_get_active_clusters(nothing, all.stream, &config, &blocks));
      CHECK(blocks >= 1);
      config.cluster.x = 0;
      CHECK_OK(cushim_kernel_get_largest_cluster(nothing, all.stream, &config, &blocks));
      CHECK(blocks == 8);
    }
  }
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_kernel_get_largest_cluster(nothing, NULL, &config, &blocks));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_kernel_get_active_clusters(nothing, NULL, &config, &blocks));
  CHECK_OK(cushim_kernel_destroy(nothing));
}

static void wrapping(void) {
  cushim_kernel nothing = kernel_of("nothing"), wrapped = NULL;
  CUkernel native = NULL;
  CUfunction function = NULL;
  cushim_owner owner;
  owner.data = NULL;
  owner.release = release;
  CHECK_OK(cushim_kernel_native(nothing, &native));
  CHECK((native != NULL) == (version >= 12000));
  CHECK_OK(cushim_kernel_native_function(nothing, &function));
  CHECK(function != NULL);
  CHECK_OK(cushim_kernel_wrap_function(all.context, function, NULL, NULL, &wrapped));
  CHECK(is_same(wrapped, nothing));
  CHECK_OK(cushim_kernel_destroy(wrapped));
  if (native != NULL) {
    CHECK_OK(cushim_kernel_wrap(all.context, native, library, NULL, &wrapped));
    CHECK(is_same(wrapped, nothing));
    CHECK_OK(cushim_kernel_destroy(wrapped));
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_wrap(all.context, NULL, NULL, NULL, &wrapped));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_kernel_wrap_function(all.context, function, library, &owner, &wrapped));
  CHECK_CONTAINS(last_message(), "both given");
  /* Somebody else's: once the object is gone, its function is not known any more. */
  CHECK_OK(cushim_kernel_destroy(nothing));
  CHECK_OK(cushim_kernel_wrap_function(all.context, function, library, NULL, &wrapped));
  CHECK_OK(cushim_kernel_launch(wrapped, all.stream, NULL, NULL, 0));
  CHECK_OK(cushim_kernel_native(wrapped, &native));
  CHECK(native == NULL);
  synchronize();
  CHECK_OK(cushim_kernel_destroy(wrapped));
  released = 0;
  CHECK_OK(cushim_kernel_wrap_function(all.context, function, NULL, &owner, &wrapped));
  CHECK_OK(cushim_kernel_destroy(wrapped));
  {
    int32_t done = 0;
    CHECK_OK(cushim_flush_callbacks(20000000000ull, &done));
  }
  CHECK(released == 1);
}

/* The code stays loaded until the kernel is gone, and a launch that is under way keeps it. */
static void lifetime(void) {
  cushim_library short_lived;
  cushim_kernel store;
  uint32_t number = 9;
  cushim_arg args[2];
  args[0] = bytes(&memory, sizeof memory);
  args[1] = bytes(&number, sizeof number);
  clear();
  CHECK_OK(cushim_library_load(all.context, ptx, sizeof ptx, NULL, &short_lived));
  CHECK_OK(cushim_kernel_create(short_lived, "store", &store));
  CHECK_OK(cushim_library_destroy(short_lived));
  CHECK_OK(cushim_kernel_launch(store, all.stream, NULL, args, 2));
  CHECK_OK(cushim_kernel_destroy(store));
  synchronize();
  CHECK(number_at(memory) == 9);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_kernel_launch(store, all.stream, NULL, args, 2));
}

/* On "none" there is no code to load. */
static void without_driver(void) {
  cushim_library none = (cushim_library)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_library_load(all.context, ptx, sizeof ptx, NULL, &none));
  CHECK(none == NULL);
}

int main(void) {
  check_begin();
  all = open_objects();
  version = is_none(all.driver) ? 0 : given_number("CHECK_VERSION");
  images();
  if (version == 0) {
    without_driver();
  } else {
    CHECK_OK(cushim_context_allocate(all.context, NUMBERS * 4, &memory));
    CHECK_OK(cushim_library_load(all.context, ptx, sizeof ptx, NULL, &library));
    broken();
    machine_code();
    options();
    file();
    libraries();
    variables();
    kernels();
    parameters();
    launches();
    packed();
    wrong_arguments();
    owned_arguments();
    buffers();
    host_numbers();
    refusals();
    sizes();
    attributes();
    occupancy();
    wrapping();
    lifetime();
    CHECK_OK(cushim_library_destroy(library));
    CHECK_OK(cushim_context_free(all.context, memory));
  }
  close_objects(&all);
  return check_done();
}
