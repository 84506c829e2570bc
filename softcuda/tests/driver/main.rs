//! The driver, called as a C program calls it: what the conformance suite, which knows real drivers' answers, does not ask.
//! That is what softcuda does beside a driver (schedules, faults, traces, what lives, settings, versions), what it chose
//! where nothing was measured, and work that many threads do at a time.
#![cfg(target_os = "linux")]

mod common;

mod batches;
mod bounds;
mod capture;
mod capture_threads;
mod capture_work;
mod checkpoints;
mod checks;
mod contexts;
mod devices;
mod events;
mod faults;
mod graph_change;
mod graph_conditions;
mod graph_memory;
mod graph_objects;
mod graph_order;
mod graph_picture;
mod host_functions;
mod hostile;
mod inside;
mod kernels;
mod linking;
mod live;
mod logs;
mod managed;
mod memory;
mod poison;
mod pools;
mod prepared_launches;
mod privileges;
mod races;
mod resolution;
mod schedules;
mod settings;
mod sticky;
mod stream_memory;
mod streams;
mod trace;
mod virtual_memory;
mod visibility;
