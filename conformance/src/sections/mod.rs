//! The situations.

use crate::driver::{Cu, Outcome, Stop, need};
use crate::transcript::{Lines, Transcript};
use cushim::driver::{Table, Version};
use std::sync::LazyLock;

mod boxes;
mod capture;
mod checkpoints;
mod context_events;
mod contexts;
mod ctxgone;
mod devices;
mod entry;
mod events;
mod faults;
mod graphs;
mod hidden_sync;
mod hostfn;
mod hostmem;
mod jit;
mod kernels;
mod launches;
mod legacy_sync;
mod libraries;
mod logs;
mod managed;
mod memory;
mod modules;
mod needctx;
mod noctx;
mod numa_and_pools;
mod occupancy;
mod order;
mod peers;
mod pools;
mod prepared_launches;
mod primary;
mod processes;
mod reset;
mod sentences;
mod stale;
mod stream_attributes;
mod stream_values;
mod streams;
mod two_devices;
mod virtual_memory;

/// What makes for itself what it needs, so that the others can be asked when one was a crash.
pub(crate) enum Unit {
    /// Each question.
    Question,
    /// Each story. Sections without stories are not gone on with.
    Story,
}

/// A group of situations.
pub(crate) struct Section {
    /// What it is called in the transcript.
    pub(crate) name: &'static str,
    /// How many processes it takes. A question that may crash a driver gets one of its own.
    pub(crate) parts: usize,
    /// How many devices it needs; where there are fewer, nothing is asked.
    devices: i32,
    /// Runs one part in a process where the driver was loaded and nothing else was done.
    run: fn(&mut Lines, &Cu, usize) -> Outcome,
}

impl Section {
    /// Runs one part in this process, which may be the end of it, and writes to the standard output.
    ///
    /// `table` is of a driver that was loaded and not yet called, `version` what it reports. The first `left_out`
    /// questions or stories are not put.
    pub(crate) fn run_part(&self, part: usize, left_out: usize, table: &'static Table, version: Version) {
        let (questions, stories) = match self.unit() {
            Unit::Question => (left_out, 0),
            Unit::Story => (0, left_out),
        };
        let mut transcript =
            Transcript::new(Box::new(std::io::stdout()) as Box<dyn std::io::Write>, questions);
        transcript.without_stories(stories);
        let cu = Cu { table, version: version.number() };
        match self.check_devices(&cu) {
            Ok(()) => {
                if let Err(stop) = (self.run)(&mut transcript, &cu, part) {
                    transcript.stop(&stop);
                }
            }
            Err(_) if part > 0 => {}
            Err(reason) => transcript.comment(&reason),
        }
    }

    /// What another process goes on behind, if one came to a bad end.
    pub(crate) fn unit(&self) -> Unit {
        let mut by_question = graphs::SECTIONS.iter().chain([&&capture::modes::SECTION]);
        if by_question.any(|section| section.name == self.name) { Unit::Question } else { Unit::Story }
    }

    /// A driver is not so much as called where one device is enough: some sections ask what it answers before that.
    fn check_devices(&self, cu: &Cu) -> Result<(), String> {
        if self.devices == 1 {
            return Ok(());
        }
        let mut count = 0;
        let counted =
            need!(cu, cuInit_2000(0)).and_then(|()| need!(cu, cuDeviceGetCount_2000(&raw mut count)));
        match counted {
            Err(Stop(reason)) => Err(format!("needs {} devices: {reason}", self.devices)),
            Ok(()) if count < self.devices => Err(format!("needs {} devices, here: {count}", self.devices)),
            Ok(()) => Ok(()),
        }
    }
}

/// Every section, in the order of the transcript.
pub(crate) static SECTIONS: LazyLock<Vec<&Section>> =
    LazyLock::new(|| [BEFORE_GRAPHS, graphs::SECTIONS].concat());

const BEFORE_GRAPHS: &[&Section] = &[
    &noctx::SECTION,
    &entry::SECTION,
    &devices::SECTION,
    &primary::SECTION,
    &contexts::SECTION,
    &events::SECTION,
    &streams::SECTION,
    &stream_attributes::SECTION,
    &stream_values::SECTION,
    &context_events::SECTION,
    &legacy_sync::SECTION,
    &hidden_sync::SECTION,
    &order::SECTION,
    &hostfn::SECTION,
    &memory::SECTION,
    &boxes::SECTION,
    &hostmem::SECTION,
    &pools::SECTION,
    &managed::SECTION,
    &numa_and_pools::SECTION,
    &processes::SECTION,
    &checkpoints::SECTION,
    &virtual_memory::SECTION,
    &capture::SECTION,
    &capture::begin::SECTION,
    &capture::modes::SECTION,
    &capture::nodes::SECTION,
    &capture::forks::SECTION,
    &capture::invalid::SECTION,
    &capture::implicit::SECTION,
    &capture::dependencies::SECTION,
    &capture::to_graph::SECTION,
    &capture::edits::SECTION,
    &capture::bodies::SECTION,
    &capture::memory::SECTION,
    &capture::replays::SECTION,
    &peers::SECTION,
    &two_devices::SECTION,
    &capture::two_devices::SECTION,
    &reset::SECTION,
    &needctx::SECTION,
    &ctxgone::SECTION,
    &stale::SECTION,
    &modules::SECTION,
    &libraries::SECTION,
    &kernels::SECTION,
    &jit::SECTION,
    &launches::SECTION,
    &prepared_launches::SECTION,
    &occupancy::SECTION,
    &faults::SECTION,
    &logs::SECTION,
    &sentences::SECTION,
];
