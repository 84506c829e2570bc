// What the programs on graphs share: kernels that leave traces in numbers on the device, and kernels that set conditions.
#ifndef TRACES_HPP
#define TRACES_HPP

#include "check.hpp"

// Each appends a digit to a number, so that the number tells the order.
constexpr char trace_code[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry append(.param .u64 to, .param .u32 digit) {
  .reg .u64 %to;
  .reg .u32 %digit, %number;
  ld.param.u64 %to, [to];
  ld.param.u32 %digit, [digit];
  ld.volatile.global.u32 %number, [%to];
  mad.lo.u32 %number, %number, 10, %digit;
  st.volatile.global.u32 [%to], %number;
  ret;
}
)";

// Takes 1 from a number; the condition is what is left.
constexpr char condition_code[] = R"(.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry countdown(.param .u64 condition, .param .u64 from) {
  .reg .u64 %condition, %from;
  .reg .u32 %value;
  ld.param.u64 %condition, [condition];
  ld.param.u64 %from, [from];
  ld.volatile.global.u32 %value, [%from];
  sub.u32 %value, %value, 1;
  st.volatile.global.u32 [%from], %value;
  {
  .param .b64 first;
  .param .b32 second;
  st.param.b64 [first], %condition;
  st.param.b32 [second], %value;
  call.uni cudaGraphSetConditional, (first, second);
  }
  ret;
}
)";

struct traces {
  cushim::driver driver = cushim::driver::open();
  cushim::device_ref device = driver.get_device(0);
  cushim::context context = cushim::context::retain_primary(device);
  cushim::stream stream{context};
  cushim::library library;
  cushim::kernel append;
  cushim::buffer numbers;

  // False on the driver "none", which has no graphs.
  bool open() {
    if (driver.info().kind == CUSHIM_DRIVER_KIND_NONE) return false;
    library = cushim::library::load(context, trace_code);
    append = library.get_kernel("append");
    numbers = device.allocate(stream, 64);
    clear();
    return true;
  }
  void clear() const { stream.fill<std::uint32_t>(numbers, 0); }
  [[nodiscard]] std::uint32_t number(std::size_t index = 0) const {
    std::uint32_t all[16];
    stream.copy(all, numbers);
    stream.sync();
    return all[index];
  }
  // The first number after one launch, with zeros before.
  [[nodiscard]] std::uint32_t result_of(cushim::exec_ref exec) const {
    clear();
    exec.launch(stream);
    return number();
  }
  [[nodiscard]] std::uint32_t result_of(cushim::graph_ref graph) const {
    const cushim::exec exec = graph.instantiate();
    return result_of(exec);
  }
};

#endif
