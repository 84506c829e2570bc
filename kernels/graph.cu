// One step of a search in breadth: those next to what was reached in the last step. Rows as offsets into a list.
extern "C" __global__ void graph_step(int n, int step, const int *rows, const int *next, int *reached, int *changed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || reached[i] != step) return;
  for (int at = rows[i]; at < rows[i + 1]; at++)
    if (atomicCAS(&reached[next[at]], -1, step + 1) == -1) *changed = 1;
}

// y = m x, of a matrix in compressed rows.
extern "C" __global__ void sparse(int n, const int *rows, const int *columns, const float *values, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int at = rows[i]; at < rows[i + 1]; at++) sum += values[at] * x[columns[at]];
  y[i] = sum;
}
