// Launches: sizes and arguments of kernels. Part of cushim.hpp.
#ifndef CUSHIM_LAUNCH_HPP
#define CUSHIM_LAUNCH_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// A number in each of three directions; a number alone is that in the first.
struct dim3 : cushim_dim3 {
  constexpr dim3(std::uint32_t x_size = 1, std::uint32_t y_size = 1, std::uint32_t z_size = 1) noexcept
      : cushim_dim3{x_size, y_size, z_size} {}
};

// How a kernel is launched: by default one block of one thread. It is a cushim_launch_config with its size set; each
// member below changes it and returns it.
struct launch_config : cushim_launch_config {
  launch_config(dim3 grid_size = {}, dim3 block_size = {}, std::uint32_t shared_memory = 0) noexcept
      : cushim_launch_config{} {
    struct_size = sizeof(cushim_launch_config);
    grid = grid_size;
    block = block_size;
    shared_bytes = shared_memory;
  }

  // Blocks of a cluster, by which the grid is divisible.
  launch_config &with_cluster(dim3 size) noexcept { return cluster = size, *this; }
  // All blocks run at once.
  launch_config &with_cooperation() noexcept { return with_flag(CUSHIM_LAUNCH_COOPERATIVE); }
  // In place of the stream's priority.
  launch_config &with_priority(std::int32_t its_priority) noexcept {
    priority = its_priority;
    return with_flag(CUSHIM_LAUNCH_PRIORITY);
  }
  // The kernel may start before the one ahead of it in the stream is done.
  launch_config &with_programmatic_serialization() noexcept {
    return with_flag(CUSHIM_LAUNCH_PROGRAMMATIC_SERIALIZATION);
  }
  // An untimed event that the blocks trigger.
  launch_config &with_programmatic_event(event_ref event, std::uint32_t record_flags = 0) noexcept {
    programmatic_event = event.get();
    programmatic_event_flags = record_flags;
    return *this;
  }
  launch_config &with_memory_sync_domain(cushim_memory_sync_domain domain) noexcept {
    return memory_sync_domain = domain, *this;
  }
  // Other attributes of the driver's; the array outlives the launch.
  launch_config &with_attributes(const cushim_launch_attribute *array, std::size_t count) noexcept {
    attributes = array;
    attribute_count = count;
    return *this;
  }
  // The context in which a kernel node runs.
  launch_config &with_context(context_ref its_context) noexcept { return context = its_context.get(), *this; }

 private:
  launch_config &with_flag(cushim_launch_flags flag) noexcept {
    return flags |= static_cast<std::uint32_t>(flag), *this;
  }
};

namespace detail {

template <class Handle>
std::true_type is_handle(const ref<Handle> &);
std::false_type is_handle(...);

} // namespace detail

// A kernel argument with a name: exec_ref::set_parameter sets it in all nodes at once. In a stream it is just the
// value.
template <class Value>
class parameter {
  static_assert(std::is_trivially_copyable_v<Value>, "kernels take bytes");
  static_assert(!decltype(detail::is_handle(std::declval<const Value &>()))::value && !std::is_same_v<Value, endpoint>,
                "a parameter is a value; buffers are exchanged by exec_ref::rebind");

 public:
  parameter(detail::c_string name, const Value &value) noexcept
      : value_(value), raw_{name.get(), nullptr, sizeof(Value), 0} {}
  // The same parameter with its value in another type: `as<float>()`.
  template <class Other>
  [[nodiscard]] parameter<Other> as() const noexcept {
    static_assert(std::is_convertible_v<const Value &, Other>, "the value does not convert to this type");
    return {raw_.name, static_cast<Other>(value_)};
  }
  [[nodiscard]] const cushim_parameter *get() const noexcept { return raw_.value = &value_, &raw_; }

 private:
  Value value_;
  mutable cushim_parameter raw_;
};

// A device pointer as a kernel argument, with what keeps the memory until the kernel is done.
class owned_pointer {
 public:
  // The first call that uses it and succeeds takes the owner, and later ones get the pointer alone; the owner must
  // outlive it, and stay where it is. Name an owner once in a call.
  owned_pointer(address pointer, owner &keeper) noexcept : keeper_(&keeper), raw_{pointer, {nullptr, nullptr}} {}
  // For functions of cushim.h: the pointer as bytes if the owner keeps nothing.
  [[nodiscard]] cushim_arg arg() const noexcept {
    const cushim_owner *const kept = keeper_->get();
    if (kept == nullptr) return {CUSHIM_ARG_BYTES, static_cast<std::uint32_t>(sizeof raw_.pointer), &raw_.pointer};
    raw_.owner = *kept;
    return {CUSHIM_ARG_OWNED, 0, &raw_};
  }
  void taken() const noexcept { keeper_->taken(); }

 private:
  owner *keeper_;
  mutable cushim_owned_pointer raw_;
};

namespace detail {

template <class Type>
inline constexpr bool is_parameter = false;
template <class Value>
inline constexpr bool is_parameter<parameter<Value>> = true;

template <class Type>
inline constexpr bool is_buffer = std::is_base_of_v<ref<cushim_buffer>, Type>;
template <class Type>
inline constexpr bool is_condition = std::is_base_of_v<ref<cushim_condition>, Type>;

template <class Endpoint>
std::true_type is_endpoint(const endpoint_base<Endpoint> &);
std::false_type is_endpoint(...);

// An argument of a kernel: a buffer, an endpoint, a condition, a parameter, an owned pointer, or the bytes of a
// value. It points to what it is made of.
template <class Type>
cushim_arg arg_of(const Type &value) noexcept {
  if constexpr (is_buffer<Type>) {
    return {CUSHIM_ARG_BUFFER, 0, value.get()};
  } else if constexpr (is_condition<Type>) {
    return {CUSHIM_ARG_CONDITION, 0, value.get()};
  } else if constexpr (std::is_same_v<Type, endpoint>) {
    return {CUSHIM_ARG_ENDPOINT, 0, value.get()};
  } else if constexpr (std::is_same_v<Type, owned_pointer>) {
    return value.arg();
  } else if constexpr (is_parameter<Type>) {
    return {CUSHIM_ARG_PARAMETER, 0, value.get()};
  } else if constexpr (std::is_same_v<Type, cushim_arg>) {
    return value;
  } else {
    static_assert(std::is_trivially_copyable_v<Type>,
                  "kernels take bytes: pass trivially copyable values, buffers or endpoints");
    static_assert(!decltype(is_endpoint(std::declval<const Type &>()))::value,
                  "host memory is no argument of a kernel; pass a cushim::endpoint");
    static_assert(!decltype(is_handle(std::declval<const Type &>()))::value,
                  "this handle is no argument of a kernel");
    static_assert(!std::is_array_v<Type> && !std::is_same_v<Type, std::nullptr_t>,
                  "pass a device pointer or a value");
    return {CUSHIM_ARG_BYTES, static_cast<std::uint32_t>(sizeof value), &value};
  }
}

// The arguments of a launch, as an array that lives as long as they do.
template <class... Arguments>
class args {
 public:
  explicit args(const Arguments &...arguments) noexcept : raw_{arg_of(arguments)...} {}
  [[nodiscard]] const cushim_arg *data() const noexcept { return raw_; }
  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof...(Arguments); }

 private:
  cushim_arg raw_[sizeof...(Arguments)];
};
template <>
class args<> {
 public:
  // Not NULL, which means that a node keeps its arguments.
  [[nodiscard]] static const cushim_arg *data() noexcept {
    static constexpr cushim_arg none{};
    return &none;
  }
  [[nodiscard]] static constexpr std::size_t size() noexcept { return 0; }
};

// Arguments that may have an owner.
template <class Type>
inline constexpr bool has_owner = std::is_same_v<Type, owned_pointer> || std::is_same_v<Type, endpoint>;

// After success the library has the owners of the arguments.
template <class... Arguments>
cushim_status owners_taken_if(cushim_status status, const Arguments &...arguments) noexcept {
  const auto take = [](const auto &argument) noexcept {
    if constexpr (has_owner<std::decay_t<decltype(argument)>>) {
      argument.taken();
    } else {
      static_cast<void>(argument);
    }
  };
  if constexpr ((has_owner<Arguments> || ...)) {
    if (status == CUSHIM_SUCCESS) (take(arguments), ...);
  }
  static_cast<void>(take);
  return status;
}

// An argument for a parameter of type Parameter: what stands for a value as it is, and values converted, also those
// with names.
template <class Parameter, class Argument>
decltype(auto) as_parameter(const Argument &argument) noexcept {
  if constexpr (is_buffer<Argument> || std::is_same_v<Argument, endpoint> || std::is_same_v<Argument, owned_pointer>) {
    static_assert(std::is_same_v<Parameter, address> || std::is_pointer_v<Parameter>,
                  "this parameter takes no memory");
    return argument;
  } else if constexpr (is_condition<Argument>) {
    static_assert(std::is_same_v<Parameter, std::uint64_t>, "the parameter of a condition is a std::uint64_t");
    return argument;
  } else if constexpr (std::is_same_v<Argument, parameter<Parameter>>) {
    return argument;
  } else if constexpr (is_parameter<Argument>) {
    return argument.template as<Parameter>();
  } else {
    static_assert(std::is_convertible_v<const Argument &, Parameter>,
                  "the argument does not convert to the kernel's parameter");
    return static_cast<Parameter>(argument);
  }
}

} // namespace detail
} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_LAUNCH_HPP
