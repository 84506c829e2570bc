//! What processes have in common: a board of each, whose entries tell others of memory and of events, and handles that name entries.
//!
//! There is no server. A handle says which process has the board, and by which number; the system lets only processes of the same user
//! map it. A process that has ended has no board any more; who maps it keeps it.

mod board;
mod handle;
mod records;

pub(crate) use board::{Board, Entry, Subject};
pub(crate) use handle::{Handle, Kind, Nonce, is_own};
pub(crate) use records::Records;
