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
};

enum token_state { CLAIM, ENDED_CLAIM, BORROWED };

struct token {
  uint64_t value;
  enum fuzz_kind kind;
  enum token_state state;
  int object;
};

enum memory_kind { PLAIN, OF_STREAM, PINNED, REGISTERED };

struct memory {
  enum memory_kind kind;
  uint64_t address;
  int object; /* the context, or for OF_STREAM the stream */
};

static struct object objects[MOST];
static struct token tokens[MOST];
static struct memory memories[MOST];
static int object_count, token_count, memory_count;

/* The calling thread's current streams. */
static int current_streams[MOST], current_stream_count;

/* Whether it certainly lives. A context without claims may live for what is in flight. */
static int lives(int object) {
  const struct object *it = &objects[object];
  return it->kind == FUZZ_driver || it->kind == FUZZ_device || it->claims > 0 || it->children > 0;
}

static int is_lost(int object) {
  for (; object != NOTHING; object = objects[object].parent) {
    if (objects[object].lost) return 1;
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
  if (parent != NOTHING) objects[parent].children++;
  return object_count++;
}

static void forget_memory(int at) { memories[at] = memories[--memory_count]; }

/* What a context leaves behind when it goes: nothing that was allocated or registered in it. */
static void forget_memory_of(int context) {
  int i;
  for (i = memory_count - 1; i >= 0; i--) {
    if (ancestor(memories[i].object, FUZZ_context) == context) forget_memory(i);
  }
}

static void leave(int object) {
  while (object != NOTHING && !lives(object)) {
    const int parent = objects[object].parent;
    forget_memory_of(object);
    if (parent != NOTHING) objects[parent].children--;
    object = parent;
  }
}

static int add_token(uint64_t value, enum fuzz_kind kind, enum token_state state, int object) {
  struct token *it = &tokens[token_count];
  it->value = value;
  it->kind = kind;
  it->state = state;
  it->object = object;
  if (state == CLAIM) objects[object].claims++;
  return token_count++;
}

static void end_claim(int token) {
  const int object = tokens[token].object;
  tokens[token].state = ENDED_CLAIM;
  objects[object].claims--;
  leave(object);
}

static void add_memory(enum memory_kind kind, uint64_t address, int object) {
  if (address == 0 || memory_count == MOST) return;
  memories[memory_count].kind = kind;
  memories[memory_count].address = address;
  memories[memory_count++].object = object;
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
