//! Advice on where managed memory is used.

use super::{Part, check_concurrent};
use crate::abi::Answer;
use crate::abi::sys::{
    CU_MEM_ADVISE_SET_ACCESSED_BY, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_READ_MOSTLY,
    CU_MEM_ADVISE_UNSET_ACCESSED_BY, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, CU_MEM_ADVISE_UNSET_READ_MOSTLY,
    CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUdevice, CUdeviceptr_v2,
    CUmem_advise, CUmemLocation, CUresult,
};
use crate::driver::capture;
use crate::driver::context::current::current;
use crate::driver::memory::location::Location;
use crate::driver::memory::pages::Page;

/// Takes effect at once, for all pages of which the range has a byte.
fn advise(
    address: CUdeviceptr_v2,
    size: usize,
    advice: CUmem_advise,
    location: Result<Location, CUresult>,
) -> Answer {
    current()?;
    capture::check_unsafe()?;
    let part = Part::of(address, size)?;
    let change = change(advice, location?)?;
    if part.is_pooled() {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    part.pages()?.change(part.touched(), change);
    Ok(())
}

/// What the advice does to a page.
fn change(advice: CUmem_advise, location: Location) -> Result<impl Fn(&mut Page), CUresult> {
    match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY
        | CU_MEM_ADVISE_UNSET_READ_MOSTLY
        | CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => {}
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION => check_device(location)?,
        CU_MEM_ADVISE_SET_ACCESSED_BY | CU_MEM_ADVISE_UNSET_ACCESSED_BY => {
            if location.is_node() {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            check_device(location)?;
        }
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    }
    Ok(move |page: &mut Page| match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY => page.read_mostly = true,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY => page.read_mostly = false,
        // Where there is one node, the measured driver accepts it as a preference and ignores it.
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION if location.is_node() => {}
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION => page.preferred = Some(location),
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => page.preferred = None,
        CU_MEM_ADVISE_SET_ACCESSED_BY => {
            page.accessed_by.insert(location.ordinal());
        }
        _ => {
            page.accessed_by.remove(&location.ordinal());
        }
    })
}

fn check_device(location: Location) -> Answer {
    location.device().map_or(Ok(()), |_| check_concurrent())
}

/// The device says nothing to the advices that need no place.
pub(crate) fn cuMemAdvise(
    devPtr: CUdeviceptr_v2,
    count: usize,
    advice: CUmem_advise,
    device: CUdevice,
) -> Answer {
    let location = match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY
        | CU_MEM_ADVISE_UNSET_READ_MOSTLY
        | CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => Ok(Location::Host),
        _ => Location::with_ordinal(device),
    };
    advise(devPtr, count, advice, location)
}

/// The location must be a place even where the advice needs none, as measured.
pub(crate) fn cuMemAdvise_v2(
    devPtr: CUdeviceptr_v2,
    count: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> Answer {
    let needs_none = matches!(
        advice,
        CU_MEM_ADVISE_SET_READ_MOSTLY
            | CU_MEM_ADVISE_UNSET_READ_MOSTLY
            | CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION
    );
    let location = match Location::of(location) {
        // A device that there is not will do there.
        Err(CUDA_ERROR_INVALID_DEVICE) if needs_none => Ok(Location::Host),
        location => location.map_err(|_| CUDA_ERROR_INVALID_VALUE),
    };
    advise(devPtr, count, advice, location)
}
