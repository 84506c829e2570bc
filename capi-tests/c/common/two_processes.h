/*
 * Two processes that share what a driver has: one exports, one imports, and they take turns by messages over a socket. Both are made
 * before the library is used, which a child of a fork may not use afterwards.
 */
#ifndef TWO_PROCESSES_H
#define TWO_PROCESSES_H

#include "check.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* The other process, for this one. */
static int peer_socket = -1;

enum { MESSAGE_BYTES = 256 };

/* Sends so many bytes, and a descriptor if it is not negative. */
static inline void send_message(const void *bytes, size_t count, int descriptor) {
  unsigned char message[MESSAGE_BYTES];
  struct iovec part;
  struct msghdr header;
  union {
    size_t aligned;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  memset(message, 0, sizeof message);
  memset(&header, 0, sizeof header);
  memset(&control, 0, sizeof control);
  if (count > sizeof message) count = sizeof message;
  if (count > 0) memcpy(message, bytes, count);
  part.iov_base = message;
  part.iov_len = sizeof message;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    struct cmsghdr *right;
    header.msg_control = control.room;
    header.msg_controllen = sizeof control.room;
    right = CMSG_FIRSTHDR(&header);
    right->cmsg_level = SOL_SOCKET;
    right->cmsg_type = SCM_RIGHTS;
    right->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(right), &descriptor, sizeof descriptor);
  }
  CHECK(sendmsg(peer_socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof message);
}

/* Receives so many bytes; returns the descriptor that came with them, -1 if none did, and -2 if the other process is gone. */
static inline int receive_message(void *bytes, size_t count) {
  unsigned char message[MESSAGE_BYTES];
  struct iovec part;
  struct msghdr header;
  struct cmsghdr *right;
  union {
    size_t aligned;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  int descriptor = -1;
  ssize_t got;
  memset(&header, 0, sizeof header);
  part.iov_base = message;
  part.iov_len = sizeof message;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.room;
  header.msg_controllen = sizeof control.room;
  do got = recvmsg(peer_socket, &header, MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof message) return -2;
  if (count > 0) memcpy(bytes, message, count < sizeof message ? count : sizeof message);
  right = CMSG_FIRSTHDR(&header);
  if (right != NULL && right->cmsg_type == SCM_RIGHTS) memcpy(&descriptor, CMSG_DATA(right), sizeof descriptor);
  return descriptor;
}

/* It is the other's turn; it is this one's. */
static inline void your_turn(void) { send_message(NULL, 0, -1); }
static inline void my_turn(void) { CHECK(receive_message(NULL, 0) == -1); }

static inline pid_t process_of(int own, int others, void (*work)(void)) {
  pid_t process;
  fflush(NULL);
  process = fork();
  if (process != 0) return process;
  close(others);
  peer_socket = own;
  alarm(CHECK_HANGS_AFTER);
  check_failures = 0;
  work();
  fflush(NULL);
  _exit(check_failures != 0);
}

/* Who of both is killed, in the middle of its work. */
enum killed { NOBODY = -1, THE_EXPORTER, THE_IMPORTER };

/* Runs both; each succeeds, but for the one that is killed: it does that itself, by SIGKILL. */
static inline void in_two_processes(void (*exports)(void), void (*imports)(void), enum killed killed) {
  int sockets[2], status = 0, i;
  pid_t both[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  both[0] = process_of(sockets[0], sockets[1], exports);
  both[1] = process_of(sockets[1], sockets[0], imports);
  close(sockets[0]);
  close(sockets[1]);
  /* The importer first: the exporter, once it has ended, stays as a zombie until then. */
  for (i = 1; i >= 0; i--) {
    CHECK(waitpid(both[i], &status, 0) == both[i]);
    if (i == (int)killed) CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

/* What the driver is, asked in a process of its own. */
static inline int answers(int (*question)(cushim_driver driver)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) _exit(question(open_driver()) ? 7 : 0);
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

/* How many descriptors of files the process has. */
static inline int descriptors_open(void) {
  int i, open = 0;
  for (i = 0; i < 1024; i++) open += fcntl(i, F_GETFD) >= 0;
  return open;
}

#endif
