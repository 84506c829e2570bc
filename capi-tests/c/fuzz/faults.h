/* Calls of the driver that fail at random (--faults). */
#ifndef FUZZ_FAULTS_H
#define FUZZ_FAULTS_H

#include "shared.h"

#include "control.h"

static struct control fault_control;

/* One of the driver's calls that this call makes may fail, the context with it or not. */
static void faults_begin(void) {
  char rule[64];
  if (!settings.faults || !once_in(4)) return;
  if (fault_control.fault_set == NULL && !find_control(&fault_control)) return;
  snprintf(rule, sizeof rule, "*#%d=%d%s", (int)below(4) + 1, (int)ONE_OF(1, 2, 3, 201, 304, 400, 700, 719, 801, 900, 999),
           once_in(16) ? "/sticky" : "");
  fault_control.fault_set(rule);
}

/* With faults much may be as it would not be without; nothing may end the process, stand still, or be the library's own fault. */
static void faults_end(cushim_status status) {
  if (!settings.faults) return;
  if (fault_control.fault_clear != NULL) fault_control.fault_clear();
  if (status != CUSHIM_ERROR_INTERNAL) return;
  settings.faults = 0;
  fail("an internal error: %s", cushim_last_error_message());
}

#endif
