// kernels.h in C++: which kernels an example uses. They stand in it as PTX, so that it needs no compiler; its twin NAME.cu has the same in
// CUDA C++. With EXAMPLE_KERNELS=NAME.cu in the environment NVRTC compiles those when the program runs, and they take the place of the others.
#ifndef EXAMPLE_KERNELS_HPP
#define EXAMPLE_KERNELS_HPP

#include <cushim.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>

// The PTX that the program has, or that of its twin.
inline std::string kernels(cushim::context_ref context, const char *ptx) {
  const char *path = std::getenv("EXAMPLE_KERNELS");
  if (path == nullptr) return ptx;

  std::ifstream file(path);
  if (!file) throw cushim::error(CUSHIM_ERROR_INVALID_ARGUMENT, std::string("EXAMPLE_KERNELS: cannot read ") + path);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  cushim::compile_options options;
  options.name = path;
  options.kind = CUSHIM_CODE_PTX;
  // Without multiply-adds, which round once: what the examples compute on the host rounds twice. As code that may yet be linked.
  options.options = {"--fmad=false", "--relocatable-device-code=true"};
  const auto code = cushim::program::compile(context.device(), source, options).code();
  return {code.begin(), code.end()};
}

#endif
