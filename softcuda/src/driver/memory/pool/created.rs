//! Pools that a program creates and destroys.

use super::shared::Sharing;
use super::{Home, POOLS, Pool, choice};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_MEM_HANDLE_TYPE_FABRIC, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_HANDLE_TYPE_WIN32,
    CU_MEM_HANDLE_TYPE_WIN32_KMT, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_OUT_OF_MEMORY, CUmemPoolProps_v1, CUmemoryPool, CUresult,
};
use crate::driver::capture;
use crate::instruments::machine;
use crate::instruments::settings::version;

/// The version that gave pools a greatest size; before, its place was reserved and to be 0.
const LIMITED_SINCE: u32 = 12020;

pub(super) const FILES: i32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;
const ALL: i32 =
    FILES | CU_MEM_HANDLE_TYPE_WIN32.0 | CU_MEM_HANDLE_TYPE_WIN32_KMT.0 | CU_MEM_HANDLE_TYPE_FABRIC.0;

/// Whether other processes shall have the pool, by a descriptor of a file; there is nothing else. What no driver shares is a wrong value
/// (measured).
fn is_shared(home: Home, handles: i32) -> Result<bool, CUresult> {
    let shareable = matches!(home, Home::Device(_) | Home::Node);
    match handles {
        0 => Ok(false),
        _ if handles & !ALL != 0 || !shareable => Err(CUDA_ERROR_INVALID_VALUE),
        FILES => Ok(true),
        _ if handles & CU_MEM_HANDLE_TYPE_FABRIC.0 == 0 => Err(CUDA_ERROR_INVALID_VALUE),
        _ => Err(CUDA_ERROR_NOT_SUPPORTED),
    }
}

/// What a greatest size is rounded up to (measured).
const ROUNDED_TO: usize = 32 << 20;
/// More than there are addresses is refused (measured), where the rounding does not run over.
const ADDRESSES: usize = 1 << 47;

/// Most bytes that a pool hands out; 0 asks for no limit. Where the rounding runs over, a limit of the host's is none
/// (measured), and for one of a device's driver 580 does not come back on a machine with two.
fn most(home: Home, asked: usize) -> Result<usize, CUresult> {
    match asked.checked_next_multiple_of(ROUNDED_TO) {
        Some(0) => Ok(home.most()),
        Some(most) if most < ADDRESSES => Ok(most),
        None if home.device().is_none() => Ok(home.most()),
        _ => Err(CUDA_ERROR_OUT_OF_MEMORY),
    }
}

pub(crate) fn cuMemPoolCreate(pool: Out<CUmemoryPool>, poolProps: In<CUmemPoolProps_v1>) -> Answer {
    pool.check()?;
    let props = poolProps.get()?;
    let home = Home::of(props.allocType, props.location)?;
    let is_shared = is_shared(home, props.handleTypes.0)?;
    capture::check_unsafe()?;
    if props.maxSize != 0 && version() < LIMITED_SINCE {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if home.is_managed() && props.maxSize != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let most = most(home, props.maxSize)?;
    let made = if is_shared {
        // As much as the machine has, where there is no limit.
        let room = most.min(usize::try_from(machine::physical()).unwrap_or(usize::MAX).min(ADDRESSES / 4));
        let sharing = Sharing::new(home.device(), room).ok_or(CUDA_ERROR_NOT_SUPPORTED)?;
        Pool::shared(home, most, sharing)
    } else {
        Pool::new(home, false, most)
    };
    pool.set(made.handle())
}

/// Returns at once; what is allocated from it stays until it is freed. Devices that use it go back to their own.
pub(crate) fn cuMemPoolDestroy(pool: CUmemoryPool) -> Answer {
    let found = Pool::of(pool)?;
    capture::check_unsafe()?;
    // What was imported from it is freed first (measured).
    if found.is_default || (found.importing().is_some() && found.is_in_use()) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    POOLS.remove(pool as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    choice::forget(&found);
    Ok(())
}
