//! How a program reaches the driver: its exports, what every call passes through, how functions are found, the shells of
//! single versions, and the control functions of tests.

mod addresses;
mod control;
mod entry;
mod errors;
mod export_table;
mod exports;
mod forks;
mod functions;
mod gates;
mod getter;
mod init;
mod logs;
mod shell;
