/* Code to load, and launches of its kernels: bounded, and on no memory but what they are given. */
#ifndef FUZZ_CODE_H
#define FUZZ_CODE_H

#include "resources.h"

#include <sys/mman.h>

/* The kernels by their place in the code; a kernel of none of these names has no arguments. */
enum kernel_shape { NO_KERNEL, STORE, SPIN, MIXED };

static const char code[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 counter[4] = {1, 2, 3, 4};\n"
    ".visible .global .attribute(.managed) .align 4 .u32 everywhere[2] = {5, 6};\n"
    /* Numbers, as many as there are threads, up to a count. */
    ".visible .entry store(.param .u64 to, .param .u32 count, .param .u32 number) {\n"
    "  .reg .pred %past;\n"
    "  .reg .u64 %to, %offset;\n"
    "  .reg .u32 %count, %number, %i, %block, %threads;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u32 %count, [count];\n"
    "  ld.param.u32 %number, [number];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %i;\n"
    "  setp.ge.u32 %past, %i, %count;\n"
    "  @%past ret;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %to, %to, %offset;\n"
    "  st.global.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n"
    /* So many rounds of nothing. */
    ".visible .entry spin(.param .u32 rounds) {\n"
    "  .reg .pred %more;\n"
    "  .reg .u32 %rounds, %i;\n"
    "  ld.param.u32 %rounds, [rounds];\n"
    "  mov.u32 %i, 0;\n"
    "again:\n"
    "  add.u32 %i, %i, 1;\n"
    "  setp.lt.u32 %more, %i, %rounds;\n"
    "  @%more bra again;\n"
    "  ret;\n"
    "}\n"
    /* Parameters with holes between them. */
    ".visible .entry mixed(.param .u8 a, .param .u64 to, .param .u16 c, .param .align 16 .b8 d[20]) {\n"
    "  .reg .pred %none;\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %sum, %x;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u8 %sum, [a];\n"
    "  ld.param.u16 %x, [c];\n"
    "  add.u32 %sum, %sum, %x;\n"
    "  ld.param.u32 %x, [d+16];\n"
    "  add.u32 %sum, %sum, %x;\n"
    "  setp.eq.u64 %none, %to, 0;\n"
    "  @%none ret;\n"
    "  st.global.u32 [%to], %sum;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry narrow() .maxntid 64, 1, 1 { ret; }\n";

static const char *const kernel_names[] = {"nothing", "store", "spin", "mixed", "narrow"};

static enum kernel_shape shape_named(const char *name) {
  if (strcmp(name, "store") == 0) return STORE;
  if (strcmp(name, "spin") == 0) return SPIN;
  return strcmp(name, "mixed") == 0 ? MIXED : NO_KERNEL;
}

/* The code and things that are none, with sizes that are theirs. */
static void draw_image(uint64_t *image, uint64_t *size) {
  static const char broken[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() {\n  add.u33 %r1, %r2, %r3;\n  ret;\n}\n";
  static const char young[] = ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
  static const char elf[] = "\177ELF and no more";
  static const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 99};
  static const char text[] = "no code at all";
  *image = address_of(code);
  *size = ONE_OF(sizeof code, sizeof code - 1);
  switch (below(32)) {
  case 0: *image = address_of(broken), *size = sizeof broken; break;
  case 1: *image = address_of(young), *size = sizeof young; break;
  case 2: *image = address_of(elf), *size = sizeof elf; break;
  case 3: *image = address_of(fatbin), *size = sizeof fatbin; break;
  case 4: *image = address_of(text), *size = sizeof text; break;
  case 5: *size = below(sizeof code); break; /* cut off somewhere */
  default: break;
  }
}

/* A file that holds the code, which goes with the process. */
static const char *code_file(void) {
  static char path[64];
  if (path[0] == '\0') {
    const int file = memfd_create("code", 0);
    if (file < 0 || write(file, code, sizeof code) != (ssize_t)sizeof code) fail("the code cannot be written to a file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  return path;
}

static void draw_library_options(cushim_library_options *options) {
  static cushim_jit_option jit[2];
  int i;
  options->flags = (uint32_t)ONE_OF(0, 0, 1, 2, 4, 64);
  options->max_registers = (uint32_t)ONE_OF(0, 0, 32);
  for (i = 0; i < 2; i++) {
    memset(&jit[i], 0, sizeof jit[i]);
    jit[i].option = (int32_t)ONE_OF(CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS, CU_JIT_INFO_LOG_BUFFER, 999);
    jit[i].value = below(4);
    jit[i].reserved = once_in(32);
  }
  if (!once_in(4)) return;
  options->jit_options = once_in(16) ? NULL : jit;
  options->jit_option_count = below(3);
  options->jit_option_stride = (size_t)ONE_OF(0, sizeof *jit, sizeof *jit, 8, 7);
}

/* Launches. */

static void draw_config(struct plan *plan, cushim_launch_config *config) {
  static cushim_launch_attribute attributes[25];
  config->grid.x = (uint32_t)ONE_OF(0, 1, 2, 4);
  config->grid.y = (uint32_t)ONE_OF(0, 0, 1, 2);
  config->block.x = (uint32_t)ONE_OF(0, 1, 32, 64);
  config->block.y = (uint32_t)ONE_OF(0, 0, 1);
  if (once_in(16)) *(uint32_t *)ONE_OF(address_of(&config->grid.x), address_of(&config->grid.y), address_of(&config->block.x), address_of(&config->block.z)) = UINT32_MAX;
  if (once_in(16)) config->block.x = (uint32_t)ONE_OF(128, 1024, 1025);
  if (once_in(16)) config->cluster.x = (uint32_t)ONE_OF(1, 2, 64);
  config->shared_bytes = once_in(8) ? (uint32_t)ONE_OF(64, 1024, 64 * 1024, UINT32_MAX) : 0;
  config->flags = once_in(8) ? (uint32_t)ONE_OF(1, 2, 4, 8, 64) : 0;
  config->priority = once_in(16) ? (int32_t)ONE_OF(1, UINT64_MAX, 100) : 0;
  config->memory_sync_domain = once_in(16) ? (int32_t)below(4) : 0;
  if (once_in(16)) config->programmatic_event = (cushim_event)(uintptr_t)draw_inner(plan, FUZZ_event);
  if (settings.safe || !once_in(16)) return;
  memset(attributes, 0, sizeof attributes);
  attributes[0].id = (int32_t)below(20);
  attributes[1].id = (int32_t)drawn();
  config->attributes = once_in(16) ? NULL : attributes;
  config->attribute_count = (size_t)ONE_OF(0, 1, 1, 2, sizeof attributes / sizeof *attributes, SIZE_MAX); /* the last is refused unread */
  config->attribute_stride = (size_t)ONE_OF(0, sizeof *attributes, 8, 7);
}

/* Memory that a kernel may write to: the numbers that fit, at most. */
struct target {
  uint64_t address, handle; /* the handle of a buffer, or 0 */
  uint32_t numbers;
};

/* Whether a kernel on this stream reaches the buffer's memory. */
static int reaches(const struct plan *plan, int buffer) {
  const struct object *it = &objects[buffer];
  const int device = ancestor(user_of_memory(plan), FUZZ_device);
  if (!it->on_device || it->asleep || is_lost(buffer)) return 0;
  return it->ordinal < 0 || (device != NOTHING && it->ordinal == objects[device].ordinal);
}

static struct target draw_target(struct plan *plan) {
  struct target target = {0, 0, 0};
  if (once_in(3)) {
    target.address = device_memory(plan);
    target.numbers = target.address == 0 ? 0 : PAGE / 4;
    return target;
  }
  target.handle = a_token(FUZZ_buffer, LIVING);
  if (target.handle != 0) {
    const int buffer = tokens[token_with(target.handle)].object;
    plan->used[plan->used_count++] = buffer;
    if (reaches(plan, buffer)) target.numbers = (uint32_t)(objects[buffer].bytes / 4);
  }
  return target;
}

/* The kernel's parameters as a C struct has them, with the room that may follow. */
struct block {
  union {
    struct { uint64_t to; uint32_t count, number; } store;
    struct { uint32_t rounds; } spin;
    struct { uint8_t a; uint64_t to; uint16_t c; uint8_t padding[14]; uint8_t d[20]; } mixed;
    uint8_t bytes[96];
  } as;
};

static const size_t block_sizes[] = {0, 16, 4, 52};

static struct block draw_block(const struct target *target, enum kernel_shape shape) {
  struct block block;
  memset(&block, 0, sizeof block);
  if (shape == STORE) block.as.store.count = target->numbers, block.as.store.to = target->address, block.as.store.number = 7;
  if (shape == SPIN) block.as.spin.rounds = (uint32_t)ONE_OF(0, 1, 100, 1000);
  if (shape == MIXED && target->numbers > 0) block.as.mixed.to = target->address;
  return block;
}

enum { MOST_ARGUMENTS = 6 };

static cushim_arg bytes_at(const void *value, uint32_t size) {
  cushim_arg arg;
  arg.kind = CUSHIM_ARG_BYTES;
  arg.size = size;
  arg.value = value;
  return arg;
}

/* The target as an argument: a number, a pointer with an owner, a buffer, or an endpoint that is one of these. */
static cushim_arg target_argument(struct plan *plan, const struct target *target) {
  static cushim_owned_pointer owned;
  static cushim_endpoint place;
  const uint64_t choice = below(4);
  if (choice == 0) {
    place = target->handle != 0 ? cushim_endpoint_buffer((cushim_buffer)(uintptr_t)target->handle, 0) : cushim_endpoint_device(target->address);
    if (once_in(16)) place.context = (cushim_context)(uintptr_t)draw_inner(plan, FUZZ_context);
    if (target->handle == 0 && once_in(3)) place.owner = draw_owner();
    plan->owners += place.owner != NULL;
    return cushim_arg_endpoint(&place);
  }
  if (target->handle != 0) return cushim_arg_buffer((cushim_buffer)(uintptr_t)target->handle);
  owned.pointer = target->address;
  if (choice != 1) return CUSHIM_ARG(owned.pointer);
  owned.owner = *draw_owner();
  plan->owners++;
  return cushim_arg_make(CUSHIM_ARG_OWNED, &owned);
}

/* What a kernel is not to get. */
static void spoil(struct plan *plan, cushim_arg *args, uint64_t *count) {
  cushim_arg *one = &args[*count == 0 ? 0 : below(*count)];
  switch (below(6)) {
  case 0: *count = below(MOST_ARGUMENTS + 1); break;
  case 1: one->size = (uint32_t)ONE_OF(0, 3, 4096, UINT32_MAX); break;
  case 2: one->value = NULL; break;
  case 3: one->kind = (int32_t)ONE_OF(0, 9, UINT64_MAX); break;
  case 4: one->kind = CUSHIM_ARG_OWNED, one->size = 8; break;
  default: *one = cushim_arg_buffer((cushim_buffer)(uintptr_t)garbage());
  }
  plan->allowed |= bit(CUSHIM_ERROR_INVALID_HANDLE);
}

static void draw_args(struct plan *plan, enum kernel_shape shape, cushim_arg *args, uint64_t *count) {
  static struct block block;
  const struct target target = draw_target(plan);
  block = draw_block(&target, shape);
  memset(args, 0, MOST_ARGUMENTS * sizeof *args);
  *count = shape == STORE ? 3 : shape == SPIN ? 1 : shape == MIXED ? 4 : 0;
  if (shape == STORE) {
    args[0] = target_argument(plan, &target);
    args[1] = bytes_at(&block.as.store.count, 4);
    args[2] = bytes_at(&block.as.store.number, 4);
  } else if (shape == SPIN) {
    args[0] = bytes_at(&block.as.spin.rounds, 4);
  } else if (shape == MIXED) {
    args[0] = bytes_at(&block.as.mixed.a, 1);
    /* A buffer that the kernel does not reach is not for it. */
    args[1] = target.numbers > 0 ? target_argument(plan, &target) : bytes_at(&block.as.mixed.to, 8);
    args[2] = bytes_at(&block.as.mixed.c, 2);
    args[3] = bytes_at(block.as.mixed.d, 20);
  }
  if (tells_parameters() && once_in(8)) spoil(plan, args, count);
}

#endif
