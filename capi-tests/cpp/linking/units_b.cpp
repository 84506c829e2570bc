// Does without exceptions.
#define CUSHIM_NO_EXCEPTIONS
#include "units.hpp"
#if defined(CUSHIM_HPP_FORM) || defined(CUSHIM_HPP_THROWS) || defined(CUSHIM_HPP_COLD) || defined(CUSHIM_HPP_HASH)
#error "the header leaves macros behind"
#endif

cushim_status returned(cushim_stream stream) {
  const auto waited = cushim::stream_ref(stream).sync();
  return waited ? -1000 : waited.error().status();
}
