//! The driver's interface as data: names, types, versions, result codes; and the pointers that callers pass. Every floor
//! speaks in these terms.

pub(crate) mod codes;
pub(crate) mod exports;
#[cfg(target_os = "linux")]
mod modules;
pub(crate) mod names;
pub(crate) mod pointer;
pub(crate) mod reach;
#[allow(dead_code, unreachable_pub)] // the whole interface, generated
pub(crate) mod sys;
pub(crate) mod versions;

pub(crate) use codes::Answer;
