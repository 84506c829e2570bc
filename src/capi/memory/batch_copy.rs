//! Copies with attributes: one, or many that the driver may do in any order.
//!
//! @header cushim.h
//! @task copy memory

use super::copy::{lend_owners, range_without_owners};
use super::endpoint::{CallersEndpoint, cushim_endpoint};
use crate::capi::batch::{batch_options, cushim_batch_options};
use crate::capi::error::{call_taking, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::input::{array, array_if_any, each, given};
use crate::capi::location::{cushim_location, location_of};
use crate::capi::options::check_flags;
use crate::capi::stream::cushim_stream;
use crate::object::callback::Lending;
use crate::object::error::{Error, Status};
use crate::op::batch::{BatchOptions, check_counts};
use crate::op::{CopyAttributes, CopyBatch, SourceAccess};

/// When the driver may read the source of a copy; the numbers are those of `CUmemcpySrcAccessOrder`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_source_access {
    /// When it is the copy's turn in the stream. 0 means the same.
    CUSHIM_SOURCE_IN_STREAM_ORDER = 1,
    /// Before the call returns: the source is ordinary memory that will not outlive it, a variable on the stack. A
    /// driver without batch copies (before 12.8) cannot promise that and refuses.
    CUSHIM_SOURCE_DURING_CALL = 2,
    /// At any time until the copy is done: nothing that is in the stream writes the source.
    CUSHIM_SOURCE_ANY_TIME = 3,
}

/// More that the driver should know of a copy.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_copy_flags {
    /// It should run beside kernels, even if it takes longer then.
    CUSHIM_COPY_OVERLAP_WITH_COMPUTE = 1,
}

/// What the driver should know of a copy. Zeros are the defaults. All but `source_access` are hints, which change how
/// fast it is and nothing else; a driver that takes none does without.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_copy_attributes {
    /// @field[enum(cushim_source_access)] A `cushim_source_access`; 0 for stream order.
    pub source_access: i32,
    /// @field[flags(cushim_copy_flags)] `cushim_copy_flags`.
    pub flags: u32,
    /// Where the source is, if it is managed memory or memory of the process; unset if that is not known.
    pub source_hint: cushim_location,
    /// Where the destination is, or should be; unset if that is not known.
    pub destination_hint: cushim_location,
}

/// One copy of a batch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_copy {
    /// The destination; not an array.
    pub destination: cushim_endpoint,
    /// The source; not an array.
    pub source: cushim_endpoint,
    /// How many bytes; at least 1.
    pub bytes: usize,
}

/// Copies so many bytes after the work that is in the stream by now, as the attributes say: a batch of one copy,
/// refused where a batch is. It is done by the driver's call for one such copy (13.2), else by its call for many
/// (12.8), else as by `cushim_stream_copy`, which ignores hints.
///
/// @param[in] stream The stream; not the legacy default stream, nor one that is being captured.
/// @param[in] destination The destination.
/// @param[in] source The source.
/// @param[in, example(64)] bytes How many; at least 1.
/// @param[in, nullable] attributes What the driver should know. NULL for the defaults.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no bytes, for an endpoint that is an array, NULL or reaches past
///   the end of all addresses, for a hint that is no location, and for the legacy default stream or one that is being
///   captured; `CUSHIM_ERROR_UNSUPPORTED` for `CUSHIM_SOURCE_DURING_CALL` before driver 12.8.
/// @driver none
///
/// # Safety
/// `destination`, `source` and `attributes` are NULL or valid for reads. Both endpoints hold so many bytes, apart
/// from each other, and stay good until the stream has passed the copy, the source with `CUSHIM_SOURCE_DURING_CALL`
/// until the call returns; until then nobody writes the source, and nobody else uses the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_with_attributes(
    stream: cushim_stream,
    destination: *const cushim_endpoint,
    source: *const cushim_endpoint,
    bytes: usize,
    attributes: *const cushim_copy_attributes,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for both.
        let (destination, source) = unsafe { (given(destination, "destination")?, given(source, "source")?) };
        let attributes = if attributes.is_null() {
            CopyAttributes::default()
        } else {
            // SAFETY: the caller vouches for them.
            meaning(&unsafe { given(attributes, "attributes") }?)?
        };
        // SAFETY: the caller vouches for the memory and the owners.
        unsafe {
            enqueue(
                lending,
                stream,
                &[cushim_copy { destination, source, bytes }],
                &[attributes],
                BatchOptions::default(),
            )
        }
    })
}

/// Copies several ranges after the work that is in the stream by now; they are not ordered among each other. What
/// comes later in the stream waits for all of them. `cushim_batch_options` says what all batches have in common. The
/// driver's call for many came with 12.8.
///
/// @param[in] stream The stream; not the legacy default stream, nor one that is being captured.
/// @param[in, array(copy_count)] copies The copies.
/// @param[in, example(2)] copy_count How many; at least 1.
/// @param[in, array(attribute_count), nullable_if_zero(attribute_count)] attributes What the driver should know of
///   them.
/// @param[in] attribute_count How many: 1 for all copies, as many as there are copies, or 0 for the defaults.
/// @param[in, nullable] options The options; NULL for the defaults.
/// @errors as `cushim_stream_copy_with_attributes`: `CUSHIM_ERROR_STREAM_REQUIRED`; `CUSHIM_ERROR_INVALID_ARGUMENT`,
///   also for no copies and for numbers that do not fit; `CUSHIM_ERROR_UNSUPPORTED`, also before driver 12.8 if the
///   options refuse a loop.
/// @driver none
///
/// # Safety
/// `copies` is NULL or valid for reads of `copy_count` copies, `attributes` of `attribute_count` attributes,
/// `options` of what it says. Each copy keeps what `cushim_stream_copy_with_attributes` asks for, and no destination
/// meets another end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_copy_batch(
    stream: cushim_stream,
    copies: *const cushim_copy,
    copy_count: usize,
    attributes: *const cushim_copy_attributes,
    attribute_count: usize,
    options: *const cushim_batch_options,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: the caller vouches for the copies.
        let copies = unsafe { array(copies, copy_count, "copies", |copy| Ok(*copy)) }?;
        if attribute_count > 0 {
            check_counts("attributes", attribute_count, "copies", copies.len())?;
        }
        // SAFETY: the caller vouches for the attributes.
        let attributes = unsafe { array_if_any(attributes, attribute_count, "attributes", meaning) }?;
        // SAFETY: the caller vouches for the options.
        let options = unsafe { batch_options(options) }?;
        // SAFETY: the caller vouches for the memory and the owners.
        unsafe { enqueue(lending, stream, &copies, &attributes, options) }
    })
}

/// # Safety
/// As for [`cushim_stream_copy_batch`].
unsafe fn enqueue(
    lending: &Lending,
    stream: cushim_stream,
    copies: &[cushim_copy],
    attributes: &[CopyAttributes],
    options: BatchOptions,
) -> Result<(), Error> {
    let guard = enter()?;
    let endpoints = |copy: &cushim_copy| {
        let destination = CallersEndpoint::of(&guard, copy.destination, "destination")?.held();
        Ok((destination, CallersEndpoint::of(&guard, copy.source, "source")?.held(), copy.bytes))
    };
    let endpoints: Vec<_> = each(copies, endpoints)?;
    let stream = (*get(&guard, stream)?).clone();
    drop(guard);
    // SAFETY: as the caller vouches.
    unsafe {
        let mut copies = each(&endpoints, |(destination, source, bytes)| {
            range_without_owners(destination, source, *bytes)
        })?;
        for (copy, (destination, source, _)) in copies.iter_mut().zip(&endpoints) {
            lend_owners(lending, copy, destination, source);
        }
        stream.enqueue(&mut CopyBatch::new(&mut copies, attributes).with_options(options))
    }
}

fn meaning(attributes: &cushim_copy_attributes) -> Result<CopyAttributes, Error> {
    let overlap = cushim_copy_flags::CUSHIM_COPY_OVERLAP_WITH_COMPUTE as u32;
    check_flags(attributes.flags, overlap)?;
    let (source, destination) = (&attributes.source_hint, &attributes.destination_hint);
    let plain = CopyAttributes::new(access(attributes.source_access)?)
        .source_hint(location_of(source))
        .destination_hint(location_of(destination));
    Ok(if attributes.flags & overlap == 0 { plain } else { plain.overlap_with_compute(true) })
}

fn access(number: i32) -> Result<SourceAccess, Error> {
    use cushim_source_access as access;
    match number {
        0 => Ok(SourceAccess::InStreamOrder),
        n if n == access::CUSHIM_SOURCE_IN_STREAM_ORDER as i32 => Ok(SourceAccess::InStreamOrder),
        n if n == access::CUSHIM_SOURCE_DURING_CALL as i32 => Ok(SourceAccess::DuringCall),
        n if n == access::CUSHIM_SOURCE_ANY_TIME as i32 => Ok(SourceAccess::AnyTime),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!(
                "source_access is {number}; use one of CUSHIM_SOURCE_IN_STREAM_ORDER, _DURING_CALL and _ANY_TIME"
            ),
        )),
    }
}
