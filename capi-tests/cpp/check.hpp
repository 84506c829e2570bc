// What the C++ test programs share: checks that go on after a failure and say where it was. A program ends with
// `return check::program(run)`.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cushim.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace check {

inline int count = 0, failures = 0;

inline bool that(bool passed, const char *file, int line, const char *what) {
  count++;
  if (passed) return true;
  failures++;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  return false;
}

// The call throws an error with this status and a sentence.
template <class Function>
void fails(cushim_status status, Function call, const char *file, int line, const char *what) {
  try {
    call();
    that(false, file, line, what);
  } catch (const cushim::error &error) {
    if (that(error.status() == status && *error.what() != '\0', file, line, what)) return;
    std::fprintf(stderr, "  is %d, not %d: %s\n", error.status(), status, error.what());
  }
}

inline int program(void (*run)()) {
  alarm(240); // a program that hangs; under a sanitizer it is many times slower
  try {
    run();
  } catch (const cushim::error &error) {
    that(false, "an error that nobody expected", error.status(), error.what());
  }
  if (failures == 0) std::printf("%d checks passed\n", count);
  else std::fprintf(stderr, "%d of %d checks failed\n", failures, count);
  return failures != 0;
}

// The version that the driver is to report, as the harness has handed it over; 0 for "none".
inline int version() {
  const char *const text = std::getenv("CHECK_VERSION");
  return text != nullptr ? std::atoi(text) : 0;
}

} // namespace check

#define CHECK(condition) check::that((condition) ? true : false, __FILE__, __LINE__, #condition)
#define CHECK_FAILS(status, ...) check::fails(status, [&] { static_cast<void>(__VA_ARGS__); }, __FILE__, __LINE__, #__VA_ARGS__)

#endif
