// What all bodies do to each: x, y, z and a mass. n is divisible by the block's 64.
extern "C" __global__ void nbody(int n, const float4 *bodies, float4 *accelerations) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < n; start += 64) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 64; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float distance = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f)));
      float inverse = 1.0f / sqrtf(distance);
      float pull = other.w * (inverse * inverse * inverse);
      ax = fmaf(dx, pull, ax);
      ay = fmaf(dy, pull, ay);
      az = fmaf(dz, pull, az);
    }
    __syncthreads();
  }
  accelerations[i] = make_float4(ax, ay, az, 0);
}
