struct node {
  node *next;
  unsigned value;
};

// Each thread makes a list, adds up what is in it, and gives it back.
extern "C" __global__ void heap_lists(unsigned *sums) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  node *first = nullptr;
  for (unsigned k = 0; k < i % 9 + 1; k++) {
    node *made = (node *)malloc(sizeof(node));
    if (made == nullptr) break;
    made->next = first;
    made->value = i * k;
    first = made;
  }
  while (first != nullptr) {
    node *next = first->next;
    sum += first->value + 1;
    free(first);
    first = next;
  }
  sums[i] = sum;
}

// What one launch leaves in the heap, another one finds.
extern "C" __global__ void heap_leave(unsigned **left) {
  unsigned i = threadIdx.x;
  left[i] = (unsigned *)malloc(4 * (i + 1));
  if (left[i] == nullptr) return;
  for (unsigned k = 0; k <= i; k++) left[i][k] = i * 1000 + k;
}

extern "C" __global__ void heap_take(unsigned **left, unsigned *sums) {
  unsigned i = threadIdx.x, other = blockDim.x - 1 - i, sum = 0;
  for (unsigned k = 0; left[other] != nullptr && k <= other; k++) sum += left[other][k];
  sums[other] = sum;
  free(left[other]);
}

// Blocks of a mebibyte until there is none: whether that ended, whether there were `some`, and as many again.
extern "C" __global__ void heap_exhaust(unsigned some, unsigned *answers) {
  unsigned counts[2];
  for (int round = 0; round < 2; round++) {
    void **first = nullptr;
    unsigned count = 0;
    for (; count < 1000; count++) {
      void **made = (void **)malloc(1 << 20);
      if (made == nullptr) break;
      *made = first;
      first = made;
    }
    counts[round] = count;
    while (first != nullptr) {
      void **next = (void **)*first;
      free(first);
      first = next;
    }
  }
  answers[0] = counts[0] < 1000;
  answers[1] = counts[0] >= some;
  answers[2] = counts[1] == counts[0];
}
