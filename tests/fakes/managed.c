/*
 * A driver that notes what it is told about managed memory, and copies in batches. It has two devices, and does nothing.
 *
 * VERSION  what cuDriverGetVersion answers; it has the ABIs of that version
 *
 * Managed memory lies at 0x100000, 16 MiB; memory of a managed pool at 0x2000000, 64 KiB, which takes no advice; device
 * memory at 0x3000000, 64 KiB. No other address is the driver's.
 *
 * fake_calls, fake_forget   the notes, a line per call; forgets them
 * fake_fail                 the nth call of a function, from 1, fails with a result; a batch names an item
 * fake_capture              streams are being captured, or not
 * fake_attribute            an attribute of a device
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS, INVALID_VALUE, NOT_SUPPORTED = 801, DEVICES = 2, ATTRIBUTES = 256 };

typedef unsigned long long pointer;
typedef struct { int type, id; } location;
typedef struct { int order; location source, destination; unsigned flags; } attributes;

static char notes[1 << 20];
static size_t noted;
static struct { const char *name; int left, result; size_t item; } failing;
static int capturing, device_attributes[DEVICES][ATTRIBUTES] = {{[89] = 1}, {[89] = 1}};
static void *current;
/* What range attributes tell, of all managed memory. */
static int read_mostly, accessed[DEVICES + 1];
static location preferred, last;

static void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    noted += (size_t)vsnprintf(notes + noted, sizeof notes - noted, format, arguments);
    va_end(arguments);
    if (noted >= sizeof notes) noted = sizeof notes - 1;
}

static int fails(const char *name) {
    return failing.name && strcmp(failing.name, name) == 0 && --failing.left == 0 ? failing.result : SUCCESS;
}

const char *fake_calls(void) { return notes; }
void fake_forget(void) { noted = 0, notes[0] = '\0'; }
void fake_capture(int on) { capturing = on; }
void fake_attribute(int device, int attribute, int value) { device_attributes[device][attribute] = value; }
void fake_fail(const char *name, int nth, int result, size_t item) {
    static char copy[64];
    snprintf(copy, sizeof copy, "%s", name);
    failing.name = copy, failing.left = nth, failing.result = result, failing.item = item;
}

int cuDriverGetVersion(int *version) { return *version = VERSION, SUCCESS; }
int cuInit(unsigned flags) { return flags ? INVALID_VALUE : SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = DEVICES, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    return *value = device_attributes[device][attribute], SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &device_attributes[device], SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device < DEVICES ? SUCCESS : INVALID_VALUE; }
int cuCtxGetCurrent(void **context) { return *context = current, SUCCESS; }
int cuCtxSetCurrent(void *context) { return current = context, SUCCESS; }

static char streams[64];
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    static int next;
    return *stream = &streams[next++ % 64], flags > 1 || priority;
}
int cuStreamDestroy_v2(void *stream) { return stream ? SUCCESS : INVALID_VALUE; }
int cuStreamIsCapturing(void *stream, int *status) { return *status = capturing, stream ? SUCCESS : INVALID_VALUE; }

int cuMemsetD8Async(pointer at, unsigned char value, size_t count, void *stream) {
    return note("set %#llx to %d, %zu bytes\n", at, value, count), stream ? SUCCESS : INVALID_VALUE;
}

/* Buffers and images of OpenGL, by their names there; 99 is none. */
static char graphics[100];
static int number_of(const void *resource) { return (int)((const char *)resource - graphics); }
static int registered(void **resource, const char *what, unsigned name, unsigned flags) {
    if (name >= 99) return INVALID_VALUE;
    note("register %s %u, flags %u\n", what, name, flags);
    return *resource = &graphics[name], SUCCESS;
}
int cuGraphicsGLRegisterBuffer(void **resource, unsigned name, unsigned flags) { return registered(resource, "buffer", name, flags); }
int cuGraphicsGLRegisterImage(void **resource, unsigned name, unsigned target, unsigned flags) {
    return target == 0x0de1 ? registered(resource, "image", name, flags) : INVALID_VALUE;
}
int cuGraphicsUnregisterResource(void *resource) { return note("unregister %d\n", number_of(resource)), SUCCESS; }
static int turn(const char *what, const char *function, unsigned count, void **resources, void *stream) {
    int result = fails(function);
    if (result == SUCCESS && count == 1) note("%s %d in stream %d\n", what, number_of(*resources), (int)((char *)stream - streams));
    return result;
}
int cuGraphicsMapResources(unsigned count, void **resources, void *stream) {
    return turn("map", "cuGraphicsMapResources", count, resources, stream);
}
int cuGraphicsUnmapResources(unsigned count, void **resources, void *stream) {
    return turn("unmap", "cuGraphicsUnmapResources", count, resources, stream);
}
int cuGraphicsResourceGetMappedPointer_v2(pointer *at, size_t *bytes, void *resource) {
    if (fails("cuGraphicsResourceGetMappedPointer")) return failing.result;
    return *at = 0x3000000, *bytes = 4096, resource ? SUCCESS : INVALID_VALUE;
}
int cuGraphicsSubResourceGetMappedArray(void **array, void *resource, unsigned layer, unsigned level) {
    if (level > 3) return INVALID_VALUE;
    note("array of %d, layer %u, level %u\n", number_of(resource), layer, level);
    return *array = &graphics[level], SUCCESS;
}

#if VERSION >= 13000
typedef struct { int type, handles; location where; void *windows; size_t most; unsigned char rest[56]; } pool_wanted;
int cuMemPoolCreate(void **pool, const pool_wanted *wanted) {
    note("pool at %d/%d, handle types %d, at most %zu\n", wanted->where.type, wanted->where.id, wanted->handles, wanted->most);
    return *pool = &noted, SUCCESS;
}
int cuMemPoolDestroy(void *pool) { return pool == &noted ? SUCCESS : INVALID_VALUE; }
int cuMemPoolSetAccess(void *pool, const void *entries, size_t count) { return pool && entries && count ? SUCCESS : INVALID_VALUE; }
int cuMemGetMemPool(void **pool, const location *where, int type) {
    note("the pool of %d/%d, type %d\n", where->type, where->id, type);
    return *pool = &device_attributes, SUCCESS;
}
#endif

/* The allocation that an address lies in. */
static int find(pointer at, pointer *start, size_t *bytes, int *managed) {
    static const struct { pointer start; size_t bytes; int managed; } all[] = {
        {0x100000, 0x1000000, 1}, {0x2000000, 0x10000, 1}, {0x3000000, 0x10000, 0}};
    for (int i = 0; i < 3; i++) {
        if (at < all[i].start || at - all[i].start >= all[i].bytes) continue;
        return *start = all[i].start, *bytes = all[i].bytes, *managed = all[i].managed, 1;
    }
    return 0;
}

static int is_of_pool(pointer at) { return at >> 24 == 2; }

int cuPointerGetAttributes(unsigned count, int *asked, void **places, pointer at) {
    pointer start = 0;
    size_t bytes = 0;
    int managed = 0, known = find(at, &start, &bytes, &managed);
    for (unsigned i = 0; i < count; i++) {
        switch (known ? asked[i] : 0) {
        case 2: *(unsigned *)places[i] = 2; break;
        case 8: *(unsigned *)places[i] = (unsigned)managed; break;
        case 11: *(pointer *)places[i] = start; break;
        case 12: *(size_t *)places[i] = bytes; break;
        case 17: *(void **)places[i] = is_of_pool(at) ? notes : NULL; break;
        }
    }
    return SUCCESS;
}

static int advise(pointer at, int advice, location where) {
    if (fails("cuMemAdvise")) return failing.result;
    if (is_of_pool(at)) return NOT_SUPPORTED;
    switch (advice) {
    case 1: case 2: read_mostly = advice == 1; break;
    case 3: preferred = where; break;
    case 4: memset(&preferred, 0, sizeof preferred); break;
    case 5: case 6: accessed[where.type == 1 ? where.id : DEVICES] = advice == 5; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

static location of_ordinal(int device) {
    location where = {device < 0 ? 2 : 1, device < 0 ? 0 : device};
    return where;
}

int cuMemAdvise(pointer at, size_t bytes, int advice, int device) {
    note("advise 8000: %llx+%zx %d at %d%s\n", at, bytes, advice, device, current ? "" : ", no context");
    return advise(at, advice, of_ordinal(device));
}

int cuMemPrefetchAsync(pointer at, size_t bytes, int device, void *stream) {
    note("prefetch 8000: %llx+%zx to %d%s\n", at, bytes, device, stream ? "" : ", no stream");
    last = of_ordinal(device);
    return fails("cuMemPrefetchAsync");
}

static int ordinal(location where) { return where.type == 1 ? where.id : where.type == 2 ? -1 : -2; }

static int number(int attribute) {
    switch (attribute) {
    case 1: return read_mostly;
    case 2: return ordinal(preferred);
    case 4: return ordinal(last);
    case 5: return preferred.type;
    case 6: return preferred.type == 2 ? -1 : preferred.type ? preferred.id : -2;
    case 7: return last.type;
    case 8: return last.type == 2 ? -1 : last.type ? last.id : -2;
    default: return 0;
    }
}

int cuMemRangeGetAttributes(void **places, size_t *sizes, int *asked, size_t count, pointer at, size_t bytes) {
    note("attributes of %llx+%zx:", at, bytes);
    for (size_t i = 0; i < count; i++) {
        note(" %d", asked[i]);
        if (sizes[i] != 4 || (VERSION < 12020 && asked[i] > 4)) return INVALID_VALUE;
        *(int *)places[i] = number(asked[i]);
    }
    note("\n");
    return SUCCESS;
}

int cuMemRangeGetAttribute(void *place, size_t size, int asked, pointer at, size_t bytes) {
    int found = 0, *ordinals = (int *)place;
    note("attribute of %llx+%zx: %d, %zu bytes\n", at, bytes, asked, size);
    for (int i = 0; i < DEVICES; i++) if (accessed[i]) ordinals[found++] = i;
    if (accessed[DEVICES]) ordinals[found++] = -1;
    while (found < (int)(size / 4)) ordinals[found++] = -2;
    return SUCCESS;
}

/* Each function for one copy has its word: between whatever addresses, from the host, to it, within devices, between two. */
static int copy(const char *name, const char *word, pointer to, pointer from, size_t bytes, void *stream) {
    note("copy %s: %llx from %llx, %zu bytes%s\n", word, to, from, bytes, stream ? "" : ", no stream");
    return fails(name);
}

int cuStreamSynchronize(void *stream) { return stream ? SUCCESS : INVALID_VALUE; }
int cuMemcpy(pointer to, pointer from, size_t bytes) { return copy("cuMemcpy", "any", to, from, bytes, NULL); }
int cuMemcpyAsync(pointer to, pointer from, size_t bytes, void *stream) {
    return copy("cuMemcpyAsync", "any", to, from, bytes, stream);
}
int cuMemcpyHtoD_v2(pointer to, const void *from, size_t bytes) {
    return copy("cuMemcpyHtoD", "in", to, (pointer)from, bytes, NULL);
}
int cuMemcpyHtoDAsync_v2(pointer to, const void *from, size_t bytes, void *stream) {
    return copy("cuMemcpyHtoDAsync", "in", to, (pointer)from, bytes, stream);
}
int cuMemcpyDtoH_v2(void *to, pointer from, size_t bytes) {
    return copy("cuMemcpyDtoH", "out", (pointer)to, from, bytes, NULL);
}
int cuMemcpyDtoHAsync_v2(void *to, pointer from, size_t bytes, void *stream) {
    return copy("cuMemcpyDtoHAsync", "out", (pointer)to, from, bytes, stream);
}
int cuMemcpyDtoD_v2(pointer to, pointer from, size_t bytes) {
    return copy("cuMemcpyDtoD", "within", to, from, bytes, NULL);
}
int cuMemcpyDtoDAsync_v2(pointer to, pointer from, size_t bytes, void *stream) {
    return copy("cuMemcpyDtoDAsync", "within", to, from, bytes, stream);
}

/* The device of a primary context. */
static int device_of(void *context) { return context == device_attributes[1]; }

int cuMemcpyPeerAsync(pointer to, void *there, pointer from, void *here, size_t bytes, void *stream) {
    note("devices %d from %d, ", device_of(there), device_of(here));
    return copy("cuMemcpyPeerAsync", "between", to, from, bytes, stream);
}
int cuMemcpyPeer(pointer to, void *there, pointer from, void *here, size_t bytes) {
    return cuMemcpyPeerAsync(to, there, from, here, bytes, NULL);
}

/* A box, as the driver is told of it: what sort of memory it is, and where. */
typedef struct {
    struct { size_t x, y, z, level; int type; const void *host; pointer device; void *array, *context; size_t pitch, rows; } from, to;
    size_t width, height, depth;
} box;

static int copy_box(const char *word, const box *all, void *stream) {
    note("box %s: %d at %llx from %d at %llx, %zu by %zu by %zu%s\n", word, all->to.type,
         all->to.type == 1 ? (pointer)all->to.host : all->to.device, all->from.type,
         all->from.type == 1 ? (pointer)all->from.host : all->from.device, all->width, all->height, all->depth,
         stream ? "" : ", no stream");
    return SUCCESS;
}
int cuMemcpy3D_v2(const box *all) { return copy_box("any", all, NULL); }
int cuMemcpy3DAsync_v2(const box *all, void *stream) { return copy_box("any", all, stream); }
int cuMemcpy3DPeerAsync(const box *all, void *stream) {
    note("devices %d from %d, ", device_of(all->to.context), device_of(all->from.context));
    return copy_box("between", all, stream);
}
int cuMemcpy3DPeer(const box *all) { return cuMemcpy3DPeerAsync(all, NULL); }

#if VERSION >= 12020
int cuMemAdvise_v2(pointer at, size_t bytes, int advice, location where) {
    note("advise 12020: %llx+%zx %d at %d/%d\n", at, bytes, advice, where.type, where.id);
    return where.type ? advise(at, advice, where) : INVALID_VALUE;
}

int cuMemPrefetchAsync_v2(pointer at, size_t bytes, location where, unsigned flags, void *stream) {
    note("prefetch 12020: %llx+%zx to %d/%d, flags %u%s\n", at, bytes, where.type, where.id, flags, stream ? "" : ", no stream");
    last = where;
    return fails("cuMemPrefetchAsync");
}
#endif

#if VERSION >= 12080
static void note_copies(pointer *to, pointer *from, size_t *sizes, size_t count) {
    note("%zu copies", count);
    for (size_t i = 0; i < count && i < 4; i++) note(", %llx from %llx, %zu", to[i], from[i], sizes[i]);
}

static void note_attributes(attributes *all, size_t *starts, size_t count) {
    for (size_t i = 0; i < count && i < 8; i++)
        note(", from %zu: order %d, %d/%d to %d/%d, flags %u", starts ? starts[i] : 0, all[i].order, all[i].source.type,
             all[i].source.id, all[i].destination.type, all[i].destination.id, all[i].flags);
    note("\n");
}

int cuMemcpyBatchAsync(pointer *to, pointer *from, size_t *sizes, size_t count, attributes *all, size_t *starts,
                       size_t runs, size_t *item, void *stream) {
    int result = fails("cuMemcpyBatchAsync");
    note("copies 12080%s: ", stream ? "" : ", no stream");
    note_copies(to, from, sizes, count);
    note_attributes(all, starts, runs);
    *item = result ? failing.item : SIZE_MAX;
    return result;
}
#endif

#if VERSION >= 13000
int cuMemcpyBatchAsync_v2(pointer *to, pointer *from, size_t *sizes, size_t count, attributes *all, size_t *starts,
                          size_t runs, void *stream) {
    note("copies 13000%s: ", stream ? "" : ", no stream");
    note_copies(to, from, sizes, count);
    note_attributes(all, starts, runs);
    return fails("cuMemcpyBatchAsync");
}

static void note_ranges(const char *what, pointer *at, size_t *sizes, size_t count) {
    note("%s 13000: %zu ranges", what, count);
    for (size_t i = 0; i < count && i < 4; i++) note(", %llx+%zx", at[i], sizes[i]);
}

static void note_locations(location *where, size_t *starts, size_t count, unsigned long long flags, void *stream) {
    for (size_t i = 0; i < count && i < 8; i++) note(", from %zu to %d/%d", starts[i], where[i].type, where[i].id);
    note(", flags %llu%s\n", flags, stream ? "" : ", no stream");
}

int cuMemPrefetchBatchAsync(pointer *at, size_t *sizes, size_t count, location *where, size_t *starts, size_t runs,
                            unsigned long long flags, void *stream) {
    note_ranges("prefetch", at, sizes, count);
    note_locations(where, starts, runs, flags, stream);
    return fails("cuMemPrefetchBatchAsync");
}

int cuMemDiscardBatchAsync(pointer *at, size_t *sizes, size_t count, unsigned long long flags, void *stream) {
    note_ranges("discard", at, sizes, count);
    note_locations(NULL, NULL, 0, flags, stream);
    return fails("cuMemDiscardBatchAsync");
}

int cuMemDiscardAndPrefetchBatchAsync(pointer *at, size_t *sizes, size_t count, location *where, size_t *starts,
                                      size_t runs, unsigned long long flags, void *stream) {
    note_ranges("discard and prefetch", at, sizes, count);
    note_locations(where, starts, runs, flags, stream);
    return fails("cuMemDiscardAndPrefetchBatchAsync");
}
#endif

#if VERSION >= 13020
int cuMemcpyWithAttributesAsync(pointer to, pointer from, size_t bytes, attributes *all, void *stream) {
    note("copy 13020%s: %llx from %llx, %zu bytes", stream ? "" : ", no stream", to, from, bytes);
    note_attributes(all, NULL, 1);
    return fails("cuMemcpyWithAttributesAsync");
}
#endif
