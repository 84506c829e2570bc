/*
 * Calls of every function of graphs, nodes, execs and builders at random, with those whose work can be captured, on handles that are
 * good, stale, foreign, of another kind or none at all: `graphs [--safe] [--transcript] [calls [seed [episode]]]`.
 *
 * No call may crash, hang, or panic, succeed with an argument that is certainly wrong, or leave something where a failed call's
 * results would be. At the end of each episode of 400 calls nothing is left in the driver, and every owner was released. What else
 * the calls answer is not foreseen: `fuzz.c` has a model for that, which does not know what graphs keep alive.
 *
 * What is left out, and why:
 * - loops that nothing ends: each loop gets a kernel that sets its condition at random, of which no call knows; no loop is captured;
 * - operations that wait for a value, which nobody would write;
 * - memory that is not there when a graph runs, and arguments that are no kernel's where the driver cannot tell: the program vouches
 *   for both. Kernels have memory that lives as long as the episode, or buffers;
 * - native graphs that the library did not make (`graphs/foreign.c`), and contexts that are reset (`graphs/reset.c`);
 * - arrays shorter than the count says, where the library writes to them;
 * - other drivers than softcuda: there no call has an object to work on, as nobody has asked a real one what it bears;
 * - other threads, callbacks that call back, and forks: `graphs/misuse.c`.
 */
#include "graphs/episode.h"
#include "watch.h"

int main(int count, char **arguments) {
  if ((progress = shared_progress()) == NULL) return 2;
  read_arguments(count, arguments);
  choose_from();
  if (!settings.safe) settings.safe = !is_softcuda();
  return run_all();
}
