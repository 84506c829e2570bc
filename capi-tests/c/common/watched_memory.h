/*
 * Which allocations libcushim.so makes on a thread, and which of them fail: the program's malloc stands in front of the C library's for all
 * that is loaded. Include it first.
 */
#ifndef WATCHED_MEMORY_H
#define WATCHED_MEMORY_H

#include "graphs.h"

#include <dlfcn.h>
#include <link.h>

/* The C library's own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static uintptr_t code_begin, code_end;     /* of libcushim.so */
static __thread int watched;               /* whether allocations are counted */
static __thread int allocations, fails_at; /* by this call; 0: none fails */
static __thread int fails_on;              /* and all later ones */

static int fails(void *caller) {
  const uintptr_t address = (uintptr_t)caller;
  if (!watched || address < code_begin || address >= code_end) return 0;
  allocations++;
  return fails_at != 0 && (fails_on ? allocations >= fails_at : allocations == fails_at);
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory_, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory_, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  if (fails(__builtin_return_address(0))) return 12; /* ENOMEM */
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? 12 : 0;
}

static int find_code(struct dl_phdr_info *info, size_t size, void *data) {
  int i;
  (void)size, (void)data;
  if (strstr(info->dlpi_name, "libcushim.so") == NULL) return 0;
  for (i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_X) == 0) continue;
    code_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    code_end = code_begin + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

#endif
