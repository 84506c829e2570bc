//! Attributes of streams. But for the priority they are hints to a device, which this one keeps and does not follow.

use super::Stream;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_ACCESS_PROPERTY_PERSISTING, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE,
    CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE, CU_SYNC_POLICY_AUTO, CU_SYNC_POLICY_BLOCKING_SYNC,
    CUDA_ERROR_INVALID_VALUE, CUaccessPolicyWindow_v1, CUaccessProperty, CUlaunchAttribute,
    CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchMemSyncDomain, CUlaunchMemSyncDomainMap, CUresult,
    CUstream, CUsynchronizationPolicy,
};
use crate::driver::context::config::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::driver::context::{self, Activation};
use crate::driver::device::attributes::value;
use crate::driver::signal::Listener;
use crate::instruments::settings::version;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

const WINDOW: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
const POLICY: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
const PRIORITY: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_PRIORITY;
const DOMAIN_MAP: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
const DOMAIN: CUlaunchAttributeID = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;

/// What driver 580 answers before a policy was set (measured).
const UNSET_POLICY: CUsynchronizationPolicy = CUsynchronizationPolicy(-1);

/// What was set, of streams of which anything was: by the stream's number, with its context's.
static SET: Mutex<Option<HashMap<u64, (u64, Attributes)>>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Attributes {
    window: Window,
    policy: CUsynchronizationPolicy,
    domain: CUlaunchMemSyncDomain,
    domains: CUlaunchMemSyncDomainMap,
}

/// A part of memory whose accesses are to stay in a cache; its address is never followed.
#[derive(Clone, Copy, Default)]
struct Window {
    address: usize,
    bytes: usize,
    ratio: f32,
    hit: CUaccessProperty,
    miss: CUaccessProperty,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            window: Window::default(),
            policy: UNSET_POLICY,
            domain: CUlaunchMemSyncDomain::default(),
            domains: CUlaunchMemSyncDomainMap { default_: 0, remote: 1 },
        }
    }
}

impl Attributes {
    fn of(stream: &Stream) -> Self {
        let set = SET.lock();
        set.as_ref().and_then(|set| set.get(&stream.id())).map(|(_, set)| *set).unwrap_or_default()
    }

    fn keep(self, stream: &Stream) {
        ENDS.begin();
        SET.lock().get_or_insert_default().insert(stream.id(), (stream.context.id(), self));
    }
}

/// Forgets what was set of a stream that is gone.
pub(super) fn forget(stream: &Stream) {
    if let Some(set) = &mut *SET.lock() {
        set.remove(&stream.id());
    }
}

static ENDS: Listener<Arc<Activation>> = Listener::new(&context::ENDED, forget_all);

/// Forgets what was set of a context's streams, as it ends.
fn forget_all(context: &Arc<Activation>) {
    if let Some(set) = &mut *SET.lock() {
        set.retain(|_, (owner, _)| *owner != context.id());
    }
}

/// Refuses attributes that are not those of streams, or newer than the version.
fn check(attribute: CUlaunchAttributeID) -> Answer {
    let since = match attribute {
        WINDOW | POLICY => 11000,
        PRIORITY => 11070,
        DOMAIN_MAP | DOMAIN => 12000,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    if since > version() { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

pub(crate) fn cuStreamGetAttribute(
    hStream: CUstream,
    attr: CUlaunchAttributeID,
    value_out: Out<CUlaunchAttributeValue>,
) -> Answer {
    let stream = Stream::of(hStream)?;
    stream.check_untangled()?;
    check(attr)?;
    value_out.set(value_of(&stream, attr))
}

/// Those that work in the stream has, too.
pub(crate) fn told(stream: &Stream) -> Vec<CUlaunchAttribute> {
    let attribute = |id| CUlaunchAttribute { id, pad: [0; 4], value: value_of(stream, id) };
    [WINDOW, PRIORITY, DOMAIN_MAP, DOMAIN]
        .into_iter()
        .filter(|id| check(*id).is_ok())
        .map(attribute)
        .collect()
}

fn value_of(stream: &Stream, attr: CUlaunchAttributeID) -> CUlaunchAttributeValue {
    let Attributes { window, policy, domain, domains } = Attributes::of(stream);
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    match attr {
        WINDOW => {
            value.accessPolicyWindow = CUaccessPolicyWindow_v1 {
                base_ptr: window.address as *mut c_void,
                num_bytes: window.bytes,
                hitRatio: window.ratio,
                hitProp: window.hit,
                missProp: window.miss,
            };
        }
        POLICY => value.syncPolicy = policy,
        PRIORITY => value.priority = stream.priority(),
        DOMAIN_MAP => value.memSyncDomainMap = domains,
        _ => value.memSyncDomain = domain,
    }
    value
}

pub(crate) fn cuStreamSetAttribute(
    hStream: CUstream,
    attr: CUlaunchAttributeID,
    value: In<CUlaunchAttributeValue>,
) -> Answer {
    let stream = Stream::for_work(hStream)?;
    stream.check_untangled()?;
    check(attr)?;
    let value = value.get()?;
    let mut attributes = Attributes::of(&stream);
    // SAFETY: the attribute says which member the caller has written; each is made of numbers and an address.
    unsafe {
        match attr {
            WINDOW => attributes.window = checked_window(value.accessPolicyWindow)?,
            POLICY => attributes.policy = checked_policy(value.syncPolicy)?,
            PRIORITY => {
                return stream.set_priority(value.priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY));
            }
            DOMAIN_MAP => attributes.domains = checked_domains(value.memSyncDomainMap)?,
            _ => attributes.domain = checked_domain(value.memSyncDomain)?,
        }
    }
    attributes.keep(&stream);
    Ok(())
}

/// Both streams belong to the same context.
pub(crate) fn cuStreamCopyAttributes(dst: CUstream, src: CUstream) -> Answer {
    let (to, from) = (Stream::for_work(dst)?, Stream::for_work(src)?);
    to.check_untangled()?;
    from.check_untangled()?;
    if to.context.id() != from.context.id() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if to.is_created() {
        to.set_priority(from.priority())?;
    }
    Attributes::of(&from).keep(&to);
    Ok(())
}

fn checked_window(window: CUaccessPolicyWindow_v1) -> Result<Window, CUresult> {
    let CUaccessPolicyWindow_v1 { base_ptr, num_bytes, hitRatio: ratio, hitProp: hit, missProp: miss } =
        window;
    let most = value(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE) as usize;
    // What misses cannot stay. What hits may be anything (measured).
    let makes_sense = (0..CU_ACCESS_PROPERTY_PERSISTING.0).contains(&miss.0);
    if num_bytes > most || !(0.0..=1.0).contains(&ratio) || !makes_sense {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Ok(Window { address: base_ptr as usize, bytes: num_bytes, ratio, hit, miss })
}

fn checked_policy(policy: CUsynchronizationPolicy) -> Result<CUsynchronizationPolicy, CUresult> {
    let known = (CU_SYNC_POLICY_AUTO.0..=CU_SYNC_POLICY_BLOCKING_SYNC.0).contains(&policy.0);
    if known { Ok(policy) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

fn checked_domain(domain: CUlaunchMemSyncDomain) -> Result<CUlaunchMemSyncDomain, CUresult> {
    let known = (0..=CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE.0).contains(&domain.0);
    if known { Ok(domain) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

fn checked_domains(domains: CUlaunchMemSyncDomainMap) -> Result<CUlaunchMemSyncDomainMap, CUresult> {
    let count = value(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
    let exist = [domains.default_, domains.remote].iter().all(|&domain| i32::from(domain) < count);
    if exist { Ok(domains) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
