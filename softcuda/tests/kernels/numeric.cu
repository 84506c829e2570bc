// Number crunching: fractals, bodies, options, random numbers, and what the compiler makes of C's operators.
extern "C" __global__ void mandelbrot(int *out, int width, int height, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  double cr = __dsub_rn(__dmul_rn(3.0 / width, x), 2.0), ci = __dsub_rn(__dmul_rn(2.0 / height, y), 1.0), zr = 0, zi = 0;
  int n = 0;
  while (n < most && __dadd_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)) < 4.0) {
    double t = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
    zi = __dadd_rn(__dmul_rn(__dmul_rn(2.0, zr), zi), ci);
    zr = t;
    n++;
  }
  out[y * width + x] = n;
}

extern "C" __global__ void bodies(const float4 *in, float4 *force, int n) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 me = in[i];
  float fx = 0, fy = 0, fz = 0;
  for (int k = 0; k < n; k += 64) {
    tile[threadIdx.x] = in[k + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 64; j++) {
      float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f)));
      float inverse = __fdiv_rn(1.0f, __fsqrt_rn(square));
      float pull = tile[j].w * inverse * inverse * inverse;
      fx = fmaf(dx, pull, fx);
      fy = fmaf(dy, pull, fy);
      fz = fmaf(dz, pull, fz);
    }
    __syncthreads();
  }
  force[i] = make_float4(fx, fy, fz, 0);
}

__device__ float normal(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

extern "C" __global__ void options(const float *price, const float *strike, const float *years, float *call, float *put, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float rate = 0.02f, volatility = 0.3f;
  float root = sqrtf(years[i]);
  float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
  float d2 = d1 - volatility * root, discount = expf(-rate * years[i]);
  call[i] = price[i] * normal(d1) - strike[i] * discount * normal(d2);
  put[i] = strike[i] * discount * normal(-d2) - price[i] * normal(-d1);
}

// Philox with ten rounds: the random numbers of thread i are a function of i.
__device__ void philox(unsigned c[4], unsigned k0, unsigned k1) {
  for (int round = 0; round < 10; round++) {
    unsigned h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
    unsigned h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
    unsigned a = h1 ^ c[1] ^ k0, b = h0 ^ c[3] ^ k1;
    c[0] = a, c[1] = l1, c[2] = b, c[3] = l0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
}

extern "C" __global__ void monte_carlo(unsigned long long *inside, unsigned seed, int rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
  for (int round = 0; round < rounds; round++) {
    unsigned c[4] = {i, (unsigned)round, 0, 0};
    philox(c, seed, 0x12345678u);
    for (int pair = 0; pair < 4; pair += 2) {
      unsigned long long x = c[pair] >> 8, y = c[pair + 1] >> 8;
      count += x * x + y * y < 1ull << 48;
    }
  }
  atomicAdd(inside, (unsigned long long)count);
}

// Results of integer operators; 16 words a thread.
extern "C" __global__ void integers(const int *a, const int *b, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i], *o = out + 16 * i;
  unsigned ux = x, uy = y;
  long long w = (long long)x << 32 | uy;
  o[0] = y ? x / (y == -1 ? 1 : y) : 0;
  o[1] = y ? x % (y == -1 ? 1 : y) : 0;
  o[2] = uy ? ux / uy : 0;
  o[3] = uy ? ux % uy : 0;
  o[4] = __popc(x) + 100 * __clz(x) + 10000 * __ffs(x);
  o[5] = __brev(x);
  o[6] = __byte_perm(x, y, 0x7531);
  o[7] = __funnelshift_l(x, y, x & 63);
  o[8] = __mulhi(x, y);
  o[9] = (int)(w % 1000003ll);
  o[10] = (int)((unsigned long long)w / 12345ull);
  o[11] = __sad(x, y, ux) + abs(x);
  o[12] = (x >> (y & 31)) + (ux >> (y & 31)) + (x << (y & 31));
  o[13] = __popcll(w) + 100 * __clzll(w);
  o[14] = (x & y) | (~x & ux >> 3) ^ (y & 0x0f0f0f0f);
  o[15] = (short)x * (signed char)y + (unsigned char)(x >> 8);
}

// Results of exact floating-point operations; 16 words a thread.
extern "C" __global__ void floats(const float *a, const float *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], *o = out + 16 * i;
  o[0] = __fadd_rn(x, y);
  o[1] = __fadd_rz(x, y);
  o[2] = __fadd_ru(x, y);
  o[3] = __fadd_rd(x, y);
  o[4] = __fmul_rz(x, y);
  o[5] = __fmul_ru(x, y);
  o[6] = __fdiv_rn(x, y);
  o[7] = __fdiv_rz(x, y);
  o[8] = __fsqrt_rn(fabsf(x));
  o[9] = __fsqrt_ru(fabsf(x));
  o[10] = __fmaf_rn(x, y, x);
  o[11] = __fmaf_rd(x, y, x);
  o[12] = fminf(x, y);
  o[13] = fmaxf(x, y);
  o[14] = __frcp_rz(x);
  o[15] = rintf(x) + floorf(y);
}

// The same in double precision, with conversions.
extern "C" __global__ void doubles(const double *a, const double *b, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i], *o = out + 16 * i;
  o[0] = __dadd_rz(x, y);
  o[1] = __dadd_ru(x, y);
  o[2] = __dmul_rd(x, y);
  o[3] = __dmul_ru(x, y);
  o[4] = __ddiv_rn(x, y);
  o[5] = __ddiv_rz(x, y);
  o[6] = __dsqrt_rn(fabs(x));
  o[7] = __dsqrt_rd(fabs(x));
  o[8] = __fma_rn(x, y, x);
  o[9] = __fma_rz(x, y, x);
  o[10] = __double2float_rz(x);
  o[11] = __double2float_ru(x);
  o[12] = __double2int_rn(x) + (double)__double2ll_rd(y);
  o[13] = __ll2double_rz((long long)x * 3);
  o[14] = __ll2float_ru((long long)y * 7);
  o[15] = trunc(x) + ceil(y);
}
