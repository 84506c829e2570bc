//! The engine that runs PTX, without the driver around it.

mod device;

mod basic;
mod bulk_reductions;
mod byte_floats;
mod compiled;
mod constants;
mod declarations;
mod forms;
mod garbled;
mod language;
mod machine;
mod matrices;
mod mbarriers;
mod mma;
mod mma_bits;
mod mma_sums;
mod operands;
