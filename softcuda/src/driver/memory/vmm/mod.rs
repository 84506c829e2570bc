//! Virtual memory: addresses that a program reserves, memory that it creates, and which of it is behind which addresses.
//!
//! Device memory has two mappings (see `memory`). A reservation is a range of the window, with nothing behind it at first. What is
//! created is memory of a file without a name (`space::shared`), which is put into the back of the window where it is mapped: so
//! the same memory can be at two addresses, and in two processes. Calls on it belong to no context, and no stream orders them.

pub(crate) mod physical;
pub(crate) mod properties;
pub(crate) mod reserved;
pub(crate) mod sharing;
