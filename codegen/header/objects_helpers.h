
/*
 * Helpers. The library exports none of them.
 *
 * In C they are compound literals, for which they need C99: you can take their address, as in &CUSHIM_ON_HOST; it is
 * valid in the enclosing block. In C90, fill the structs member by member. In C++ they are values: assign them to a
 * variable before you take its address.
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
 * Endpoints of copies and memsets: cushim_at_host(pointer), cushim_at_device(pointer), cushim_at_buffer(buffer,
 * offset), cushim_at_array(array), and cushim_at_auto(address), about which the driver is asked.
 * Regions of 3D copies: cushim_region_at(endpoint, pitch).
 * Arguments of kernels, besides CUSHIM_ARG: cushim_arg_buffer(buffer), cushim_arg_place(&endpoint).
 * Locations: cushim_on_device(0), CUSHIM_ON_HOST, cushim_on_host_node(0).
 * Ranges: cushim_range_at(pointer, bytes), cushim_range_of(buffer), cushim_range_of_part(buffer, offset, bytes).
 */
#ifdef __cplusplus
static inline cushim_place cushim_place_make(cushim_place_kind kind, uint64_t address, uint64_t offset) {
  cushim_place place = cushim_place();
  place.kind = kind;
  place.address = address;
  place.offset = offset;
  return place;
}

static inline cushim_region cushim_region_at(cushim_place place, size_t pitch) {
  cushim_region region = cushim_region();
  region.place = place;
  region.pitch = pitch;
  return region;
}

static inline cushim_arg cushim_arg_make(cushim_arg_kind kind, const void *value) {
  cushim_arg arg = cushim_arg();
  arg.kind = kind;
  arg.value = value;
  return arg;
}

static inline cushim_location cushim_location_of(cushim_location_kind kind, int32_t id) {
  cushim_location location = cushim_location();
  location.kind = kind;
  location.id = id;
  return location;
}

static inline cushim_range cushim_range_make(cushim_range_kind kind, uint64_t address, uint64_t offset, size_t bytes) {
  cushim_range range = cushim_range();
  range.kind = kind;
  range.address = address;
  range.offset = offset;
  range.bytes = bytes;
  return range;
}
#else
#define cushim_place_make(its_kind, its_address, its_offset) \
  ((cushim_place){.kind = (its_kind), .address = (its_address), .offset = (its_offset)})
#define cushim_region_at(its_place, its_pitch) ((cushim_region){.place = (its_place), .pitch = (its_pitch)})
#define cushim_arg_make(its_kind, its_value) ((cushim_arg){.kind = (its_kind), .value = (its_value)})
#define cushim_location_of(its_kind, its_id) ((cushim_location){.kind = (its_kind), .id = (its_id)})
#define cushim_range_make(its_kind, its_address, its_offset, its_bytes) \
  ((cushim_range){.kind = (its_kind), .address = (its_address), .offset = (its_offset), .bytes = (its_bytes)})
#endif
#define cushim_at_host(pointer) cushim_place_make(CUSHIM_PLACE_HOST, (uint64_t)(uintptr_t)(pointer), 0)
#define cushim_at_device(pointer) cushim_place_make(CUSHIM_PLACE_DEVICE, (pointer), 0)
#define cushim_at_buffer(buffer, offset) \
  cushim_place_make(CUSHIM_PLACE_BUFFER, (uint64_t)(uintptr_t)(buffer), (offset))
#define cushim_at_array(array) cushim_place_make(CUSHIM_PLACE_ARRAY, (uint64_t)(uintptr_t)(array), 0)
#define cushim_at_auto(address) cushim_place_make(CUSHIM_PLACE_AUTO, (address), 0)
#define cushim_arg_buffer(buffer) cushim_arg_make(CUSHIM_ARG_BUFFER, (buffer))
#define cushim_arg_place(place) cushim_arg_make(CUSHIM_ARG_PLACE, (place))
#define cushim_on_device(ordinal) cushim_location_of(CUSHIM_LOCATION_DEVICE, (ordinal))
#define CUSHIM_ON_HOST cushim_location_of(CUSHIM_LOCATION_HOST, 0)
#define cushim_on_host_node(node) cushim_location_of(CUSHIM_LOCATION_HOST_NUMA, (node))
#define cushim_range_at(pointer, bytes) cushim_range_make(CUSHIM_RANGE_POINTER, (pointer), 0, (bytes))
#define cushim_range_of(buffer) cushim_range_of_part((buffer), 0, 0)
#define cushim_range_of_part(buffer, offset, bytes) \
  cushim_range_make(CUSHIM_RANGE_BUFFER, (uint64_t)(uintptr_t)(buffer), (offset), (bytes))
