//! Special registers.

use super::core::{Core, LANES, Op, Step};
use std::time::{SystemTime, UNIX_EPOCH};

/// A special register; the number after it is the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(in crate::ptx) enum Special {
    ThreadX,
    ThreadY,
    ThreadZ,
    BlockSizeX,
    BlockSizeY,
    BlockSizeZ,
    BlockX,
    BlockY,
    BlockZ,
    GridX,
    GridY,
    GridZ,
    ClusterBlockX,
    ClusterBlockY,
    ClusterBlockZ,
    ClusterSizeX,
    ClusterSizeY,
    ClusterSizeZ,
    ClusterX,
    ClusterY,
    ClusterZ,
    ClustersX,
    ClustersY,
    ClustersZ,
    ClusterRank,
    ClusterBlocks,
    ExplicitCluster,
    Lane,
    LaneMaskEqual,
    LaneMaskLess,
    LaneMaskLessEqual,
    LaneMaskGreater,
    LaneMaskGreaterEqual,
    Warp,
    Warps,
    Processor,
    Processors,
    GridId,
    Clock,
    ClockHigh,
    Time,
    TimeLow,
    TimeHigh,
    DynamicShared,
    TotalShared,
    /// `%envreg0` and those after it.
    Environment,
    Zero,
}

const NAMES: [(&str, Special); 33] = [
    ("%laneid", Special::Lane),
    ("%lanemask_eq", Special::LaneMaskEqual),
    ("%lanemask_lt", Special::LaneMaskLess),
    ("%lanemask_le", Special::LaneMaskLessEqual),
    ("%lanemask_gt", Special::LaneMaskGreater),
    ("%lanemask_ge", Special::LaneMaskGreaterEqual),
    ("%warpid", Special::Warp),
    ("%nwarpid", Special::Warps),
    ("%smid", Special::Processor),
    ("%nsmid", Special::Processors),
    ("%gridid", Special::GridId),
    ("%clock", Special::Clock),
    ("%clock64", Special::Clock),
    ("%clock_hi", Special::ClockHigh),
    ("%globaltimer", Special::Time),
    ("%globaltimer_lo", Special::TimeLow),
    ("%globaltimer_hi", Special::TimeHigh),
    ("%dynamic_smem_size", Special::DynamicShared),
    ("%total_smem_size", Special::TotalShared),
    ("%aggr_smem_size", Special::TotalShared),
    ("%cluster_ctarank", Special::ClusterRank),
    ("%cluster_nctarank", Special::ClusterBlocks),
    ("%reserved_smem_offset_begin", Special::Zero),
    ("%reserved_smem_offset_end", Special::Zero),
    ("%reserved_smem_offset_cap", Special::Zero),
    ("%pm0", Special::Zero),
    ("%pm1", Special::Zero),
    ("%pm2", Special::Zero),
    ("%pm3", Special::Zero),
    ("%pm4", Special::Zero),
    ("%pm5", Special::Zero),
    ("%pm6", Special::Zero),
    ("%pm7", Special::Zero),
];

/// The special register of the name and component, with what `imm` has to be.
pub(in crate::ptx) fn named(name: &str, part: Option<&str>) -> Option<(Special, i64)> {
    use Special as S;
    let axes = match name {
        "%tid" => [S::ThreadX, S::ThreadY, S::ThreadZ],
        "%ntid" => [S::BlockSizeX, S::BlockSizeY, S::BlockSizeZ],
        "%ctaid" => [S::BlockX, S::BlockY, S::BlockZ],
        "%nctaid" => [S::GridX, S::GridY, S::GridZ],
        "%cluster_ctaid" => [S::ClusterBlockX, S::ClusterBlockY, S::ClusterBlockZ],
        "%cluster_nctaid" => [S::ClusterSizeX, S::ClusterSizeY, S::ClusterSizeZ],
        "%clusterid" => [S::ClusterX, S::ClusterY, S::ClusterZ],
        "%nclusterid" => [S::ClustersX, S::ClustersY, S::ClustersZ],
        _ => {
            if part.is_some() {
                return None;
            }
            if let Some(number) = name.strip_prefix("%envreg") {
                return number.parse().ok().filter(|n| *n < 32).map(|n| (S::Environment, n));
            }
            return NAMES.iter().find(|(known, _)| *known == name).map(|(_, special)| (*special, 0));
        }
    };
    let axis = match part? {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        "w" => return Some((S::Zero, 0)),
        _ => return None,
    };
    Some((axes[axis], 0))
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

impl Core<'_> {
    fn uniform(&self, special: u32, imm: i64) -> u64 {
        use Special as S;
        let is = |first: S| special.wrapping_sub(first as u32) < 3;
        let axis = |first: S| (special - first as u32) as usize;
        let job = self.job;
        let view = &self.block;
        let small = if is(S::BlockSizeX) {
            job.block[axis(S::BlockSizeX)]
        } else if is(S::BlockX) {
            view.index[axis(S::BlockX)]
        } else if is(S::GridX) {
            job.grid[axis(S::GridX)]
        } else if is(S::ClusterBlockX) {
            view.index[axis(S::ClusterBlockX)] % job.cluster[axis(S::ClusterBlockX)]
        } else if is(S::ClusterSizeX) {
            job.cluster[axis(S::ClusterSizeX)]
        } else if is(S::ClusterX) {
            view.index[axis(S::ClusterX)] / job.cluster[axis(S::ClusterX)]
        } else if is(S::ClustersX) {
            job.grid[axis(S::ClustersX)] / job.cluster[axis(S::ClustersX)]
        } else {
            return match special {
                x if x == S::ClusterRank as u32 => view.rank.into(),
                x if x == S::ClusterBlocks as u32 => job.cluster.iter().map(|&n| u64::from(n)).product(),
                x if x == S::ExplicitCluster as u32 => job.asks_for_clusters.into(),
                x if x == S::Warp as u32 => self.warp.into(),
                x if x == S::Warps as u32 => 64,
                x if x == S::Processor as u32 => view.processor.into(),
                x if x == S::Processors as u32 => job.processors.into(),
                x if x == S::GridId as u32 => job.id,
                x if x == S::Clock as u32 => nanoseconds(),
                x if x == S::ClockHigh as u32 || x == S::TimeHigh as u32 => nanoseconds() >> 32,
                x if x == S::Time as u32 || x == S::TimeLow as u32 => nanoseconds(),
                x if x == S::DynamicShared as u32 => job.dynamic_shared.into(),
                x if x == S::TotalShared as u32 => view.shared_size.into(),
                x if x == S::Environment as u32 => job.environment[imm as usize].into(),
                _ => 0,
            };
        };
        small.into()
    }

    /// `%tid` along an axis, of every lane.
    fn threads(&self, axis: u32) -> [u32; LANES] {
        let [nx, ny, _] = self.job.block;
        let first = self.warp * LANES as u32;
        if axis == 0 && nx >= first + LANES as u32 {
            return std::array::from_fn(|lane| first + lane as u32);
        }
        std::array::from_fn(|lane| {
            let linear = first + lane as u32;
            match axis {
                0 => linear % nx,
                1 => linear / nx % ny,
                _ => linear / nx / ny,
            }
        })
    }

    fn by_lane(&self, special: u32) -> Option<[u32; LANES]> {
        use Special as S;
        let of = |f: fn(u32) -> u32| Some(std::array::from_fn(|lane| f(lane as u32)));
        match special {
            0..=2 => Some(self.threads(special)),
            x if x == S::Lane as u32 => of(|lane| lane),
            x if x == S::LaneMaskEqual as u32 => of(|lane| 1 << lane),
            x if x == S::LaneMaskLess as u32 => of(|lane| (1 << lane) - 1),
            x if x == S::LaneMaskLessEqual as u32 => of(|lane| (2u32 << lane).wrapping_sub(1)),
            x if x == S::LaneMaskGreater as u32 => of(|lane| !(2u32 << lane).wrapping_sub(1)),
            x if x == S::LaneMaskGreaterEqual as u32 => of(|lane| !((1 << lane) - 1)),
            _ => None,
        }
    }
}

/// `d =` the special register `extra`, in 32 bits.
pub(in crate::ptx) fn special32(core: &mut Core<'_>, op: &Op) -> Step {
    let values = core.by_lane(op.extra).unwrap_or_else(|| [core.uniform(op.extra, op.imm) as u32; LANES]);
    core.put(op.d, &values);
    Step::Next
}

/// The same in 64 bits.
pub(in crate::ptx) fn special64(core: &mut Core<'_>, op: &Op) -> Step {
    let values = match core.by_lane(op.extra) {
        Some(values) => values.map(u64::from),
        None => [core.uniform(op.extra, op.imm); LANES],
    };
    core.put(op.d, &values);
    Step::Next
}

/// The same in 16 bits.
pub(in crate::ptx) fn special16(core: &mut Core<'_>, op: &Op) -> Step {
    let values = core.by_lane(op.extra).unwrap_or_else(|| [core.uniform(op.extra, op.imm) as u32; LANES]);
    core.put(op.d, &values.map(|value| value as u16));
    Step::Next
}
