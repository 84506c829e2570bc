/* The handles that calls have given out, and what little must be known of them to make calls that mean something. */
#ifndef FUZZ_GRAPHS_TOKENS_H
#define FUZZ_GRAPHS_TOKENS_H

#include "../shared.h"

enum { NOTHING = -1, MOST = 1 << 14 };

enum token_state { CLAIM, BORROWED, ENDED_CLAIM };

struct token {
  uint64_t value;
  enum fuzz_kind kind;
  enum token_state state;
  uint64_t graph;   /* of a node or a condition: with which graph it was made */
  const char *from; /* the function that gave it */
  int is_unfit;     /* of a buffer: a kernel must not get it */
};

static struct token tokens[MOST];
static int token_count;

static uint64_t address_of(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

static void must(cushim_status status, const char *what) {
  if (status != CUSHIM_SUCCESS) fail("%s answers %d: %s", what, (int)status, cushim_last_error_message());
}

static int token_with(uint64_t value) {
  int i;
  for (i = token_count - 1; i >= 0; i--) {
    if (tokens[i].value == value) return i;
  }
  return NOTHING;
}

static struct token *add_token(uint64_t value, enum fuzz_kind kind, enum token_state state, const char *from) {
  static struct token ignored;
  const int known = token_with(value);
  struct token *token;
  if (value == 0 || token_count == MOST) return &ignored;
  if (known != NOTHING && tokens[known].state == CLAIM && state == CLAIM) fail("%s gives a handle that is somebody's", from);
  if (known != NOTHING) return &tokens[known];
  token = &tokens[token_count++];
  memset(token, 0, sizeof *token);
  token->value = value;
  token->kind = kind;
  token->state = state;
  token->from = from;
  return token;
}

/* What a call asks of a handle besides its kind. */
struct wish {
  enum fuzz_kind kind;
  uint64_t graph;   /* or 0 */
  const char *from; /* a part of the name of the function that gave it, or NULL */
  int ended;
};

static int grants(const struct token *token, const struct wish *wish) {
  if (token->kind != wish->kind || (token->state == ENDED_CLAIM) != wish->ended) return 0;
  if (wish->graph != 0 && token->graph != wish->graph) return 0;
  return wish->from == NULL || strstr(token->from, wish->from) != NULL;
}

/* One of the latest handles like that; 0 if there is none. */
static uint64_t a_token(const struct wish *wish) {
  uint64_t found = 0, seen = 0;
  int i;
  for (i = token_count - 1; i >= 0 && seen < 12; i--) {
    if (grants(&tokens[i], wish) && below(++seen) == 0) found = tokens[i].value;
  }
  return found;
}

static uint64_t any_of(enum fuzz_kind kind) {
  const struct wish wish = {kind, 0, NULL, 0};
  return a_token(&wish);
}

static uint64_t graph_of(uint64_t handle) {
  const int known = token_with(handle);
  return known == NOTHING ? 0 : tokens[known].graph;
}

static int live_claims(void) {
  int i, count = 0;
  for (i = 0; i < token_count; i++) count += tokens[i].state == CLAIM;
  return count;
}

#endif
