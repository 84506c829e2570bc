// What arguments can be: numbers of every size, structs, arrays in them, pointers within them.
struct box {
  char tag;
  double size[3];
  short edges;
  int *to;
};

extern "C" __global__ void parameters(char a, short b, int c, long long d, float e, double f, box g, uchar3 h, bool i, uint4 j,
                                      double *out) {
  int t = threadIdx.x;
  out[t] = (double)(a + b + c + d) + e + f + g.tag + g.size[t % 3] + g.edges + h.x * 3 + h.z + (i ? 1000 : 0) + j.x + j.w;
  g.to[t] = g.edges * t + h.y;
}

// More than fit into registers, chosen by number.
struct many {
  int numbers[200];
};

extern "C" __global__ void parameters_many(const many given, int *out) { out[threadIdx.x] = given.numbers[threadIdx.x * 7 % 200]; }
