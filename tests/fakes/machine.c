/*
 * A driver with a device whose memory is the heap: what the probe needs to go all the way, or to fail on the way.
 * Symbols are found by dlsym only, as before 11.3.
 *
 * VERSION       what cuDriverGetVersion answers
 * INIT          the CUresult of cuInit (0)
 * INIT_ABORTS   cuInit ends the process
 * DEVICES       how many devices there are (1)
 * FAILING       the exported name of a function that fails
 * FAILURE       the CUresult that it then returns
 * LOST_BYTE     the index of a byte that copies from the device bring back wrong
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef INIT
#define INIT 0
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef FAILING
#define FAILING ""
#define FAILURE 0
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2 };
enum { CC_MAJOR = 75, CC_MINOR = 76, MANAGED_MEMORY = 83 };

#define MAY_FAIL(name) \
    if (!strcmp(#name, FAILING)) \
        return FAILURE

int cuDriverGetVersion(int *version) {
    *version = VERSION;
    return SUCCESS;
}

int cuInit(unsigned flags) {
#ifdef INIT_ABORTS
    abort();
#endif
    return flags ? INVALID_VALUE : INIT;
}

int cuDeviceGetCount(int *count) {
    MAY_FAIL(cuDeviceGetCount);
    *count = DEVICES;
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = 100 + ordinal;
    return SUCCESS;
}

int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    strncpy(name, "heap", (size_t)size);
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)80 << 30;
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case CC_MAJOR: *value = 8; return SUCCESS;
    case CC_MINOR: *value = 6; return SUCCESS;
    case MANAGED_MEMORY: *value = 1; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

static int contexts;

int cuCtxCreate_v2(void **context, unsigned flags, int device) {
    (void)flags;
    (void)device;
    MAY_FAIL(cuCtxCreate_v2);
    *context = &contexts;
    contexts++;
    return SUCCESS;
}

int cuCtxDestroy_v2(void *context) {
    MAY_FAIL(cuCtxDestroy_v2);
    if (context != &contexts || contexts == 0)
        return INVALID_VALUE;
    contexts--;
    return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *address, size_t size) {
    MAY_FAIL(cuMemAlloc_v2);
    *address = (uint64_t)(uintptr_t)malloc(size);
    return *address ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t address) {
    MAY_FAIL(cuMemFree_v2);
    free((void *)(uintptr_t)address);
    return SUCCESS;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
    MAY_FAIL(cuMemcpyHtoD_v2);
    memcpy((void *)(uintptr_t)to, from, size);
    return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
    MAY_FAIL(cuMemcpyDtoH_v2);
    memcpy(to, (void *)(uintptr_t)from, size);
#ifdef LOST_BYTE
    ((unsigned char *)to)[LOST_BYTE] ^= 1;
#endif
    return SUCCESS;
}

int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t size) {
    MAY_FAIL(cuMemsetD8_v2);
    memset((void *)(uintptr_t)to, value, size);
    return SUCCESS;
}
