// Copies and memsets: the members that streams, where they are enqueued, and contexts, where they are synchronous,
// have in common. Part of cushim.hpp.
#ifndef CUSHIM_TRANSFERS_HPP
#define CUSHIM_TRANSFERS_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {
namespace detail {

// A value of a memset, as functions take it. Its type says how many bytes each has: 1, 2 or 4.
template <class Value>
const void *value_of(const Value &value) noexcept {
  static_assert(
      std::is_trivially_copyable_v<Value> && (sizeof(Value) == 1 || sizeof(Value) == 2 || sizeof(Value) == 4),
      "a memset repeats a value of 1, 2 or 4 bytes");
  return &value;
}

// A parameter whose type the caller names, or another parameter gives.
template <class Type>
struct given {
  using type = Type;
};
template <class Type>
using given_t = typename given<Type>::type;

// After success the library has the owners of the endpoints.
template <class... Endpoints>
cushim_status taken_if(cushim_status status, const Endpoints &...endpoints) noexcept {
  if (status == CUSHIM_SUCCESS) (endpoints.taken(), ...);
  return status;
}

template <class Handle, cushim_status (*Copy)(Handle, const cushim_endpoint *, const cushim_endpoint *, std::size_t),
          cushim_status (*Copy3d)(Handle, const cushim_region *, const cushim_region *, const cushim_extent *),
          cushim_status (*Fill)(Handle, const cushim_endpoint *, const void *, std::size_t, std::size_t),
          cushim_status (*Fill2d)(Handle, const cushim_endpoint *, std::size_t, const void *, std::size_t, std::size_t,
                                  std::size_t)>
class transfers : public ref<Handle> {
 public:
  // Copies so many bytes.
  result<void> copy(endpoint to, endpoint from, std::size_t bytes) const {
    return done(taken_if(Copy(this->get(), to.get(), from.get(), bytes), to, from));
  }
  // Copies all elements of a container in host memory.
  result<void> copy(endpoint to, host_source from) const { return copy(to, from, from.bytes()); }
  // Copies to all elements of a container in host memory.
  result<void> copy(host_target to, endpoint from) const { return copy(to, from, to.bytes()); }

  // Copies a box: rows of bytes, slices of rows.
  result<void> copy_3d(const region &to, const region &from, extent size) const {
    const cushim_region target = to.raw(), source = from.raw();
    const cushim_extent box = size.raw();
    return done(taken_if(Copy3d(this->get(), &target, &source, &box), to.where, from.where));
  }

  // Sets memory to a value, `count` times (a memset): `stream.fill<std::uint8_t>(buffer, 0, bytes)`. The type of the
  // value says how many bytes each has: 1, 2 or 4.
  template <class Value>
  result<void> fill(endpoint to, given_t<Value> value, std::size_t count) const {
    return done(taken_if(Fill(this->get(), to.get(), value_of<Value>(value), sizeof(Value), count), to));
  }
  // Sets a whole buffer to a value; of bytes at its end that are too few for a value none.
  template <class Value>
  result<void> fill(buffer_ref to, given_t<Value> value) const;

  // Sets `height` rows of `width` values each, whose starts are `pitch` bytes apart.
  template <class Value>
  result<void> fill_2d(endpoint to, std::size_t pitch, given_t<Value> value, std::size_t width,
                       std::size_t height) const {
    return done(
        taken_if(Fill2d(this->get(), to.get(), pitch, value_of<Value>(value), sizeof(Value), width, height), to));
  }

 protected:
  using ref<Handle>::ref;
};

} // namespace detail
} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_TRANSFERS_HPP
