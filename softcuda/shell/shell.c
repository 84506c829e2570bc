/* One per-version shell: opens libsoftcuda.so and receives the addresses that its exports jump to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An export of this shell. `target` is the third word: trampolines.S relies on it. */
struct slot {
    const char *name;
    const void *own;
    const void *target;
};

#define NAME(index, name, otherwise) extern const char name[];
#include NAMES
#undef NAME

/* What exports do when libsoftcuda.so cannot be used. The driver's: CUDA_ERROR_SHARED_OBJECT_INIT_FAILED. */
static int otherwise_status(void) {
    return 303;
}

/* The control functions, by what they answer: a failure or no count, a sentence, nothing. */
static long long otherwise_number(void) {
    return -1;
}

static const char *otherwise_text(void) {
    return "libsoftcuda.so cannot be used, as was said on the standard error stream";
}

static void *otherwise_nothing(void) {
    return NULL;
}

#define NAME(index, name, otherwise) {#name, name, (const void *)otherwise_##otherwise},
__attribute__((visibility("hidden"))) struct slot softcuda_slots[] = {
#include NAMES
};
#undef NAME

typedef void (*attach_function)(int version, struct slot *slots, size_t count);

/* Opens the core that belongs to the file of a shell. */
static void *open_beside(const char *shell) {
    static const char *const places[] = {"/libsoftcuda.so", "/../libsoftcuda.so", "/../../../deps/libsoftcuda.so"};
    char path[PATH_MAX];
    const char *end = strrchr(shell, '/');
    for (size_t i = 0; end && i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, sizeof path, "%.*s%s", (int)(end - shell), shell, places[i]);
        void *core = length < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (core) {
            return core;
        }
    }
    return NULL;
}

static void *open_core(void) {
    char real[PATH_MAX];
    Dl_info self;
    void *core = NULL;
    if (dladdr(softcuda_slots, &self)) {
        core = open_beside(self.dli_fname);
        /* Opened through a link, such as libcuda.so.1 in a folder of the program's, it lies elsewhere. */
        if (!core && realpath(self.dli_fname, real)) {
            core = open_beside(real);
        }
    }
    return core ? core : dlopen("libsoftcuda.so", RTLD_NOW | RTLD_LOCAL);
}

__attribute__((constructor)) static void attach(void) {
    void *core = open_core();
    attach_function receive = NULL;
    if (core) {
        *(void **)&receive = dlsym(core, "softcuda_attach");
    }
    if (!receive) {
        fprintf(stderr, "softcuda: the shell of version %d.%d cannot use libsoftcuda.so: %s\n", VERSION / 1000,
                VERSION % 1000 / 10, dlerror());
        return;
    }
    receive(VERSION, softcuda_slots, sizeof softcuda_slots / sizeof softcuda_slots[0]);
}
