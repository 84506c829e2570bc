//! Conformance of CUDA drivers: situations that programs get into, and what the driver answers.
//!
//! The same calls run on softcuda and on a real GPU. What comes out is a *transcript*: sections of lines, each with a
//! situation and an answer, the same for every run on the same driver, so that two transcripts can be compared. What
//! the real drivers answered is kept in `expect/`.
//!
//! - `sections`: the situations, a file for each section;
//! - `driver`, `gate`: the driver's calls, and work that waits until it is let go;
//! - `transcript`: how lines are written and read;
//! - `process`: a process for every part of a section, because a driver may crash;
//! - `expectation`: a driver's known answers, and the differences from them.
#![cfg(unix)]

mod driver;
pub mod expectation;
mod gate;
pub mod process;
pub mod sections;
mod transcript;
