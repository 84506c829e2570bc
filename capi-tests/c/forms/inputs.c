#include "inputs.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The most telling values come first: forms of several operands get all combinations of those only. */
static const uint64_t singles[] = {
    0, 0x80000000, 0x3f800000, 0xbfc00000, 0x7f800000, 0x7fc12345, 0xff812345, 1, 0x807fffff, 0x7f7fffff, 0x00800000,
    0xff800000, 0x7fffffff, 0x80800000, 0xff7fffff, 0x3f000000, 0x40200000, 0xc0200000, 0x40400000, 0x3f800001,
    0x3eaaaaab, 0x4b000000, 0x4f000000, 0xcf000000, 0x4f800000,
    /* 2^63, 2^64, -2^63, below 2^31 and 2^32, around the limits of 8 and 16 bits, of half precision */
    0x5f000000, 0x5f800000, 0xdf000000, 0x4effffff, 0x4f7fffff, 0x42ff0000, 0x43000000, 0x437f8000, 0xc3008000,
    0x46fffe80, 0x477fff80, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x38800000, 0x387fe000, 0xbf000000,
    0x3fc00000, 0x40490fdb, 0x80000001, 0x007fffff, 0xffc00000, 0x7f800001, 0x3f7fffff, 0x4b800001, 0x358637bd};

static const uint64_t doubles[] = {
    0, 0x8000000000000000, 0x3ff0000000000000, 0xbff8000000000000, 0x7ff0000000000000, 0x7ff8123456789abc,
    0xfff0123456789abc, 1, 0x800fffffffffffff, 0x7fefffffffffffff, 0x0010000000000000,
    0xfff0000000000000, 0x7fffffffffffffff, 0x8010000000000000, 0xffefffffffffffff, 0x3fe0000000000000,
    0x4004000000000000, 0xc004000000000000, 0x4008000000000000, 0x3ff0000000000001, 0x3fd5555555555555,
    0x4330000000000000, 0x41e0000000000000, 0xc1e0000000000000, 0x41f0000000000000,
    /* 2^63, 2^64, -2^63, around 2^31 and 2^32, the limits of 8 and 16 bits, of single and half precision */
    0x43e0000000000000, 0x43f0000000000000, 0xc3e0000000000000, 0x41dfffffffe00000, 0x41efffffffe00000,
    0x405fe00000000000, 0x406ff00000000000, 0xc060100000000000, 0x40dfffd000000000, 0x40effff000000000,
    0x47efffffe0000000, 0x47effffff0000000, 0x47efffffefffffff, 0x36a0000000000000, 0x3690000000000000,
    0x3690000000000001, 0x380fffffffffffff, 0x40effdffffffffff, 0x40effe0000000000, 0x3e60000000000000,
    0x3e60000000000001, 0xbfe0000000000000, 0x3ff8000000000000, 0x400921fb54442d18, 0x7ff0000000000001};

static const uint64_t halves[] = {0,      0x8000, 0x3c00, 0xbe00, 0x7c00, 0x7e12, 0xfd01, 1,      0x83ff, 0x7bff, 0x0400,
                                  0xfc00, 0x7fff, 0x8400, 0xfbff, 0x3800, 0x4100, 0xc100, 0x4200, 0x3c01, 0x3555, 0x6400,
                                  0x5c00, 0xd808, 0x5bfc, 0x8001, 0x03ff, 0x3bff, 0xb800, 0x4900, 0x77ff, 0x7800, 0x1400};

static const uint64_t brains[] = {0,      0x8000, 0x3f80, 0xbfc0, 0x7f80, 0x7fd2, 0xff81, 1,      0x807f, 0x7f7f, 0x0080,
                                  0xff80, 0x7fff, 0x8080, 0xff7f, 0x3f00, 0x4020, 0xc020, 0x4040, 0x3f81, 0x3eab, 0x4b00,
                                  0x4f00, 0xcf00, 0x4f80, 0x5f00, 0x5f80, 0xdf00, 0x42ff, 0x4300, 0x437f, 0x8001, 0x3f7f};

static const uint64_t words[] = {
    0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 2, 31, 32, 33, 0xdeadbeef, 0x0000ff80,
    3, 7, 8, 15, 16, 24, 63, 64, 0x80, 0xff, 0x100, 0x12345678, 0xfffffff0, 0x7fff, 0x8000, 0xffff, 0x10000, 0x80000001,
    0xfffffffe, 0x00ffffff, 0x01000000, 0x00800000, 0x7fffff80, 0xffff8000, 0xffff7fff, 5, 10, 40, 65, 0x101, 0x1f04};

static const uint64_t longs[] = {
    0, 1, 0xffffffffffffffff, 0x8000000000000000, 0x7fffffffffffffff, 2, 63, 64, 0x80000000, 0xdeadbeefcafef00d, 0xff80,
    3, 31, 32, 33, 65, 0x7fffffff, 0xffffffff, 0xffffffff80000000, 0x100000000, 0x123456789abcdef0, 0x7f, 0xffffffffffff8000,
    0xffffffff7fffffff, 0x1fffffffffffff, 0x20000000000001, 0xffffff0000000000, 0x1000001, 0x7fffffbfffffffff, 0xfffffffffffffc00,
    0xffff, 0x10000};

static const uint64_t shorts[] = {0,      1,      0xffff, 0x8000, 0x7fff, 2,  15,  16,   17,    0xbeef, 0xff80, 3, 7,
                                  8,      31,     32,     0x80,   0xff,   64, 100, 1000, 10000, 0x8001, 0xfffe};

/* Around whole numbers and the ends of what powers of two can be. */
static const uint64_t exponents[] = {
    0, 0x80000000, 0x3f800000, 0xbfc00000, 0x7f800000, 0xff800000, 0x7fc12345, 0xff812345, 1, 0x807fffff, 0x00800000,
    0x42fe0000, 0x42ffffff, 0x43000000, 0xc2fc0000, 0xc2fc8000, 0xc2fe0000, 0xc3150000, 0xc3158000, 0xc3160000,
    0xc3170000, 0x3f000000, 0x41200000, 0xc1200000, 0x33800000, 0x3e800000, 0x7f7fffff, 0xff7fffff, 0xc2ff0000, 0x40a00000};

/* About the least normal number, the largest, and 1: where results are flushed. */
static const uint64_t leasts[] = {0,          0x00800000, 0x80800000, 0x00800001, 0x00800002, 0x007fffff, 0x00ffffff, 0x80ffffff,
                                  0x00fffffe, 0x01000000, 0x80000001, 0x7e800000, 0x7e800001, 0x7e7fffff, 0x7f000000, 0x7effffff,
                                  0xfe800001, 0x01000001, 0x00800003, 0x80800001, 0x00000001, 0x00c00000, 0x00aaaaab, 0x7f7fffff};
static const uint64_t ones[] = {0x3f800000, 0x3f7fffff, 0xbf7fffff, 0x3f7ffffe, 0x3f800001, 0x3effffff, 0x3f000001, 0x3f7ffffd,
                                0xbf800001, 0x3f000000, 0x3f800002, 0x3fffffff, 0x3ffffffe, 0x3f7ffffc, 0x3eaaaaab, 0x3f2aaaab,
                                0x40000000, 0x40400000, 0xbf000001, 0x3f7fff00, 0x3f7ff000, 0x3fc00000, 0x3f800003, 0x3e800000};
static const uint64_t leasts16[] = {0,      0x0400, 0x8400, 0x0401, 0x0402, 0x03ff, 0x07ff, 0x87ff, 0x07fe, 0x0800, 0x8001, 0x0403,
                                    0x0801, 0x8401, 0x0001, 0x0600, 0x0555, 0x0410, 0x0420, 0x0440, 0x07f0, 0x0481, 0x8402, 0x0404};
static const uint64_t ones16[] = {0x3c00, 0x3bff, 0xbbff, 0x3bfe, 0x3c01, 0x37ff, 0x3801, 0x3bfd, 0xbc01, 0x3800, 0x3c02, 0x3fff,
                                  0x3ffe, 0x3bfc, 0x3555, 0x3955, 0x4000, 0x4200, 0xb801, 0x3bf0, 0x3be0, 0x3e00, 0x3c03, 0x3400};

/* From -2 pi to 2 pi. */
static const uint64_t angles[] = {
    0, 0x80000000, 0x3f800000, 0xbfc00000, 0x7f800000, 0xff800000, 0x7fc12345, 0xff812345, 1, 0x807fffff, 0x00800000,
    0x40490fdb, 0xc0490fdb, 0x3fc90fdb, 0xbfc90fdb, 0x40c90fdb, 0x3f060a92, 0x4096cbe4, 0x38800000, 0xb9000000, 0x3e800000};

/* SplitMix64. */
static uint64_t bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Any bits, or a number whose exponent is near that of 1: sums of such have something to round. */
static uint64_t any_or_near(uint64_t *state, int mantissa, int sign) {
  uint64_t any = bits(state), one = ((uint64_t)1 << (sign - mantissa - 1)) - 1, exponent = one - 8 + (any >> 8 & 15);
  if (any & 1) return bits(state);
  return (any >> 1 & 1) << sign | exponent << mantissa | bits(state) >> (64 - mantissa);
}

static uint64_t random_single(uint64_t *state) { return any_or_near(state, 23, 31) & 0xffffffff; }
static uint64_t random_double(uint64_t *state) { return any_or_near(state, 52, 63); }
static uint64_t random_half(uint64_t *state) { return bits(state) & 0xffff; }
static uint64_t random_pair(uint64_t *state) { return bits(state) & 0xffffffff; }

/* Whole numbers of every length, of both signs. */
static uint64_t random_integer(uint64_t *state, unsigned width) {
  uint64_t how = bits(state), value = bits(state) >> (64 - width) >> how % width;
  return (how >> 32 & 1 ? 0 - value : value) & (~(uint64_t)0 >> (64 - width));
}

static uint64_t random_short(uint64_t *state) { return random_integer(state, 16); }
static uint64_t random_word(uint64_t *state) { return random_integer(state, 32); }
static uint64_t random_long(uint64_t *state) { return random_integer(state, 64); }

static uint64_t between(uint64_t *state, float most) {
  float value = most * ((float)(bits(state) >> 40) * 0x1p-23f - 1);
  uint32_t as_bits;
  memcpy(&as_bits, &value, sizeof as_bits);
  return as_bits;
}

static uint64_t random_least(uint64_t *state) { return 0x00800000 + (bits(state) & 0x801fffff); }
static uint64_t random_one(uint64_t *state) { return 0x3f7fff80 + (bits(state) & 0xff); }
static uint64_t random_least16(uint64_t *state) { return 0x0400 + (bits(state) & 0x83ff); }
static uint64_t random_one16(uint64_t *state) { return 0x3b80 + (bits(state) & 0xff); }
static uint64_t random_exponent(uint64_t *state) { return between(state, bits(state) & 1 ? 128 : 4); }
static uint64_t random_angle(uint64_t *state) { return between(state, 6.28125f); }

#define KIND(name, bytes, list, random) {name, bytes, list, COUNT(list), random}
static const struct kind kinds[] = {
    KIND("f32", 4, singles, random_single),       KIND("f64", 8, doubles, random_double),
    KIND("f16", 2, halves, random_half),          KIND("bf16", 2, brains, random_half),
    KIND("f16x2", 4, halves, random_pair),        KIND("bf16x2", 4, brains, random_pair),
    KIND("u16", 2, shorts, random_short),         KIND("u32", 4, words, random_word),
    KIND("u64", 8, longs, random_long),           KIND("exponent", 4, exponents, random_exponent),
    KIND("angle", 4, angles, random_angle),       KIND("least", 4, leasts, random_least),
    KIND("one", 4, ones, random_one),             KIND("least16", 2, leasts16, random_least16),
    KIND("one16", 2, ones16, random_one16)};

const struct kind *kind_named(const char *name) {
  size_t i;
  for (i = 0; i < COUNT(kinds); i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

/* A pair has another chosen value in its upper half. */
static uint64_t chosen(const struct kind *kind, size_t index) {
  uint64_t value = kind->chosen[index % kind->chosen_count];
  if (strstr(kind->name, "x2") == NULL) return value;
  return value | kind->chosen[(index * 5 + 3) % kind->chosen_count] << 16;
}

size_t fill_cases(uint64_t (*values)[4], const struct kind *const *operands, size_t operand_count, int few) {
  /* By the number of operands: how many chosen values of each, and how many cases in all. */
  static const size_t each[2][4] = {{0, 64, 24, 11}, {0, 32, 8, 4}}, all[2][4] = {{32, 160, 768, 1536}, {32, 64, 96, 96}};
  size_t from = each[few][operand_count], total = all[few][operand_count], at, i;
  uint64_t state = 1;
  memset(values, 0, total * sizeof *values);
  for (at = 0; at < total; at++) {
    size_t rest = at, combinations = 1;
    for (i = 0; i < operand_count; i++) {
      size_t count = operand_count == 1 && operands[i]->chosen_count < from ? operands[i]->chosen_count : from;
      values[at][i] = chosen(operands[i], rest % count);
      rest /= count;
      combinations *= count;
    }
    if (at < combinations) continue;
    for (i = 0; i < operand_count; i++) values[at][i] = operands[i]->random(&state);
  }
  return total;
}
