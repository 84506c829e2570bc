// Builders: what is enqueued in a stream, captured as a graph. Part of cushim.hpp.
#ifndef CUSHIM_BUILDER_HPP
#define CUSHIM_BUILDER_HPP
#ifndef CUSHIM_HPP_FORM
#error "include cushim.hpp"
#endif

namespace cushim {
inline namespace CUSHIM_HPP_FORM {

struct body_builder;
struct if_else_builders;
struct switch_builders;

// A builder. From `begin` to `end` every function that takes a stream takes that of `stream`, and its work becomes
// nodes.
class builder_ref : public detail::ref<cushim_builder> {
 public:
  constexpr builder_ref() noexcept = default;
  constexpr builder_ref(cushim_builder handle) noexcept : ref(handle) {}
  builder_ref(std::nullptr_t) = delete;

  result<void> begin() const { return detail::done(cushim_builder_begin(get())); }
  // Captures the same operations into a graph that exists; CUDA 13.3.
  result<void> recapture(graph_ref graph) const { return detail::done(cushim_builder_recapture(get(), graph.get())); }
  // Ends the capture: its graph; of the builder of a body, the body.
  [[nodiscard]] result<cushim::graph> end() const {
    return detail::ask<cushim::graph, cushim_graph>(cushim_builder_end, get());
  }
  // The same where nobody wants the graph, as of a body.
  result<void> finish() const { return detail::done(cushim_builder_end(get(), nullptr)); }
  // Gives up what it captures, with its forks and the bodies in it; a body keeps what was captured by then.
  result<void> close() const { return detail::done(cushim_builder_close(get())); }

  // The stream, while it captures.
  [[nodiscard]] result<stream_ref> stream() const {
    const cushim_stream stream = cushim_builder_stream(get());
    // The call returns no status: the thread's last error has it.
    return detail::give(stream != nullptr ? CUSHIM_SUCCESS : detail::last_status(), stream_ref(stream));
  }
  [[nodiscard]] result<context_ref> context() const {
    return detail::ask<context_ref, cushim_context>(cushim_builder_get_context, get());
  }
  [[nodiscard]] result<cushim_builder_state> state() const {
    cushim_builder_state state{};
    const cushim_status status = cushim_builder_get_state(get(), &state, nullptr);
    return detail::give(status, std::move(state));
  }
  [[nodiscard]] result<cushim_builder_kind> kind() const {
    cushim_builder_kind kind{};
    const cushim_status status = cushim_builder_get_state(get(), nullptr, &kind);
    return detail::give(status, std::move(kind));
  }
  // The graph of a builder that has ended; of the builder of a body, the body, also before it begins.
  [[nodiscard]] result<graph_ref> graph() const {
    return detail::ask<graph_ref, cushim_graph>(cushim_builder_get_graph, get());
  }
  // The nodes that were captured last, to label them, or to add nodes by hand after them.
  [[nodiscard]] result<std::vector<node_ref>> tail() const {
    return detail::ask_list<node_ref, cushim_node>(cushim_builder_get_tail, get());
  }

  // A builder that captures beside this one, from where this is, until it is joined; or several.
  [[nodiscard]] result<builder> fork() const;
  [[nodiscard]] result<std::vector<builder>> fork(std::size_t count) const;
  // What is captured from now on comes after what these captured. They are closed then.
  result<void> join(builder_ref other) const {
    const cushim_builder handle = other.get();
    return detail::done(cushim_builder_join(get(), &handle, 1));
  }
  result<void> join(const std::vector<builder> &others) const;
  // Embeds a graph as a child graph node: a copy of it, or the graph itself (CUDA 12.9).
  result<node_ref> add_child(graph_ref graph, cushim_child_ownership ownership = CUSHIM_CHILD_CLONE) const {
    return detail::ask<node_ref, cushim_node>(cushim_builder_add_child, get(), graph.get(), ownership);
  }

  // As graph_ref::create_condition.
  [[nodiscard]] result<condition_ref> create_condition(std::optional<std::uint32_t> initial = std::nullopt) const {
    const cushim_condition_options options = detail::condition_options_of(initial);
    return detail::ask<condition_ref, cushim_condition>(cushim_builder_create_condition, get(), &options);
  }
  // Adds a conditional node, after which the capture goes on. Each body has a builder, which is not begun: capture
  // into it, or fill its `graph` by hand. CUDA 12.3; 12.8 for two bodies and more.
  [[nodiscard]] result<body_builder> add_if(condition_ref condition) const;
  [[nodiscard]] result<body_builder> add_while(condition_ref condition) const;
  [[nodiscard]] result<if_else_builders> add_if_else(condition_ref condition) const;
  [[nodiscard]] result<switch_builders> add_switch(condition_ref condition, std::size_t bodies) const;

 private:
  [[nodiscard]] result<body_builder> add_body(condition_ref condition, cushim_conditional_kind kind) const;
};

// What a builder captures is given up if it is destroyed before `end`; a body keeps it. Graphs that it gave live on.
class [[nodiscard]] builder
    : public detail::owning<builder, builder_ref, cushim_builder_destroy, cushim_builder_ref> {
 public:
  using owning::owning;
#if CUSHIM_HPP_THROWS
  explicit builder(context_ref context, cushim_capture_mode mode = CUSHIM_CAPTURE_RELAXED)
      : builder(create(context, mode)) {}
#endif

  // With a stream of its own.
  [[nodiscard]] static result<builder> create(context_ref context,
                                              cushim_capture_mode mode = CUSHIM_CAPTURE_RELAXED) {
    cushim_builder_options options = cushim_options_of<cushim_builder_options>();
    options.mode = mode;
    return detail::ask<builder, cushim_builder>(cushim_builder_create, context.get(), &options);
  }
  // Of what is enqueued in this stream, also by other libraries.
  [[nodiscard]] static result<builder> create_on(stream_ref stream,
                                                 cushim_capture_mode mode = CUSHIM_CAPTURE_RELAXED) {
    cushim_builder_options options = cushim_options_of<cushim_builder_options>();
    options.mode = mode;
    return detail::ask<builder, cushim_builder>(cushim_builder_create_on, stream.get(), &options);
  }
};

// A conditional node, and the builders of its bodies.
struct body_builder {
  node_ref node;
  builder body;
};
struct if_else_builders {
  node_ref node;
  builder then_body, else_body;
};
struct switch_builders {
  node_ref node;
  std::vector<builder> bodies;
};

inline result<builder> builder_ref::fork() const {
  cushim_builder handle = nullptr;
  const cushim_status status = cushim_builder_fork(get(), &handle, 1);
  return detail::give(status, builder(handle));
}

inline result<std::vector<builder>> builder_ref::fork(std::size_t count) const {
  std::vector<cushim_builder> handles(count);
  std::vector<builder> forks;
  forks.reserve(count);
  const cushim_status status = cushim_builder_fork(get(), handles.data(), count);
  for (const cushim_builder handle : handles) forks.emplace_back(handle);
  return detail::give(status, std::move(forks));
}

inline result<void> builder_ref::join(const std::vector<builder> &others) const {
  std::vector<cushim_builder> handles;
  handles.reserve(others.size());
  for (const builder &other : others) handles.push_back(other.get());
  return detail::done(cushim_builder_join(get(), handles.data(), handles.size()));
}

inline result<body_builder> builder_ref::add_body(condition_ref condition, cushim_conditional_kind kind) const {
  cushim_node node = nullptr;
  cushim_builder body = nullptr;
  const cushim_status status = cushim_builder_add_conditional(get(), condition.get(), kind, 1, &node, &body);
  return detail::give(status, body_builder{node_ref(node), builder(body)});
}
inline result<body_builder> builder_ref::add_if(condition_ref condition) const {
  return add_body(condition, CUSHIM_CONDITIONAL_IF);
}
inline result<body_builder> builder_ref::add_while(condition_ref condition) const {
  return add_body(condition, CUSHIM_CONDITIONAL_WHILE);
}

inline result<if_else_builders> builder_ref::add_if_else(condition_ref condition) const {
  cushim_node node = nullptr;
  cushim_builder bodies[2] = {};
  const cushim_status status =
      cushim_builder_add_conditional(get(), condition.get(), CUSHIM_CONDITIONAL_IF_ELSE, 2, &node, bodies);
  return detail::give(status, if_else_builders{node_ref(node), builder(bodies[0]), builder(bodies[1])});
}

inline result<switch_builders> builder_ref::add_switch(condition_ref condition, std::size_t bodies) const {
  cushim_node node = nullptr;
  std::vector<cushim_builder> handles(bodies);
  std::vector<builder> builders;
  builders.reserve(bodies);
  const cushim_status status = cushim_builder_add_conditional(get(), condition.get(), CUSHIM_CONDITIONAL_SWITCH,
                                                              bodies, &node, handles.data());
  for (const cushim_builder handle : handles) builders.emplace_back(handle);
  return detail::give(status, switch_builders{node_ref(node), std::move(builders)});
}

// What a callable enqueues in a stream, as a graph: `capture(context, [&](cushim::stream_ref stream) { ... })`. If it
// throws, or returns an error, the capture is given up.
template <class Function>
[[nodiscard]] result<graph> capture(context_ref context, Function &&enqueue) {
#if CUSHIM_HPP_THROWS
  const builder captured = builder::create(context);
  captured.begin();
  std::forward<Function>(enqueue)(captured.stream());
  return captured.end();
#else
  const expected<builder> captured = builder::create(context);
  if (!captured) return captured.error();
  if (const expected<void> begun = captured->begin(); !begun) return begun.error();
  const expected<stream_ref> stream = captured->stream();
  if (!stream) return stream.error();
  if constexpr (std::is_void_v<decltype(std::forward<Function>(enqueue)(*stream))>) {
    std::forward<Function>(enqueue)(*stream);
  } else {
    if (const expected<void> enqueued = std::forward<Function>(enqueue)(*stream); !enqueued) return enqueued.error();
  }
  return captured->end();
#endif
}

} // namespace CUSHIM_HPP_FORM
} // namespace cushim

#endif // CUSHIM_BUILDER_HPP
