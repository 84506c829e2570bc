// Operations on bits; each thread writes its answers, one under the other.
struct answers {
  unsigned *out;
  int stride;
  __device__ void operator()(unsigned value) {
    *out = value;
    out += stride;
  }
  __device__ void operator()(unsigned long long value) {
    (*this)((unsigned)value);
    (*this)((unsigned)(value >> 32));
  }
};

extern "C" __global__ void integers_bits(const unsigned *x, const unsigned *y, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned a = x[i], b = y[i];
  unsigned long long wide = (unsigned long long)a << 32 | b;
  answers answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer((unsigned)__popc(a)), answer((unsigned)__popcll(wide));
  answer((unsigned)__clz(a)), answer((unsigned)__clzll(wide >> (b & 63)));
  answer((unsigned)__ffs(a)), answer((unsigned)__ffsll(wide << (a & 63)));
  answer(__brev(a)), answer(__brevll(wide));
  answer(__byte_perm(a, b, 0x3715)), answer(__byte_perm(a, b, b));
  answer(__funnelshift_l(a, b, b)), answer(__funnelshift_lc(a, b, b & 63));
  answer(__funnelshift_r(a, b, a)), answer(__funnelshift_rc(a, b, a & 63));
  answer(a << (b & 31)), answer(a >> (b & 31)), answer((unsigned)((int)a >> (b & 31)));
  answer(wide << (b & 63)), answer(wide >> (a & 63)), answer((unsigned long long)((long long)wide >> (a & 63)));
  unsigned r;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b & 31), "r"(b >> 8 & 31));
  answer(r);
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b & 31), "r"(b >> 8 & 31));
  answer(r);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(a & 31), "r"(b >> 8 & 15));
  answer(r);
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a >> (b & 31)));
  answer(r);
  asm("bfind.s32 %0, %1;" : "=r"(r) : "r"((int)a >> (b & 31)));
  answer(r);
  asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r) : "r"(a >> (b & 31)));
  answer(r);
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(a + b));
  answer(r);
  asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(a), "r"(b), "r"(a + b));
  answer(r);
  asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(a & 1));
  answer(r);
}

extern "C" __global__ void integers_arithmetic(const unsigned *x, const unsigned *y, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned a = x[i], b = y[i];
  unsigned long long wide = (unsigned long long)a << 32 | b, other = (unsigned long long)b << 31 | a;
  answers answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(__umulhi(a, b)), answer((unsigned)__mulhi((int)a, (int)b));
  answer(__umul64hi(wide, other)), answer((unsigned long long)__mul64hi(wide, other)), answer(wide * other);
  answer((unsigned)__mul24(a, b)), answer(__umul24(a, b));
  answer(__sad((int)a, (int)b, 5u)), answer(__usad(a, b, 7u));
  answer((unsigned)__hadd((int)a, (int)b)), answer(__uhadd(a, b)), answer((unsigned)__rhadd((int)a, (int)b)), answer(__urhadd(a, b));
  answer((unsigned)abs((int)a)), answer((unsigned)min((int)a, (int)b)), answer((unsigned)max((int)a, (int)b));
  answer(umin(a, b)), answer(umax(a, b)), answer((unsigned long long)llabs((long long)wide));
  answer((unsigned long long)min((long long)wide, (long long)other)), answer((unsigned long long)ullmax(wide, other));
  unsigned dot;
  asm("dp4a.s32.s32 %0, %1, %2, 100;" : "=r"(dot) : "r"(a), "r"(b));
  answer(dot);
  asm("dp4a.u32.u32 %0, %1, %2, 100;" : "=r"(dot) : "r"(a), "r"(b));
  answer(dot);
  asm("dp2a.lo.s32.s32 %0, %1, %2, 3;" : "=r"(dot) : "r"(a), "r"(b));
  answer(dot);
  asm("dp2a.hi.u32.u32 %0, %1, %2, 3;" : "=r"(dot) : "r"(a), "r"(b));
  answer(dot);
  // A sum and a product of 128 bits, with carries.
  unsigned s0, s1, s2, s3;
  asm("add.cc.u32 %0, %4, %5;\n\taddc.cc.u32 %1, %5, %4;\n\taddc.cc.u32 %2, %4, %4;\n\taddc.u32 %3, %5, 0;"
      : "=r"(s0), "=r"(s1), "=r"(s2), "=r"(s3) : "r"(a), "r"(b));
  answer(s0), answer(s1), answer(s2), answer(s3);
  asm("sub.cc.u32 %0, %3, %4;\n\tsubc.cc.u32 %1, %4, %3;\n\tsubc.u32 %2, %3, 0;" : "=r"(s0), "=r"(s1), "=r"(s2) : "r"(a), "r"(b));
  answer(s0), answer(s1), answer(s2);
  asm("mad.lo.cc.u32 %0, %2, %3, %2;\n\tmadc.hi.u32 %1, %2, %3, %3;" : "=r"(s0), "=r"(s1) : "r"(a), "r"(b));
  answer(s0), answer(s1);
  answer((unsigned)((int)(short)a * (short)b)), answer((unsigned long long)((long long)(int)a * (int)b + (long long)wide));
}

// Four bytes, or two halves, in a word.
extern "C" __global__ void integers_lanes(const unsigned *x, const unsigned *y, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned a = x[i], b = y[i];
  answers answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(__vadd4(a, b)), answer(__vsub4(a, b)), answer(__vmaxu4(a, b)), answer(__vmins4(a, b));
  answer(__vaddus4(a, b)), answer(__vsubss4(a, b)), answer(__vabsdiffu4(a, b)), answer(__vavgu4(a, b));
  answer(__vcmpgtu4(a, b)), answer(__vseteq4(a, b)), answer(__vsadu4(a, b));
  answer(__vadd2(a, b)), answer(__vsubss2(a, b)), answer(__vmaxs2(a, b)), answer(__vcmpleu2(a, b)), answer(__vneg4(a));
}
