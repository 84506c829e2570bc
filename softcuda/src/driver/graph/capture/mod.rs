//! Streams make graphs: the calls that begin a capture, tell of it, change what comes next in it, and end it.

mod again;
pub(crate) mod begin;
pub(crate) mod dependencies;
pub(crate) mod end;
pub(crate) mod info;
mod recording;
