/*
 * The kernels of the folder kernels, as several compilers made PTX of them, each with the same input on whatever driver is
 * there, held against references in C. One line for each kernel source and compiler. With CORPUS_CAPTURED in the environment each launch
 * is captured, and the graph launched instead: the lines are the same.
 *
 * A worker process does the work, and another goes on where one was ended by an error that no context survives.
 */
#include "child.h"
#include "run.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct image {
  const char *source, *compiler, *start, *end;
};

#include "corpus.inc" /* images[] */

enum { LONGEST_SECONDS = 100, LOST = 3 };

static const struct kernel_case *const lists[] = {arrays_cases, numbers_cases, mathematics_cases, threads_cases,
                                                   language_cases};

static const struct kernel_case *case_of(const char *source) {
  size_t i;
  const struct kernel_case *found;
  for (i = 0; i < COUNT(lists); i++)
    for (found = lists[i]; found->source != NULL; found++)
      if (strcmp(found->source, source) == 0) return found;
  fprintf(stderr, "no reference for %s.cu\n", source);
  exit(2);
}

static void name_of(const struct image *image, char *name, size_t size) {
  snprintf(name, size, "%s %s", image->source, image->compiler);
}

static int wanted(const struct image *image, const char *filter) {
  char name[128];
  name_of(image, name, sizeof name);
  return filter == NULL || strstr(name, filter) != NULL;
}

/* What the compiler of the driver says, in one line. */
static void refused(struct run *run, cushim_status status) {
  static cushim_error_detail detail;
  static char log[sizeof run->failure - 32];
  char *at;
  memset(&detail, 0, sizeof detail);
  detail.struct_size = sizeof detail;
  cushim_last_error(&detail);
  snprintf(log, sizeof log, "%.*s", (int)sizeof log - 1,
           detail.driver_log[0] != 0 ? detail.driver_log : detail.message);
  for (at = log; *at != 0; at++)
    if (*at == '\n') *at = ' ';
  fail(run, "refused, %d: %s", (int)status, log);
}

static void begin(struct run *run, const struct image *image) {
  const char *arch = strstr(image->compiler, "compute_");
  cushim_status status;
  run->compiler = image->compiler;
  run->fast = strstr(image->compiler, "-fast") != NULL;
  run->arch = arch == NULL ? 0 : atoi(arch + strlen("compute_"));
  run->checksum = 0xcbf29ce484222325u;
  run->approximate = 0;
  run->worst = 0;
  run->failure[0] = 0;
  status = cushim_library_load(run->context, image->start, (size_t)(image->end - image->start), NULL, &run->library);
  if (status != CUSHIM_SUCCESS) refused(run, status);
}

static void end(struct run *run) {
  int i;
  for (i = 0; i < run->memory_count; i++) cushim_context_free(run->context, run->memory[i]);
  for (i = 0; i < run->copy_count; i++) free(run->copies[i]);
  run->memory_count = run->copy_count = 0;
  cushim_library_destroy(run->library);
  run->library = NULL;
}

static int report(const struct run *run, const struct image *image) {
  char name[128];
  name_of(image, name, sizeof name);
  if (run->failure[0] != 0) printf("%-46s differs %s\n", name, run->failure);
  else if (run->approximate) printf("%-46s near    %016llx %.3f of what is allowed\n", name, (unsigned long long)run->checksum, run->worst);
  else printf("%-46s ok      %016llx\n", name, (unsigned long long)run->checksum);
  fflush(stdout);
  return run->failure[0] != 0;
}

static int work(size_t first, const char *filter) {
  struct run run;
  size_t i;
  int failures = 0;
  cushim_status lost = CUSHIM_SUCCESS;
  open_device(&run);
  for (i = first; i < COUNT(images); i++) {
    if (!wanted(&images[i], filter)) continue;
    begin(&run, &images[i]);
    child_of(i);
    if (run.failure[0] == 0) case_of(images[i].source)->check(&run);
    failures += report(&run, &images[i]);
    end(&run);
    cushim_context_get_lost(run.context, &lost);
    if (lost != CUSHIM_SUCCESS) return LOST;
  }
  return failures != 0;
}

/* Launches one kernel and says what became of it, for `child.c`. */
static int one(size_t index, const char *kernel) {
  struct run run;
  open_device(&run);
  begin(&run, &images[index]);
  if (run.failure[0] != 0) printf("%s\n", run.failure);
  else child_runs(&run, kernel);
  fflush(stdout);
  return 0;
}

struct progress {
  size_t next; /* the image whose line comes next */
  int failures;
  const char *filter;
};

static void skip_unwanted(struct progress *progress) {
  while (progress->next < COUNT(images) && !wanted(&images[progress->next], progress->filter)) progress->next++;
}

/* Passes on the lines of a worker until it ends. Whether it was in time. */
static int relay(int from, struct progress *progress) {
  struct pollfd polled = {from, POLLIN, 0};
  char byte, line[2048];
  size_t length = 0;
  while (poll(&polled, 1, LONGEST_SECONDS * 1000) > 0) {
    if (read(from, &byte, 1) != 1) return 1;
    if (length < sizeof line - 1) line[length++] = byte;
    if (byte != '\n') continue;
    line[length] = 0;
    length = 0;
    fputs(line, stdout);
    fflush(stdout);
    if (strstr(line, " differs ") != NULL) progress->failures++;
    progress->next++;
    skip_unwanted(progress);
  }
  return 0;
}

/* A worker was ended in the midst of a kernel. */
static void broke(struct progress *progress, const char *how, int number) {
  char name[128];
  name_of(&images[progress->next], name, sizeof name);
  printf("%-46s differs the process %s %d\n", name, how, number);
  progress->failures++;
  progress->next++;
  skip_unwanted(progress);
}

static int supervise(const char *filter) {
  struct progress progress = {0, 0, filter};
  skip_unwanted(&progress);
  while (progress.next < COUNT(images)) {
    char first[32];
    const char *arguments[] = {"--worker", first, filter, NULL};
    int from, status = 0, in_time;
    size_t before = progress.next;
    pid_t worker;
    snprintf(first, sizeof first, "%zu", progress.next);
    worker = child_start(arguments, &from);
    in_time = relay(from, &progress);
    if (!in_time) kill(worker, SIGKILL);
    close(from);
    waitpid(worker, &status, 0);
    if (progress.next == COUNT(images)) break;
    if (!in_time) broke(&progress, "took more seconds than", LONGEST_SECONDS);
    else if (WIFSIGNALED(status)) broke(&progress, "was ended by signal", WTERMSIG(status));
    else if (WEXITSTATUS(status) != LOST || progress.next == before) return 2;
  }
  printf("%d differ\n", progress.failures);
  return progress.failures != 0;
}

static int usage(int status) {
  fputs("usage: kernels [--list] [--filter TEXT]\n\n"
        "Runs every kernel of the corpus, as each compiler made it, and compares with references in C.\n\n"
        "  --list         says which there are, and runs none\n"
        "  --filter TEXT  only those whose name, or whose compiler's, contains this\n\n"
        "Of each: ok, with a checksum of what came out; near, where instructions are approximate, with the largest\n"
        "deviation; or differs, and how. CUSHIM_DRIVER says on which driver.\n",
        status == 0 ? stdout : stderr);
  return status;
}

int main(int count, char **arguments) {
  const char *filter = NULL;
  int i, list = 0;
  size_t k;
  if (count >= 3 && strcmp(arguments[1], "--worker") == 0) return work((size_t)atol(arguments[2]), count > 3 ? arguments[3] : NULL);
  if (count == 4 && strcmp(arguments[1], "--one") == 0) return one((size_t)atol(arguments[2]), arguments[3]);
  for (i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--help") == 0) return usage(0);
    if (strcmp(arguments[i], "--list") == 0) list = 1;
    else if (strcmp(arguments[i], "--filter") == 0 && i + 1 < count) filter = arguments[++i];
    else return usage(2);
  }
  if (!list) return supervise(filter);
  for (k = 0; k < COUNT(images); k++)
    if (wanted(&images[k], filter)) printf("%s %s\n", images[k].source, images[k].compiler);
  return 0;
}
