/*
 * What was exported, which imports draw from: by this process in the episode, and once by another one, which has an event, pools, memory and
 * virtual memory for it, and lives as long as this one.
 */
#ifndef FUZZ_EXPORTS_H
#define FUZZ_EXPORTS_H

#include "handles.h"

#include <sys/socket.h>

enum exported_kind { AN_EVENT, A_POOL, OF_POOL, PLAIN_MEMORY, AN_ALLOCATION, PARTS, EXPORTED_KINDS };
enum { DESCRIPTOR = CUSHIM_DESCRIPTOR_BYTES, MOST_PARTS = 2 };

struct exported {
  unsigned char bytes[MOST_PARTS * DESCRIPTOR];
  int32_t files[MOST_PARTS];
  int count, file_count; /* of descriptors, 0 if there is none, and of files */
  int object;            /* the resource of this process that it is of, or NOTHING */
};

static struct exported own_exports[EXPORTED_KINDS], others_exports[EXPORTED_KINDS];

static void close_file(int32_t file) {
  if (close(file) != 0) fail("an export gave a file %d that is none", (int)file);
}

static void forget_export(struct exported *it) {
  int i;
  for (i = 0; i < it->file_count; i++) close_file(it->files[i]);
  memset(it, 0, sizeof *it);
}

static void forget_own_exports(void) {
  int i;
  for (i = 0; i < EXPORTED_KINDS; i++) forget_export(&own_exports[i]);
}

/* Keeps what this process has exported, instead of what it exported before. Files that are too many are closed. */
static void keep_export(enum exported_kind kind, const void *descriptors, size_t count, const int32_t *files, size_t file_count, int object) {
  struct exported *it = &own_exports[kind];
  size_t i;
  forget_export(it);
  if (count > MOST_PARTS) {
    for (i = 0; i < file_count; i++) close_file(files[i]);
    return;
  }
  memcpy(it->bytes, descriptors, count * DESCRIPTOR);
  for (i = 0; i < file_count; i++) it->files[i] = files[i];
  it->count = (int)count;
  it->file_count = (int)file_count;
  it->object = object;
}

/* The other process. */

/* It has one of each, as far as the driver has them; the rest stays away. */
static void export_events_and_pools(cushim_context context, cushim_device device, cushim_stream stream) {
  cushim_event_options of_event = CUSHIM_OPTIONS(cushim_event_options);
  cushim_device_pool_options of_pool = CUSHIM_OPTIONS(cushim_device_pool_options);
  unsigned char bytes[DESCRIPTOR];
  cushim_event event;
  cushim_resource pool, plain;
  cushim_buffer buffer;
  int32_t file;
  of_event.flags = CUSHIM_EVENT_INTERPROCESS;
  of_pool.choice = CUSHIM_POOL_OWN;
  of_pool.handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (cushim_event_create(context, &of_event, &event) == CUSHIM_SUCCESS && cushim_event_export(event, bytes, DESCRIPTOR) == CUSHIM_SUCCESS) {
    keep_export(AN_EVENT, bytes, 1, NULL, 0, NOTHING);
  }
  if (cushim_resource_create_device_pool(device, &of_pool, &pool) == CUSHIM_SUCCESS) {
    must(cushim_buffer_create(pool, stream, PAGE, &buffer), "cushim_buffer_create");
    must(cushim_buffer_export(buffer, bytes, DESCRIPTOR), "cushim_buffer_export");
    keep_export(OF_POOL, bytes, 1, NULL, 0, NOTHING);
    must(cushim_resource_export(pool, bytes, DESCRIPTOR, &file), "cushim_resource_export");
    keep_export(A_POOL, bytes, 1, &file, 1, NOTHING);
  }
  must(cushim_resource_create_device(context, &plain), "cushim_resource_create_device");
  must(cushim_buffer_create(plain, stream, PAGE, &buffer), "cushim_buffer_create");
  if (cushim_buffer_export(buffer, bytes, DESCRIPTOR) == CUSHIM_SUCCESS) keep_export(PLAIN_MEMORY, bytes, 1, NULL, 0, NOTHING);
}

static void export_virtual_memory(cushim_device device, cushim_stream stream) {
  cushim_virtual_options options = CUSHIM_OPTIONS(cushim_virtual_options);
  unsigned char bytes[MOST_PARTS * DESCRIPTOR];
  cushim_allocation allocation;
  cushim_resource resource;
  cushim_buffer first, grown;
  int32_t files[MOST_PARTS];
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  if (cushim_resource_create_virtual(device, &options, &resource) != CUSHIM_SUCCESS) return;
  must(cushim_buffer_create(resource, stream, 1, &first), "cushim_buffer_create");
  must(cushim_buffer_grow(first, cushim_buffer_size(first) + 1, NULL, &grown), "cushim_buffer_grow");
  must(cushim_buffer_export_parts(grown, bytes, sizeof bytes, files, MOST_PARTS), "cushim_buffer_export_parts");
  keep_export(PARTS, bytes, MOST_PARTS, files, MOST_PARTS, NOTHING);
  must(cushim_allocation_create(device, 1, &options, &allocation), "cushim_allocation_create");
  must(cushim_allocation_export(allocation, bytes, DESCRIPTOR, files), "cushim_allocation_export");
  keep_export(AN_ALLOCATION, bytes, 1, files, 1, NOTHING);
}

enum { MOST_FILES = EXPORTED_KINDS * MOST_PARTS };

union file_room {
  size_t aligned;
  char room[CMSG_SPACE(MOST_FILES * sizeof(int32_t))];
};

static struct msghdr message_of(struct iovec *part, union file_room *control, size_t room) {
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = part;
  message.msg_iovlen = 1;
  message.msg_control = control->room;
  message.msg_controllen = room;
  return message;
}

/* Sends what it has exported, with all files in their order. */
static void send_exports(int to) {
  struct iovec part = {own_exports, sizeof own_exports};
  union file_room control;
  int32_t files[MOST_FILES];
  struct msghdr message;
  size_t count = 0;
  int kind, i;
  for (kind = 0; kind < EXPORTED_KINDS; kind++) {
    for (i = 0; i < own_exports[kind].file_count; i++) files[count++] = own_exports[kind].files[i];
  }
  memset(&control, 0, sizeof control);
  message = message_of(&part, &control, count == 0 ? 0 : CMSG_SPACE(count * sizeof *files));
  if (count > 0) {
    struct cmsghdr *right = CMSG_FIRSTHDR(&message);
    right->cmsg_level = SOL_SOCKET;
    right->cmsg_type = SCM_RIGHTS;
    right->cmsg_len = CMSG_LEN(count * sizeof *files);
    memcpy(CMSG_DATA(right), files, count * sizeof *files);
  }
  if (sendmsg(to, &message, MSG_NOSIGNAL) != (ssize_t)sizeof own_exports) _exit(1);
}

/* Has its memory until the process that calls has ended. */
__attribute__((noreturn)) static void be_another(int end) {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  char nothing;
  must(cushim_driver_open(NULL, &driver), "cushim_driver_open");
  must(cushim_driver_get_device(driver, 0, &device), "cushim_driver_get_device");
  must(cushim_context_retain_primary(device, &context), "cushim_context_retain_primary");
  root_driver = driver;
  if (!is_none()) {
    must(cushim_stream_create(context, NULL, &stream), "cushim_stream_create");
    export_events_and_pools(context, device, stream);
    export_virtual_memory(device, stream);
    must(cushim_context_synchronize(context), "cushim_context_synchronize");
  }
  send_exports(end);
  while (read(end, &nothing, 1) > 0) {
  }
  _exit(0);
}

static void receive_exports(int from) {
  struct iovec part = {others_exports, sizeof others_exports};
  union file_room control;
  struct msghdr message;
  struct cmsghdr *right;
  int32_t files[MOST_FILES];
  int kind, i, next = 0;
  memset(&control, 0, sizeof control);
  memset(files, 0xff, sizeof files);
  message = message_of(&part, &control, sizeof control.room);
  if (recvmsg(from, &message, MSG_WAITALL) != (ssize_t)sizeof others_exports) fail("the other process exports nothing");
  right = CMSG_FIRSTHDR(&message);
  if (right != NULL) memcpy(files, CMSG_DATA(right), right->cmsg_len - CMSG_LEN(0));
  for (kind = 0; kind < EXPORTED_KINDS; kind++) {
    for (i = 0; i < others_exports[kind].file_count; i++) others_exports[kind].files[i] = files[next++];
  }
}

/* Before this process uses the driver, which a child of a fork could not use afterwards. */
static void meet_another(void) {
  static int has_met;
  int ends[2], kind;
  pid_t other;
  if (has_met) return;
  has_met = 1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("there is no socket");
  fflush(NULL);
  other = fork();
  if (other < 0) fail("there is no other process");
  if (other == 0) {
    close(ends[0]);
    be_another(ends[1]);
  }
  close(ends[1]);
  receive_exports(ends[0]);
  for (kind = 0; kind < EXPORTED_KINDS && others_exports[kind].count > 0; kind++) {
  }
  progress->has_another = kind == EXPORTED_KINDS;
}

/* Imports. */

/* What the function imports; EXPORTED_KINDS for one that does not. */
static enum exported_kind imported_by(const struct plan *plan) {
  static const char *const functions[EXPORTED_KINDS] = {"cushim_event_import", "cushim_resource_import",   "cushim_buffer_import",
                                                        "cushim_buffer_open",  "cushim_allocation_import", "cushim_buffer_import_parts"};
  int kind;
  for (kind = 0; kind < EXPORTED_KINDS; kind++) {
    if (is_named(plan, functions[kind])) break;
  }
  return (enum exported_kind)kind;
}

/* Something that was exported: of the kind that is asked for, mostly, by the other process or by this one. */
static const struct exported *draw_exported(enum exported_kind kind) {
  if (once_in(16)) kind = (enum exported_kind)below(EXPORTED_KINDS);
  if (own_exports[kind].count > 0 && once_in(3)) return &own_exports[kind];
  return &others_exports[kind];
}

/* Gives an import its descriptors and files, some of which are changed on the way. */
static void fit_exported(struct plan *plan) {
  const enum exported_kind kind = imported_by(plan);
  const struct exported *it = draw_exported(kind);
  const int is_parts = kind == PARTS;
  unsigned char *bytes = (unsigned char *)room_of(plan, is_parts ? "descriptors" : "descriptor");
  if (it->count == 0 || once_in(16)) return;
  memcpy(bytes, it->bytes, sizeof it->bytes);
  plan->exported = it;
  if (once_in(8)) {
    bytes[below((uint64_t)it->count * DESCRIPTOR)] ^= (unsigned char)(1u << below(8));
    plan->exported = NULL;
  }
  if (!once_in(8)) set_argument(plan, "size", (uint64_t)it->count * DESCRIPTOR);
  if (is_parts) {
    memcpy(room_of(plan, "files"), it->files, sizeof it->files);
    if (!once_in(8)) set_argument(plan, "count", (uint64_t)it->count);
  } else if (parameter_named(plan, "file") != NOTHING && (settings.safe || !once_in(8))) {
    /* What a real driver makes of a file of something else is its own. */
    set_argument(plan, "file", it->file_count > 0 ? (uint64_t)(uint32_t)it->files[0] : UINT32_MAX);
  }
}

#endif
