/*
 * A driver for tests: it exports functions of the catalogue that do nothing, and resolves symbols as a real driver does.
 *
 * abis.inc, written by the test, lists what it has: ABI(base, number, exported) and PER_THREAD(base, number, exported).
 *
 * VERSION          what cuDriverGetVersion answers
 * VERSION_RESULT   the CUresult that it returns (0); with any other the version is not written
 * GETTER           2: both forms of cuGetProcAddress; 1: the one with four arguments; 0: none
 * ABOVE_IS_INVALID asked above its version it answers INVALID_VALUE and writes nothing, as drivers since 13.0 do;
 *                  otherwise it gives the newest ABI that it has, as 11.4 to 12.5 do
 * DENIED           the base name of a function that the getter does not know, though it may be exported
 * DENIED_RESULT    the CUresult that it then returns (0, which comes with a null address)
 * SOFTWARE         exports softcuda_version
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef VERSION_RESULT
#define VERSION_RESULT 0
#endif
#ifndef DENIED
#define DENIED ""
#endif
#ifndef DENIED_RESULT
#define DENIED_RESULT 0
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500 };
enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1, VERSION_NOT_SUFFICIENT = 2 };
enum { PER_THREAD_STREAM = 2 };

/* What the test wants done whenever the version is asked for. */
void (*fake_version_hook)(void);

int cuDriverGetVersion(int *version) {
    if (fake_version_hook)
        fake_version_hook();
    if (VERSION_RESULT == SUCCESS)
        *version = VERSION;
    return VERSION_RESULT;
}

#ifdef SOFTWARE
int softcuda_version(void) { return VERSION; }
#endif

/* Every function is code of its own, so that addresses tell them apart. */
#define ABI(base, number, exported) \
    int exported(void) { return number; }
#define PER_THREAD ABI
#include "abis.inc"
#undef ABI
#undef PER_THREAD

#if GETTER >= 1
int cuGetProcAddress(const char *name, void **address, int number, uint64_t flags);
#endif
#if GETTER >= 2
int cuGetProcAddress_v2(const char *name, void **address, int number, uint64_t flags, int *status);
#endif

/* Without a getter nobody reads it. */
__attribute__((unused)) static const struct entry {
    const char *base;
    int number;
    int per_thread;
    void *address;
} entries[] = {
    {"cuDriverGetVersion", 2020, 0, (void *)cuDriverGetVersion},
#if GETTER >= 1
    {"cuGetProcAddress", 11030, 0, (void *)cuGetProcAddress},
#endif
#if GETTER >= 2
    {"cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress_v2},
#endif
#define ABI(base, number, exported) {#base, number, 0, (void *)exported},
#define PER_THREAD(base, number, exported) {#base, number, 1, (void *)exported},
#include "abis.inc"
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* What the getter was asked, for the test to read. */
static struct asked {
    char name[64];
    int number;
    uint64_t flags;
} asked[4096];
int fake_asked_count;
int fake_null_out_pointers;

int fake_asked(int index, const char **name, int *number, uint64_t *flags) {
    if (index >= fake_asked_count)
        return 0;
    *name = asked[index].name;
    *number = asked[index].number;
    *flags = asked[index].flags;
    return 1;
}

#if GETTER >= 1
static void note(const char *name, int number, uint64_t flags) {
    struct asked *entry = &asked[fake_asked_count++ % 4096];
    strncpy(entry->name, name, sizeof entry->name - 1);
    entry->number = number;
    entry->flags = flags;
}

/* The newest ABI that is not newer than the number; functions with a per-thread variant are asked for that alone. */
static void *newest(const char *name, int number, uint64_t flags, int *status) {
    const struct entry *best = NULL;
    int known = 0, per_thread = 0;
    for (int i = 0; i < ENTRIES; i++)
        per_thread |= flags == PER_THREAD_STREAM && entries[i].per_thread && !strcmp(entries[i].base, name);
    for (int i = 0; i < ENTRIES; i++) {
        if (strcmp(entries[i].base, name) || entries[i].per_thread != per_thread || entries[i].number > VERSION)
            continue;
        known = 1;
        if (entries[i].number <= number && (!best || best->number < entries[i].number))
            best = &entries[i];
    }
    *status = best ? SYMBOL_FOUND : known ? VERSION_NOT_SUFFICIENT : SYMBOL_NOT_FOUND;
    return best ? best->address : NULL;
}

/* An address that crashes whoever calls it: what an out-parameter may hold after a failure. */
#define GARBAGE ((void *)0x11)

static int resolve(const char *name, void **address, int number, uint64_t flags, int *status) {
    note(name, number, flags);
    if (!address) {
        fake_null_out_pointers++;
        return INVALID_VALUE;
    }
#ifdef ABOVE_IS_INVALID
    if (number > VERSION)
        return INVALID_VALUE;
#endif
    if (!strcmp(name, DENIED)) {
        *address = DENIED_RESULT == SUCCESS ? NULL : GARBAGE;
        *status = SYMBOL_NOT_FOUND;
        return DENIED_RESULT;
    }
    *address = newest(name, number, flags, status);
    return SUCCESS;
}

int cuGetProcAddress(const char *name, void **address, int number, uint64_t flags) {
    int status = SYMBOL_FOUND;
    int result = resolve(name, address, number, flags, &status);
    return result == SUCCESS && status != SYMBOL_FOUND ? NOT_FOUND : result;
}
#endif

#if GETTER >= 2
int cuGetProcAddress_v2(const char *name, void **address, int number, uint64_t flags, int *status) {
    if (!status) {
        fake_null_out_pointers++;
        return INVALID_VALUE;
    }
    return resolve(name, address, number, flags, status);
}
#endif
