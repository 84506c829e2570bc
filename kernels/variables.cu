// Memory that the code brings along.
struct setting {
  char tag;
  double scale;
  short offsets[3];
};

extern "C" {
__constant__ setting settings[2] = {{'a', 0.5, {1, 2, 3}}, {'b', 4.0, {-1, -2, -3}}};
__constant__ int written[16];
__device__ int counter = 40;
__device__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ const char text[] = "constant text";
__device__ int *pointer = &counter;
__device__ const char *texts[3] = {"one", "two", "three"};
__device__ unsigned char zeros[100];
__device__ long long large[2] = {-1, 0x123456789abcdef0};
}

extern "C" __global__ void variables_read(int *out, double *numbers) {
  int t = threadIdx.x;
  const setting &mine = settings[t % 2];
  out[t] = mine.tag + mine.offsets[t % 3] * 1000 + written[t % 16] * 100000;
  numbers[t] = mine.scale * table[t % 8];
  out[32 + t] = text[t % 13] + texts[t % 3][t % 3] * 256 + zeros[t] + (int)(large[t % 2] >> 32);
}

// Through the pointer that was set when the code was loaded.
extern "C" __global__ void variables_count() {
  atomicAdd(pointer, 1);
  table[threadIdx.x % 8] = threadIdx.x % 8;
}
