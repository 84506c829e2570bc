//! What graphs need a current context for.

use super::Asked;
use super::launch::Launch;
use super::scene::Scene;
use super::work::{EVERY, Work};
use crate::driver::{Answer, call, given};
use crate::transcript::Lines;
use std::ptr::{null, null_mut};

/// What is asked with no current context. The answer comes when it is current again.
fn nowhere(s: &Scene, ask: impl FnOnce() -> Answer) -> Asked {
    given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
    let answer = ask();
    given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
    Ok(answer)
}

pub(super) fn contexts(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("no current context: {name}"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            nowhere(s, || s.add(graph, &[], work, &raw mut node))
        });
        t.line(&format!("no current context: {name}, generic"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            nowhere(s, || s.add_generic(graph, (null(), 0), work, &raw mut node))
        });
        t.line(&format!("no current context: instantiate {name}, destroy"), || -> Asked {
            let (graph, mut exec) = (s.graph()?, null_mut());
            s.node(graph, &[], work(s, graph)?)?;
            nowhere(s, || {
                Answer::all([
                    call!(s.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0)),
                    call!(s.cu, cuGraphExecDestroy_10000(exec)),
                ])
            })
        });
    }
    t.line("no current context: kernel with its context", || -> Asked {
        let (graph, mut node) = (s.graph()?, null_mut());
        let launch = Launch { context: s.context, ..s.launch_note(1) };
        nowhere(s, || s.add(graph, &[], Work::Kernel(launch), &raw mut node))
    });
    t.line("no current context: create, clone, destroy", || -> Asked {
        let (full, mut graph, mut clone) = (s.graph_of(&[s.fill(1)])?, null_mut(), null_mut());
        nowhere(s, || {
            Answer::all([
                call!(s.cu, cuGraphCreate_10000(&raw mut graph, 0)),
                call!(s.cu, cuGraphClone_10000(&raw mut clone, full)),
                call!(s.cu, cuGraphDestroy_10000(clone)),
            ])
        })
    });
    t.line("no current context: launch, synchronise", || -> Asked {
        let exec = s.exec(s.graph_of(&[s.store(0, 1), s.fill(1)])?)?;
        nowhere(s, || Answer::all([s.launch(exec), s.synchronise()]))
    });
    t.line("no current context: update", || -> Asked {
        let (exec, other) = (s.exec(s.graph_of(&[s.fill(1)])?)?, s.graph_of(&[s.fill(2)])?);
        nowhere(s, || s.update(exec, other, &[]))
    });
    t.line("no current context: update of a kernel", || -> Asked {
        let (exec, other) = (s.exec(s.graph_of(&[s.store(0, 1)])?)?, s.graph_of(&[s.store(0, 2)])?);
        nowhere(s, || s.update(exec, other, &[]))
    });
    t.line("no current context: upload", || -> Asked {
        let exec = s.exec(s.graph_of(&[s.fill(1)])?)?;
        nowhere(s, || Answer::all([call!(s.cu, cuGraphUpload_11010(exec, s.stream)), s.synchronise()]))
    });
    t.line("no current context: destroy a node, nodes", || -> Asked {
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.store(0, 1))?;
        nowhere(s, || Answer::all([call!(s.cu, cuGraphDestroyNode_10000(node)), s.count(graph)]))
    });
}
