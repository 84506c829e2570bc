/* What the threads share: handles, which any of them may destroy while others use them, and owners. */
#ifndef THREADS_SHARED_H
#define THREADS_SHARED_H

#include "builders.h"

/* A thread of the fuzzer. */
struct drawer {
  uint64_t state;
  int number;
};

/* By xorshift (Marsaglia, 2003). */
static inline uint32_t below(struct drawer *drawer, uint32_t limit) {
  drawer->state ^= drawer->state << 13;
  drawer->state ^= drawer->state >> 7;
  drawer->state ^= drawer->state << 17;
  return (uint32_t)(drawer->state >> 32) % limit;
}

static inline int once_in(struct drawer *drawer, uint32_t times) { return below(drawer, times) == 0; }

enum kind { GRAPHS, NODES, EXECS, BUILDERS, EVENTS, BUFFERS, CONDITIONS, STREAMS, KINDS };
enum { PLACES = 10, MOST_THREADS = 16, GIVEN_STREAMS = 3 };

/* Handles by kind; the same handle may stand in several places, unless it is an owning one. */
static void *handles[KINDS][PLACES];

/* Streams that captures may meet, apart from those of builders: one for each thread, and some that are given to builders. They live as
 * long as a round. */
static cushim_stream own_streams[MOST_THREADS], given_streams[GIVEN_STREAMS];
static int thread_count;

/* Whether threads enqueue in each other's streams, and give these to builders. */
static int is_shared;

/* One that is there, if it is found soon; perhaps destroyed by now. */
static inline void *any_of(struct drawer *drawer, enum kind kind) {
  void *found = NULL;
  int i;
  for (i = 0; i < 4 && found == NULL; i++) found = __atomic_load_n(&handles[kind][below(drawer, PLACES)], __ATOMIC_SEQ_CST);
  return found;
}

static inline cushim_stream any_stream(struct drawer *drawer) {
  void *const found = once_in(drawer, 2) ? any_of(drawer, STREAMS) : NULL;
  return found != NULL ? (cushim_stream)found : own_streams[is_shared ? (int)below(drawer, (uint32_t)thread_count) : drawer->number];
}

static inline cushim_stream stream_to_give(struct drawer *drawer) {
  return is_shared ? any_stream(drawer) : given_streams[below(drawer, GIVEN_STREAMS)];
}

/* Destroys an owning handle; borrowed ones refuse it. */
static inline cushim_status let_go(enum kind kind, void *handle) {
  switch (kind) {
    case GRAPHS: return cushim_graph_destroy((cushim_graph)handle);
    case EXECS: return cushim_exec_destroy((cushim_exec)handle);
    case BUILDERS: return cushim_builder_destroy((cushim_builder)handle);
    case EVENTS: return cushim_event_destroy((cushim_event)handle);
    case BUFFERS: return cushim_buffer_destroy((cushim_buffer)handle);
    default: return CUSHIM_SUCCESS;
  }
}

static inline cushim_status exchange(enum kind kind, uint32_t place, void *handle) {
  void *const before = __atomic_exchange_n(&handles[kind][place], handle, __ATOMIC_SEQ_CST);
  return before != NULL ? let_go(kind, before) : CUSHIM_SUCCESS;
}

/* Shows a new handle to the others, in place of one that is destroyed then. */
static inline void show(struct drawer *drawer, enum kind kind, void *handle) {
  if (handle != NULL) CHECK(exchange(kind, below(drawer, PLACES), handle) != CUSHIM_ERROR_INTERNAL);
}

/* Of each call that lends an owner: whether the library has it, and how often it was released. */
struct lent {
  int is_taken, releases;
  const char *by; /* what lent it */
};
enum { MOST_LENT = 1 << 17 }; /* those of many rounds: what one round missed may be released in a later one */
static struct lent all_lent[MOST_LENT];
static unsigned lent_count, checked_count;

static inline void was_released(void *data) { __atomic_add_fetch(&((struct lent *)data)->releases, 1, __ATOMIC_SEQ_CST); }

static inline cushim_owner lend_by(const char *by) {
  struct lent *const lent = &all_lent[__atomic_fetch_add(&lent_count, 1, __ATOMIC_SEQ_CST) % MOST_LENT];
  cushim_owner owner;
  memset(lent, 0, sizeof *lent);
  lent->by = by;
  owner.data = lent;
  owner.release = was_released;
  return owner;
}

#define lend() lend_by(__func__)

/* What became of a call that lent an owner. */
static inline cushim_status settle(const cushim_owner *owner, cushim_status status) {
  ((struct lent *)owner->data)->is_taken = status == CUSHIM_SUCCESS;
  return status;
}

static inline int is_wrong(const struct lent *lent) {
  const int releases = __atomic_load_n(&lent->releases, __ATOMIC_SEQ_CST);
  return releases != lent->is_taken;
}

static inline int count_wrong(void) {
  unsigned i;
  int wrong = 0;
  flush_callbacks();
  for (i = checked_count; i != lent_count; i++) wrong += is_wrong(&all_lent[i % MOST_LENT]);
  return wrong;
}

/* Every owner was released once if its call succeeded, and never if not. What a thread of the driver's releases may take a while. */
static inline void check_owners(void) {
  unsigned i;
  for (i = 0; i < 2000 && count_wrong() > 0; i++) pause_shortly();
  if (!CHECK(count_wrong() == 0)) {
    for (i = checked_count; i != lent_count; i++) {
      const struct lent *const one = &all_lent[i % MOST_LENT];
      if (is_wrong(one)) fprintf(stderr, "  the owner of %s: taken %d, released %d\n", one->by, one->is_taken, one->releases);
    }
  }
  checked_count = lent_count;
}

#endif
