//! PTX: from the text of a module to the results of its kernels.
//!
//! [`Module::compile`] parses a text (`lexer`, `parse`, `ast`), lowers each kernel with the functions that it reaches
//! to flat arrays of decoded instructions (`lower`, one table per opcode), and keeps what a driver wants to know of
//! kernels and variables (`module`). Several texts become one module (`link`). [`Function::launch`] interprets it (`exec`). An instruction, modifier or type that
//! is not covered fails the compilation, with the line in the log; nothing is executed approximately.
//!
//! Arithmetic: IEEE operations are exact in every rounding mode, with and without `.ftz`; NaN results of single
//! precision have the bits 7fffffff. Functions that a GPU approximates (`.approx`) are worked out in double precision
//! and rounded once, hence as good as correctly rounded, and not bit for bit what a GPU gives.
//!
//! Memory: the driver says through [`Host`] which addresses have memory. Atomic operations are atomic across blocks.

mod ast;
mod byte_float;
mod error;
mod exec;
mod float;
mod half;
mod lexer;
mod link;
mod lower;
mod module;
mod parse;
mod sources;
mod types;

pub use error::{JitError, Refusal};
pub use exec::fault::{Fault, FaultKind};
pub use exec::host::{Host, Region};
pub use exec::race::found::{Apart, By, Bytes, Clash, Found, Split};
pub use exec::seen::{Marks, Spot, Use, Watch};
pub use module::{Function, Global, Launch, Module, Param};
