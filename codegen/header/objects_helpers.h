
/*
 * Helpers. The library exports none of them. Each has the name of the type that it makes and of the enumerator that
 * it sets: CUSHIM_ENDPOINT_BUFFER and cushim_endpoint_buffer.
 *
 * You can take their address, as in &cushim_location_host(). In C they are compound literals, for which they need
 * C99: the address is valid in the enclosing block. In C++ it is valid until the end of the full expression, as in
 * the arguments of a call. In C90, fill the structs member by member.
 */

/*
 * A struct of this type with its struct_size set and all other members zero, which means the default. In C, members
 * may follow:
 *
 *   const cushim_stream_options options = CUSHIM_OPTIONS(cushim_stream_options, .flags = CUSHIM_STREAM_BLOCKING);
 */
#ifdef __cplusplus
template <class Struct>
static inline Struct cushim_options_of(void) {
  Struct options = Struct();
  options.struct_size = sizeof options;
  return options;
}
#define CUSHIM_OPTIONS(type) cushim_options_of<type>()
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define CUSHIM_OPTIONS(...) CUSHIM_OPTIONS_MAKE(__VA_ARGS__, .struct_size = sizeof(CUSHIM_OPTIONS_TYPE(__VA_ARGS__, )))
#define CUSHIM_OPTIONS_MAKE(type, ...) ((type){__VA_ARGS__})
#define CUSHIM_OPTIONS_TYPE(type, ...) type
#endif

/* The value of a variable of any type as a kernel's argument. It is read by the launch. */
#ifdef __cplusplus
template <class Value>
static inline cushim_arg cushim_arg_of(const Value &value) {
  cushim_arg arg = cushim_arg();
  arg.kind = CUSHIM_ARG_BYTES;
  arg.size = CUSHIM_CAST(uint32_t, sizeof value);
  arg.value = &value;
  return arg;
}
#define CUSHIM_ARG(variable) cushim_arg_of(variable)
#else
#define CUSHIM_ARG(variable) \
  ((cushim_arg){.kind = CUSHIM_ARG_BYTES, .size = (uint32_t)sizeof(variable), .value = &(variable)})
#endif

/*
 * The address and the size of a variable of any type, for functions that take both; and of a number of 8, 16 or 32
 * bits, which are valid as long as the address of a struct that a helper makes.
 *
 *   cushim_exec_set_parameter(exec, "alpha", CUSHIM_VALUE(alpha), NULL);
 *   cushim_stream_fill(stream, &endpoint, CUSHIM_VALUE_32(0), count);
 */
#define CUSHIM_VALUE(variable) &(variable), sizeof(variable)
#ifdef __cplusplus
template <class Value>
static inline const Value *cushim_value_at(const Value &value) {
  return &value;
}
#define CUSHIM_VALUE_OF(type, value) cushim_value_at<type>(value), sizeof(type)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define CUSHIM_VALUE_OF(type, value) &(const type){value}, sizeof(type)
#endif
#define CUSHIM_VALUE_8(value) CUSHIM_VALUE_OF(uint8_t, value)
#define CUSHIM_VALUE_16(value) CUSHIM_VALUE_OF(uint16_t, value)
#define CUSHIM_VALUE_32(value) CUSHIM_VALUE_OF(uint32_t, value)

/*
 * The nodes after which a node of a graph is added, and their number, for functions that take both: CUSHIM_AFTER(a,
 * b), or CUSHIM_AFTER_NOTHING.
 *
 *   cushim_graph_add_empty(graph, CUSHIM_AFTER(first, second), &node);
 */
#define CUSHIM_AFTER_NOTHING NULL, 0
#if defined(__cplusplus) && __cplusplus >= 201103L
template <size_t Count>
static inline const cushim_node *cushim_after_nodes(const cushim_node (&nodes)[Count]) {
  return nodes;
}
template <size_t Count>
static inline size_t cushim_after_count(const cushim_node (&)[Count]) {
  return Count;
}
#define CUSHIM_AFTER(...) cushim_after_nodes({__VA_ARGS__}), cushim_after_count({__VA_ARGS__})
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define CUSHIM_AFTER(...) \
  (const cushim_node[]){__VA_ARGS__}, sizeof((const cushim_node[]){__VA_ARGS__}) / sizeof(cushim_node)
#endif

/*
 * Endpoints of copies and memsets: cushim_endpoint_host(pointer), cushim_endpoint_device(pointer),
 * cushim_endpoint_buffer(buffer, offset), cushim_endpoint_array(array), and cushim_endpoint_auto(address), about
 * which the driver is asked. Regions of 3D copies: cushim_region_at(endpoint, pitch). Arguments of kernels, besides
 * CUSHIM_ARG: cushim_arg_buffer(buffer), cushim_arg_endpoint(&endpoint), cushim_arg_condition(condition),
 * cushim_arg_owned(&owned), cushim_arg_parameter(&parameter). Locations: cushim_location_device(0),
 * cushim_location_host(), cushim_location_host_numa(0), cushim_location_host_numa_current(). Ranges:
 * cushim_range_pointer(pointer, bytes), and cushim_range_buffer(buffer, offset, bytes); 0 bytes are all.
 */
#ifdef __cplusplus
/* A struct whose address can be taken although it is a temporary. */
template <class Struct>
struct cushim_made : Struct {
  const Struct *operator&() const { return this; }
};

static inline cushim_made<cushim_endpoint> cushim_endpoint_make(cushim_endpoint_kind kind, uint64_t address,
                                                                uint64_t offset) {
  cushim_made<cushim_endpoint> endpoint = cushim_made<cushim_endpoint>();
  endpoint.kind = kind;
  endpoint.address = address;
  endpoint.offset = offset;
  return endpoint;
}

static inline cushim_made<cushim_region> cushim_region_at(const cushim_endpoint &endpoint, size_t pitch) {
  cushim_made<cushim_region> region = cushim_made<cushim_region>();
  region.endpoint = endpoint;
  region.pitch = pitch;
  return region;
}

static inline cushim_made<cushim_arg> cushim_arg_make(cushim_arg_kind kind, const void *value) {
  cushim_made<cushim_arg> arg = cushim_made<cushim_arg>();
  arg.kind = kind;
  arg.value = value;
  return arg;
}

static inline cushim_made<cushim_location> cushim_location_make(cushim_location_kind kind, int32_t id) {
  cushim_made<cushim_location> location = cushim_made<cushim_location>();
  location.kind = kind;
  location.id = id;
  return location;
}

static inline cushim_made<cushim_range> cushim_range_make(cushim_range_kind kind, uint64_t address, uint64_t offset,
                                                          size_t bytes) {
  cushim_made<cushim_range> range = cushim_made<cushim_range>();
  range.kind = kind;
  range.address = address;
  range.offset = offset;
  range.bytes = bytes;
  return range;
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define cushim_endpoint_make(its_kind, its_address, its_offset) \
  ((cushim_endpoint){.kind = (its_kind), .address = (its_address), .offset = (its_offset)})
#define cushim_region_at(its_endpoint, its_pitch) ((cushim_region){.endpoint = (its_endpoint), .pitch = (its_pitch)})
#define cushim_arg_make(its_kind, its_value) ((cushim_arg){.kind = (its_kind), .value = (its_value)})
#define cushim_location_make(its_kind, its_id) ((cushim_location){.kind = (its_kind), .id = (its_id)})
#define cushim_range_make(its_kind, its_address, its_offset, its_bytes) \
  ((cushim_range){.kind = (its_kind), .address = (its_address), .offset = (its_offset), .bytes = (its_bytes)})
#endif

/* So that the compiler refuses other pointers, and numbers for pointers. */
#ifdef __cplusplus
#define cushim_address_of_host(pointer) \
  reinterpret_cast<uintptr_t>(true ? (pointer) : static_cast<const void *>(0))
static inline uint64_t cushim_address_of_buffer(cushim_buffer buffer) { return reinterpret_cast<uintptr_t>(buffer); }
static inline uint64_t cushim_address_of_array(CUarray array) { return reinterpret_cast<uintptr_t>(array); }
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define cushim_address_of_host(pointer) ((uint64_t)(uintptr_t)(1 ? (pointer) : (const void *)0))
static inline uint64_t cushim_address_of_buffer(cushim_buffer buffer) { return (uintptr_t)buffer; }
static inline uint64_t cushim_address_of_array(CUarray array) { return (uintptr_t)array; }
#endif
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
static inline const void *cushim_value_of_buffer(cushim_buffer buffer) { return buffer; }
static inline const void *cushim_value_of_endpoint(const cushim_endpoint *endpoint) { return endpoint; }
static inline const void *cushim_value_of_condition(cushim_condition condition) { return condition; }
static inline const void *cushim_value_of_owned(const cushim_owned_pointer *owned) { return owned; }
static inline const void *cushim_value_of_parameter(const cushim_parameter *parameter) { return parameter; }
#endif

#define cushim_endpoint_host(pointer) cushim_endpoint_make(CUSHIM_ENDPOINT_HOST, cushim_address_of_host(pointer), 0)
#define cushim_endpoint_device(pointer) cushim_endpoint_make(CUSHIM_ENDPOINT_DEVICE, (pointer), 0)
#define cushim_endpoint_buffer(buffer, offset) \
  cushim_endpoint_make(CUSHIM_ENDPOINT_BUFFER, cushim_address_of_buffer(buffer), (offset))
#define cushim_endpoint_array(array) cushim_endpoint_make(CUSHIM_ENDPOINT_ARRAY, cushim_address_of_array(array), 0)
#define cushim_endpoint_auto(address) cushim_endpoint_make(CUSHIM_ENDPOINT_AUTO, (address), 0)
#define cushim_arg_buffer(buffer) cushim_arg_make(CUSHIM_ARG_BUFFER, cushim_value_of_buffer(buffer))
#define cushim_arg_endpoint(endpoint) cushim_arg_make(CUSHIM_ARG_ENDPOINT, cushim_value_of_endpoint(endpoint))
#define cushim_arg_condition(condition) cushim_arg_make(CUSHIM_ARG_CONDITION, cushim_value_of_condition(condition))
#define cushim_arg_owned(owned) cushim_arg_make(CUSHIM_ARG_OWNED, cushim_value_of_owned(owned))
#define cushim_arg_parameter(parameter) cushim_arg_make(CUSHIM_ARG_PARAMETER, cushim_value_of_parameter(parameter))
#define cushim_location_device(ordinal) cushim_location_make(CUSHIM_LOCATION_DEVICE, (ordinal))
#define cushim_location_host() cushim_location_make(CUSHIM_LOCATION_HOST, 0)
#define cushim_location_host_numa(node) cushim_location_make(CUSHIM_LOCATION_HOST_NUMA, (node))
#define cushim_location_host_numa_current() cushim_location_make(CUSHIM_LOCATION_HOST_NUMA_CURRENT, 0)
#define cushim_range_pointer(pointer, bytes) cushim_range_make(CUSHIM_RANGE_POINTER, (pointer), 0, (bytes))
#define cushim_range_buffer(buffer, offset, bytes) \
  cushim_range_make(CUSHIM_RANGE_BUFFER, cushim_address_of_buffer(buffer), (offset), (bytes))
