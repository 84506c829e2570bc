/* A driver of version 13.0 without a getter, each of whose functions answers with a number of its own. */
int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

#define ANSWERS(name, number) \
  int name(void) { return number; }
ANSWERS(cuCtxCreate, 12003)
ANSWERS(cuCtxCreate_v2, 13020)
ANSWERS(cuCtxCreate_v3, 21040)
ANSWERS(cuCtxCreate_v4, 22050)
ANSWERS(cuMemAdvise, 18000)
ANSWERS(cuMemAdvise_v2, 22020)
ANSWERS(cuMemcpyHtoD, 12004)
ANSWERS(cuMemcpyHtoD_v2, 13021)
ANSWERS(cuMemcpyHtoD_v2_ptds, 13022)
ANSWERS(cuMemPrefetchAsync, 18001)
ANSWERS(cuMemPrefetchAsync_ptsz, 18002)
ANSWERS(cuMemPrefetchAsync_v2, 22021)
ANSWERS(cuMemPrefetchAsync_v2_ptsz, 22022)
ANSWERS(cuStreamQuery, 12000)
ANSWERS(cuStreamQuery_ptsz, 12001)
ANSWERS(cuStreamSynchronize, 12002)
ANSWERS(cuMemAlloc, 12005)
ANSWERS(cuMemAlloc_v2, 13023)
