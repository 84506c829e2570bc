// Buffers and images of OpenGL. Part of cushim.hpp.
#ifndef CUSHIM_GRAPHICS_HPP
#define CUSHIM_GRAPHICS_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// A buffer or an image of OpenGL, which CUDA has from a map to the unmap.
class graphics_ref : public detail::ref<cushim_graphics> {
 public:
  constexpr graphics_ref() noexcept = default;
  constexpr graphics_ref(cushim_graphics handle) noexcept : ref(handle) {}
  graphics_ref(std::nullptr_t) = delete;

  // The buffer has the memory until it is gone, or unmapped: OpenGL has it again in the order of its stream.
  [[nodiscard]] result<buffer> map(stream_ref stream) const {
    return detail::ask<buffer, cushim_buffer>(cushim_graphics_map, get(), stream.get());
  }
  // Maps an image: the array of a layer or face, at a level of detail, until the image is unmapped.
  [[nodiscard]] result<CUarray> map_array(stream_ref stream, std::uint32_t layer = 0, std::uint32_t level = 0) const {
    return detail::ask<CUarray>(cushim_graphics_map_array, get(), stream.get(), layer, level);
  }
  // Another array of an image that is mapped.
  [[nodiscard]] result<CUarray> array(std::uint32_t layer, std::uint32_t level = 0) const {
    return detail::ask<CUarray>(cushim_graphics_get_array, get(), layer, level);
  }
  // OpenGL has it again after what is in the stream by now.
  result<void> unmap(stream_ref stream) const { return detail::done(cushim_graphics_unmap(get(), stream.get())); }
  // The same in the stream that it was mapped in.
  result<void> unmap() const { return detail::done(cushim_graphics_unmap(get(), nullptr)); }
  [[nodiscard]] result<bool> mapped() const {
    return detail::ask<bool, std::int32_t>(cushim_graphics_get_mapped, get());
  }
  // The CUgraphicsResource.
  [[nodiscard]] result<CUgraphicsResource> native() const {
    return detail::ask<CUgraphicsResource>(cushim_graphics_native, get());
  }
};

// Registering, and the end of the last owner, need the OpenGL context current on the thread.
class [[nodiscard]] graphics
    : public detail::owning<graphics, graphics_ref, cushim_graphics_destroy, cushim_graphics_ref> {
 public:
  using owning::owning;

  // A buffer, by its name in the current OpenGL context.
  [[nodiscard]] static result<graphics> gl_buffer(context_ref context, std::uint32_t name, std::uint32_t flags = 0) {
    return detail::ask<graphics, cushim_graphics>(cushim_graphics_register_gl_buffer, context.get(), name, flags);
  }
  // An image: a texture or a renderbuffer, as the target says.
  [[nodiscard]] static result<graphics> gl_image(context_ref context, std::uint32_t name, std::uint32_t target,
                                                 std::uint32_t flags = 0) {
    return detail::ask<graphics, cushim_graphics>(cushim_graphics_register_gl_image, context.get(), name, target,
                                                  flags);
  }
};

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_GRAPHICS_HPP
