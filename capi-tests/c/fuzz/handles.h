/* A call to be made: its handles, and what it must answer to those that are not good. */
#ifndef FUZZ_HANDLES_H
#define FUZZ_HANDLES_H

#include "model.h"

enum { PAGES = 16, PAGE = 4096, ROOM = 8192, USED = 16, LARGEST = PAGES * PAGE };

/* The program's own memory. */
static unsigned char pages[PAGES][PAGE] __attribute__((aligned(4096)));
/* And what of it is registered: nothing is copied there, as nobody may unregister what a copy still uses. */
static unsigned char registered[PAGES][PAGE] __attribute__((aligned(4096)));
/* Where what comes out of a call is put, a place for each parameter. */
static union {
  uint64_t aligned;
  unsigned char bytes[ROOM];
} rooms[PARAMETERS];

/* What imports draw from: exports.h. */
struct exported;

/* A call to be made. */
struct plan {
  const struct fuzz_function *function;
  uint64_t arguments[PARAMETERS];
  int objects[PARAMETERS]; /* those that handles name, or NOTHING */
  unsigned demanded;       /* statuses one of which must come, as bits; 0 if no argument is bad */
  int doubtful;            /* some argument may be refused */
  int unsure;              /* some handle may be of an object that is gone */
  unsigned allowed;        /* statuses that may come besides */
  int used[USED], used_count;   /* buffers whose handles stand in structs */
  int inner[USED], inner_count; /* other objects whose handles stand there */
  uint64_t owners;         /* that are lent in structs */
  void *given;             /* a tensor of the program's own */
  const struct exported *exported; /* what is imported, as it was exported */
};

static unsigned bit(cushim_status status) { return status <= 0 && status > -32 ? 1u << -status : 0; }

static uint64_t address_of(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

static int is_named(const struct plan *plan, const char *name) { return strcmp(plan->function->name, name) == 0; }

static int mentions(const struct plan *plan, const char *part) { return strstr(plan->function->name, part) != NULL; }

/* Where in the call there is a parameter of this name, or NOTHING. */
static int parameter_named(const struct plan *plan, const char *name) {
  int i;
  for (i = 0; i < plan->function->parameter_count; i++) {
    if (strcmp(plan->function->parameters[i].name, name) == 0) return i;
  }
  return NOTHING;
}

static uint64_t argument(const struct plan *plan, const char *name) { return plan->arguments[parameter_named(plan, name)]; }

static void set_argument(struct plan *plan, const char *name, uint64_t value) { plan->arguments[parameter_named(plan, name)] = value; }

static void *room_of(const struct plan *plan, const char *name) { return rooms[parameter_named(plan, name)].bytes; }

static void must(cushim_status status, const char *what) {
  if (status != CUSHIM_SUCCESS) fail("%s answers %d: %s", what, (int)status, cushim_last_error_message());
}

/* Handles. */

enum handle_choice { ANY_TOKEN, LIVING, ENDED_ONE };

/* A token that the model has. */
static uint64_t a_token(enum fuzz_kind kind, enum handle_choice choice) {
  const int start = token_count > 0 ? (int)below((uint64_t)token_count) : 0;
  int i;
  for (i = 0; i < token_count; i++) {
    const struct token *it = &tokens[(start + i) % token_count];
    if (kind != FUZZ_any && it->kind != kind) continue;
    if (choice == LIVING && (it->state == ENDED_CLAIM || !lives(it->object))) continue;
    if (choice == ENDED_ONE && it->state != ENDED_CLAIM) continue;
    return it->value;
  }
  return 0;
}

/* Held by the episode besides what its calls hold; the model knows nothing of them. */
static cushim_driver root_driver;
static cushim_context root_context;

/* The driver behind the one that has OpenGL; NULL in the episodes that have none. */
static cushim_driver driver_without_gl;

/* Whether the library itself hands this out as a driver or a device of one: such a handle is good as long as the driver, which others than
 * the episode hold, or nobody lets go of, and the model of an episode need not know it. */
static int is_of_a_driver(uint64_t handle) {
  cushim_device device = (cushim_device)(uintptr_t)handle, found = NULL;
  cushim_driver driver = (cushim_driver)(uintptr_t)handle;
  int32_t count = 0, i;
  if (cushim_driver_get_device_count(driver, &count) == CUSHIM_SUCCESS) {
    return cushim_driver_get_device(driver, 0, &device) == CUSHIM_SUCCESS && cushim_device_get_driver(device, &driver) == CUSHIM_SUCCESS &&
           address_of(driver) == handle;
  }
  if (cushim_device_get_driver(device, &driver) != CUSHIM_SUCCESS || cushim_driver_get_device_count(driver, &count) != CUSHIM_SUCCESS) return 0;
  for (i = 0; i < count; i++) {
    if (cushim_driver_get_device(driver, i, &found) == CUSHIM_SUCCESS && found == device) return 1;
  }
  return 0;
}

/* What the driver is. */
static const cushim_driver_info *driver_info(void) {
  static cushim_driver_info info;
  if (info.struct_size != 0) return &info;
  info.struct_size = sizeof info;
  must(cushim_driver_get_info(root_driver, &info), "cushim_driver_get_info");
  return &info;
}

/* Whether it is "none", which has little to offer. */
static int is_none(void) { return driver_info()->kind == CUSHIM_DRIVER_KIND_NONE; }

/* Before driver 12.4 nobody can tell whether arguments are the kernel's. */
static int tells_parameters(void) { return driver_info()->version >= 12040; }

static uint64_t garbage(void) {
  static int local;
  uint64_t value;
  switch (below(6)) {
  case 0: return 1 + below(32);
  case 1: return UINT64_MAX;
  case 2: return address_of(&local);
  case 3: return drawn();
  default:
    value = a_token(FUZZ_any, ANY_TOKEN) ^ (uint64_t)1 << below(64);
    /* A neighbour in a table of the library's may differ in one bit. */
    return value == address_of(root_driver) || value == address_of(root_context) || value == address_of(driver_without_gl) || is_of_a_driver(value) ? 1 : value;
  }
}

static uint64_t draw_handle(enum fuzz_kind kind) {
  const uint64_t luck = below(100);
  if (luck < 78) return a_token(kind, LIVING);
  if (luck < 82) return a_token(kind, ENDED_ONE);
  if (luck < 86) return a_token(kind, ANY_TOKEN);
  if (luck < 90) return a_token(FUZZ_any, ANY_TOKEN);
  if (luck < 92) return a_token(kind, LIVING) ^ (uint64_t)1 << 60; /* as another copy of the library would make it */
  if (luck < 95) return 0;
  if (luck < 97 && kind == FUZZ_stream) return address_of(cushim_stream_current());
  return garbage();
}

static void demand(struct plan *plan, cushim_status status) { plan->demanded |= bit(status); }

/* What follows from the handle that stands for the thread's current stream. */
static void judge_current_stream(struct plan *plan, int at) {
  const struct fuzz_parameter *parameter = &plan->function->parameters[at];
  if (parameter->role == ENDED || (parameter->kind != FUZZ_stream && parameter->kind != FUZZ_any)) {
    demand(plan, CUSHIM_ERROR_INVALID_HANDLE);
  } else if (parameter->kind == FUZZ_any) {
    plan->demanded |= parameter->nullable ? 0 : bit(CUSHIM_ERROR_INVALID_HANDLE);
    plan->unsure = 1;
  } else if (current_stream_count == 0) {
    demand(plan, CUSHIM_ERROR_STREAM_REQUIRED);
  } else {
    plan->objects[at] = current_streams[current_stream_count - 1];
    plan->unsure |= !lives(plan->objects[at]);
  }
}

/* What follows from the handle in this place. */
static void judge_handle(struct plan *plan, int at) {
  const struct fuzz_parameter *parameter = &plan->function->parameters[at];
  const uint64_t value = plan->arguments[at];
  const int known = token_with(value), ends = parameter->role == ENDED;
  const struct token *token = &tokens[known == NOTHING ? 0 : known];
  const int fits = known != NOTHING && (parameter->kind == FUZZ_any || (int)token->kind == parameter->kind);
  if (value == address_of(cushim_stream_current())) {
    judge_current_stream(plan, at);
  } else if (value == 0) {
    if (!parameter->nullable) demand(plan, parameter->kind == FUZZ_stream ? CUSHIM_ERROR_STREAM_REQUIRED : CUSHIM_ERROR_INVALID_HANDLE);
  } else if (parameter->kind == FUZZ_any && parameter->nullable) {
    /* Anything will do. */
  } else if (known == NOTHING) {
    /* One that a call made of which the model was not told may have been destroyed. */
    demand(plan, CUSHIM_ERROR_INVALID_HANDLE);
    if (ends) demand(plan, CUSHIM_ERROR_ALREADY_DESTROYED);
  } else if (!fits || (ends && token->state == BORROWED)) {
    demand(plan, CUSHIM_ERROR_INVALID_HANDLE);
  } else if (token->state == ENDED_CLAIM) {
    demand(plan, ends ? CUSHIM_ERROR_ALREADY_DESTROYED : CUSHIM_ERROR_INVALID_HANDLE);
  } else {
    plan->objects[at] = token->object;
    plan->unsure |= !lives(token->object);
  }
}

/* A handle that stands in a struct: its object is noted, as the call may be refused for what became of that. */
static uint64_t draw_inner(struct plan *plan, enum fuzz_kind kind) {
  const uint64_t value = draw_handle(kind);
  const int known = token_with(value);
  const struct token *token = &tokens[known == NOTHING ? 0 : known];
  if (known == NOTHING || token->kind != kind || token->state == ENDED_CLAIM || !lives(token->object)) plan->allowed |= bit(CUSHIM_ERROR_INVALID_HANDLE);
  if (known == NOTHING || token->kind != kind) return value;
  if (kind == FUZZ_buffer && plan->used_count < USED) plan->used[plan->used_count++] = token->object;
  if (kind != FUZZ_buffer && plan->inner_count < USED) plan->inner[plan->inner_count++] = token->object;
  return value;
}

#endif
