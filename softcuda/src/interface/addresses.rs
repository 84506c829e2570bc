//! Where a program finds each function: in this library, or in the shell that it has opened.

use super::functions::{CONTROL_FUNCTIONS, FUNCTIONS};
use crate::abi::names::CONTROLS;
use std::ffi::c_void;
use std::sync::OnceLock;

/// Where the first shell of the process has each export, in the order of `EXPORTS`; 0 where it has none.
static SHELL: OnceLock<Vec<usize>> = OnceLock::new();

/// A shell says where its exports are; the first one of the process counts.
pub(super) fn keep_shell(own: Vec<usize>) {
    SHELL.get_or_init(|| own);
}

/// The address of export number `index` in this library.
pub(super) fn in_core(index: usize) -> *const c_void {
    FUNCTIONS[index].0
}

/// The address of a control function.
pub(super) fn of_control(name: &str) -> Option<*const c_void> {
    let number = CONTROLS.iter().position(|(known, _)| *known == name)?;
    Some(CONTROL_FUNCTIONS[number].0)
}

/// The address of export number `index` in the shell of this process.
pub(super) fn in_shell(index: usize) -> *const c_void {
    match SHELL.get().map(|own| own[index]) {
        Some(own) if own != 0 => own as *const c_void,
        _ => in_core(index),
    }
}
