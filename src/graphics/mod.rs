//! Buffers and images of OpenGL, which CUDA and OpenGL have in turns.
//!
//! ```no_run
//! use cushim::graphics::{Graphics, GraphicsOptions};
//! use cushim::{Device, Stream, StreamOptions};
//!
//! # let driver = cushim::driver::Driver::open()?;
//! # let buffer_of_opengl = 1; // from glGenBuffers, with memory by glBufferData
//! // The OpenGL context is current on this thread.
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! let graphics = Graphics::of_buffer(&context, buffer_of_opengl, GraphicsOptions::default().write_discard(true))?;
//! let vertices = graphics.map(&stream)?;
//! println!("CUDA has {} bytes at {:#x}", vertices.bytes(), vertices.pointer().0);
//! // ... work in the stream that writes them ...
//! drop(vertices); // OpenGL has them again, after that work
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `options` | how CUDA uses what is registered |
//! | `registered` | the driver's side of a registration |
//! | `mapping` | the time in which CUDA has one |

mod mapping;
mod options;
mod registered;

pub use mapping::Mapping;
pub use options::GraphicsOptions;

use crate::context::Context;
use crate::driver::calls::context::RawContext;
use crate::driver::calls::graphics::RawGraphics;
use crate::driver::{CallError, Driver, sys};
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::native;
use crate::stream::Stream;
use mapping::Turn;
use parking_lot::Mutex;
use registered::Registered;
use std::fmt;
use std::sync::Arc;

/// A buffer or an image of OpenGL that CUDA can map. While it is mapped CUDA has it, and OpenGL must not use it.
///
/// Registering, and the end of the registration, need the OpenGL context current on the calling thread. The registration ends when nobody has
/// the object any more, nor a buffer that it was mapped to.
pub struct Graphics(Arc<GraphicsObject>);

/// What handles of graphics resources name.
pub(crate) struct GraphicsObject {
    header: Header,
    /// `None` only while it is being released.
    registered: Option<Registered>,
    is_image: bool,
    turn: Mutex<Option<Turn>>,
}

object!(GraphicsObject as Graphics: Graphics, header);

impl Graphics {
    /// Registers a buffer of the OpenGL context that is current on this thread, by its name there.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for the name 0, for flags that contradict each other, and for those of images; the driver's, for a name
    /// that there is not, where no OpenGL context of the device is current, and where it has no OpenGL.
    pub fn of_buffer(context: &Context, buffer: u32, options: GraphicsOptions) -> Result<Self, Error> {
        Self::register(context, buffer, options, false, |here, flags| {
            RawGraphics::of_buffer(here, buffer, flags)
        })
    }

    /// Registers an image: a texture or a renderbuffer, as the target says (`GL_TEXTURE_2D`, `GL_RENDERBUFFER` and others).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for the name 0, and for flags that contradict each other; the driver's, as for
    /// [`of_buffer`](Self::of_buffer), and for a format that CUDA does not have.
    pub fn of_image(
        context: &Context,
        image: u32,
        target: u32,
        options: GraphicsOptions,
    ) -> Result<Self, Error> {
        Self::register(context, image, options, true, |here, flags| {
            RawGraphics::of_image(here, image, target, flags)
        })
    }

    fn register(
        context: &Context,
        name: u32,
        options: GraphicsOptions,
        is_image: bool,
        register: impl FnOnce(&RawContext, u32) -> Result<RawGraphics, CallError>,
    ) -> Result<Self, Error> {
        callback::check_allowed()?;
        let what = if is_image { "image" } else { "buffer" };
        if name == 0 {
            let refusal = format!("0 names no {what} in OpenGL; pass the name that OpenGL gave");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        options.check(is_image)?;
        let here = context.live(context)?;
        let raw = register(here, options.native())
            .map_err(|error| explain(context.failed(error, context), what, name))?;
        Ok(Self(Arc::new(GraphicsObject {
            header: Header::new::<GraphicsObject>(),
            registered: Some(Registered::new(raw, context)),
            is_image,
            turn: Mutex::new(None),
        })))
    }

    fn registered(&self) -> &Registered {
        self.0.registered.as_ref().expect("it is registered until it is dropped")
    }

    /// The driver that it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.context().driver()
    }

    /// The context that it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.registered().context()
    }

    /// The driver's own handle, a `CUgraphicsResource`, which lives as long as this.
    #[must_use]
    pub fn native(&self) -> sys::CUgraphicsResource {
        self.registered().native()
    }

    /// Whether CUDA has it now.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.0.turn.lock().is_some()
    }

    /// Whether it is an image, which has no address.
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.0.is_image
    }

    /// Maps an image, and gives the array of a layer or face at a level of detail. The array is CUDA's until the image is unmapped.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a buffer, if it is mapped, for a stream of another context, and for one that is being captured;
    /// [`Status::INVALID_HANDLE`] for a stream of another driver; the driver's, also for a layer or a level that there is not. It is not
    /// mapped then.
    pub fn map_array(&self, stream: &Stream, layer: u32, level: u32) -> Result<sys::CUarray, Error> {
        self.check_image()?;
        let (array, _) = self.begin(stream, |registered| registered.array(layer, level, self))?;
        Ok(array)
    }

    /// The array of another layer or face, or at another level of detail, of an image that is mapped.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a buffer, and if it is not mapped; the driver's, for a layer or a level that there is not.
    pub fn array(&self, layer: u32, level: u32) -> Result<sys::CUarray, Error> {
        callback::check_allowed()?;
        self.check_image()?;
        let turn = self.0.turn.lock();
        if turn.is_none() {
            return Err(self.refused("is not mapped; map it first"));
        }
        self.registered().array(layer, level, self)
    }

    fn check_image(&self) -> Result<(), Error> {
        if self.0.is_image {
            Ok(())
        } else {
            Err(self.refused("is not an image, and has no array; map it as a buffer"))
        }
    }

    /// Refuses a stream in which it cannot be mapped.
    fn check_stream(&self, stream: &Stream) -> Result<(), Error> {
        stream.same_driver(self.driver(), self)?;
        stream.context().check_there(stream)?;
        if stream.context().native() != self.context().native() {
            return Err(self.refused(&format!(
                "belongs to {}, and {stream} to {}; pass a stream of its own context",
                self.context(),
                stream.context()
            )));
        }
        self.check_uncaptured(stream)
    }

    /// Refuses to map or unmap in a stream that is being captured.
    fn check_uncaptured(&self, stream: &Stream) -> Result<(), Error> {
        stream.check_not_capturing(
            "graphics resources are mapped and unmapped outside of captures: pass another stream, or end the capture first",
        )
    }

    #[cold]
    pub(crate) fn refused(&self, why: &str) -> Error {
        Error::new(Status::INVALID_ARGUMENT, format!("{self} {why}")).about(self)
    }

    /// Names it in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }
}

/// Says what the driver's refusal to register may mean.
#[cold]
fn explain(mut failure: Error, what: &str, name: u32) -> Error {
    let has_no_opengl = [sys::CUDA_ERROR_NOT_SUPPORTED.0, Status::UNSUPPORTED.0].contains(&failure.status.0);
    if has_no_opengl {
        failure.message.push_str(". This driver has no OpenGL");
    } else {
        failure.message.push_str(&format!(
            ". {what} {name} must exist in the OpenGL context that is current on this thread, which must be one of the same device"
        ));
    }
    failure
}

impl Drop for GraphicsObject {
    fn drop(&mut self) {
        let Some(registered) = self.registered.take() else { return };
        let mapped = self.turn.get_mut().take().map(Turn::into_order);
        let driver = registered.context().driver().clone();
        native::release(&driver, self, move |object| registered.end(mapped, object));
    }
}

impl fmt::Display for GraphicsObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.header.label(), self.is_image) {
            (Some(label), _) => write!(f, "graphics resource \"{label}\""),
            (None, true) => f.write_str("graphics resource of an image"),
            (None, false) => f.write_str("graphics resource of a buffer"),
        }
    }
}

impl fmt::Debug for Graphics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graphics").field("is_image", &self.0.is_image).finish_non_exhaustive()
    }
}
