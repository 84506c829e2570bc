//! What a test has arranged by the environment, beside the settings: faults, a trace, a report at the end.

use super::cancellation::Deferred;
use super::complain::complain;
use super::environment::{refuse_unknown, variable};
use super::settings::{self, settings, switch};
use super::{checks, fault, live, trace};
use std::sync::OnceLock;

/// Sees to it, once, that the environment has been read and what it asks for arranged. False if that is impossible, which
/// has then been said on stderr.
pub(crate) fn ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    *READY.get_or_init(|| settings().is_some() && arrange().map_err(|message| complain(&message)).is_ok())
}

fn arrange() -> Result<(), String> {
    let _deferred = Deferred::new();
    let still = ["SOFTCUDA_FAULT", "SOFTCUDA_LEAKS", "SOFTCUDA_TRACE"].into_iter().chain(checks::VARIABLES);
    refuse_unknown(&still.collect::<Vec<_>>())?;
    checks::arrange(settings::checks().is_any())?;
    variable("SOFTCUDA_FAULT", (), |text| {
        fault::set(text).map_err(|why| format!("a list of faults: {why}"))
    })?;
    if variable("SOFTCUDA_LEAKS", false, switch)? {
        live::report_at_exit();
    }
    variable("SOFTCUDA_TRACE", (), |text| {
        trace::start(text).map_err(|error| format!("a file that a trace can be written to: {error}"))
    })
}
