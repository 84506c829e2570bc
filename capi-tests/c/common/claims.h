/*
 * Notes what a program claims, and destroys at its end what it still holds. fault_sweep/claims.rs adds a wrapper for each
 * function that gives or ends a claim, and end_claim().
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define RECORDER_H
#include <cushim.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CLAIMS_NOTED = 4096 };
static struct { char kind; void *handle; } claims_noted[MOST_CLAIMS_NOTED];
static uint64_t memory_lent[MOST_CLAIMS_NOTED];
static pthread_mutex_t claims_lock = PTHREAD_MUTEX_INITIALIZER;
static int claims_are_noted;
static void end_claims(void);

static inline void end_with_claims(void) {
  if (!claims_are_noted) atexit(end_claims);
  claims_are_noted = 1;
}

static inline void claim_begins(char kind, void *handle) {
  int i = 0;
  pthread_mutex_lock(&claims_lock);
  end_with_claims();
  while (i < MOST_CLAIMS_NOTED - 1 && claims_noted[i].handle != NULL) i++;
  claims_noted[i].kind = kind;
  claims_noted[i].handle = handle;
  pthread_mutex_unlock(&claims_lock);
}

static inline void claim_ends(void *handle) {
  int i;
  pthread_mutex_lock(&claims_lock);
  for (i = 0; handle != NULL && i < MOST_CLAIMS_NOTED; i++) {
    if (claims_noted[i].handle == handle) claims_noted[i].handle = NULL;
  }
  pthread_mutex_unlock(&claims_lock);
}

/* Memory that the program has as an address, and to free. */
static inline void memory_is_lent(uint64_t address) {
  int i = 0;
  pthread_mutex_lock(&claims_lock);
  end_with_claims();
  while (i < MOST_CLAIMS_NOTED - 1 && memory_lent[i] != 0) i++;
  memory_lent[i] = address;
  pthread_mutex_unlock(&claims_lock);
}

static inline void memory_is_back(uint64_t address) {
  int i;
  pthread_mutex_lock(&claims_lock);
  for (i = 0; i < MOST_CLAIMS_NOTED && memory_lent[i] != address; i++) {}
  if (i < MOST_CLAIMS_NOTED) memory_lent[i] = 0;
  pthread_mutex_unlock(&claims_lock);
}

/* For what it gets by the driver's own functions. */
#define LEND_MEMORY(address) memory_is_lent(address)

/* A free that fails may leak the memory; then the error says which. */
static inline void leak_is_told(void) {
  const char *told = strstr(cushim_last_error_message(), " bytes at 0x");
  unsigned long long address;
  if (told != NULL && sscanf(told, " bytes at %llx are leaked", &address) == 1) memory_is_lent(address);
}

/* Tells what the library does not owe. */
static void tell_memory(void) {
  const char *path = getenv("FAULT_SWEEP_LENT");
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  int i;
  for (i = 0; file != NULL && i < MOST_CLAIMS_NOTED; i++) {
    if (memory_lent[i] != 0) fprintf(file, "%#llx\n", (unsigned long long)memory_lent[i]);
  }
  if (file != NULL) fclose(file);
}

/* Whether a destroy said no, and the claim is what it was. */
static inline int claim_is_kept(cushim_status status) {
  return status == CUSHIM_ERROR_INVALID_HANDLE || status == CUSHIM_ERROR_INVALID_ARGUMENT ||
         status == CUSHIM_ERROR_STREAM_REQUIRED;
}

static void end_claim(char kind, void *handle);

static void end_claims(void) {
  int32_t done;
  int i;
  for (i = 0; i < MOST_CLAIMS_NOTED; i++) {
    if (claims_noted[i].handle != NULL) end_claim(claims_noted[i].kind, claims_noted[i].handle);
  }
  cushim_flush_callbacks(2000, &done);
  tell_memory();
}
