// Managed memory: what the driver was advised, read and changed as if it were data. Part of cushim.hpp.
#ifndef CUSHIM_MANAGED_HPP
#define CUSHIM_MANAGED_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// The devices, and the host if it is one of them, that have the advice "accessed by" for a range: a live set, which
// asks and tells the driver each time and remembers nothing. Calls for one range must not run at the same time.
class accessors {
 public:
  accessors(context_ref context, range memory) noexcept : context_(context), range_(memory) {}

  // Those that it has now, in the driver's order.
  [[nodiscard]] result<std::vector<location>> values() const {
    return detail::ask_list<location, cushim_location>(cushim_context_get_accessed_by, context_.get(), range_.get());
  }
  [[nodiscard]] result<std::size_t> size() const {
    return detail::ask<std::size_t>(cushim_context_get_accessed_by, context_.get(), range_.get(), nullptr,
                                    std::size_t{0});
  }
  [[nodiscard]] result<bool> contains(location where) const {
    cushim_location found[64];
    std::size_t count = 0;
    const cushim_status status = cushim_context_get_accessed_by(context_.get(), range_.get(), found, 64, &count);
    bool is_there = false;
    for (std::size_t i = 0; i < count && i < 64; i++) is_there = is_there || location(found[i]) == where;
    return detail::give(status, std::move(is_there));
  }
  result<void> insert(detail::items<location> locations) const {
    return detail::done(
        cushim_context_add_accessed_by(context_.get(), range_.get(), detail::raw(locations), locations.size()));
  }
  result<void> erase(detail::items<location> locations) const {
    return detail::done(
        cushim_context_remove_accessed_by(context_.get(), range_.get(), detail::raw(locations), locations.size()));
  }
  // These and no others.
  result<void> assign(detail::items<location> locations) const {
    return detail::done(
        cushim_context_set_accessed_by(context_.get(), range_.get(), detail::raw(locations), locations.size()));
  }
  result<void> clear() const {
    return detail::done(cushim_context_set_accessed_by(context_.get(), range_.get(), nullptr, 0));
  }

 private:
  context_ref context_;
  range range_;
};

// A range of managed memory with a context of its driver; both outlive it.
class managed_memory {
 public:
  managed_memory(context_ref context, range memory) noexcept : context_(context), range_(memory) {}

  [[nodiscard]] cushim::range range() const noexcept { return range_; }

  // Whether all of it is mostly read, so that each device that reads it gets a copy.
  [[nodiscard]] result<bool> is_read_mostly() const {
    cushim_range_attributes attributes = cushim_options_of<cushim_range_attributes>();
    const cushim_status status = cushim_context_get_range_attributes(context_.get(), range_.get(), &attributes);
    return detail::give(status, attributes.read_mostly != 0);
  }
  result<void> set_read_mostly(bool is_read_mostly) const {
    return advise(is_read_mostly ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY, location());
  }
  // Where it should stay; unset if there is no such advice, or it differs between parts.
  [[nodiscard]] result<location> preferred_location() const {
    cushim_range_attributes attributes = cushim_options_of<cushim_range_attributes>();
    const cushim_status status = cushim_context_get_range_attributes(context_.get(), range_.get(), &attributes);
    return detail::give(status, location(attributes.preferred_location));
  }
  // An unset location takes the advice back.
  result<void> set_preferred_location(location where) const {
    return advise(where ? CU_MEM_ADVISE_SET_PREFERRED_LOCATION : CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, where);
  }
  // Where all of it was last prefetched; unset if it was not, or this differs between parts.
  [[nodiscard]] result<location> last_prefetch_location() const {
    cushim_range_attributes attributes = cushim_options_of<cushim_range_attributes>();
    const cushim_status status = cushim_context_get_range_attributes(context_.get(), range_.get(), &attributes);
    return detail::give(status, location(attributes.last_prefetch_location));
  }
  // Who accesses it.
  [[nodiscard]] accessors accessed_by() const noexcept { return {context_, range_}; }

  // In stream order; see stream_ref.
  result<void> prefetch(stream_ref stream, location to) const { return stream.prefetch(range_, to); }
  result<void> discard(stream_ref stream) const { return stream.discard(range_); }
  result<void> discard_prefetch(stream_ref stream, location to) const { return stream.discard_prefetch(range_, to); }

 private:
  result<void> advise(CUmem_advise advice, location where) const {
    return detail::done(cushim_context_advise(context_.get(), range_.get(), advice, where ? where.get() : nullptr));
  }

  context_ref context_;
  cushim::range range_;
};

inline result<managed_memory> buffer_ref::managed() const {
  cushim_context context = nullptr;
  const cushim_status status = cushim_buffer_get_context(get(), &context);
  return detail::give(status, managed_memory(context_ref(context), *this));
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_MANAGED_HPP
