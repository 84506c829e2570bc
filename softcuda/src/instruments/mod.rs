//! What a test arranges and observes: settings, faults, counts, traces, the log, what lives. The instruments import nothing
//! that they observe: objects tell them of themselves (`live::register`), and the interface asks them at every call.

pub(crate) mod cancellation;
pub(crate) mod checks;
pub(crate) mod complain;
pub(crate) mod counts;
mod environment;
pub(crate) mod fault;
pub(crate) mod foreign;
mod known;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod output;
pub(crate) mod schedule;
pub(crate) mod selection;
pub(crate) mod settings;
pub(crate) mod setup;
pub(crate) mod trace;
pub(crate) mod visible;
