/*
 * Two processes and one GPU: the producer fills memory, the consumer sums it without a copy through the host. The descriptors go over a
 * Unix socket, the pool's file with them (SCM_RIGHTS). An event of both says when the memory is filled, and nobody waits on the host for it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cushim.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 16, BYTES = COUNT * 4 };

/* What the consumer needs, beside the file of the pool. */
struct parcel {
  unsigned char pool[CUSHIM_DESCRIPTOR_BYTES], memory[CUSHIM_DESCRIPTOR_BYTES], filled[CUSHIM_DESCRIPTOR_BYTES];
};

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", cushim_status_name(status), cushim_last_error_message());
  exit(1);
}

static void need(int holds, const char *what) {
  if (holds) return;
  perror(what);
  exit(1);
}

/* A message of one part, with room for one file. */
struct message {
  struct iovec part;
  union {
    size_t aligned;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr header;
};

static struct msghdr *message_of(struct message *message, struct parcel *parcel) {
  memset(message, 0, sizeof *message);
  message->part.iov_base = parcel;
  message->part.iov_len = sizeof *parcel;
  message->header.msg_iov = &message->part;
  message->header.msg_iovlen = 1;
  message->header.msg_control = message->control.room;
  message->header.msg_controllen = sizeof message->control.room;
  return &message->header;
}

static void send_parcel(int socket, struct parcel *parcel, int file) {
  struct message message;
  struct msghdr *header = message_of(&message, parcel);
  struct cmsghdr *right = CMSG_FIRSTHDR(header);
  right->cmsg_level = SOL_SOCKET;
  right->cmsg_type = SCM_RIGHTS;
  right->cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(right), &file, sizeof file);
  need(sendmsg(socket, header, 0) == (ssize_t)sizeof *parcel, "sendmsg");
}

static int receive_parcel(int socket, struct parcel *parcel) {
  struct message message;
  struct msghdr *header = message_of(&message, parcel);
  struct cmsghdr *right;
  int file = -1;
  need(recvmsg(socket, header, MSG_WAITALL) == (ssize_t)sizeof *parcel, "recvmsg");
  right = CMSG_FIRSTHDR(header);
  if (right != NULL && right->cmsg_type == SCM_RIGHTS) memcpy(&file, CMSG_DATA(right), sizeof file);
  return file;
}

/* What each process has of its own. */
struct gpu {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
};

static struct gpu begin(void) {
  struct gpu gpu;
  check(cushim_driver_open(NULL, &gpu.driver));
  check(cushim_driver_get_device(gpu.driver, 0, &gpu.device));
  check(cushim_context_retain_primary(gpu.device, &gpu.context));
  check(cushim_stream_create(gpu.context, NULL, &gpu.stream));
  return gpu;
}

static void end(struct gpu *gpu) {
  check(cushim_stream_destroy(gpu->stream));
  check(cushim_context_destroy(gpu->context));
  check(cushim_driver_destroy(gpu->driver));
}

static void produce(int socket) {
  struct gpu gpu = begin();
  cushim_device_pool_options pool_options;
  cushim_event_options event_options;
  struct parcel parcel;
  cushim_resource pool;
  cushim_buffer memory;
  cushim_event filled;
  cushim_endpoint all;
  int32_t file;
  char done;

  memset(&pool_options, 0, sizeof pool_options);
  pool_options.struct_size = sizeof pool_options;
  pool_options.choice = CUSHIM_POOL_OWN;
  pool_options.handle_types = 1; /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
  check(cushim_resource_create_device_pool(gpu.device, &pool_options, &pool));
  check(cushim_buffer_create(pool, gpu.stream, BYTES, &memory));
  memset(&event_options, 0, sizeof event_options);
  event_options.struct_size = sizeof event_options;
  event_options.flags = CUSHIM_EVENT_INTERPROCESS;
  check(cushim_event_create(gpu.context, &event_options, &filled));

  /* Recorded before the message: an event that was not recorded yet is waited for by nobody. */
  all = cushim_endpoint_buffer(memory, 0);
  check(cushim_stream_fill(gpu.stream, &all, CUSHIM_VALUE_32(3), COUNT));
  check(cushim_event_record(filled, gpu.stream));

  check(cushim_resource_export(pool, parcel.pool, sizeof parcel.pool, &file));
  check(cushim_buffer_export(memory, parcel.memory, sizeof parcel.memory));
  check(cushim_event_export(filled, parcel.filled, sizeof parcel.filled));
  send_parcel(socket, &parcel, file);
  close(file);

  /* The memory is not freed before the consumer has let it go. */
  need(read(socket, &done, 1) == 1, "read");
  check(cushim_event_destroy(filled));
  check(cushim_buffer_destroy(memory));
  check(cushim_resource_destroy(pool));
  end(&gpu);
}

static void consume(int socket) {
  struct gpu gpu = begin();
  struct parcel parcel;
  cushim_resource pool;
  cushim_buffer memory;
  cushim_event filled;
  cushim_endpoint to, from;
  uint32_t *numbers = malloc(BYTES);
  uint64_t sum = 0;
  int file = receive_parcel(socket, &parcel), i;

  need(numbers != NULL, "malloc");
  check(cushim_resource_import(gpu.device, parcel.pool, sizeof parcel.pool, file, &pool));
  close(file);
  check(cushim_buffer_import(pool, gpu.stream, parcel.memory, sizeof parcel.memory, &memory));
  check(cushim_event_import(gpu.context, parcel.filled, sizeof parcel.filled, &filled));

  check(cushim_stream_wait_event(gpu.stream, filled));
  to = cushim_endpoint_host(numbers);
  from = cushim_endpoint_buffer(memory, 0);
  check(cushim_stream_copy(gpu.stream, &to, &from, BYTES));
  check(cushim_stream_synchronize(gpu.stream));
  for (i = 0; i < COUNT; i++) sum += numbers[i];
  printf("the sum of what the other process wrote: %" PRIu64 "\n", sum);
  free(numbers);

  check(cushim_event_destroy(filled));
  check(cushim_buffer_destroy(memory));
  check(cushim_stream_synchronize(gpu.stream));
  check(cushim_resource_destroy(pool));
  end(&gpu);
  need(write(socket, "", 1) == 1, "write");
}

int main(void) {
  int sockets[2], status;
  pid_t child;
  need(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
  /* Before CUDA is used in either process: a child that is made later cannot use it. */
  child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    close(sockets[0]);
    produce(sockets[1]);
    return 0;
  }
  close(sockets[1]);
  consume(sockets[0]);
  need(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
