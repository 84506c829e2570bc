// Between floating and whole numbers; what does not fit becomes the nearest number that does.
extern "C" __global__ void conversions_from_float(const float *x, long long *out, double *wide) {
  int i = threadIdx.x, n = blockDim.x;
  float f = x[i];
  out[i] = __float2int_rn(f), out[n + i] = __float2int_rz(f), out[2 * n + i] = __float2int_rd(f);
  out[3 * n + i] = __float2int_ru(f), out[4 * n + i] = __float2uint_rn(f), out[5 * n + i] = __float2uint_rz(f);
  out[6 * n + i] = __float2ll_rn(f), out[7 * n + i] = __float2ll_rz(f), out[8 * n + i] = __float2ll_rd(f);
  out[9 * n + i] = __float2ll_ru(f), out[10 * n + i] = __float2ull_rn(f), out[11 * n + i] = __float2ull_rz(f);
  out[12 * n + i] = __float_as_int(f);
  wide[i] = f;
}

extern "C" __global__ void conversions_from_double(const double *x, long long *out, float *narrow) {
  int i = threadIdx.x, n = blockDim.x;
  double d = x[i];
  out[i] = __double2int_rn(d), out[n + i] = __double2int_rz(d), out[2 * n + i] = __double2int_rd(d);
  out[3 * n + i] = __double2int_ru(d), out[4 * n + i] = __double2uint_rn(d), out[5 * n + i] = __double2uint_rz(d);
  out[6 * n + i] = __double2ll_rn(d), out[7 * n + i] = __double2ll_rz(d), out[8 * n + i] = __double2ll_rd(d);
  out[9 * n + i] = __double2ll_ru(d), out[10 * n + i] = __double2ull_rn(d), out[11 * n + i] = __double2ull_rz(d);
  out[12 * n + i] = __double2hiint(d), out[13 * n + i] = __double2loint(d), out[14 * n + i] = __double_as_longlong(d);
  narrow[i] = __double2float_rn(d), narrow[n + i] = __double2float_rz(d);
  narrow[2 * n + i] = __double2float_rd(d), narrow[3 * n + i] = __double2float_ru(d);
}

extern "C" __global__ void conversions_to_floating(const long long *x, float *f, double *d) {
  int i = threadIdx.x, n = blockDim.x;
  long long l = x[i];
  f[i] = __int2float_rn((int)l), f[n + i] = __int2float_rz((int)l), f[2 * n + i] = __uint2float_rd((unsigned)l);
  f[3 * n + i] = __uint2float_ru((unsigned)l), f[4 * n + i] = __ll2float_rn(l), f[5 * n + i] = __ll2float_rz(l);
  f[6 * n + i] = __ull2float_rn(l), f[7 * n + i] = __ull2float_ru(l), f[8 * n + i] = __ll2float_rd(l);
  f[9 * n + i] = (signed char)l, f[10 * n + i] = (unsigned char)l, f[11 * n + i] = (short)l;
  d[i] = __int2double_rn((int)l), d[n + i] = __uint2double_rn((unsigned)l), d[2 * n + i] = __ll2double_rn(l);
  d[3 * n + i] = __ll2double_rz(l), d[4 * n + i] = __ull2double_rd(l), d[5 * n + i] = __ull2double_ru(l);
  d[6 * n + i] = __hiloint2double((int)(l >> 32) & 0x3fffffff, (int)l);
}

// Whole numbers of one width to those of another.
extern "C" __global__ void conversions_whole(const long long *x, long long *out) {
  int i = threadIdx.x, n = blockDim.x;
  long long l = x[i];
  out[i] = (signed char)l, out[n + i] = (unsigned char)l, out[2 * n + i] = (short)l, out[3 * n + i] = (unsigned short)l;
  out[4 * n + i] = (int)l, out[5 * n + i] = (unsigned)l, out[6 * n + i] = (bool)l, out[7 * n + i] = (char)(l >> 8);
  int saturated;
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(saturated) : "r"((int)l));
  out[8 * n + i] = saturated;
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(saturated) : "r"((int)l));
  out[9 * n + i] = saturated;
  asm("cvt.sat.s32.s64 %0, %1;" : "=r"(saturated) : "l"(l));
  out[10 * n + i] = saturated;
  asm("cvt.sat.u16.s64 %0, %1;" : "=r"(saturated) : "l"(l));
  out[11 * n + i] = saturated;
}
