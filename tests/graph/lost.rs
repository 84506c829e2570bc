//! A context is reset under graphs and instances: driver 580 crashes, so nothing reaches it that would; what was kept is let go of.

use super::common::alone;
use super::{Counted, Scene, add, at_least};
use cushim::graph::{Exec, ExecOptions, JsonOptions};
use cushim::kernel::{Image, LaunchConfig, Library, LoadOptions};
use cushim::op::{Arguments, Empty, HostFunction, Launch};
use cushim::{Context, Status, unreported_release_errors};

const DESTROYED: Status = Status(709);

#[test]
fn a_reset_leaves_nothing() {
    alone("lost::a_reset_leaves_nothing", &[], || {
        let scene = Scene::new();
        let (graph, outer, number, counted) = (scene.graph(), scene.graph(), scene.buffer(4), Counted::new());
        let (node, other) = (scene.append(&graph, &[], &number, 1), scene.buffer(4));
        let gone = add(&graph, &[&node], &mut HostFunction::new(|| ()).owned_by(counted.owner()));
        let exec = scene.instantiate(&graph);
        scene.launch(&exec);
        gone.remove().expect("the exec has it yet");
        scene.context.device().reset_primary_context().expect("reset");
        // SAFETY: it is refused.
        let refusals = [
            unsafe { exec.launch(&scene.stream) },
            exec.upload(&scene.stream),
            exec.set_enabled(&node, false),
            unsafe { exec.update(&graph) }.map_err(Into::into),
            unsafe { exec.rebind(&number, &other) }.map(drop),
            Exec::create(&graph, &ExecOptions::default(), None).map(drop).map_err(Into::into),
            graph.clone_graph().map(drop),
            graph.write_dot(c"/dev/null", 0),
            outer.add_child(&[], &graph).map(drop),
        ];
        for refusal in refusals {
            let refusal = refusal.expect_err("the context is gone");
            assert_eq!(refusal.status, DESTROYED, "{refusal}");
        }
        graph.to_json(JsonOptions::default()).expect("what is known here is told");
        drop(exec);
        assert_eq!(counted.released(), 1);
        drop(graph);
        assert_eq!(unreported_release_errors(scene.context.driver()), 0);
    });
}

#[test]
fn others_destroy_a_nodes_context() {
    alone("lost::others_destroy_a_nodes_context", &[], || {
        let scene = Scene::new();
        if !at_least(&scene, 12000) {
            return; // nobody can tell there
        }
        let (graph, counted) = (scene.graph(), Counted::new());
        let there = Context::create(scene.context.device(), 0).expect("a context");
        let image = Image::new(super::KERNELS).expect("an image");
        let library = Library::load(&there, &image, &LoadOptions::default()).expect("a library");
        let kernel = library.kernel("nothing").expect("a kernel");
        let mut config = LaunchConfig::new(1, 1);
        config.context = Some(&there);
        let mut arguments = Arguments::new();
        let first = add(&graph, &[], &mut HostFunction::new(|| ()).owned_by(counted.owner()));
        let there_node = add(&graph, &[&first], &mut Launch::new(&kernel, &config, &mut arguments));
        let (number, other) = (scene.buffer(4), scene.buffer(4));
        scene.append(&graph, &[], &number, 1);
        let exec = scene.instantiate(&graph);
        scene.launch(&exec);
        let destroy = scene.context.driver().table().cuCtxDestroy_4000.expect("every driver has it");
        // SAFETY: this is what others do.
        assert_eq!(unsafe { destroy(there.native()) }.0, 0);
        // SAFETY: it is refused.
        let refusal = unsafe { exec.launch(&scene.stream) }.expect_err("a context is gone");
        assert_eq!(refusal.status, DESTROYED, "{refusal}");
        // SAFETY: as above.
        let refusal = unsafe { exec.rebind(&number, &other) }.expect_err("a context is gone");
        assert_eq!(refusal.status, DESTROYED, "{refusal}");
        drop(exec);
        assert_eq!(counted.released(), 0, "the graph may be used yet");
        there_node.remove().expect("nodes can be removed");
        add(&graph, &[&first], &mut Empty);
        drop(graph);
        let _ = counted.soon_released();
    });
}
