/* Arguments: most of them good, some not. */
#ifndef FUZZ_GRAPHS_DRAW_H
#define FUZZ_GRAPHS_DRAW_H

#include "structs.h"

/* Handles. */

static const char *node_from(const struct call *call) {
  static const char *const types[] = {"copy_3d", "copy", "fill_2d", "fill", "event", "host_function", "memory_operations", "child", "allocation", "free", "kernel"};
  size_t i;
  if (mentions(call, "_argument")) return "_add_kernel";
  if (mentions(call, "_enabled")) return "_add_fill";
  if (mentions(call, "_get_condition")) return "_add_conditional";
  if (!mentions(call, "cushim_node_")) return NULL;
  for (i = 0; i < sizeof types / sizeof *types; i++) {
    if (mentions(call, types[i])) return types[i];
  }
  return NULL;
}

static uint64_t draw_good_handle(const struct call *call, enum fuzz_kind kind) {
  struct wish wish = {FUZZ_none, 0, NULL, 0};
  uint64_t found;
  wish.kind = kind == FUZZ_any && token_count > 0 ? tokens[below((uint64_t)token_count)].kind : kind;
  if (kind == FUZZ_node && !once_in(4)) wish.from = node_from(call);
  if (kind == FUZZ_condition) wish.graph = call->arguments[0];
  found = a_token(&wish);
  wish.from = NULL;
  wish.graph = 0;
  return found != 0 ? found : a_token(&wish);
}

/* One that may not be good, and whether it certainly is not. */
static uint64_t draw_bad_handle(enum fuzz_kind kind, int *is_bad) {
  struct wish wish = {FUZZ_none, 0, NULL, 1};
  uint64_t handle = 0;
  wish.kind = kind;
  if (once_in(2) && (handle = a_token(&wish)) != 0) return *is_bad = 1, handle;
  if (once_in(2) && token_count > 0) {
    const struct token *other = &tokens[below((uint64_t)token_count)];
    *is_bad = kind != FUZZ_any && other->kind != kind;
    return other->value;
  }
  if (once_in(2)) return *is_bad = 1, 1 + below(32);
  handle = garbage();
  /* Nothing that the episode itself holds. */
  return handle == address_of(driver) || handle == address_of(contexts[0]) || handle == address_of(contexts[1]) ? 1 : handle;
}

static void draw_handle(struct call *call, int at) {
  const struct fuzz_parameter *parameter = &call->function->parameters[at];
  const enum fuzz_kind kind = (enum fuzz_kind)parameter->kind;
  int is_bad = 0;
  if (parameter->nullable && once_in(2)) return;
  if (once_in(20)) {
    call->arguments[at] = draw_bad_handle(kind, &is_bad);
    call->is_bad |= is_bad && kind != FUZZ_any;
    return;
  }
  call->arguments[at] = once_in(64) ? 0 : draw_good_handle(call, kind);
  if (kind == FUZZ_any) return;
  call->is_bad |= call->arguments[at] == 0 && !parameter->nullable;
}

/* The graph in which the call works. */
static uint64_t place_of(const struct call *call) {
  return call->function->parameters[0].kind == FUZZ_node ? graph_of(call->arguments[0]) : call->arguments[0];
}

/* Arrays of handles, and what else is read. */

static uint64_t draw_item(const struct call *call, enum fuzz_kind kind) {
  struct wish wish = {FUZZ_none, 0, NULL, 0};
  wish.kind = kind;
  if (kind == FUZZ_node && !once_in(16)) wish.graph = place_of(call);
  return once_in(32) ? garbage() : a_token(&wish);
}

static void draw_items(const struct call *call, enum fuzz_kind kind, uint64_t *items) {
  int i;
  for (i = 0; i < MOST_ITEMS; i++) items[i] = draw_item(call, kind);
}

static void draw_edges(const struct call *call, cushim_edge *edges) {
  int i;
  for (i = 0; i < MOST_ITEMS; i++) {
    edges[i].from_node = (cushim_node)(uintptr_t)draw_item(call, FUZZ_node);
    edges[i].to_node = (cushim_node)(uintptr_t)draw_item(call, FUZZ_node);
    if (once_in(8)) edges[i].from_port = (uint8_t)below(3);
    if (once_in(16)) edges[i].type = (uint8_t)below(3);
    if (once_in(32)) edges[i].to_port = 1;
    if (once_in(64)) edges[i].reserved[0] = 1;
  }
}

static int is_of(const struct fuzz_parameter *parameter, const char *type) { return strcmp(parameter->type, type) == 0; }

static void draw_args(struct call *call, cushim_arg *args) {
  uint64_t i;
  for (i = 0; i < 3; i++) args[i] = draw_arg_at(call, i, place_of(call));
}

/* As the kernels have their parameters, or the value of one of them. */
static void draw_bytes(const struct call *call, unsigned char *room) {
  const uint32_t number = 3;
  memcpy(room, &device_memory, sizeof device_memory);
  if (!is_named(call, "cushim_exec_set_parameter")) memcpy(room + 8, &number, sizeof number);
}

static void draw_read(struct call *call, const struct fuzz_parameter *parameter, void *room) {
  if (is_of(parameter, "cushim_node")) draw_items(call, FUZZ_node, (uint64_t *)room);
  else if (is_of(parameter, "cushim_builder")) draw_items(call, FUZZ_builder, (uint64_t *)room);
  else if (is_of(parameter, "cushim_edge")) draw_edges(call, (cushim_edge *)room);
  else if (is_of(parameter, "cushim_endpoint")) *(cushim_endpoint *)room = draw_place(call);
  else if (is_of(parameter, "cushim_region")) *(cushim_region *)room = draw_region(call);
  else if (is_of(parameter, "cushim_extent")) *(cushim_extent *)room = draw_extent();
  else if (is_of(parameter, "cushim_memory_operation")) draw_operations(call, (cushim_memory_operation *)room);
  else if (is_of(parameter, "cushim_owner")) *(cushim_owner *)room = *lend(call);
  else if (is_of(parameter, "cushim_arg") && mentions(call, "_set_argument")) *(cushim_arg *)room = draw_arg_at(call, call->arguments[mentions(call, "exec_") ? 2 : 1], place_of(call));
  else if (is_of(parameter, "cushim_arg")) draw_args(call, (cushim_arg *)room);
  else if (is_of(parameter, "void")) draw_bytes(call, (unsigned char *)room);
}

/* Options. */

static void draw_options(struct call *call, const struct fuzz_parameter *parameter, void *room) {
  uint64_t size = once_in(24) ? ONE_OF(0, 7, 8, PAGE) : parameter->size;
  (void)call;
  if (is_of(parameter, "cushim_launch_config")) {
    draw_config((cushim_launch_config *)room);
  } else if (is_of(parameter, "cushim_exec_options")) {
    cushim_exec_options *options = (cushim_exec_options *)room;
    options->flags = (uint32_t)ONE_OF(0, 0, 1, 2, 4, 64);
    if (once_in(4)) options->upload_stream = (cushim_stream)(uintptr_t)(once_in(8) ? garbage() : any_of(FUZZ_stream));
  } else if (is_of(parameter, "cushim_condition_options")) {
    cushim_condition_options *options = (cushim_condition_options *)room;
    options->initial = (uint32_t)below(3);
    options->flags = (uint32_t)ONE_OF(0, 1, 1, 2);
  } else if (is_of(parameter, "cushim_builder_options")) {
    ((cushim_builder_options *)room)->mode = (int32_t)ONE_OF(0, 0, 1, 2, 9);
  } else if (is_of(parameter, "cushim_graph_allocation")) {
    static const int32_t peers[] = {0, 99};
    cushim_graph_allocation *allocation = (cushim_graph_allocation *)room;
    allocation->bytes = (size_t)ONE_OF(64, PAGE, 1 << 16, 0, (uint64_t)1 << 60);
    if (once_in(8)) allocation->location.kind = (int32_t)below(6);
    if (once_in(8)) allocation->location.id = (int32_t)ONE_OF(0, 99, UINT64_MAX);
    if (once_in(8)) allocation->flags = (uint32_t)below(3);
    if (once_in(8)) allocation->peers = peers, allocation->peer_count = (size_t)below(3);
  } else if (is_of(parameter, "cushim_graph_options") && once_in(16)) {
    ((cushim_graph_options *)room)->flags = 1;
  }
  if (size < parameter->size) memset((unsigned char *)room + sizeof size, 0, parameter->size - sizeof size);
  memcpy(room, &size, sizeof size);
}

/* Numbers. */

/* The one that says how many of another there are: never more than there is room for, where something is written. */
static const struct fuzz_parameter *sized_with(const struct call *call, int at) {
  int i;
  for (i = 0; i < call->function->parameter_count; i++) {
    if (call->function->parameters[i].sized_by == at) return &call->function->parameters[i];
  }
  return NULL;
}

static uint64_t draw_size(const struct call *call, const struct fuzz_parameter *sized, const struct fuzz_parameter *own) {
  if (sized->role == ARRAY || sized->role == BUFFER) return own->example != 0 && !once_in(4) ? own->example : ONE_OF(0, 1, 2, 4, 16);
  if (is_of(sized, "void") && mentions(call, "_packed")) return tells_parameters() && once_in(8) ? below(20) : 12; /* what decides takes more */
  if (is_of(sized, "void")) return ONE_OF(0, 4, 8, 16, 64);
  if (is_of(sized, "cushim_arg")) return tells_parameters() ? ONE_OF(2, 2, 2, 3, 3, 0, 1) : 2;
  return once_in(64) ? (uint64_t)1 << 60 : ONE_OF(0, 0, 1, 1, 2, 3);
}

/* Memory of graphs: given back at the end if nobody does before. */
static uint64_t graph_pointers[MOST];
static int graph_pointer_count;
/* The first so many are drawn no more: other memory may have them by now. */
static int graph_pointers_old;

static uint64_t graph_pointer(void) {
  const int count = graph_pointer_count - graph_pointers_old;
  return count == 0 ? 0 : graph_pointers[graph_pointers_old + (int)below((uint64_t)count)];
}

static uint64_t draw_value(struct call *call, int at) {
  const struct fuzz_parameter *parameter = &call->function->parameters[at];
  const struct fuzz_parameter *sized = sized_with(call, at);
  const char *name = parameter->name;
  if (parameter->values != NULL) {
    /* A loop of captured work would have nothing that ends it. */
    if (is_named(call, "cushim_builder_add_conditional")) return ONE_OF(CUSHIM_CONDITIONAL_IF, CUSHIM_CONDITIONAL_IF, CUSHIM_CONDITIONAL_IF_ELSE, CUSHIM_CONDITIONAL_SWITCH, 9);
    /* What is the library's own is borrowed here. */
    if (is_of(parameter, "cushim_ownership")) return CUSHIM_BORROWED;
    return once_in(16) ? drawn() : (uint64_t)parameter->values->values[below((uint64_t)parameter->values->count)];
  }
  if (strcmp(name, "value_size") == 0) return ONE_OF(1, 2, 4, 4, 3, 0);
  if (sized != NULL) return draw_size(call, sized, parameter);
  if (strcmp(name, "pointer") == 0) return once_in(8) ? ONE_OF(0, 1, UINT64_MAX) : graph_pointer();
  if (strcmp(name, "bytes") == 0) return once_in(32) ? UINT64_MAX - below(64) : ONE_OF(0, 4, 64, 64);
  if (strcmp(name, "count") == 0 || strcmp(name, "width") == 0) return once_in(32) ? UINT64_MAX : ONE_OF(0, 1, 8);
  if (strcmp(name, "height") == 0) return once_in(32) ? UINT64_MAX : below(3);
  if (strcmp(name, "pitch") == 0) return ONE_OF(0, 7, 32);
  if (strcmp(name, "index") == 0) return once_in(16) ? UINT64_MAX - below(2) : below(3);
  return once_in(4) ? parameter->example : below(4);
}

static void nothing_to_do(void *data) { (void)data; }

static uint64_t draw_passed(const struct fuzz_parameter *parameter) {
  CUgraph graph = NULL;
  if (is_of(parameter, "CUgraph")) {
    /* It lives, as it can be asked for. */
    cushim_graph_native((cushim_graph)(uintptr_t)any_of(FUZZ_graph), &graph);
    return address_of((const void *)graph);
  }
  if (strcmp(parameter->name, "function") == 0) return once_in(6) ? 0 : (uint64_t)(uintptr_t)&nothing_to_do;
  return address_of(pages);
}

static uint64_t draw_text(const char *name) {
  static const char *const files[] = {"/dev/null", "/dev/null", "/no/such/folder/graph", ""};
  static const char *const names[] = {"to", "number", "other", ""};
  static const char *const labels[] = {"", "a label", "\xff\xfe"};
  if (strcmp(name, "path") == 0) return address_of(files[below(4)]);
  return address_of(strcmp(name, "name") == 0 ? names[below(4)] : labels[below(3)]);
}

static void draw_argument(struct call *call, int at) {
  const struct fuzz_parameter *parameter = &call->function->parameters[at];
  unsigned char *room = rooms[at].bytes;
  uint64_t size;
  if (parameter->role >= TEXT && once_in(parameter->nullable ? 4 : 48)) {
    call->is_bad |= !parameter->nullable && parameter->sized_by < 0;
    return;
  }
  switch (parameter->role) {
  case VALUE: call->arguments[at] = draw_value(call, at); return;
  case HANDLE:
  case ENDED: draw_handle(call, at); return;
  case PASSED: call->arguments[at] = draw_passed(parameter); return;
  case TEXT: call->arguments[at] = draw_text(parameter->name); return;
  case READ:
  case OPTIONS:
    memset(room, 0, ROOM);
    if (parameter->role == READ) draw_read(call, parameter, room);
    else draw_options(call, parameter, room);
    break;
  case FILLED:
    memset(room, 0xee, ROOM);
    size = once_in(16) ? ONE_OF(0, 7, 8, PAGE) : parameter->size;
    memcpy(room, &size, sizeof size);
    break;
  case ARRAY: memset(room, 0, ROOM); break;
  case PLACE:
  case CLAIMED:
  case LENT:
  case BUFFER: memset(room, 0xee, 256); break;
  }
  call->arguments[at] = address_of(room);
}

#endif
