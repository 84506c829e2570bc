/* The functions that return no status: whatever they are asked, they answer. */
#ifndef FUZZ_OTHERS_H
#define FUZZ_OTHERS_H

#include "handles.h"

static void ask_others(void) {
  static const char *const names[] = {"cuInit", "cuMemAlloc", "cuNothing", ""};
  const cushim_status status = (cushim_status)(once_in(2) ? drawn() : below(1000) - 20);
  const size_t index = (size_t)ONE_OF(0, 1, below(64), SIZE_MAX);
  const int32_t table_kind = (int32_t)ONE_OF(0, 1, 2, UINT64_MAX), abi = (int32_t)ONE_OF(0, 2000, 3020, drawn());
  const cushim_driver_table *table = once_in(8) ? NULL : cushim_driver_default_table(table_kind);
  const char *const name = once_in(16) ? NULL : names[below(4)];
  const int32_t missing = cushim_table_missing(table, name, abi);
  if ((cushim_status_name(status) == NULL) != (cushim_status_string(status) == NULL)) fail("status %d is half known", (int)status);
  if (cushim_status_name(CUSHIM_ERROR_INVALID_HANDLE) == NULL) fail("a status has no name");
  if (cushim_last_error_message() == NULL) fail("the last error has no message");
  if (cushim_symbol_count() == 0) fail("there are no symbols");
  if (cushim_feature_name(index) == NULL && index < 2) fail("there are no features");
  /* Where there is no driver, cuInit says that there is no device. */
  if (missing != CUDA_ERROR_NOT_FOUND && !(missing == CUDA_ERROR_NO_DEVICE && name == names[0])) fail("cushim_table_missing answers %d", (int)missing);
  if (cushim_stream_current() == NULL) fail("there is no handle for the current stream");
}

#endif
