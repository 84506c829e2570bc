/*
 * The child of a fork: every call is answered, and after the first use of the library it is answered with a refusal. So is
 * that of a bare clone, which calls no hooks.
 */
#include "check.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pid_t bare_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static void in_child_of(pid_t (*forks)(void), void (*work)(cushim_driver), cushim_driver driver) {
  int status = 0;
  pid_t child;
  fflush(NULL);
  child = forks();
  if (child == 0) {
    alarm(30);
    check_failures = 0;
    work(driver);
    fflush(NULL);
    _exit(check_failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void in_child(void (*work)(cushim_driver), cushim_driver driver) {
  in_child_of(fork, work, driver);
  in_child_of(bare_clone, work, driver);
}

/* Before the library was used, the child is a process like any other. */
static void fresh(cushim_driver unused) {
  cushim_driver driver = open_driver();
  (void)unused;
  CHECK(info_of(driver).version == given_number("CHECK_VERSION"));
  CHECK_OK(cushim_driver_destroy(driver));
}

static void forked(cushim_driver driver) {
  const cushim_driver_table *table = (const cushim_driver_table *)&table;
  cushim_driver other = (cushim_driver)(uintptr_t)0x1234;
  void *function = &function;
  cushim_driver_info info;
  cushim_candidate candidate;
  cushim_symbol symbol;
  info.struct_size = sizeof info;
  candidate.struct_size = sizeof candidate;
  symbol.struct_size = sizeof symbol;
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_open(NULL, &other));
  CHECK(other == NULL);
  CHECK_CONTAINS(last_message(), "fork");
  CHECK_CONTAINS(last_message(), "exec");
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_get_table(driver, 0, &table));
  CHECK(table == NULL);
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_lookup(driver, "cuInit", 2000, 0, &function));
  CHECK(function == NULL);
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_get_info(driver, &info));
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_get_candidate(driver, 0, &candidate));
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_get_symbol(driver, 0, 0, &symbol));
  CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_driver_destroy(driver));
  CHECK_OK(cushim_driver_destroy(NULL));

  /* The default table has nothing to call, and says why. */
  CHECK(!CUSHIM_HAS(cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM), cuInit_2000));
  CHECK_CONTAINS(last_message(), "fork");

  /* What needs no driver still answers. */
  CHECK(strcmp(cushim_status_name(CUSHIM_ERROR_FORKED), "CUSHIM_ERROR_FORKED") == 0);
  CHECK(cushim_symbol_count() == 616);
}

int main(void) {
  cushim_driver driver;
  check_begin();
  in_child(fresh, NULL);
  driver = open_driver();
  in_child(forked, driver);
  CHECK(CUSHIM_HAS(cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM), cuInit_2000));
  in_child(forked, driver);
  CHECK(info_of(driver).version == given_number("CHECK_VERSION"));
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
