//! Kernels whose parameters are types.

use super::element::DeviceCopy;
use super::memory::{Access, Memory, Place};
use super::slice::{DeviceSlice, ManagedSlice, PinnedSlice};
use super::view::{View, ViewMut};
use crate::kernel::{Kernel, LaunchConfig};
use crate::object::error::{Error, Status};
use crate::op::{self, Launch};
use crate::stream::Stream;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The type of a parameter that is a pointer to elements which the kernel reads.
#[derive(Debug)]
pub struct Read<T>(PhantomData<T>);

/// The type of a parameter that is a pointer to elements which the kernel writes, or reads and writes.
#[derive(Debug)]
pub struct Write<T>(PhantomData<T>);

/// The type of a parameter of a kernel: [`Read`], [`Write`], or an element that is given by value.
pub trait Parameter {
    /// What a check sees of its argument: the value; of a slice, how many elements it has.
    type Seen;

    /// Bytes that it takes.
    #[doc(hidden)]
    const BYTES: usize;
}

impl<T: DeviceCopy> Parameter for T {
    type Seen = T;
    const BYTES: usize = size_of::<T>();
}

impl<T: DeviceCopy> Parameter for Read<T> {
    type Seen = usize;
    const BYTES: usize = size_of::<u64>();
}

impl<T: DeviceCopy> Parameter for Write<T> {
    type Seen = usize;
    const BYTES: usize = size_of::<u64>();
}

/// What a kernel takes for a parameter: a value; for [`Read`], `&slice` or a [`View`]; for [`Write`], `&mut slice` or a [`ViewMut`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument for a parameter of type `{P}`",
    note = "a value is given as it is; for Read<T>, &slice or a View<T>; for Write<T>, &mut slice or a ViewMut<T>"
)]
pub trait Argument<P: Parameter>: sealed::Argument<P> {}

impl<P: Parameter, A: sealed::Argument<P>> Argument<P> for A {}

/// The types of a kernel's parameters: a tuple of at most 16.
pub trait Parameters: sealed::Parameters {
    /// What a check sees of the arguments: a tuple.
    type Seen;
}

/// What a kernel takes for its parameters: a tuple of as many.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no arguments for parameters of the types `{P}`",
    note = "values are given as they are; for Read<T>, &slice or a View<T>; for Write<T>, &mut slice or a ViewMut<T>"
)]
pub trait Arguments<P: Parameters>: sealed::Arguments<P> {}

impl<P: Parameters, A: sealed::Arguments<P>> Arguments<P> for A {}

mod sealed {
    use super::{Access, Error, Memory, op};

    /// What is done with each slice among arguments.
    pub struct Visit<'v>(pub(super) &'v mut dyn FnMut(&Memory, Access) -> Result<(), Error>);

    pub trait Argument<P: super::Parameter> {
        fn seen(&self) -> P::Seen;
        fn visit(&self, visit: &mut Visit<'_>) -> Result<(), Error>;
        fn list<'a>(&'a self, list: &mut op::Arguments<'a>);
    }

    pub trait Parameters {
        const BYTES: &'static [usize];
    }

    pub trait Arguments<P: super::Parameters> {
        fn seen(&self) -> P::Seen;
        fn visit(&self, visit: &mut Visit<'_>) -> Result<(), Error>;
        fn list<'a>(&'a self, list: &mut op::Arguments<'a>);
    }
}

impl<T: DeviceCopy> sealed::Argument<T> for T {
    fn seen(&self) -> T {
        *self
    }

    fn visit(&self, _: &mut sealed::Visit<'_>) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn list<'a>(&'a self, list: &mut op::Arguments<'a>) {
        list.push_at(std::ptr::from_ref(self).cast(), size_of::<T>());
    }
}

macro_rules! memory {
    ($($given:ty => $parameter:ident, $access:ident;)*) => {$(
        impl<T: DeviceCopy> sealed::Argument<$parameter<T>> for $given {
            fn seen(&self) -> usize {
                self.len()
            }

            #[inline]
            fn visit(&self, visit: &mut sealed::Visit<'_>) -> Result<(), Error> {
                (visit.0)(self.as_part().memory(), Access::$access)
            }

            #[inline]
            fn list<'a>(&'a self, list: &mut op::Arguments<'a>) {
                list.push_endpoint(self.as_part().endpoint());
            }
        }
    )*};
}

/// What is given for memory, as a view of it.
trait AsPart<T: DeviceCopy> {
    fn as_part(&self) -> View<'_, T>;
}

macro_rules! parts {
    ($($given:ident),*) => {$(
        impl<T: DeviceCopy> AsPart<T> for $given<T> {
            #[inline]
            fn as_part(&self) -> View<'_, T> {
                self.view()
            }
        }
    )*};
}

parts!(DeviceSlice, PinnedSlice, ManagedSlice);

impl<T: DeviceCopy> AsPart<T> for View<'_, T> {
    #[inline]
    fn as_part(&self) -> View<'_, T> {
        *self
    }
}

impl<T: DeviceCopy> AsPart<T> for ViewMut<'_, T> {
    #[inline]
    fn as_part(&self) -> View<'_, T> {
        self.as_view()
    }
}

memory! {
    &DeviceSlice<T> => Read, Read;
    &PinnedSlice<T> => Read, Read;
    &ManagedSlice<T> => Read, Read;
    View<'_, T> => Read, Read;
    &mut DeviceSlice<T> => Write, Write;
    &mut PinnedSlice<T> => Write, Write;
    &mut ManagedSlice<T> => Write, Write;
    ViewMut<'_, T> => Write, Write;
}

macro_rules! tuples {
    ($($(($parameter:ident $argument:ident $index:tt))*;)*) => {$(
        impl<$($parameter: Parameter),*> sealed::Parameters for ($($parameter,)*) {
            const BYTES: &'static [usize] = &[$($parameter::BYTES),*];
        }

        impl<$($parameter: Parameter),*> Parameters for ($($parameter,)*) {
            type Seen = ($($parameter::Seen,)*);
        }

        impl<$($parameter: Parameter, $argument: Argument<$parameter>),*> sealed::Arguments<($($parameter,)*)> for ($($argument,)*) {
            #[allow(clippy::unused_unit)] // of no parameters
            fn seen(&self) -> ($($parameter::Seen,)*) {
                ($(self.$index.seen(),)*)
            }

            #[inline]
            fn visit(&self, _visit: &mut sealed::Visit<'_>) -> Result<(), Error> {
                $(self.$index.visit(_visit)?;)*
                Ok(())
            }

            #[inline]
            fn list<'a>(&'a self, _list: &mut op::Arguments<'a>) {
                $(self.$index.list(_list);)*
            }
        }
    )*};
}

tuples! {
    ;
    (P0 A0 0);
    (P0 A0 0)(P1 A1 1);
    (P0 A0 0)(P1 A1 1)(P2 A2 2);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9)(P10 A10 10);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9)(P10 A10 10)(P11 A11 11);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9)(P10 A10 10)(P11 A11 11)
        (P12 A12 12);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9)(P10 A10 10)(P11 A11 11)
        (P12 A12 12)(P13 A13 13);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9)(P10 A10 10)(P11 A11 11)
        (P12 A12 12)(P13 A13 13)(P14 A14 14);
    (P0 A0 0)(P1 A1 1)(P2 A2 2)(P3 A3 3)(P4 A4 4)(P5 A5 5)(P6 A6 6)(P7 A7 7)(P8 A8 8)(P9 A9 9)(P10 A10 10)(P11 A11 11)
        (P12 A12 12)(P13 A13 13)(P14 A14 14)(P15 A15 15);
}

/// A kernel whose parameters are known by their types: `TypedKernel<(u32, Read<f32>, Write<f32>)>`.
///
/// What the kernel does with its arguments nobody checks, so [`launch`](Self::launch) is unsafe. [`vouch`](Self::vouch) says once for all
/// which launches are good, and gives a [`SafeKernel`].
pub struct TypedKernel<P> {
    kernel: Kernel,
    _parameters: PhantomData<fn(P)>,
}

impl<P: Parameters> TypedKernel<P> {
    /// The kernel with parameters of these types.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the kernel has another number of parameters, or one of another size, where the driver knows
    /// (12.4).
    pub fn new(kernel: &Kernel) -> Result<Self, Error> {
        check(kernel, P::BYTES)?;
        Ok(Self { kernel: kernel.clone(), _parameters: PhantomData })
    }

    /// The kernel without the types.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Launches it in a stream. It returns before the kernel is done.
    ///
    /// # Safety
    /// The types are those of the kernel's parameters, which before driver 12.4 nobody compares. Launched so, the kernel reads and writes
    /// its slices only, each inside of its length; those that are parameters of type [`Read`] it only reads. In a graph that holds for
    /// every launch of it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a configuration that no kernel has, and for a [`PinnedSlice`] or [`ManagedSlice`] in a stream
    /// under capture; the driver's.
    pub unsafe fn launch<A: Arguments<P>>(
        &self,
        stream: &Stream,
        config: &LaunchConfig<'_>,
        arguments: A,
    ) -> Result<(), Error> {
        let place = Place::new(stream);
        arguments.visit(&mut sealed::Visit(&mut |memory, access| memory.begins(&place, access)))?;
        let mut list = op::Arguments::new();
        arguments.list(&mut list);
        // SAFETY: the arguments have the kernel's types, and stay until this returns, which the driver copies; memory is freed after what
        // was enqueued here, or kept by the graph. The caller vouches for what the kernel does.
        unsafe { stream.enqueue(&mut Launch::new(&self.kernel, config, &mut list)) }?;
        arguments.visit(&mut sealed::Visit(&mut |memory, access| memory.was_used(stream, access)))
    }

    /// The kernel with a check, by which its launches are safe: it sees values as they are, and how many elements slices have.
    ///
    /// # Safety
    /// The types are those of the kernel's parameters, which before driver 12.4 nobody compares. Launched as the check says yes to, by
    /// [`LaunchConfig`] and arguments, the kernel reads and writes its slices only, each inside of its length; those that are parameters
    /// of type [`Read`] it only reads. What else is in the configuration that is not checked does not matter: whether it is cooperative,
    /// has clusters, or starts before the kernel ahead of it is done.
    pub unsafe fn vouch(
        self,
        check: impl Fn(&LaunchConfig<'_>, &P::Seen) -> bool + Send + Sync + 'static,
    ) -> SafeKernel<P> {
        SafeKernel { typed: self, check: Arc::new(check) }
    }
}

/// Which launches of a kernel are good.
type Check<P> = dyn Fn(&LaunchConfig<'_>, &<P as Parameters>::Seen) -> bool + Send + Sync;

/// A kernel that is launched without `unsafe`: somebody has vouched for the launches that a check says yes to.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
/// use cushim::typed::{DeviceSlice, TypedKernel, Write};
/// use cushim::{Device, Status, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let stream = Stream::create(&context, &StreamOptions::default())?;
/// # let image = Image::new(
/// #     ".version 7.0\n.target sm_70\n.address_size 64
/// #      .visible .entry store(.param .u32 n, .param .u64 to) {
/// #          .reg .u32 %n, %i; .reg .u64 %to, %offset; .reg .pred %beyond;
/// #          ld.param.u32 %n, [n]; ld.param.u64 %to, [to]; mov.u32 %i, %tid.x;
/// #          setp.ge.u32 %beyond, %i, %n; @%beyond ret;
/// #          mul.wide.u32 %offset, %i, 4; add.u64 %to, %to, %offset; st.global.u32 [%to], %i; ret; }",
/// # )?;
/// let library = Library::load(&context, &image, &LoadOptions::default())?;
/// let store = TypedKernel::<(u32, Write<u32>)>::new(&library.kernel("store")?)?;
/// // SAFETY: it writes `n` numbers, whatever the grid is.
/// let store = unsafe { store.vouch(|_, &(n, to)| n as usize <= to) };
///
/// let mut numbers = DeviceSlice::zeroed(&stream, 4)?;
/// store.launch(&stream, &LaunchConfig::new(1, 32), (4, &mut numbers))?;
/// assert_eq!(numbers.to_vec(&stream)?, [0, 1, 2, 3]);
/// let refused = store.launch(&stream, &LaunchConfig::new(1, 32), (5, &mut numbers)).unwrap_err();
/// assert_eq!(refused.status, Status::INVALID_ARGUMENT);
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// Arguments of other types do not compile:
///
/// ```compile_fail,E0277
/// # use cushim::{Stream, kernel::LaunchConfig, typed::{DeviceSlice, SafeKernel, Write}};
/// # fn f(
/// #     stream: &Stream, kernel: &SafeKernel<(u32, Write<u32>)>,
/// #     numbers: &mut DeviceSlice<f32>,
/// # ) -> Result<(), cushim::Error> {
/// kernel.launch(stream, &LaunchConfig::new(1, 1), (4_u32, numbers))?;
/// # Ok(())
/// # }
/// ```
///
/// nor does a slice to be written that is only lent to be read,
///
/// ```compile_fail,E0277
/// # use cushim::{Stream, kernel::LaunchConfig, typed::{DeviceSlice, SafeKernel, Write}};
/// # fn f(
/// #     stream: &Stream, kernel: &SafeKernel<(u32, Write<u32>)>,
/// #     numbers: &DeviceSlice<u32>,
/// # ) -> Result<(), cushim::Error> {
/// kernel.launch(stream, &LaunchConfig::new(1, 1), (4_u32, numbers))?;
/// # Ok(())
/// # }
/// ```
///
/// one that is read and written,
///
/// ```compile_fail,E0502
/// # use cushim::{Stream, kernel::LaunchConfig, typed::{DeviceSlice, Read, SafeKernel, Write}};
/// # fn f(
/// #     stream: &Stream, kernel: &SafeKernel<(Read<u32>, Write<u32>)>,
/// #     mut numbers: DeviceSlice<u32>,
/// # ) -> Result<(), cushim::Error> {
/// kernel.launch(stream, &LaunchConfig::new(1, 1), (&numbers, &mut numbers))?;
/// # Ok(())
/// # }
/// ```
///
/// or the launch of a kernel that nobody has vouched for:
///
/// ```compile_fail,E0133
/// # use cushim::{Stream, kernel::LaunchConfig, typed::{DeviceSlice, TypedKernel, Write}};
/// # fn f(
/// #     stream: &Stream, kernel: &TypedKernel<(u32, Write<u32>)>,
/// #     numbers: &mut DeviceSlice<u32>,
/// # ) -> Result<(), cushim::Error> {
/// kernel.launch(stream, &LaunchConfig::new(1, 1), (4_u32, numbers))?;
/// # Ok(())
/// # }
/// ```
pub struct SafeKernel<P: Parameters> {
    typed: TypedKernel<P>,
    check: Arc<Check<P>>,
}

impl<P: Parameters> SafeKernel<P> {
    /// The kernel without the check.
    #[must_use]
    pub fn typed(&self) -> &TypedKernel<P> {
        &self.typed
    }

    /// Launches it in a stream. It returns before the kernel is done.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a launch that the check says no to, and one with attributes by number, which nobody checks; as
    /// for [`TypedKernel::launch`].
    pub fn launch<A: Arguments<P>>(
        &self,
        stream: &Stream,
        config: &LaunchConfig<'_>,
        arguments: A,
    ) -> Result<(), Error> {
        if !config.others.is_empty() || !(self.check)(config, &arguments.seen()) {
            return Err(self.refused(config));
        }
        // SAFETY: whoever made this vouched for launches that the check says yes to.
        unsafe { self.typed.launch(stream, config, arguments) }
    }

    #[cold]
    fn refused(&self, config: &LaunchConfig<'_>) -> Error {
        let kernel = &self.typed.kernel;
        let why = if config.others.is_empty() {
            "its check says no to this configuration and these arguments: look at the lengths of the slices, and at the values"
        } else {
            "attributes by number can be anything, and are not part of a safe launch: use TypedKernel::launch"
        };
        Error::new(Status::INVALID_ARGUMENT, format!("{kernel} is not launched: {why}")).about(kernel)
    }
}

impl<P> Clone for TypedKernel<P> {
    fn clone(&self) -> Self {
        Self { kernel: self.kernel.clone(), _parameters: PhantomData }
    }
}

impl<P: Parameters> Clone for SafeKernel<P> {
    fn clone(&self) -> Self {
        Self { typed: self.typed.clone(), check: Arc::clone(&self.check) }
    }
}

impl<P> fmt::Debug for TypedKernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypedKernel({}: {})", self.kernel, std::any::type_name::<P>())
    }
}

impl<P: Parameters> fmt::Debug for SafeKernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafeKernel({}: {})", self.typed.kernel, std::any::type_name::<P>())
    }
}

/// Refuses types that are not the kernel's parameters, where the driver tells them.
fn check(kernel: &Kernel, types: &[usize]) -> Result<(), Error> {
    let Some(takes) = kernel.sizes() else { return Ok(()) };
    let wrong = takes.iter().zip(types).position(|(takes, given)| *takes as usize != *given);
    let (refusal, item) = match wrong {
        _ if takes.len() != types.len() => {
            (format!("{kernel} takes {} parameters, and {} types are given", takes.len(), types.len()), None)
        }
        Some(index) => {
            let (takes, given) = (takes[index], types[index]);
            (
                format!("parameter {index} of {kernel} takes {takes} bytes, and its type has {given}"),
                Some(index),
            )
        }
        None => return Ok(()),
    };
    let mut error = Error::new(Status::INVALID_ARGUMENT, refusal).about(kernel);
    error.item = item;
    Err(error)
}
