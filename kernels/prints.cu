extern "C" __device__ const char word[] = "text";

extern "C" __global__ void prints() {
  printf("no arguments, 100%%\n");
  printf("int %d %5d|%-5d|%05d %+d %i\n", -42, 42, 42, 42, 42, 7);
  printf("unsigned %u %x %X %#x %o\n", 4000000000u, 0xbeefu, 0xbeefu, 255u, 8u);
  printf("long %lld %llu %llx\n", -1234567890123ll, 12345678901234567890ull, 0x123456789abcdefull);
  printf("float %f %.3f %e %g %10.2f|%-10.1f|\n", 1.5f, 3.14159, 12345.678, 0.0001, 2.5, 2.5);
  printf("text %s %c %8s|%-8s|%.2s\n", "literal", 'x', word, word, word);
  printf("%d %s %f %lld %c\n", 1, "mixed", 2.0, 3ll, '4');
}

// One line from each thread, in any order.
extern "C" __global__ void prints_many() { printf("block %d thread %d\n", blockIdx.x, threadIdx.x); }
