// Graphs: operations as nodes, and which comes after which. Part of cushim.hpp.
#ifndef CUSHIM_GRAPH_HPP
#define CUSHIM_GRAPH_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

// A condition of a graph: a value that kernels set, and by which a conditional node decides. As the argument of a
// kernel it is the number by which that sets it. Nobody destroys it: it is valid as long as the graph.
class condition_ref : public detail::ref<cushim_condition> {
 public:
  constexpr condition_ref() noexcept = default;
  constexpr condition_ref(cushim_condition handle) noexcept : ref(handle) {}
  condition_ref(std::nullptr_t) = delete;

  [[nodiscard]] result<std::uint64_t> native() const {
    return detail::ask<std::uint64_t>(cushim_condition_native, get());
  }
};

// What a graph allocates. Zeros are the defaults: memory of the graph's device.
struct graph_allocation {
  location where;
  // Managed memory; CUDA 13.0.
  bool managed = false;
  // Ordinals of other devices that read and write it.
  std::vector<std::int32_t> peers;
};

// An instance of what is built here; see exec.hpp. Zeros are the defaults.
struct exec_options {
  // Each launch first frees what the launch before allocated and nobody freed.
  bool auto_free = false;
  // Kernels can launch it, too; CUDA 12.0.
  bool device_launch = false;
  // Nodes run with their own priorities; CUDA 11.7.
  bool node_priority = false;
  // Others launch it, too, by its native handle: each launch is then slower.
  bool native_launches = false;
  // A stream in which it is uploaded to the device.
  stream_ref upload_stream;
};

struct exec_result;

// Nodes with more to say: all of them are node_refs, too.
struct allocation_node;
struct child_node;
struct body_node;
struct if_else_node;
struct switch_node;

namespace detail {

inline cushim_condition_options condition_options_of(std::optional<std::uint32_t> initial) noexcept {
  cushim_condition_options options = cushim_options_of<cushim_condition_options>();
  if (initial) {
    options.initial = *initial;
    options.flags = static_cast<std::uint32_t>(CUSHIM_CONDITION_RESET);
  }
  return options;
}

// Adds nodes to a graph: what a graph_ref, whose nodes come after none, and `after(...)` have in common. Each has the
// parameters of the stream's member of that name.
template <class Self>
class adder {
 public:
  // Does nothing: it brings together what it comes after.
  result<node_ref> add_empty() const {
    return add([](auto... where) { return cushim_graph_add_empty(where...); });
  }
  template <class... Arguments>
  result<node_ref> add_kernel(kernel_ref kernel, const launch_config &config, const Arguments &...arguments) const {
    const args<Arguments...> list{arguments...};
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return owners_taken_if(
          cushim_graph_add_kernel(graph, after, count, kernel.get(), &config, list.data(), list.size(), node),
          arguments...);
    });
  }
  template <class... Parameters, class... Arguments>
  result<node_ref> add_kernel(const typed_kernel<Parameters...> &kernel, const launch_config &config,
                              const Arguments &...arguments) const {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters), "an argument for each parameter");
    return add_kernel(kernel_ref(kernel), config, as_parameter<Parameters>(arguments)...);
  }
  template <class Block>
  result<node_ref> add_kernel_packed(kernel_ref kernel, const launch_config &config, const Block &block) const {
    static_assert(std::is_trivially_copyable_v<Block>, "kernels take bytes");
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return cushim_graph_add_kernel_packed(graph, after, count, kernel.get(), &config, &block, sizeof block, node);
    });
  }

  // Host memory that is no buffer's is used at each launch: say `keep_bytes()`, `caller_keeps()` or `kept_by(owner)`
  // of its endpoint.
  result<node_ref> add_copy(endpoint to, endpoint from, std::size_t bytes) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return taken_if(cushim_graph_add_copy(graph, after, count, to.get(), from.get(), bytes, node), to, from);
    });
  }
  result<node_ref> add_copy(endpoint to, host_source from) const { return add_copy(to, from, from.bytes()); }
  result<node_ref> add_copy(host_target to, endpoint from) const { return add_copy(to, from, to.bytes()); }
  result<node_ref> add_copy_3d(const region &to, const region &from, extent size) const {
    const cushim_region target = to.raw(), source = from.raw();
    const cushim_extent box = size.raw();
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return taken_if(cushim_graph_add_copy_3d(graph, after, count, &target, &source, &box, node), to.where,
                      from.where);
    });
  }
  template <class Value>
  result<node_ref> add_fill(endpoint to, given_t<Value> value, std::size_t values) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return taken_if(
          cushim_graph_add_fill(graph, after, count, to.get(), value_of<Value>(value), sizeof(Value), values, node),
          to);
    });
  }
  // A whole buffer.
  template <class Value>
  result<node_ref> add_fill(buffer_ref to, given_t<Value> value) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      const endpoint start = to;
      std::size_t bytes = 0;
      const cushim_status status = cushim_buffer_get_size(to.get(), &bytes);
      if (status != CUSHIM_SUCCESS) return status;
      return cushim_graph_add_fill(graph, after, count, start.get(), value_of<Value>(value), sizeof(Value),
                                   bytes / sizeof(Value), node);
    });
  }
  template <class Value>
  result<node_ref> add_fill_2d(endpoint to, std::size_t pitch, given_t<Value> value, std::size_t width,
                               std::size_t height) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return taken_if(cushim_graph_add_fill_2d(graph, after, count, to.get(), pitch, value_of<Value>(value),
                                               sizeof(Value), width, height, node),
                      to);
    });
  }

  result<node_ref> add_event_record(event_ref event) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return cushim_graph_add_event_record(graph, after, count, event.get(), node);
    });
  }
  result<node_ref> add_event_wait(event_ref event) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return cushim_graph_add_event_wait(graph, after, count, event.get(), node);
    });
  }
  // A callable, called once for each launch, and kept as that of stream_ref::launch_host_function by the graph and
  // all that comes of it.
  template <class Function>
  result<node_ref> add_host_function(Function &&function) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return keep(
          std::forward<Function>(function),
          [&](auto call, const void *bytes, std::size_t size) {
            return cushim_graph_add_host_function_bytes(graph, after, count, call, bytes, size, node);
          },
          [&](auto call, void *data, const cushim_owner *kept) {
            return cushim_graph_add_host_function(graph, after, count, call, data, kept, node);
          });
    });
  }
  result<node_ref> add_memory_operations(items<memory_operation> operations) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return with_raw(operations, [&](const cushim_memory_operation *raw, std::size_t operation_count) {
        return cushim_graph_add_memory_operations(graph, after, count, raw, operation_count, node);
      });
    });
  }
  // Memory at an address that is known now and is the same at each launch.
  result<allocation_node> add_allocation(std::size_t bytes, const graph_allocation &what = {}) const;
  result<node_ref> add_free(address pointer) const {
    return add([&](cushim_graph graph, const cushim_node *after, std::size_t count, cushim_node *node) {
      return cushim_graph_add_free(graph, after, count, pointer, node);
    });
  }

  // Runs another graph: a copy of it, or the graph itself, whose owner is then one of the child graph (CUDA 12.9).
  result<child_node> add_child(graph_ref child, cushim_child_ownership ownership = CUSHIM_CHILD_CLONE) const;

  // Runs its body, which is filled like any other graph, if the condition is not 0, or as long as it is not;
  // CUDA 12.3.
  result<body_node> add_if(condition_ref condition) const;
  result<body_node> add_while(condition_ref condition) const;
  // Runs one of two bodies, or that whose number is the condition; CUDA 12.8.
  result<if_else_node> add_if_else(condition_ref condition) const;
  result<switch_node> add_switch(condition_ref condition, std::size_t bodies) const;

 protected:
  adder() noexcept = default;
  ~adder() = default;
  adder(const adder &) noexcept = default;
  adder &operator=(const adder &) noexcept = default;

 private:
  [[nodiscard]] const Self &self() const noexcept { return static_cast<const Self &>(*this); }
  template <class Call>
  [[nodiscard]] result<node_ref> add(Call call) const {
    cushim_node node = nullptr;
    const cushim_status status = call(self().graph_handle(), self().node_handles(), self().node_count(), &node);
    return give(status, node_ref(node));
  }
  [[nodiscard]] result<body_node> add_body(condition_ref condition, cushim_conditional_kind kind) const;
  [[nodiscard]] cushim_status add_conditional(condition_ref condition, cushim_conditional_kind kind,
                                              std::size_t count, cushim_node *node,
                                              cushim_graph *bodies) const noexcept {
    return cushim_graph_add_conditional(self().graph_handle(), self().node_handles(), self().node_count(),
                                        condition.get(), kind, count, node, bodies);
  }
};

// A graph, and nodes in it that the next one comes after.
template <class Nodes>
class after_nodes : public adder<after_nodes<Nodes>> {
 public:
  after_nodes(cushim_graph graph, Nodes nodes) noexcept : graph_(graph), nodes_(std::move(nodes)) {}

 private:
  friend class adder<after_nodes>;
  [[nodiscard]] cushim_graph graph_handle() const noexcept { return graph_; }
  [[nodiscard]] const cushim_node *node_handles() const noexcept { return nodes_.data(); }
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }

  cushim_graph graph_;
  Nodes nodes_;
};

} // namespace detail

// A graph, a child graph or the body of a conditional node:
//
//   auto filled = graph.add_fill<std::uint32_t>(buffer, 0);                        // after none
//   auto worked = graph.after(filled).add_kernel(kernel, {blocks, threads}, buffer);
//   graph.after(worked, other).add_copy(cushim::host_target(result).caller_keeps(), buffer);
//
// It keeps what its nodes use: kernels, buffers, events, owners and callables.
class graph_ref : public detail::ref<cushim_graph>, public detail::adder<graph_ref> {
 public:
  constexpr graph_ref() noexcept = default;
  constexpr graph_ref(cushim_graph handle) noexcept : ref(handle) {}
  graph_ref(std::nullptr_t) = delete;

  // Where nodes are added that come after these.
  template <class... Nodes, class = std::enable_if_t<(std::is_convertible_v<const Nodes &, node_ref> && ...)>>
  [[nodiscard]] auto after(const Nodes &...nodes) const noexcept {
    using list = std::array<cushim_node, sizeof...(Nodes)>;
    return detail::after_nodes<list>(get(), list{node_ref(nodes).get()...});
  }
  [[nodiscard]] auto after(const std::vector<node_ref> &nodes) const {
    std::vector<cushim_node> handles;
    handles.reserve(nodes.size());
    for (const node_ref node : nodes) handles.push_back(node.get());
    return detail::after_nodes<std::vector<cushim_node>>(get(), std::move(handles));
  }

  // A condition that has this value at the start of each launch; without one it keeps what the last launch left, and
  // a kernel sets it before it is looked at. CUDA 12.3.
  [[nodiscard]] result<condition_ref> create_condition(std::optional<std::uint32_t> initial = std::nullopt) const {
    const cushim_condition_options options = detail::condition_options_of(initial);
    return detail::ask<condition_ref, cushim_condition>(cushim_condition_create, get(), &options);
  }

  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_graph_get_context, get());
  }
  // The node whose child graph or body it is; empty if it is part of no other.
  [[nodiscard]] result<node_ref> parent() const {
    return detail::ask<node_ref, cushim_node>(cushim_graph_get_parent, get());
  }
  // A CUgraph, and so a cudaGraph_t.
  [[nodiscard]] result<CUgraph> native() const { return detail::ask<CUgraph>(cushim_graph_native, get()); }
  // CUDA 13.1.
  [[nodiscard]] result<std::uint32_t> id() const { return detail::ask<std::uint32_t>(cushim_graph_get_id, get()); }
  [[nodiscard]] result<std::vector<node_ref>> nodes() const {
    return detail::ask_list<node_ref, cushim_node>(cushim_graph_get_nodes, get());
  }
  [[nodiscard]] result<std::vector<edge>> edges() const {
    return detail::ask_list<edge, cushim_edge>(cushim_graph_get_edges, get());
  }
  // All or none.
  result<void> add_edges(const std::vector<edge> &edges) const {
    const std::vector<cushim_edge> raw = raw_of(edges);
    return detail::done(cushim_graph_add_edges(get(), raw.data(), raw.size()));
  }
  result<void> remove_edges(const std::vector<edge> &edges) const {
    const std::vector<cushim_edge> raw = raw_of(edges);
    return detail::done(cushim_graph_remove_edges(get(), raw.data(), raw.size()));
  }
  // A copy, with all graphs below it.
  [[nodiscard]] result<cushim::graph> clone() const;
  // Text for Graphviz, or JSON, to a file. Flags are CU_GRAPH_DEBUG_DOT_FLAGS_*, or cushim_json_flags.
  result<void> write_dot(detail::c_string path, std::uint32_t flags = 0) const {
    return detail::done(cushim_graph_write_dot(get(), path.get(), flags));
  }
  result<void> write_json(detail::c_string path, std::uint32_t flags = 0) const {
    return detail::done(cushim_graph_write_json(get(), path.get(), flags));
  }

  // What is launched. If it fails, the result says which node the driver blames.
  [[nodiscard]] result<cushim::exec> instantiate(const exec_options &options = {}, exec_result *why = nullptr) const;

 private:
  friend class detail::adder<graph_ref>;
  [[nodiscard]] cushim_graph graph_handle() const noexcept { return get(); }
  [[nodiscard]] static const cushim_node *node_handles() noexcept { return nullptr; }
  [[nodiscard]] static std::size_t node_count() noexcept { return 0; }
  [[nodiscard]] static std::vector<cushim_edge> raw_of(const std::vector<edge> &edges) {
    std::vector<cushim_edge> raw;
    raw.reserve(edges.size());
    for (const edge &one : edges) raw.push_back(one.raw());
    return raw;
  }
};

// What the nodes use is released with the last owner, but for what was instantiated from the graph.
class [[nodiscard]] graph : public detail::owning<graph, graph_ref, cushim_graph_destroy, cushim_graph_ref> {
 public:
  using owning::owning;
#if CUSHIM_HPP_THROWS
  explicit graph(context_ref context) : graph(create(context)) {}
#endif

  // Empty; its nodes run in the context unless they name another one.
  [[nodiscard]] static result<graph> create(context_ref context) {
    return detail::ask<graph, cushim_graph>(cushim_graph_create, context.get(), nullptr);
  }
  // A graph that was created elsewhere: from now on cushim's to destroy, or only borrowed.
  [[nodiscard]] static result<graph> from_native_handle(context_ref context, CUgraph native) {
    return detail::ask<graph, cushim_graph>(cushim_graph_wrap, context.get(), native, CUSHIM_OWNED);
  }
  [[nodiscard]] static result<graph> wrap(context_ref context, CUgraph native) {
    return detail::ask<graph, cushim_graph>(cushim_graph_wrap, context.get(), native, CUSHIM_BORROWED);
  }
};

// A node that allocates, and the address.
struct allocation_node : node_ref {
  address pointer;
};
// A node that runs another graph, and that graph as its part.
struct child_node : node_ref {
  graph_ref inner;
};
// An if or while node.
struct body_node : node_ref {
  graph_ref body;
};
struct if_else_node : node_ref {
  graph_ref then_body, else_body;
};
struct switch_node : node_ref {
  std::vector<graph_ref> bodies;
};

namespace detail {

// What std::tuple_size is of a node with these members.
template <auto... Members>
struct node_parts : std::integral_constant<std::size_t, 1 + sizeof...(Members)> {
  static constexpr std::tuple<decltype(Members)...> members{Members...};
};

} // namespace detail

// The node itself, and what else it has: `auto [node, body] = graph.add_if(condition)`.
template <std::size_t Index, class Node, class Parts = std::tuple_size<std::decay_t<Node>>,
          class = decltype(Parts::members)>
[[nodiscard]] constexpr decltype(auto) get(Node &&node) noexcept {
  if constexpr (Index == 0) {
    return node_ref(node);
  } else {
    return (std::forward<Node>(node).*std::get<Index - 1>(Parts::members));
  }
}

namespace detail {

// What std::tuple_element is of a node.
template <std::size_t Index, class Node>
struct node_part {
  using type = std::decay_t<decltype(cushim::get<Index>(std::declval<Node>()))>;
};

template <class Self>
result<allocation_node> adder<Self>::add_allocation(std::size_t bytes, const graph_allocation &what) const {
  cushim_graph_allocation raw = cushim_options_of<cushim_graph_allocation>();
  raw.bytes = bytes;
  raw.location = *what.where.get();
  raw.flags = what.managed ? static_cast<std::uint32_t>(CUSHIM_GRAPH_ALLOCATION_MANAGED) : 0;
  raw.peers = what.peers.empty() ? nullptr : what.peers.data();
  raw.peer_count = what.peers.size();
  cushim_node node = nullptr;
  address pointer = 0;
  const cushim_status status = cushim_graph_add_allocation(self().graph_handle(), self().node_handles(),
                                                           self().node_count(), &raw, &node, &pointer);
  return give(status, allocation_node{node, pointer});
}

template <class Self>
result<child_node> adder<Self>::add_child(graph_ref child, cushim_child_ownership ownership) const {
  cushim_node node = nullptr;
  cushim_graph inner = nullptr;
  const cushim_status status = cushim_graph_add_child(self().graph_handle(), self().node_handles(),
                                                      self().node_count(), child.get(), ownership, &node, &inner);
  return give(status, child_node{node, inner});
}

template <class Self>
result<body_node> adder<Self>::add_body(condition_ref condition, cushim_conditional_kind kind) const {
  cushim_node node = nullptr;
  cushim_graph body = nullptr;
  const cushim_status status = add_conditional(condition, kind, 1, &node, &body);
  return give(status, body_node{node, body});
}

template <class Self>
result<body_node> adder<Self>::add_if(condition_ref condition) const {
  return add_body(condition, CUSHIM_CONDITIONAL_IF);
}
template <class Self>
result<body_node> adder<Self>::add_while(condition_ref condition) const {
  return add_body(condition, CUSHIM_CONDITIONAL_WHILE);
}

template <class Self>
result<if_else_node> adder<Self>::add_if_else(condition_ref condition) const {
  cushim_node node = nullptr;
  cushim_graph bodies[2] = {};
  const cushim_status status = add_conditional(condition, CUSHIM_CONDITIONAL_IF_ELSE, 2, &node, bodies);
  return give(status, if_else_node{node, bodies[0], bodies[1]});
}

template <class Self>
result<switch_node> adder<Self>::add_switch(condition_ref condition, std::size_t bodies) const {
  cushim_node node = nullptr;
  std::vector<cushim_graph> found(bodies);
  const cushim_status status = add_conditional(condition, CUSHIM_CONDITIONAL_SWITCH, bodies, &node, found.data());
  return give(status, switch_node{node, std::vector<graph_ref>(found.begin(), found.end())});
}

} // namespace detail

inline result<graph> graph_ref::clone() const { return detail::ask<graph, cushim_graph>(cushim_graph_clone, get()); }

inline result<graph_ref> node_ref::graph() const {
  return detail::ask<graph_ref, cushim_graph>(cushim_node_get_graph, get());
}
inline result<std::vector<graph_ref>> node_ref::graphs() const {
  return detail::ask_list<graph_ref, cushim_graph>(cushim_node_get_graphs, get());
}
inline result<condition_ref> node_ref::condition() const {
  cushim_condition condition = nullptr;
  const cushim_status status = cushim_node_get_condition(get(), &condition, nullptr);
  return detail::give(status, condition_ref(condition));
}
inline result<node_ref> node_ref::find_in(graph_ref clone) const {
  return detail::ask<node_ref, cushim_node>(cushim_node_find_in, get(), clone.get());
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

// For structured bindings.
template <>
struct std::tuple_size<cushim::allocation_node> : cushim::detail::node_parts<&cushim::allocation_node::pointer> {};
template <>
struct std::tuple_size<cushim::child_node> : cushim::detail::node_parts<&cushim::child_node::inner> {};
template <>
struct std::tuple_size<cushim::body_node> : cushim::detail::node_parts<&cushim::body_node::body> {};
template <>
struct std::tuple_size<cushim::if_else_node>
    : cushim::detail::node_parts<&cushim::if_else_node::then_body, &cushim::if_else_node::else_body> {};
template <>
struct std::tuple_size<cushim::switch_node> : cushim::detail::node_parts<&cushim::switch_node::bodies> {};
template <std::size_t Index>
struct std::tuple_element<Index, cushim::allocation_node>
    : cushim::detail::node_part<Index, cushim::allocation_node> {};
template <std::size_t Index>
struct std::tuple_element<Index, cushim::child_node> : cushim::detail::node_part<Index, cushim::child_node> {};
template <std::size_t Index>
struct std::tuple_element<Index, cushim::body_node> : cushim::detail::node_part<Index, cushim::body_node> {};
template <std::size_t Index>
struct std::tuple_element<Index, cushim::if_else_node> : cushim::detail::node_part<Index, cushim::if_else_node> {};
template <std::size_t Index>
struct std::tuple_element<Index, cushim::switch_node> : cushim::detail::node_part<Index, cushim::switch_node> {};

#endif // CUSHIM_GRAPH_HPP
