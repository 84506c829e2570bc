// Nodes of graphs: what they do, read and changed, in the graph or in one exec. Part of cushim.hpp.
#ifndef CUSHIM_NODE_HPP
#define CUSHIM_NODE_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// The arguments of a kernel node. They point into `values`.
struct node_arguments {
  std::vector<cushim_arg> args;
  std::vector<std::uint64_t> values;
};

// What a host function node calls, and with what.
struct node_function {
  cushim_host_function function;
  void *data;
};

// What an allocation node allocates, and for which other devices, by their ordinals.
struct node_allocation {
  cushim_allocation_node facts;
  std::vector<std::int32_t> peers;
};

struct edge;

namespace detail {

// What a node does: of the graph if it is a node_ref, of one exec if it is a node_in_exec. A change of the graph does
// not reach execs that exist. The getters fail for nodes of another type.
template <class Self>
class node_parameters {
 public:
  [[nodiscard]] result<cushim_kernel_node> get_kernel() const {
    return ask_struct<cushim_kernel_node>([this](cushim_kernel_node *found) {
      return call(cushim_node_get_kernel, cushim_exec_get_kernel, found);
    });
  }
  [[nodiscard]] result<node_arguments> get_arguments() const {
    node_arguments found;
    std::size_t count = 0, bytes = 0;
    cushim_status status = call(cushim_node_get_arguments, cushim_exec_get_arguments, nullptr, none, &count, nullptr, none, &bytes);
    if (status == CUSHIM_SUCCESS) {
      found.args.resize(count);
      found.values.resize((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
      status = call(cushim_node_get_arguments, cushim_exec_get_arguments, found.args.data(), count, &count, found.values.data(),
                                         found.values.size() * sizeof(std::uint64_t), nullptr);
    }
    return give(status, std::move(found));
  }
  [[nodiscard]] result<cushim_copy_node> get_copy() const {
    return ask_struct<cushim_copy_node>([this](cushim_copy_node *found) {
      return call(cushim_node_get_copy, cushim_exec_get_copy, found);
    });
  }
  [[nodiscard]] result<cushim_fill_node> get_fill() const {
    return ask_struct<cushim_fill_node>([this](cushim_fill_node *found) {
      return call(cushim_node_get_fill, cushim_exec_get_fill, found);
    });
  }
  // Empty if cushim has no object of the event.
  [[nodiscard]] result<event_ref> get_event() const {
    cushim_event event = nullptr;
    const cushim_status status = call(cushim_node_get_event, cushim_exec_get_event, &event, nullptr);
    return give(status, event_ref(event));
  }
  [[nodiscard]] result<node_function> get_host_function() const {
    node_function found{};
    const cushim_status status = call(cushim_node_get_host_function, cushim_exec_get_host_function, &found.function, &found.data);
    return give(status, std::move(found));
  }
  [[nodiscard]] result<std::vector<cushim_memory_operation>> get_memory_operations() const {
    return ask_list<cushim_memory_operation>(
        [this](cushim_memory_operation *found, std::size_t capacity, std::size_t *count) {
          return call(cushim_node_get_memory_operations, cushim_exec_get_memory_operations, found, capacity, count);
        });
  }

  // Another kernel, another configuration, other arguments: all of them, or one of these.
  template <class... Arguments>
  result<void> set_kernel(kernel_ref kernel, const launch_config &config, const Arguments &...arguments) const {
    const args<Arguments...> list{arguments...};
    return done(owners_taken_if(
        call(cushim_node_set_kernel, cushim_exec_set_kernel, kernel.get(), &config, list.data(), list.size()), arguments...));
  }
  template <class... Parameters, class... Arguments>
  result<void> set_kernel(const typed_kernel<Parameters...> &kernel, const launch_config &config,
                          const Arguments &...arguments) const {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters), "an argument for each parameter");
    return set_kernel(kernel_ref(kernel), config, as_parameter<Parameters>(arguments)...);
  }
  result<void> set_config(const launch_config &config) const {
    return done(call(cushim_node_set_kernel, cushim_exec_set_kernel, nullptr, &config, nullptr, none));
  }
  template <class... Arguments>
  result<void> set_arguments(const Arguments &...arguments) const {
    const args<Arguments...> list{arguments...};
    return done(owners_taken_if(call(cushim_node_set_kernel, cushim_exec_set_kernel, nullptr, nullptr, list.data(), list.size()),
                                arguments...));
  }
  template <class Argument>
  result<void> set_argument(std::size_t index, const Argument &argument) const {
    const cushim_arg arg = arg_of(argument);
    return done(owners_taken_if(call(cushim_node_set_argument, cushim_exec_set_argument, index, &arg), argument));
  }
  template <class Block>
  result<void> set_kernel_packed(kernel_ref kernel, const launch_config &config, const Block &block) const {
    static_assert(std::is_trivially_copyable_v<Block>, "kernels take bytes");
    return done(call(cushim_node_set_kernel_packed, cushim_exec_set_kernel_packed, kernel.get(), &config, &block, sizeof block));
  }

  // Another copy, or another destination or source of as many bytes.
  result<void> set_copy(endpoint to, endpoint from, std::size_t bytes) const {
    return done(taken_if(call(cushim_node_set_copy, cushim_exec_set_copy, to.get(), from.get(), bytes), to, from));
  }
  result<void> set_copy(endpoint to, host_source from) const { return set_copy(to, from, from.bytes()); }
  result<void> set_copy(host_target to, endpoint from) const { return set_copy(to, from, to.bytes()); }
  result<void> set_copy_target(endpoint to) const {
    return done(taken_if(call(cushim_node_set_copy, cushim_exec_set_copy, to.get(), nullptr, none), to));
  }
  result<void> set_copy_source(endpoint from) const {
    return done(taken_if(call(cushim_node_set_copy, cushim_exec_set_copy, nullptr, from.get(), none), from));
  }
  result<void> set_copy_3d(const region &to, const region &from, extent size) const {
    const cushim_region target = to.raw(), source = from.raw();
    const cushim_extent box = size.raw();
    return done(taken_if(call(cushim_node_set_copy_3d, cushim_exec_set_copy_3d, &target, &source, &box), to.where, from.where));
  }

  // Another memset, or another value for as many.
  template <class Value>
  result<void> set_fill(endpoint to, given_t<Value> value, std::size_t count) const {
    return done(
        taken_if(call(cushim_node_set_fill, cushim_exec_set_fill, to.get(), value_of<Value>(value), sizeof(Value), count), to));
  }
  template <class Value>
  result<void> set_fill_value(given_t<Value> value) const {
    return done(call(cushim_node_set_fill, cushim_exec_set_fill, nullptr, value_of<Value>(value), sizeof(Value), none));
  }
  template <class Value>
  result<void> set_fill_2d(endpoint to, std::size_t pitch, given_t<Value> value, std::size_t width,
                           std::size_t height) const {
    return done(taken_if(
        call(cushim_node_set_fill_2d, cushim_exec_set_fill_2d, to.get(), pitch, value_of<Value>(value), sizeof(Value), width, height),
        to));
  }

  result<void> set_event(event_ref event) const { return done(call(cushim_node_set_event, cushim_exec_set_event, event.get())); }
  // Another callable, which is kept like that of stream_ref::launch_host_function.
  template <class Function>
  result<void> set_host_function(Function &&function) const {
    return done(keep(
        std::forward<Function>(function),
        [this](auto calls, const void *bytes, std::size_t size) {
          return this->call(cushim_node_set_host_function_bytes, cushim_exec_set_host_function_bytes, calls, bytes, size);
        },
        [this](auto calls, void *data, const cushim_owner *kept) {
          return this->call(cushim_node_set_host_function, cushim_exec_set_host_function, calls, data, kept);
        }));
  }
  result<void> set_memory_operations(items<memory_operation> operations) const {
    return done(with_raw(operations, [this](const cushim_memory_operation *raw, std::size_t count) {
      return call(cushim_node_set_memory_operations, cushim_exec_set_memory_operations, raw, count);
    }));
  }

 protected:
  node_parameters() noexcept = default;
  ~node_parameters() = default;
  node_parameters(const node_parameters &) noexcept = default;
  node_parameters &operator=(const node_parameters &) noexcept = default;

 private:
  static constexpr std::size_t none = 0;

  // Calls the function for nodes in graphs, or that for nodes in execs.
  template <class OfNode, class OfExec, class... Arguments>
  cushim_status call(OfNode of_node, OfExec of_exec, Arguments... arguments) const noexcept {
    return static_cast<const Self &>(*this).call_on_node(of_node, of_exec, arguments...);
  }
};

} // namespace detail

// A node of a graph. Nobody destroys it: it is valid as long as the graph, or an exec of it.
class node_ref : public detail::ref<cushim_node>, public detail::node_parameters<node_ref> {
 public:
  constexpr node_ref() noexcept = default;
  constexpr node_ref(cushim_node handle) noexcept : ref(handle) {}
  node_ref(std::nullptr_t) = delete;

  [[nodiscard]] result<cushim_node_type> type() const {
    return detail::ask<cushim_node_type>(cushim_node_get_type, get());
  }
  [[nodiscard]] result<graph_ref> graph() const;
  // The child graph of a child graph node, or the bodies of a conditional node.
  [[nodiscard]] result<std::vector<graph_ref>> graphs() const;
  // The condition of a conditional node.
  [[nodiscard]] result<condition_ref> condition() const;
  // The numbers by which profilers tell nodes apart, in the graph and in the process; CUDA 13.1.
  [[nodiscard]] result<std::uint32_t> id() const { return detail::ask<std::uint32_t>(cushim_node_get_id, get()); }
  [[nodiscard]] result<std::uint64_t> tools_id() const {
    return detail::ask<std::uint64_t>(cushim_node_get_tools_id, get());
  }
  // The handle by which kernels update a device-updatable node; CUDA 12.4.
  [[nodiscard]] result<CUgraphDeviceNode> device_node() const {
    return detail::ask<CUgraphDeviceNode>(cushim_node_get_device_node, get());
  }
  // An attribute of a kernel node: its number, with the bytes of a CUlaunchAttributeValue.
  [[nodiscard]] result<cushim_launch_attribute> get_attribute(CUlaunchAttributeID id) const {
    return detail::ask<cushim_launch_attribute>(cushim_node_get_attribute, get(), id);
  }
  result<void> set_attribute(const cushim_launch_attribute &attribute) const {
    return detail::done(cushim_node_set_attribute(get(), &attribute));
  }
  result<void> copy_attributes_from(node_ref source) const {
    return detail::done(cushim_node_copy_attributes(get(), source.get()));
  }
  // A CUgraphNode, and so a cudaGraphNode_t.
  [[nodiscard]] result<CUgraphNode> native() const { return detail::ask<CUgraphNode>(cushim_node_native, get()); }
  [[nodiscard]] result<node_allocation> get_allocation() const {
    node_allocation found{cushim_options_of<cushim_allocation_node>(), {}};
    cushim_status status = cushim_node_get_allocation(get(), &found.facts, nullptr, 0);
    found.peers.resize(status == CUSHIM_SUCCESS ? found.facts.peer_count : 0);
    if (!found.peers.empty())
      status = cushim_node_get_allocation(get(), &found.facts, found.peers.data(), found.peers.size());
    return detail::give(status, std::move(found));
  }
  // The address that a free node frees.
  [[nodiscard]] result<address> get_free() const { return detail::ask<address>(cushim_node_get_free, get()); }

  // The edges from the nodes directly before it, and to those directly after it.
  [[nodiscard]] result<std::vector<edge>> dependencies() const;
  [[nodiscard]] result<std::vector<edge>> dependents() const;
  // It comes directly after these nodes, or before them, and no others.
  result<void> set_dependencies(const std::vector<node_ref> &after) const {
    const std::vector<cushim_node> nodes = handles_of(after);
    return detail::done(cushim_node_set_dependencies(get(), nodes.data(), nodes.size()));
  }
  result<void> set_dependents(const std::vector<node_ref> &before) const {
    const std::vector<cushim_node> nodes = handles_of(before);
    return detail::done(cushim_node_set_dependents(get(), nodes.data(), nodes.size()));
  }
  // The node that stands for it in a clone of its graph.
  [[nodiscard]] result<node_ref> find_in(graph_ref clone) const;
  // Removes it, with its edges and the graphs in it. The handle still tells type, label and last parameters.
  result<void> remove() const { return detail::done(cushim_node_remove(get())); }
  // Gives an operand an owner; cushim_node_set_owner has the numbers of the slots.
  result<void> set_owner(std::size_t slot, owner keeper) const {
    const cushim_status status = cushim_node_set_owner(get(), slot, keeper.get());
    if (status == CUSHIM_SUCCESS) keeper.taken();
    return detail::done(status);
  }

 private:
  friend class detail::node_parameters<node_ref>;
  template <class OfNode, class OfExec, class... Arguments>
  cushim_status call_on_node(OfNode of_node, OfExec, Arguments... arguments) const noexcept {
    return of_node(get(), arguments...);
  }
  [[nodiscard]] static std::vector<cushim_node> handles_of(const std::vector<node_ref> &nodes) {
    std::vector<cushim_node> handles;
    handles.reserve(nodes.size());
    for (const node_ref node : nodes) handles.push_back(node.get());
    return handles;
  }
};

// An edge: one node comes after another. Ports and types need CUDA 12.3.
struct edge {
  node_ref from, to;
  std::uint8_t from_port = 0, to_port = 0, type = 0;

  edge(node_ref first, node_ref second) noexcept : from(first), to(second) {}
  explicit edge(const cushim_edge &raw) noexcept
      : from(raw.from_node), to(raw.to_node), from_port(raw.from_port), to_port(raw.to_port), type(raw.type) {}
  [[nodiscard]] cushim_edge raw() const noexcept { return {from.get(), to.get(), from_port, to_port, type, {}}; }
};

inline result<std::vector<edge>> node_ref::dependencies() const {
  return detail::ask_list<edge, cushim_edge>(cushim_node_get_dependencies, get());
}
inline result<std::vector<edge>> node_ref::dependents() const {
  return detail::ask_list<edge, cushim_edge>(cushim_node_get_dependents, get());
}

// What a node does in one exec: `exec.at(node)`. Changes hold from the next launch on, and reach this exec only.
class node_in_exec : public detail::node_parameters<node_in_exec> {
 public:
  node_in_exec(node_ref node, exec_ref exec) noexcept;

  // Whether it takes part in the launches.
  [[nodiscard]] result<bool> is_enabled() const {
    return detail::ask<bool, std::int32_t>(cushim_exec_get_enabled, exec_, node_.get());
  }
  result<void> set_enabled(bool is_enabled) const {
    return detail::done(cushim_exec_set_enabled(exec_, node_.get(), is_enabled ? 1 : 0));
  }
  // The child graph does what another graph with the same nodes and edges does.
  result<void> set_child(graph_ref graph) const;

 private:
  friend class detail::node_parameters<node_in_exec>;
  template <class OfNode, class OfExec, class... Arguments>
  cushim_status call_on_node(OfNode, OfExec of_exec, Arguments... arguments) const noexcept {
    return of_exec(exec_, node_.get(), arguments...);
  }

  node_ref node_;
  cushim_exec exec_;
};

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_NODE_HPP
