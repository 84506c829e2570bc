//! Managed memory, which host and devices share and which moves to where it is used: advice on where it should be, and
//! calls that move it beforehand or give up what it holds.
//!
//! What runs in a stream is a function of [`Stream`](crate::Stream); advice and what the driver knows of a range are
//! functions of [`Context`](crate::Context). All of it needs a device with concurrent managed access, the feature
//! `concurrent-managed-access` of [`Device::supports`](crate::Device::supports).
//!
//! ```
//! # use cushim::driver::{Choice, OpenOptions, sys};
//! use cushim::managed::{Advice, Range};
//! use cushim::memory::DevicePointer;
//! use cushim::{Device, Location, Stream, StreamOptions};
//!
//! # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
//! let context = Device::get(&driver, 0)?.primary_context()?;
//! let stream = Stream::create(&context, &StreamOptions::default())?;
//! # context.push()?;
//! # let allocate = driver.table().cuMemAllocManaged_6000.unwrap();
//! # let mut pointer = 0;
//! # assert_eq!(unsafe { allocate(&raw mut pointer, 4 << 20, 1) }, sys::CUDA_SUCCESS);
//! let whole = Range::new(DevicePointer(pointer), 4 << 20); // of cuMemAllocManaged, or of any other allocator
//!
//! context.advise(&whole, Advice::SetPreferredLocation(Location::device(0)))?;
//! context.set_accessed_by(&whole, &[Location::HOST])?;
//! stream.prefetch(&whole, Location::device(0))?;
//! stream.synchronize()?;
//!
//! let known = context.range_attributes(&whole)?;
//! assert_eq!(known.preferred_location, Location::device(0));
//! assert_eq!(known.last_prefetch_location, Location::device(0));
//! assert_eq!(context.accessed_by(&whole)?, [Location::HOST]);
//! # unsafe { cushim::memory::DeviceMemory::from_pointer(&context, DevicePointer(pointer), 0) }.free()?;
//! # Ok::<(), cushim::Error>(())
//! ```

// | file | concept |
// |---|---|
// | `range` | a range of memory, and whether it is managed |
// | `advise` | advice |
// | `prefetch` | moving memory |
// | `discard` | giving up what memory holds |
// | `attach` | which streams use memory |
// | `attributes` | what the driver knows of a range |
// | `accessed_by` | the set of those that a range is accessed by |
// | `access` | whether a device can do any of it |

mod access;
mod accessed_by;
mod advise;
mod attach;
mod attributes;
mod discard;
mod prefetch;
mod range;

pub use advise::Advice;
pub use attach::{Attach, Attachment};
pub use attributes::RangeAttributes;
pub use discard::Discard;
pub use prefetch::Prefetch;
pub use range::Range;
