//! The C ABI of a shared library: what programs in C call, and not a copy that the compiler could look into.

use cushim::capi::buffer::cushim_buffer;
use cushim::capi::callback::cushim_owner;
use cushim::capi::context::cushim_context;
use cushim::capi::device::cushim_device;
use cushim::capi::driver::{cushim_driver, cushim_driver_info, cushim_driver_options};
use cushim::capi::event::{cushim_event, cushim_event_options};
use cushim::capi::graph::builder::{cushim_builder, cushim_builder_options};
use cushim::capi::graph::definition::{cushim_graph, cushim_graph_options, cushim_node};
use cushim::capi::graph::exec::{cushim_exec, cushim_exec_options, cushim_exec_result};
use cushim::capi::kernel::{
    cushim_arg, cushim_kernel, cushim_launch_config, cushim_library, cushim_library_options,
};
use cushim::capi::memory::cushim_endpoint;
use cushim::capi::resource::cushim_resource;
use cushim::capi::stream::{cushim_stream, cushim_stream_options};
use cushim::driver::Table;
use cushim::driver::sys::{CUcontext, CUfunction, CUkernel, CUstream};
use libloading::Library;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};

macro_rules! functions {
    ($($($module:ident).+::$name:ident($($argument:ty),*) -> $result:ty;)*) => {
        // They have the types that they have in Rust.
        const _: () = {
            $(let _: unsafe extern "C" fn($($argument),*) -> $result = cushim::capi::$($module)::+::$name;)*
        };

        /// The functions that are measured, and those that prepare it.
        #[derive(Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            /// # Safety
            /// The library is a libcushim of this version.
            unsafe fn of(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: the caller vouches for the types.
                unsafe { Ok(Self { $($name: *library.get(stringify!($name))?,)* }) }
            }
        }
    };
}

functions! {
    error::cushim_last_error_message() -> *const c_char;
    driver::cushim_driver_open(*const cushim_driver_options, *mut cushim_driver) -> i32;
    driver::cushim_driver_get_info(cushim_driver, *mut cushim_driver_info) -> i32;
    driver::cushim_driver_get_table(cushim_driver, i32, *mut *const Table) -> i32;
    device::cushim_driver_get_device(cushim_driver, i32, *mut cushim_device) -> i32;
    buffer::cushim_device_get_resource(cushim_device, *mut cushim_resource) -> i32;
    device::cushim_device_get_name(cushim_device, *mut c_char, usize, *mut usize) -> i32;
    context::cushim_context_retain_primary(cushim_device, *mut cushim_context) -> i32;
    context::cushim_context_native(cushim_context, *mut CUcontext) -> i32;
    context::cushim_context_set_current(cushim_context) -> i32;
    context::cushim_context_get_current(cushim_driver, *mut cushim_context, *mut CUcontext) -> i32;
    context::cushim_context_push(cushim_context) -> i32;
    context::cushim_context_pop(cushim_driver, *mut cushim_context, *mut CUcontext) -> i32;
    stream::cushim_context_get_legacy_stream(cushim_context, *mut cushim_stream) -> i32;
    stream::cushim_context_get_per_thread_stream(cushim_context, *mut cushim_stream) -> i32;
    memory::cushim_context_allocate(cushim_context, usize, *mut u64) -> i32;
    memory::cushim_context_free(cushim_context, u64) -> i32;
    stream::cushim_stream_create(cushim_context, *const cushim_stream_options, *mut cushim_stream) -> i32;
    stream::cushim_stream_wrap(cushim_context, CUstream, i32, *mut cushim_stream) -> i32;
    stream::cushim_stream_ref(cushim_stream, *mut cushim_stream) -> i32;
    stream::cushim_stream_destroy(cushim_stream) -> i32;
    stream::cushim_stream_current() -> cushim_stream;
    stream::cushim_stream_push_current(cushim_stream) -> i32;
    stream::cushim_stream_pop_current(*mut cushim_stream) -> i32;
    stream::cushim_stream_get_current(*mut cushim_stream) -> i32;
    stream::cushim_stream_native(cushim_stream, *mut CUstream) -> i32;
    stream::cushim_stream_query(cushim_stream, *mut i32) -> i32;
    stream::cushim_stream_synchronize(cushim_stream) -> i32;
    stream::cushim_stream_wait_event(cushim_stream, cushim_event) -> i32;
    memory::cushim_stream_allocate(cushim_stream, usize, *mut u64) -> i32;
    memory::cushim_stream_free(cushim_stream, u64) -> i32;
    memory::cushim_stream_fill(cushim_stream, *const cushim_endpoint, *const c_void, usize, usize) -> i32;
    memory::cushim_stream_copy(cushim_stream, *const cushim_endpoint, *const cushim_endpoint, usize) -> i32;
    buffer::cushim_buffer_create(cushim_resource, cushim_stream, usize, *mut cushim_buffer) -> i32;
    buffer::cushim_buffer_destroy(cushim_buffer) -> i32;
    event::cushim_event_create(cushim_context, *const cushim_event_options, *mut cushim_event) -> i32;
    event::cushim_event_destroy(cushim_event) -> i32;
    event::cushim_event_record(cushim_event, cushim_stream) -> i32;
    event::cushim_event_query(cushim_event, *mut i32) -> i32;
    event::cushim_event_synchronize(cushim_event) -> i32;
    event::cushim_event_elapsed(cushim_event, cushim_event, *mut f32) -> i32;
    kernel::cushim_library_load(
        cushim_context, *const c_void, usize, *const cushim_library_options, *mut cushim_library
    ) -> i32;
    kernel::cushim_kernel_create(cushim_library, *const c_char, *mut cushim_kernel) -> i32;
    kernel::cushim_kernel_native(cushim_kernel, *mut CUkernel) -> i32;
    kernel::cushim_kernel_launch(
        cushim_kernel, cushim_stream, *const cushim_launch_config, *const cushim_arg, usize
    ) -> i32;
    kernel::cushim_kernel_launch_packed(
        cushim_kernel, cushim_stream, *const cushim_launch_config, *const c_void, usize
    ) -> i32;
    kernel::cushim_kernel_wrap_function(
        cushim_context, CUfunction, cushim_library, *const cushim_owner, *mut cushim_kernel
    ) -> i32;
    graph.definition::cushim_graph_create(
        cushim_context, *const cushim_graph_options, *mut cushim_graph
    ) -> i32;
    graph.definition::cushim_graph_destroy(cushim_graph) -> i32;
    graph.kernel::cushim_graph_add_kernel(
        cushim_graph, *const cushim_node, usize, cushim_kernel, *const cushim_launch_config, *const cushim_arg,
        usize, *mut cushim_node
    ) -> i32;
    graph.exec::cushim_exec_create(
        cushim_graph, *const cushim_exec_options, *mut cushim_exec, *mut cushim_exec_result
    ) -> i32;
    graph.exec::cushim_exec_launch(cushim_exec, cushim_stream) -> i32;
    graph.set_in_exec::cushim_exec_rebind(cushim_exec, cushim_buffer, cushim_buffer, *mut usize) -> i32;
    graph.set_in_exec::cushim_exec_set_parameter(cushim_exec, *const c_char, *const c_void, usize, *mut usize) -> i32;
    graph.set_in_exec::cushim_exec_set_argument(cushim_exec, cushim_node, usize, *const cushim_arg) -> i32;
    graph.builder::cushim_builder_create_on(
        cushim_stream, *const cushim_builder_options, *mut cushim_builder
    ) -> i32;
    graph.builder::cushim_builder_begin(cushim_builder) -> i32;
    graph.builder::cushim_builder_destroy(cushim_builder) -> i32;
    graph.builder::cushim_builder_stream(cushim_builder) -> cushim_stream;
    any::cushim_same(*const c_void, *const c_void, *mut i32) -> i32;
}

impl Functions {
    /// Loads the library, for ever.
    pub(crate) fn load(library: &Path) -> Result<Self, String> {
        let failed = |error| format!("{}: {error}", library.display());
        // SAFETY: libcushim's initialisers may run.
        let loaded = unsafe { Library::new(library) }.map_err(failed)?;
        // SAFETY: the library was built with this program, or named by its user.
        unsafe { Self::of(Box::leak(Box::new(loaded))) }.map_err(failed)
    }

    /// Ends the program with the library's sentence unless the call succeeded.
    pub(crate) fn must(&self, what: &str, status: i32) {
        if status != 0 {
            // SAFETY: the function returns a string that lives until this thread's next call.
            let message = unsafe { CStr::from_ptr((self.cushim_last_error_message)()) };
            panic!("{what}: {}", message.to_string_lossy());
        }
    }
}

/// The libcushim that cargo built with this program, or that was packed with it.
pub(crate) fn beside_this_program() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    // The copy beside a program that cargo built may be that of an earlier build.
    let places = ["deps", "../lib", "."].map(|place| folder.join(place).join("libcushim.so"));
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        format!("no libcushim.so in deps, ../lib or . from {}; name it with --library", folder.display())
    })
}
