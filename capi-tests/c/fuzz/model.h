/*
 * What the fuzzer knows: which objects there are, which handles name them, and what memory there is to work on. From that
 * follows what a call must answer.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "shared.h"

enum { NOTHING = -1, MOST = STEPS + 64 };

struct object {
  enum fuzz_kind kind;
  int parent;       /* an object that this one keeps alive, or NOTHING */
  int claims;
  int children;     /* objects that live and keep this one alive */
  int primary;      /* of a context */
  int lost;         /* reset with its context */
  int was_current;  /* on the thread, once */
  uint64_t native;  /* the driver's handle, if there is one that tells it from others */
  uint64_t borrowed; /* its borrowed handle, once one was seen */
  int holds;        /* others that keep it alive: a device whose resource it is, a tensor */
  int gone;         /* it has let go of what it keeps alive */
  int ordered;      /* of a resource or a buffer: its memory comes and goes in the order of a stream */
  int stream;       /* of a buffer: its deallocation stream, which it keeps alive, or NOTHING */
  int settled;      /* of a buffer: its memory is there for every stream */
  int source;       /* of a buffer: the context in which the memory is, or NOTHING */
  int ordinal;      /* of a device; of a resource or a buffer: whose memory it is, -1 for everybody's */
  int on_device;    /* of a buffer: kernels reach it */
  int managed;      /* of a buffer */
  int is_virtual;   /* of a resource: what nobody frees goes with it */
  int imported;     /* of a resource: another process's pool; of a buffer: memory of another process */
  int asleep;       /* of a buffer */
  uint64_t pointer, bytes; /* of a buffer */
  int shape;        /* of a kernel: which one of the code it is */
  uint64_t function; /* of a kernel: the driver's function, if that was asked for */
  int lends_pool;   /* of a resource: its pool never goes, so that others may use it */
  int resource;     /* of a device: its resource, once it is known, or NOTHING */
  int is_default;   /* of a stream: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD of its context, which alone keeps it alive */
};

enum token_state { CLAIM, ENDED_CLAIM, BORROWED };

struct token {
  uint64_t value;
  enum fuzz_kind kind;
  enum token_state state;
  int object;
};

/* Memory, by what frees it. */
#define PLAIN FREED_BY_cushim_context_free
#define OF_STREAM FREED_BY_cushim_stream_free
#define PINNED FREED_BY_cushim_context_free_host
#define REGISTERED FREED_BY_cushim_context_unregister_host
#define OF_RESOURCE FREED_BY_cushim_resource_free

struct memory {
  enum memory_kind kind;
  uint64_t address;
  int object; /* the context, or for OF_STREAM the stream, or for OF_RESOURCE the resource */
  int stream; /* of OF_RESOURCE: in whose order it came, or NOTHING */
  uint64_t bytes;
};

/* Tensors that were given out and that nobody has taken in or deleted. */
struct tensor {
  void *tensor;
  int buffer;
  int unversioned;
};

static struct object objects[MOST];
static struct token tokens[MOST];
static struct memory memories[MOST];
static struct tensor tensors[MOST];
static int object_count, token_count, memory_count, tensor_count;

/* Memory of pools whose context went: no call works on it any more, and it is there until it is freed. */
static struct memory stranded[MOST];
static int stranded_count;

/* The calling thread's current streams. */
static int current_streams[MOST], current_stream_count;

/* Whether something keeps it alive, and through it what it needs. */
static int is_held(int object) {
  const struct object *it = &objects[object];
  return it->kind == FUZZ_driver || it->kind == FUZZ_device || it->claims > 0 || it->children > 0 || it->holds > 0;
}

/* Whether it certainly lives. A context without claims may live for what is in flight. */
static int lives(int object) {
  return is_held(object) || (objects[object].is_default && is_held(objects[object].parent));
}

/* Whether what it needs of the driver went with a context that was reset. */
static int is_lost(int object) {
  for (; object != NOTHING; object = objects[object].parent) {
    const struct object *it = &objects[object];
    if (it->lost || (it->stream != NOTHING && is_lost(it->stream)) || (it->source != NOTHING && is_lost(it->source))) return 1;
  }
  return 0;
}

/* The nearest of that kind: the object itself, or one that it keeps alive. */
static int ancestor(int object, enum fuzz_kind kind) {
  while (object != NOTHING && objects[object].kind != kind) object = objects[object].parent;
  return object;
}

static int add_object(enum fuzz_kind kind, int parent) {
  struct object *it = &objects[object_count];
  memset(it, 0, sizeof *it);
  it->kind = kind;
  it->parent = parent;
  it->stream = it->source = it->resource = NOTHING;
  it->ordinal = -1;
  if (parent != NOTHING) objects[parent].children++;
  return object_count++;
}

static void forget_memory(int at) { memories[at] = memories[--memory_count]; }

/* Whether the memory goes with the context. */
static int is_memory_of(const struct memory *memory, int context) {
  return ancestor(memory->object, FUZZ_context) == context || (memory->stream != NOTHING && ancestor(memory->stream, FUZZ_context) == context);
}

/* Whether it is a pool's, which outlives every context. Memory of a stream comes from its device's pool. */
static int is_pooled(const struct memory *memory) { return memory->kind == OF_STREAM || (memory->kind == OF_RESOURCE && memory->stream != NOTHING); }

/* To be freed at the end; on any thread. */
static void strand(const struct memory *memory) {
  const int at = __atomic_fetch_add(&stranded_count, 1, __ATOMIC_RELAXED);
  if (at < MOST) stranded[at] = *memory;
}

/* When a context goes, nothing is left of what was allocated or registered in it, but what pools gave. */
static void forget_memory_of(int context) {
  int i;
  for (i = memory_count - 1; i >= 0; i--) {
    if (!is_memory_of(&memories[i], context)) continue;
    if (is_pooled(&memories[i])) strand(&memories[i]);
    forget_memory(i);
  }
}

/* It lets go of what it kept alive, if nothing keeps it alive. */
static void leave(int object) {
  struct object *it = &objects[object];
  if (object == NOTHING || is_held(object) || it->gone) return;
  it->gone = 1;
  if (it->kind == FUZZ_context) forget_memory_of(object);
  if (it->parent != NOTHING) {
    objects[it->parent].children--;
    leave(it->parent);
  }
  if (it->stream != NOTHING) {
    objects[it->stream].children--;
    leave(it->stream);
  }
}

/* One that was taken to be gone lives after all. */
static void stay(int object) {
  struct object *it = &objects[object];
  if (object == NOTHING || !it->gone) return;
  it->gone = 0;
  if (it->parent != NOTHING) {
    objects[it->parent].children++;
    stay(it->parent);
  }
  if (it->stream != NOTHING) {
    objects[it->stream].children++;
    stay(it->stream);
  }
}

static void hold(int object) {
  objects[object].holds++;
  stay(object);
}

static void let_go(int object) {
  objects[object].holds--;
  leave(object);
}

/* It keeps what its parent keeps alive, and not its parent. */
static void pass_over_parent(int object) {
  const int before = objects[object].parent;
  objects[object].parent = objects[before].parent;
  if (objects[before].parent != NOTHING) objects[objects[before].parent].children++;
  objects[before].children--;
  leave(before);
}

/* Gives a buffer another deallocation stream. */
static void set_order(int buffer, int stream) {
  const int before = objects[buffer].stream;
  if (stream != NOTHING) {
    objects[stream].children++;
    stay(stream);
  }
  objects[buffer].stream = stream;
  if (before == NOTHING) return;
  objects[before].children--;
  leave(before);
}

static int add_token(uint64_t value, enum fuzz_kind kind, enum token_state state, int object) {
  struct token *it = &tokens[token_count];
  it->value = value;
  it->kind = kind;
  it->state = state;
  it->object = object;
  if (state == CLAIM) {
    objects[object].claims++;
    stay(object);
  }
  return token_count++;
}

static void end_claim(int token) {
  const int object = tokens[token].object;
  tokens[token].state = ENDED_CLAIM;
  objects[object].claims--;
  leave(object);
}

static struct memory *add_memory(enum memory_kind kind, uint64_t address, int object) {
  struct memory *it = &memories[memory_count];
  if (address == 0 || memory_count == MOST) return NULL;
  it->kind = kind;
  it->address = address;
  it->object = object;
  it->stream = NOTHING;
  it->bytes = 0;
  memory_count++;
  return it;
}

static int memory_at(uint64_t address, enum memory_kind kind) {
  int i;
  for (i = 0; i < memory_count; i++) {
    if (memories[i].address == address && memories[i].kind == kind) return i;
  }
  return NOTHING;
}

/* The newest token with this value: none is issued twice, but the borrowed one comes out again and again. */
static int token_with(uint64_t value) {
  int i;
  for (i = token_count - 1; i >= 0; i--) {
    if (tokens[i].value == value) return i;
  }
  return NOTHING;
}

static int live_claims(void) {
  int i, count = 0;
  for (i = 0; i < token_count; i++) count += tokens[i].state == CLAIM;
  return count;
}

/* A reset of the device's primary context takes everything in it. */
static void lose_primary(int device) {
  int i;
  for (i = 0; i < object_count; i++) {
    if (objects[i].kind == FUZZ_context && objects[i].primary && objects[i].parent == device) {
      objects[i].lost = 1;
      forget_memory_of(i);
    }
  }
}

#endif
