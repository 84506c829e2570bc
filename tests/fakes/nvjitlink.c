/* An nvJitLink for tests, which makes PTX: its LTO IR is that of nvrtc.c, PTX behind a mark. What is linked is one text behind the other.
 * VERSION is 12080 for CUDA 12.8; with OLD its functions have names like those of CUDA 12.0 only, and none tells the version.
 *
 * FAKE_NVJITLINK_TRACE names a file to which each linker appends its options, in a line. The option --nonsense is none; with --missing a
 * function is missing, and with --twice one is there twice, of which it succeeds all the same, as the real one does. */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if OLD
#define NAME(name) __##name##_12_0
#else
#define NAME(name) name
#endif

enum { UNRECOGNIZED_OPTION = 1, MISSING_ARCH = 2, INVALID_INPUT = 3, INTERNAL = 6, CUBIN = 1, PTX = 2, LTO_IR = 3 };

struct linker {
  char error[512], info[128], *text;
  int count, lto, ptx, missing, twice;
};

int NAME(nvJitLinkCreate)(struct linker **linker, unsigned count, const char **options) {
  const char *trace = getenv("FAKE_NVJITLINK_TRACE");
  FILE *file = trace ? fopen(trace, "a") : NULL;
  struct linker *made = *linker = calloc(1, sizeof *made);
  int has_arch = 0;
  made->text = strdup("");
  if (file) {
    for (unsigned i = 0; i < count; i++) fprintf(file, "%s ", options[i]);
    fputc('\n', file);
    fclose(file);
  }
  for (unsigned i = 0; i < count; i++) {
    has_arch |= strncmp(options[i], "-arch=", 6) == 0;
    made->lto |= strcmp(options[i], "-lto") == 0;
    made->ptx |= strcmp(options[i], "-ptx") == 0;
    made->missing |= strcmp(options[i], "--missing") == 0;
    made->twice |= strcmp(options[i], "--twice") == 0;
    if (strcmp(options[i], "--nonsense") == 0) {
      snprintf(made->error, sizeof made->error, "unrecognized option: %s\n", options[i]);
      return UNRECOGNIZED_OPTION;
    }
  }
  return has_arch ? 0 : MISSING_ARCH;
}

int NAME(nvJitLinkDestroy)(struct linker **linker) {
  free((*linker)->text);
  free(*linker);
  *linker = NULL;
  return 0;
}

/* A text without its first lines, which are of one of them only: .version, .target, .address_size. */
static const char *body(const char *text) {
  const char *end = strstr(text, ".address_size");
  return end && strchr(end, '\n') ? strchr(end, '\n') + 1 : text;
}

int NAME(nvJitLinkAddData)(struct linker *linker, int kind, const void *data, size_t size, const char *name) {
  const size_t mark = kind == LTO_IR ? 8 : 0, before = strlen(linker->text);
  char *own = calloc(1, size + 1), *all;
  const char *text;
  if (kind == CUBIN || (kind == LTO_IR && !linker->lto)) {
    snprintf(linker->error, sizeof linker->error, "ERROR 1: bad input: %s\n", name);
    free(own);
    return INVALID_INPUT;
  }
  memcpy(own, (const char *)data + mark, size - mark);
  text = linker->count++ ? body(own) : own;
  all = malloc(before + strlen(text) + 2);
  memcpy(all, linker->text, before);
  strcpy(all + before, text);
  strcat(all, "\n");
  free(linker->text);
  free(own);
  linker->text = all;
  return 0;
}

int NAME(nvJitLinkComplete)(struct linker *linker) {
  snprintf(linker->info, sizeof linker->info, "INFO: %d inputs\n", linker->count);
  if (linker->twice) strcpy(linker->error, "error   : Multiple definition of 'f' in 'b', first defined in 'a'\n");
  if (!linker->missing) return 0;
  strcpy(linker->error, "error   : Undefined reference to 'f' in 'a'\nERROR 9: finish\n");
  return INTERNAL;
}

static int size_of(const char *text, size_t *size) {
  *size = *text ? strlen(text) + 1 : 0;
  return 0;
}

static int copy_of(const char *text, char *to) {
  strcpy(to, text);
  return 0;
}

int NAME(nvJitLinkGetLinkedPtxSize)(struct linker *linker, size_t *size) { return linker->ptx ? size_of(linker->text, size) : INVALID_INPUT; }
int NAME(nvJitLinkGetLinkedPtx)(struct linker *linker, char *to) { return linker->ptx ? copy_of(linker->text, to) : INVALID_INPUT; }
int NAME(nvJitLinkGetLinkedCubinSize)(struct linker *linker, size_t *size) { return (void)linker, (void)size, INVALID_INPUT; }
int NAME(nvJitLinkGetLinkedCubin)(struct linker *linker, void *to) { return (void)linker, (void)to, INVALID_INPUT; }
int NAME(nvJitLinkGetErrorLogSize)(struct linker *linker, size_t *size) { return size_of(linker->error, size); }
int NAME(nvJitLinkGetErrorLog)(struct linker *linker, char *to) { return copy_of(linker->error, to); }
int NAME(nvJitLinkGetInfoLogSize)(struct linker *linker, size_t *size) { return size_of(linker->info, size); }
int NAME(nvJitLinkGetInfoLog)(struct linker *linker, char *to) { return copy_of(linker->info, to); }

#if !OLD
int nvJitLinkVersion(unsigned *major, unsigned *minor) { return *major = VERSION / 1000, *minor = VERSION % 1000 / 10, 0; }
#endif
