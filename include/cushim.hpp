/*
 * cushim.hpp: cushim.h for C++17 and later. Header-only; link libcushim as C programs do. Part of cushim. MIT OR
 * Apache-2.0.
 *
 *   auto driver = cushim::driver::open();
 *   auto device = driver.get_device(0);
 *   cushim::context context = cushim::context::retain_primary(device);
 *   cushim::stream stream{context};
 *   auto buffer = device.allocate(stream, 4096);
 *   stream.fill<std::uint32_t>(buffer, 42);
 *   stream.sync();
 *
 * Names. Each kind of handle K of cushim.h has two classes here, and each function a member of its verb (those that
 * only ask lose "get_" and their "create" is a static function or a constructor); cushim.h says what it does, needs
 * and refuses. Verbs that <cuda/stream> has are called as there: sync, is_done, wait, record, get, release,
 * from_native_handle.
 *
 * Ownership. `cushim::K_ref` is a handle that nobody destroys: one pointer, to be passed by value. `cushim::K` owns
 * its handle: it can be moved, not copied, and its destructor destroys the handle. Every K is a K_ref, too, so
 * functions take K_ref. A second owner of the same object is made by `K::share`. `get` returns the handle for
 * functions of cushim.h, `release` gives up the ownership of it, and the constructors from a handle borrow it (K_ref)
 * or take it over (K). Objects keep alive what they need, as in C, so owners may be destroyed in any order.
 *
 * Empty objects. One that was made by its default constructor, or moved from, is empty: `get` returns NULL, it
 * converts to false, and it may be destroyed, assigned and asked; any other call on it fails with
 * CUSHIM_ERROR_INVALID_HANDLE or CUSHIM_ERROR_STREAM_REQUIRED.
 *
 * Stream order. A function that enqueues work takes a stream or is a member of one, and returns before the work is
 * done. Memory that such work uses must live until it is done; that of a cushim::buffer is freed in stream order.
 * Nothing uses a default stream unless it is asked to (context_ref::legacy_stream).
 *
 * Errors. A call that fails throws cushim::error, and has no effect unless cushim.h says so. Nothing else is thrown,
 * but std::bad_alloc by functions that return strings and vectors or keep callables. Destructors never throw: where a
 * failure matters, call `destroy`. Without exceptions (-fno-exceptions, or CUSHIM_NO_EXCEPTIONS defined before) each
 * function that returns `result<T>` returns a cushim::expected<T>, which has either the T or the error; with
 * exceptions `result<T>` is T itself. There constructors that could fail do not exist; the static functions of the
 * same arguments do (`stream::create`). Translation units of both sorts can be linked together.
 *
 * Threads. Any thread may call any const member function at any time, as in C. Moving from, assigning to and
 * destroying an object are for one thread at a time, as for any C++ object.
 *
 * Enumerations and plain structs of facts are those of cushim.h. What has no C++ form is called with `get()`.
 */
#ifndef CUSHIM_HPP
#define CUSHIM_HPP

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 201703L
#error "cushim.hpp needs C++17 or later"
#endif

#include "cushim.h"

// For the files below, and gone after them: whether errors are thrown, and the inline namespace that keeps the two
// forms apart.
#if defined(CUSHIM_NO_EXCEPTIONS) || !(defined(__cpp_exceptions) || defined(_CPPUNWIND))
#define CUSHIM_HPP_THROWS 0
#define CUSHIM_HPP_FORM returning
#else
#define CUSHIM_HPP_THROWS 1
#define CUSHIM_HPP_FORM throwing
#endif

#include "cushim/error.hpp"
#include "cushim/handle.hpp"
#include "cushim/owner.hpp"
#include "cushim/endpoint.hpp"
#include "cushim/range.hpp"
#include "cushim/transfers.hpp"
#include "cushim/driver.hpp"
#include "cushim/context.hpp"
#include "cushim/event.hpp"
#include "cushim/stream.hpp"
#include "cushim/resource.hpp"
#include "cushim/buffer.hpp"
#include "cushim/virtual_memory.hpp"
#include "cushim/graphics.hpp"
#include "cushim/managed.hpp"
#include "cushim/launch.hpp"
#include "cushim/program.hpp"
#include "cushim/kernel.hpp"
#include "cushim/node.hpp"
#include "cushim/graph.hpp"
#include "cushim/exec.hpp"
#include "cushim/builder.hpp"
#include "cushim/log.hpp"

#undef CUSHIM_HPP_FORM
#undef CUSHIM_HPP_THROWS

#endif // CUSHIM_HPP
