/*
 * Calls of every function at random, on handles that are good, stale, foreign, of another kind or none at all, with sizes
 * that are good or not: `fuzz [--safe] [--transcript] [calls [seed [episode]]]`. Or compares two transcripts:
 * `fuzz --compare softcuda.txt gpu.txt`.
 *
 * A model of what the calls have made says what each must answer. No call may crash, hang, panic, or leave something where
 * a failed call's results would be; at the end of each episode of 400 calls nothing is left in the driver, as far as that
 * can be asked, and every owner was released. The same seed makes the same calls on every driver.
 *
 * The process that makes the calls is watched by another one. What fails is tried again alone, and with fewer and fewer
 * calls; those that are left are shown.
 *
 * --safe leaves out what a real driver does not bear, and is the default where the driver is not softcuda. --transcript
 * prints a line for each call, so that drivers can be compared.
 *
 * What is left out, and why:
 * - other drivers, getters and flags in the options of an open driver: each is a library of its own; `raw/open.c` and others do that;
 * - native handles that the library did not make (streams, contexts, kernels, pools), and green contexts at all: no function here
 *   makes any; `objects/contexts.c` and its like do;
 * - machine code: the devices differ; `kernels/kernels.c` loads it;
 * - what OpenGL does: in some episodes the driver has one of the program's own (graphics.h), whose images have no arrays to work on;
 * - pointers and tensors that lie about the memory behind them, and handles that a struct too small for them would hold: the
 *   library reads what it is told to, as the headers say;
 * - what a user must order between streams is ordered here (`order_before` in choose.h);
 * - memory of the code's variables is found, and not worked on: it goes when the code does, which nobody here waits for;
 * - graphs and captures: `graphs.c` calls their functions, and knows less of what they answer;
 * - descriptors that a process forges: what another one exports is cut, changed and mixed up (exports.h);
 * - other threads, callbacks that call back, and forks: `objects/threads.c`, `objects/callbacks.c`, `raw/fork.c`;
 * - what the memory holds: the other programs look at that.
 */
#include "compare.h"
#include "episode.h"
#include "watch.h"

/* Among so many calls there is each that needs others before it. */
static int lacks_success(uint64_t calls) {
  enum { ENOUGH = 200000 };
  static const char *const names[] = {"cushim_event_import",  "cushim_resource_import",     "cushim_buffer_import", "cushim_buffer_open", "cushim_allocation_import",
                                      "cushim_buffer_grow",   "cushim_buffer_import_parts", "cushim_buffer_sleep",  "cushim_buffer_wake"};
  size_t i;
  int missing = 0;
  if (calls < ENOUGH || !progress->has_another) return 0;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (progress->succeeded[function_named(names[i])] > 0) continue;
    fprintf(stderr, "fuzz: no call of %s succeeds\n", names[i]);
    missing = 1;
  }
  return missing;
}

int main(int count, char **arguments) {
  uint64_t calls;
  const int compares = count > 1 && strcmp(arguments[1], "--compare") == 0;
  if ((progress = shared_progress()) == NULL) return 2;
  if (compares && count == 4) return compare_transcripts(arguments[2], arguments[3]);
  read_arguments(count, arguments);
  if (!settings.safe) settings.safe = !is_softcuda();
  calls = settings.calls;
  return run_all() || lacks_success(calls);
}
