// Execs: graphs as they are launched. Part of cushim.hpp.
#ifndef CUSHIM_EXEC_HPP
#define CUSHIM_EXEC_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// Why a graph was not instantiated, or an exec not updated: it is written if the call fails.
struct exec_result {
  // A CUgraphInstantiateResult or a CUgraphExecUpdateResult; 1 if cushim refuses the call, or the status says all
  // there is.
  std::int32_t reason = 0;
  // The node that the driver blames, and the one that it newly depends on; empty if there is none.
  node_ref node, other;
};

// What was instantiated from a graph. Later changes of the graph do not reach it; it keeps what its nodes use.
class exec_ref : public detail::ref<cushim_exec> {
 public:
  constexpr exec_ref() noexcept = default;
  constexpr exec_ref(cushim_exec handle) noexcept : ref(handle) {}
  exec_ref(std::nullptr_t) = delete;

  // Runs its nodes after the work that is in the stream now; later work waits for them.
  result<void> launch(stream_ref stream) const { return detail::done(cushim_exec_launch(get(), stream.get())); }
  // Uploads it to the device, so that its first launch is not slower.
  result<void> upload(stream_ref stream) const { return detail::done(cushim_exec_upload(get(), stream.get())); }
  // Takes over the parameters of a graph with the same nodes and edges.
  result<void> update(graph_ref graph, exec_result *why = nullptr) const {
    cushim_exec_result raw = cushim_options_of<cushim_exec_result>();
    const cushim_status status = cushim_exec_update(get(), graph.get(), &raw);
    if (why != nullptr) *why = {raw.reason, raw.node, raw.other};
    return detail::done(status);
  }
  // What a node of the graph does in this exec only, to be read and changed.
  [[nodiscard]] node_in_exec at(node_ref node) const noexcept { return {node, *this}; }
  // One buffer in place of another in every node. How many nodes were changed.
  result<std::size_t> rebind(buffer_ref from, buffer_ref to) const {
    return detail::ask<std::size_t>(cushim_exec_rebind, get(), from.get(), to.get());
  }
  // Another value for a parameter in every kernel node that has it, as bytes: nothing but the size is compared with
  // what the kernel takes. Name the type where the value may be of another: `set_parameter<float>("scale", 2)`. How
  // many nodes were changed.
  template <class Value>
  result<std::size_t> set_parameter(detail::c_string name, const Value &value) const {
    static_assert(std::is_trivially_copyable_v<Value>, "kernels take bytes");
    return detail::ask<std::size_t>(cushim_exec_set_parameter, get(), name.get(), static_cast<const void *>(&value),
                                    sizeof value);
  }

  // The graph that it was instantiated from; empty if that is gone.
  [[nodiscard]] result<graph_ref> graph() const {
    return detail::ask<graph_ref, cushim_graph>(cushim_exec_get_graph, get());
  }
  // Combines cushim_exec_flags.
  [[nodiscard]] result<std::uint32_t> flags() const {
    return detail::ask<std::uint32_t>(cushim_exec_get_flags, get());
  }
  // A CUgraphExec, and so a cudaGraphExec_t, of an exec with native_launches or device_launch; refused for others.
  [[nodiscard]] result<CUgraphExec> native() const { return detail::ask<CUgraphExec>(cushim_exec_native, get()); }
  // CUDA 13.1.
  [[nodiscard]] result<std::uint32_t> id() const { return detail::ask<std::uint32_t>(cushim_exec_get_id, get()); }
};

// A launch that is not done goes on when it is destroyed.
class [[nodiscard]] exec : public detail::owning<exec, exec_ref, cushim_exec_destroy, cushim_exec_ref> {
 public:
  using owning::owning;
#if CUSHIM_HPP_THROWS
  explicit exec(graph_ref graph, const exec_options &options = {}) : exec(create(graph, options)) {}
#endif

  [[nodiscard]] static result<exec> create(graph_ref graph, const exec_options &options = {},
                                           exec_result *why = nullptr) {
    cushim_exec_options raw = cushim_options_of<cushim_exec_options>();
    if (options.auto_free) raw.flags |= static_cast<std::uint32_t>(CUSHIM_EXEC_AUTO_FREE);
    if (options.device_launch) raw.flags |= static_cast<std::uint32_t>(CUSHIM_EXEC_DEVICE_LAUNCH);
    if (options.node_priority) raw.flags |= static_cast<std::uint32_t>(CUSHIM_EXEC_NODE_PRIORITY);
    if (options.native_launches) raw.flags |= static_cast<std::uint32_t>(CUSHIM_EXEC_NATIVE_LAUNCHES);
    raw.upload_stream = options.upload_stream.get();
    cushim_exec_result reason = cushim_options_of<cushim_exec_result>();
    cushim_exec handle = nullptr;
    const cushim_status status = cushim_exec_create(graph.get(), &raw, &handle, &reason);
    if (why != nullptr) *why = {reason.reason, reason.node, reason.other};
    return detail::give(status, exec(handle));
  }
};

inline result<exec> graph_ref::instantiate(const exec_options &options, exec_result *why) const {
  return exec::create(*this, options, why);
}

inline node_in_exec::node_in_exec(node_ref node, exec_ref exec) noexcept : node_(node), exec_(exec.get()) {}
inline result<void> node_in_exec::set_child(graph_ref graph) const {
  return detail::done(cushim_exec_set_child(exec_, node_.get(), graph.get()));
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_EXEC_HPP
