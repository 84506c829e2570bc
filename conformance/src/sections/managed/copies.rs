//! Copies of many ranges.

use super::{managed, stream};
use crate::driver::{Answer, Cu, LEGACY, Outcome, PER_THREAD, call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_MEMCPY_SRC_ACCESS_ORDER_ANY, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CUdeviceptr, CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUstream,
};
use std::ptr::null_mut;

/// Copies, and how they are to be done.
#[derive(Clone)]
struct Batch {
    to: Vec<CUdeviceptr>,
    from: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    attributes: Vec<CUmemcpyAttributes>,
    starts: Vec<usize>,
}

impl Batch {
    /// By the ABI of 13.0.
    fn submit(&mut self, cu: &Cu, stream: CUstream) -> Answer {
        let (to, from, sizes) = (self.to.as_mut_ptr(), self.from.as_mut_ptr(), self.sizes.as_mut_ptr());
        let (attributes, starts) = (self.attributes.as_mut_ptr(), self.starts.as_mut_ptr());
        let (count, number) = (self.to.len(), self.attributes.len());
        call!(cu, cuMemcpyBatchAsync_13000(to, from, sizes, count, attributes, starts, number, stream))
    }

    /// By the ABI of 12.8; with which copy it blames.
    fn submit_old(&mut self, cu: &Cu, stream: CUstream) -> Answer {
        let (to, from, sizes) = (self.to.as_mut_ptr(), self.from.as_mut_ptr(), self.sizes.as_mut_ptr());
        let (attributes, starts) = (self.attributes.as_mut_ptr(), self.starts.as_mut_ptr());
        let (count, number) = (self.to.len(), self.attributes.len());
        let mut failed = 77usize;
        let blamed = &raw mut failed;
        let done = call!(
            cu,
            cuMemcpyBatchAsync_12080(to, from, sizes, count, attributes, starts, number, blamed, stream)
        );
        match (done, failed) {
            (done @ Answer::Absent(_), _) => done,
            (done, usize::MAX) => format!("{done}, none").into(),
            (done, failed) => format!("{done}, {failed}").into(),
        }
    }
}

fn attributes(order: CUmemcpySrcAccessOrder) -> CUmemcpyAttributes {
    CUmemcpyAttributes {
        srcAccessOrder: order,
        srcLocHint: super::INVALID,
        dstLocHint: super::INVALID,
        flags: 0,
    }
}

pub(super) fn run(t: &mut Lines, cu: &Cu) -> Outcome {
    let (a, b, stream) = (managed(cu)?, managed(cu)?, stream(cu)?);
    let in_order = attributes(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    let good = Batch {
        to: vec![b, b + 4096],
        from: vec![a, a + 4096],
        sizes: vec![64, 64],
        attributes: vec![in_order],
        starts: vec![0],
    };
    t.line("memcpy batch", || good.clone().submit(cu, stream));
    t.line("memcpy batch legacy", || good.clone().submit(cu, LEGACY));
    t.line("memcpy batch NULL", || good.clone().submit(cu, null_mut()));
    t.line("memcpy batch per-thread", || good.clone().submit(cu, PER_THREAD));
    t.line("memcpy batch 12.8", || good.clone().submit_old(cu, stream));
    t.line("memcpy batch 12.8 legacy", || good.clone().submit_old(cu, LEGACY));
    for (name, batch) in variants(&good) {
        t.line(&format!("memcpy batch {name}"), || batch.clone().submit(cu, stream));
        t.line("  12.8", || batch.clone().submit_old(cu, stream));
    }
    need!(cu, cuStreamSynchronize_2000(PER_THREAD))?;
    need!(cu, cuStreamSynchronize_2000(stream))
}

/// Batches with one thing changed.
fn variants(good: &Batch) -> Vec<(&'static str, Batch)> {
    let in_order = good.attributes[0];
    let twice = vec![in_order; 2];
    let order = |order| Batch { attributes: vec![attributes(order)], ..good.clone() };
    let flags = |flags| Batch { attributes: vec![CUmemcpyAttributes { flags, ..in_order }], ..good.clone() };
    vec![
        ("count 0", Batch { to: Vec::new(), ..good.clone() }),
        ("size 0", Batch { sizes: vec![64, 0], ..good.clone() }),
        ("bad order", order(CUmemcpySrcAccessOrder(9))),
        ("order 0", order(CUmemcpySrcAccessOrder(0))),
        ("order during the call", order(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)),
        ("order any", order(CU_MEMCPY_SRC_ACCESS_ORDER_ANY)),
        ("without attributes", Batch { attributes: Vec::new(), ..good.clone() }),
        ("more attributes than copies", Batch { attributes: vec![in_order; 3], ..good.clone() }),
        ("idx not from 0", Batch { starts: vec![1], ..good.clone() }),
        ("idx not rising", Batch { attributes: twice.clone(), starts: vec![0, 0], ..good.clone() }),
        ("idx past the end", Batch { attributes: twice, starts: vec![0, 2], ..good.clone() }),
        ("flag overlap", flags(1)),
        ("flags 4", flags(4)),
        ("to NULL", Batch { to: vec![good.to[0], 0], ..good.clone() }),
        ("from NULL", Batch { from: vec![0, good.from[1]], ..good.clone() }),
        ("past the end", Batch { sizes: vec![64, 2 * super::SIZE], ..good.clone() }),
    ]
}
