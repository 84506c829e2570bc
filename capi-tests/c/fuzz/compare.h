/* Two transcripts of the same calls, on two drivers: where the answers part. */
#ifndef FUZZ_COMPARE_H
#define FUZZ_COMPARE_H

#include "shared.h"

/*
 * A transcript has statuses only: no addresses, times, sizes or attributes. Whether work is done yet is left out of it. What a
 * driver says to these functions depends on the machine besides; what the library says by itself never does.
 */
static const struct difference {
  const char *function, *why;
} differences[] = {
    {"cushim_resource_create_device_pool", "how processes may share a pool depends on the operating system"},
    {"cushim_resource_create_pinned", "so it does, and the host has NUMA nodes of its own"},
    {"cushim_resource_create_managed", "the host has NUMA nodes of its own"},
    {"cushim_kernel_get_active_clusters", "with an event to trigger, driver 580 supports less than was found out"},
    {"cushim_library_load_file", "a real compiler refuses some odd values of its options, which softcuda takes"},
    {"cushim_library_load", "a real compiler refuses some odd values of its options, which softcuda takes"},
    {"cushim_context_register_host", "what may be registered depends on the host's kernel"},
};

/* The library's own answers to these depend on what it has asked the device, or the linker, for. */
static const struct difference features[] = {
    {"cushim_context_flush_direct_writes", "network adapters reach the memory of a GPU"},
    {"cushim_buffer_export_dma_buf", "network adapters reach the memory of a GPU"},
    {"cushim_resource_create_virtual", "network adapters reach the memory of a GPU, and it may be part of a fabric"},
    {"cushim_buffer_grow", "network adapters reach the memory of a GPU, and it may be part of a fabric"},
    {"cushim_allocation_create", "network adapters reach the memory of a GPU, and it may be part of a fabric"},
    {"cushim_allocation_import", "network adapters reach the memory of a GPU, and it may be part of a fabric"},
    {"cushim_reservation_create", "network adapters reach the memory of a GPU, and it may be part of a fabric"},
    {"cushim_graphics_register_gl_buffer", "softcuda has no OpenGL, and a GPU's driver asks that of the thread"},
    {"cushim_graphics_register_gl_image", "softcuda has no OpenGL, and a GPU's driver asks that of the thread"},
    {"cushim_program_get_code", "how long linked code is depends on the linker"},
};

/* Whether a handle was found to be that of an object that is gone. */
static int is_of_no_object(int status) {
  return status == CUSHIM_ERROR_ALREADY_DESTROYED || status == CUSHIM_ERROR_INVALID_HANDLE;
}

/* Why the two may differ, or NULL if they may not. */
static const char *reason_of(const char *function, int first, int second) {
  size_t i;
  for (i = 0; i < sizeof features / sizeof *features; i++) {
    if (strcmp(features[i].function, function) == 0) return features[i].why;
  }
  if (is_of_no_object(first) && is_of_no_object(second)) return "the place of an object is used again when the driver has let go of it";
  if (first < 0 || second < 0) return NULL;
  for (i = 0; i < sizeof differences / sizeof *differences; i++) {
    if (strcmp(differences[i].function, function) == 0) return differences[i].why;
  }
  return NULL;
}

/* A line of a transcript. */
struct answer {
  uint64_t episode;
  int step, status;
  char function[64];
};

/* How many transcripts were read to their end, where the fuzzer says that all is well. */
static int complete_count;

static int read_answer(FILE *from, struct answer *answer) {
  char text[256];
  while (fgets(text, sizeof text, from) != NULL) {
    if (sscanf(text, "%" SCNu64 ".%d %63s %d", &answer->episode, &answer->step, answer->function, &answer->status) == 4) return 1;
    complete_count += strstr(text, " checks passed") != NULL;
  }
  return 0;
}

static int is_before(const struct answer *a, const struct answer *b) {
  return a->episode < b->episode || (a->episode == b->episode && a->step < b->step);
}

enum { MOST_KINDS = 256 };

/* Differences of one kind: a function, and what each driver answers. */
struct kind_of_difference {
  struct answer first, second;
  uint64_t count;
};
static struct kind_of_difference kinds_of_differences[MOST_KINDS];
static int kind_count;

static void note_difference(const struct answer *first, const struct answer *second) {
  int i;
  for (i = 0; i < kind_count; i++) {
    struct kind_of_difference *it = &kinds_of_differences[i];
    if (strcmp(it->first.function, first->function) != 0 || strcmp(it->second.function, second->function) != 0 || it->first.status != first->status || it->second.status != second->status) continue;
    it->count++;
    return;
  }
  if (kind_count == MOST_KINDS) return;
  kinds_of_differences[kind_count].first = *first;
  kinds_of_differences[kind_count].second = *second;
  kinds_of_differences[kind_count++].count = 1;
}

/* How many kinds nobody expects. */
static int show_differences(void) {
  int i, unexpected = 0;
  for (i = 0; i < kind_count; i++) {
    const struct kind_of_difference *it = &kinds_of_differences[i];
    const char *why = reason_of(it->first.function, it->first.status, it->second.status);
    unexpected += why == NULL;
    printf("%s: %s %d and %s %d, %" PRIu64 " times, first in %" PRIu64 ".%d%s%s\n", why == NULL ? "UNEXPECTED" : "expected", it->first.function,
           it->first.status, it->second.function, it->second.status, it->count, it->first.episode, it->first.step, why == NULL ? "" : ": ",
           why == NULL ? "" : why);
  }
  return unexpected;
}

/*
 * Compares call by call. Once a call has succeeded on one driver only, what is called from there on in the episode differs,
 * and is not compared.
 */
static int compare_transcripts(const char *first_path, const char *second_path) {
  FILE *first_file = fopen(first_path, "r"), *second_file = fopen(second_path, "r");
  struct answer first, second;
  uint64_t compared = 0, parted = 0, parted_in = 0;
  int more;
  if (first_file == NULL || second_file == NULL) {
    fprintf(stderr, "fuzz: %s cannot be read\n", first_file == NULL ? first_path : second_path);
    return 2;
  }
  more = read_answer(first_file, &first) && read_answer(second_file, &second);
  while (more) {
    const int is_parted = parted > 0 && parted_in == first.episode;
    if (is_before(&first, &second)) {
      more = read_answer(first_file, &first);
      continue;
    }
    if (is_before(&second, &first)) {
      more = read_answer(second_file, &second);
      continue;
    }
    if (!is_parted) {
      compared++;
      if (strcmp(first.function, second.function) != 0 || first.status != second.status) note_difference(&first, &second);
      if (strcmp(first.function, second.function) != 0 || (first.status == 0) != (second.status == 0)) {
        parted++;
        parted_in = first.episode;
      }
    }
    more = read_answer(first_file, &first) && read_answer(second_file, &second);
  }
  while (read_answer(first_file, &first) || read_answer(second_file, &second)) {
  }
  fclose(first_file);
  fclose(second_file);
  more = show_differences();
  if (complete_count != 2) printf("a transcript has no end: that run failed\n");
  printf("%" PRIu64 " episodes part before their end\n%" PRIu64 " calls compared, %d unexpected differences\n", parted, compared, more);
  return compared == 0 || complete_count != 2 || more > 0;
}

#endif
