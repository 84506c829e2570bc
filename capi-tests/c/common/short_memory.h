/*
 * Every allocation that a call makes fails in turn: alone, and with all later ones. The call must succeed or say that memory is
 * short, never end the process; and once there is memory again, it must succeed.
 *
 * Memory fails for libcushim.so alone, on the thread of the call. Each call is tried in a process of its own; what ends one is counted,
 * and the next allocation tried in another. At last each is made very often while all allocations fail: what it keeps must not use up what is put aside.
 *
 * Include it first, in a program that has `prepare` make what its calls use, and `check_unchanged` look at it.
 */
#ifndef SHORT_MEMORY_H
#define SHORT_MEMORY_H

#include "watched_memory.h"

#include <sys/mman.h>
#include <sys/wait.h>

struct tried_call {
  const char *name;
  cushim_status (*call)(void);
  void (*undo)(void); /* after it succeeded */
  int first;          /* the first call of a process */
};

#define CALL(call, undo) {#call, call, undo, 0}

static inline void nothing(void) {}

static void prepare(void);

/* Checks that nothing is left of a call that failed. */
static void check_unchanged(void);

/* What processes tell the first one. */
static struct {
  int at;     /* the allocation that fails */
  int done;   /* all were tried */
  int points; /* how many there are */
  int refusals;
} *told;

static cushim_status tried(const struct tried_call *call, int at, int on) {
  cushim_status status;
  allocations = 0, fails_at = at, fails_on = on, watched = 1;
  status = call->call();
  watched = 0;
  return status;
}

/* In a process of its own: allocations from `told->at` on. */
static void try_from(const struct tried_call *call, int on) {
  dl_iterate_phdr(find_code, NULL);
  if (!CHECK(code_begin != 0)) exit(1);
  if (!call->first) {
    prepare();
    CHECK_STATUS(CUSHIM_SUCCESS, tried(call, 0, 0)); /* what is made once */
    call->undo();
  }
  for (;; told->at++) {
    const cushim_status status = tried(call, told->at, on);
    const int reached = allocations >= told->at;
    if (status == CUSHIM_SUCCESS) call->undo();
    else if (!CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, status)) fprintf(stderr, "  in %s at %d\n", call->name, told->at);
    else told->refusals++;
    if (status != CUSHIM_SUCCESS) check_unchanged();
    CHECK_STATUS(CUSHIM_SUCCESS, tried(call, 0, 0));
    call->undo();
    if (!reached) break;
    told->points++;
    if (call->first) {
      told->at++;
      _exit(check_failures != 0);
    }
  }
  told->done = 1;
  fflush(NULL);
  _exit(check_failures != 0);
}

/* In a process of its own: call after call without memory, whatever each answers. */
static void try_often(const struct tried_call *call) {
  enum { OFTEN = 2000 };
  int i;
  dl_iterate_phdr(find_code, NULL);
  prepare();
  for (i = 0; i < OFTEN; i++) tried(call, 1, 1);
  CHECK_STATUS(CUSHIM_SUCCESS, cushim_stream_synchronize(all.stream));
  fflush(NULL);
  _exit(check_failures != 0);
}

/* Whether the call, made so, ended the process. */
static int ends_often(const struct tried_call *call) {
  int status = 0;
  pid_t child;
  fflush(NULL);
  child = fork();
  if (child == 0) {
    alarm(60);
    try_often(call);
  }
  if (!CHECK(child > 0 && waitpid(child, &status, 0) == child)) exit(1);
  if (status != 0) fprintf(stderr, "%s ended the process when it was made often\n", call->name);
  return status != 0;
}

/* The number of processes that the call ended. */
static int try_one(const struct tried_call *call, int on) {
  enum { MOST = 1000 };
  int ended = 0;
  memset(told, 0, sizeof *told);
  told->at = 1;
  while (!told->done && told->at < MOST) {
    int status = 0;
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) {
      alarm(60);
      try_from(call, on);
    }
    if (!CHECK(child > 0 && waitpid(child, &status, 0) == child)) exit(1);
    if (WIFEXITED(status)) {
      CHECK(WEXITSTATUS(status) == 0);
      if (WEXITSTATUS(status) != 0) break;
      continue;
    }
    fprintf(stderr, "%s ended the process at allocation %d%s\n", call->name, told->at, on ? " and all later ones" : "");
    ended++;
    told->points++;
    told->at++;
  }
  printf("%-20s%s %d allocations, %d refusals, %d ends\n", call->name, on ? " and on:" : ":", told->points, told->refusals, ended);
  return ended;
}

/* The whole program. */
static int try_all(const struct tried_call *calls, size_t count) {
  int ends = 0, points = 0, refusals = 0, on;
  size_t which;
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!CHECK(told != MAP_FAILED)) return 1;
  for (which = 0; which < count; which++) {
    for (on = 0; on < 2; on++) {
      ends += try_one(&calls[which], on);
      points += told->points, refusals += told->refusals;
    }
    if (!calls[which].first) ends += ends_often(&calls[which]);
  }
  printf("%d allocations failed, for which %d calls said so, and %d ended the process\n", points, refusals, ends);
  CHECK(ends == 0);
  return check_done();
}

#endif
