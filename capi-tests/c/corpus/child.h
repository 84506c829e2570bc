/* Kernels that end the process's context, or print: they run in a process of their own. */
#ifndef CORPUS_CHILD_H
#define CORPUS_CHILD_H

#include "run.h"

#include <sys/types.h>

/* Starts this program again with these arguments; what it prints is read from `from`. */
pid_t child_start(const char *const *arguments, int *from);
/* From now on, children take this image. */
void child_of(size_t image);
/* What a child prints that runs this kernel; to be freed. */
char *child_prints(struct run *run, const char *kernel);
/* In the child: launches the kernel, and prints how that ends. */
void child_runs(struct run *run, const char *kernel);

#endif
