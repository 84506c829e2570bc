// Takes declarations apart and prints what matters to the ABI, one fact a line: "what name<TAB>value".
// tests/headers.rs puts a list of these macros behind a header and compiles the two together.
#include <cstddef>
#include <cstdio>
#include <type_traits>

// How a value travels: i integer or enumeration, p pointer, f floating point, s struct or union by value.
template <class T> constexpr char kind() {
  using Element = std::remove_all_extents_t<T>;
  if (std::is_pointer_v<Element>) return 'p';
  if (std::is_floating_point_v<Element>) return 'f';
  if (std::is_integral_v<Element> || std::is_enum_v<Element>) return 'i';
  return 's';
}

template <class Result, class... Parameters> void signature(const char *name, Result (*)(Parameters...)) {
  std::printf("signature %s\t%zu: ", name, sizeof...(Parameters));
  (std::printf("%c%zu ", kind<Parameters>(), sizeof(Parameters)), ...);
  std::printf("-> %c%zu\n", kind<Result>(), sizeof(Result));
}

struct Place {
  std::size_t offset, size;
  char kind;
};

// Prints a member where the struct has one: `locate` can be called on the struct only then.
template <class Struct, class Locate> void member(const char *type, const char *path, Locate locate) {
  if constexpr (std::is_invocable_v<Locate, Struct *>) {
    alignas(Struct) static char room[sizeof(Struct)];
    const Place place = locate(reinterpret_cast<Struct *>(room));
    std::printf("field %s.%s\t%zu %zu %c\n", type, path, place.offset, place.size, place.kind);
  }
}

// The compiler's own words for a type, in which tags stand and names that stand for other types do not.
template <class T> constexpr const char *spelled() { return __PRETTY_FUNCTION__; }

#define FIELD(type, path)                                                                              \
  member<type>(#type, #path, [](auto *at) -> decltype((void)at->path, Place{}) {                       \
    return {static_cast<std::size_t>(reinterpret_cast<char *>(&at->path) - reinterpret_cast<char *>(at)), \
            sizeof(at->path), kind<decltype(at->path)>()};                                             \
  });
#define STRUCT(type) std::printf("struct %s\t%zu %zu\n", #type, sizeof(type), alignof(type));
#define TYPE(type) std::printf("type %s\t%zu %c\n", #type, sizeof(type), kind<type>());
#define VALUE(name) std::printf("value %s\t%lld\n", #name, static_cast<long long>(name));
#define CONSTANT(name) std::printf("constant %s\t%lld\n", #name, (long long)(name));
#define SIGNATURE(name, ...) signature(name, static_cast<__VA_ARGS__>(nullptr));
#define EXPORT(name, exported, ...) \
  std::printf("export %s\t%s\n", name, std::is_same_v<decltype(&exported), __VA_ARGS__> ? #exported : "another type");
#define SAME(name, ours, ...) \
  std::printf("same %s\t%s\n", name, std::is_same_v<ours, __VA_ARGS__> ? "yes" : "no");
#define NAMED(type) std::printf("named %s\t%s\n", #type, spelled<type>());
#define FUNCTION(name, function) std::printf("function %s\t%s\n", name, spelled<decltype(function)>());
