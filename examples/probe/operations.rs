//! What a program wants to do, and the ABI through which it can be done on a driver: the newest there is.

use cushim::driver::{Driver, Symbol, Version};

/// Something that drivers of different ages do through different ABIs, or not at all.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// The ways to do it, the best first.
    forms: &'static [Form],
}

/// One way.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) base: &'static str,
    pub(crate) abi: u32,
    /// The driver from which the ABI does what `note` says; later than the ABI where a driver learnt it without one.
    since: u32,
    pub(crate) note: &'static str,
}

const fn form(base: &'static str, abi: u32, note: &'static str) -> Form {
    Form { base, abi, since: abi, note }
}

#[rustfmt::skip] // one form a line
const OPERATIONS: &[Operation] = &[
    Operation { name: "advise", forms: &[
        form("cuMemAdvise", 12020, "any location"),
        form("cuMemAdvise", 8000, "devices and host, no NUMA node"),
    ]},
    Operation { name: "prefetch", forms: &[
        form("cuMemPrefetchAsync", 12020, "any location"),
        form("cuMemPrefetchAsync", 8000, "devices and host, no NUMA node"),
    ]},
    Operation { name: "batch prefetch", forms: &[
        form("cuMemPrefetchBatchAsync", 13000, "one call"),
        form("cuMemPrefetchAsync", 12020, "a loop"),
        form("cuMemPrefetchAsync", 8000, "a loop, no NUMA node"),
    ]},
    Operation { name: "discard", forms: &[form("cuMemDiscardBatchAsync", 13000, "")] },
    Operation { name: "discard and prefetch", forms: &[form("cuMemDiscardAndPrefetchBatchAsync", 13000, "")] },
    Operation { name: "batch copy", forms: &[
        form("cuMemcpyBatchAsync", 13000, "one call"),
        form("cuMemcpyBatchAsync", 12080, "one call, tells the index of a failed copy"),
        form("cuMemcpyAsync", 4000, "a loop"),
    ]},
    Operation { name: "range attributes", forms: &[
        Form { base: "cuMemRangeGetAttributes", abi: 8000, since: 12020, note: "locations as type and id" },
        form("cuMemRangeGetAttributes", 8000, "locations as ordinals"),
    ]},
    Operation { name: "stream-ordered allocation", forms: &[form("cuMemAllocAsync", 11020, "")] },
    Operation { name: "create context", forms: &[
        form("cuCtxCreate", 12050, "with parameters"),
        form("cuCtxCreate", 11040, "with execution affinity"),
        form("cuCtxCreate", 3020, "plain"),
    ]},
    Operation { name: "synchronize context", forms: &[
        form("cuCtxSynchronize", 13000, "any context"),
        form("cuCtxSynchronize", 2000, "the current one"),
    ]},
    Operation { name: "context's device", forms: &[
        form("cuCtxGetDevice", 13000, "any context"),
        form("cuCtxGetDevice", 2000, "the current one"),
    ]},
    Operation { name: "release primary context", forms: &[
        form("cuDevicePrimaryCtxRelease", 11000, ""),
        form("cuDevicePrimaryCtxRelease", 7000, ""),
    ]},
    Operation { name: "stream's context", forms: &[
        form("cuStreamGetCtx", 12050, "green contexts too"),
        form("cuStreamGetCtx", 9020, ""),
    ]},
    Operation { name: "capture info", forms: &[
        form("cuStreamGetCaptureInfo", 12030, "with edge data"),
        form("cuStreamGetCaptureInfo", 11030, "with graph and dependencies"),
        form("cuStreamGetCaptureInfo", 10010, "status and id"),
    ]},
    Operation { name: "update capture dependencies", forms: &[
        form("cuStreamUpdateCaptureDependencies", 12030, "with edge data"),
        form("cuStreamUpdateCaptureDependencies", 11030, ""),
    ]},
    Operation { name: "graph edges", forms: &[
        form("cuGraphGetEdges", 12030, "with edge data"),
        form("cuGraphGetEdges", 10000, ""),
    ]},
    Operation { name: "node dependencies", forms: &[
        form("cuGraphNodeGetDependencies", 12030, "with edge data"),
        form("cuGraphNodeGetDependencies", 10000, ""),
    ]},
    Operation { name: "add dependencies", forms: &[
        form("cuGraphAddDependencies", 12030, "with edge data"),
        form("cuGraphAddDependencies", 10000, ""),
    ]},
    Operation { name: "remove dependencies", forms: &[
        form("cuGraphRemoveDependencies", 12030, "with edge data"),
        form("cuGraphRemoveDependencies", 10000, ""),
    ]},
    Operation { name: "add node", forms: &[
        form("cuGraphAddNode", 13040, "any type, with edge data, contexts checked"),
        form("cuGraphAddNode", 12030, "any type, with edge data"),
        form("cuGraphAddNode", 12020, "any type"),
        form("cuGraphAddKernelNode", 12000, "one call for each type"),
        form("cuGraphAddKernelNode", 10000, "one call for each type"),
    ]},
    Operation { name: "conditional nodes", forms: &[form("cuGraphConditionalHandleCreate", 12030, "")] },
    Operation { name: "kernel node params", forms: &[
        form("cuGraphKernelNodeGetParams", 12000, "with kernel handle and context"),
        form("cuGraphKernelNodeGetParams", 10000, ""),
    ]},
    Operation { name: "instantiate", forms: &[
        form("cuGraphInstantiateWithParams", 12000, "tells the node that failed"),
        form("cuGraphInstantiateWithFlags", 11040, ""),
        form("cuGraphInstantiate", 11000, ""),
    ]},
    Operation { name: "exec update", forms: &[
        form("cuGraphExecUpdate", 12000, "tells the node that failed"),
        form("cuGraphExecUpdate", 10020, ""),
    ]},
    Operation { name: "launch with attributes", forms: &[
        form("cuLaunchKernelEx", 11060, ""),
        form("cuLaunchKernel", 4000, "without attributes"),
    ]},
    Operation { name: "load code", forms: &[
        form("cuLibraryLoadData", 12000, "for all contexts"),
        form("cuModuleLoadDataEx", 2010, "for one context"),
    ]},
    Operation { name: "host function", forms: &[
        form("cuLaunchHostFunc", 13010, ""),
        form("cuLaunchHostFunc", 10000, ""),
    ]},
    Operation { name: "elapsed time", forms: &[
        form("cuEventElapsedTime", 12080, ""),
        form("cuEventElapsedTime", 2000, ""),
    ]},
    Operation { name: "device uuid", forms: &[
        form("cuDeviceGetUuid", 11040, "parts of devices too"),
        form("cuDeviceGetUuid", 9020, "whole devices"),
    ]},
    Operation { name: "driver's log", forms: &[form("cuLogsRegisterCallback", 12090, "")] },
];

/// How a driver does an operation.
#[derive(Debug)]
pub(crate) enum Route {
    Through(&'static Form, &'static Symbol),
    /// Not at all; so it is with every driver before this version.
    NeedsNewer(Version),
    /// Not at all, though drivers of its version do.
    Missing(&'static Symbol),
}

/// Each operation and how this driver does it.
pub(crate) fn list(driver: &Driver) -> impl Iterator<Item = (&'static Operation, Route)> + '_ {
    OPERATIONS.iter().map(|operation| (operation, operation.route(driver)))
}

impl Operation {
    fn route(&self, driver: &Driver) -> Route {
        let covers = |form: &Form| driver.version().is_some_and(|version| form.since <= version.number());
        let covered: Vec<_> =
            self.forms.iter().filter(|form| covers(form)).map(|form| (form, form.symbol(driver))).collect();
        let present = covered.iter().find(|(_, symbol)| symbol.via.is_some());
        match (present, covered.first()) {
            (Some((form, symbol)), _) => Route::Through(form, symbol),
            (None, Some((_, symbol))) => Route::Missing(symbol),
            (None, None) => Route::NeedsNewer(self.oldest()),
        }
    }

    /// The oldest driver that does it in any way.
    fn oldest(&self) -> Version {
        let oldest = self.forms.iter().map(|form| form.since).min();
        Version::from_number(oldest.expect("every operation has a form"))
    }
}

impl Form {
    fn symbol(&self, driver: &Driver) -> &'static Symbol {
        driver.symbol(self.base, self.abi).expect("forms name ABIs of the catalogue")
    }
}
