#!/usr/bin/env python3
"""What launches and changes of execs take through cuda.core: the patterns of bench-launches, in a stream that cuda.core created.

usage: benches/graph_cuda_core.py [--rounds N] [--nodes N] [--core N]

Run it beside `bench-launches`, on the same machine, one after the other and once more: machines that are lent differ by more than what is
compared. Chains of 1, 10 and 100 nodes, each of which uses a buffer, are launched in bursts of 1, 20 and 200, after each of which it waits,
unmeasured; nanoseconds of the thread for each launch, medians over the rounds. Then the arguments of N nodes are set, another buffer and
another number, with a launch after that. Needs a GPU and `pip install cuda-core` (1.2 or later).

Exit status: 0 measured; 2 wrong usage; 69 cuda.core or a GPU is missing.
"""
import argparse
import ctypes
import os
import statistics
import sys
import time

SIZES = (1, 10, 100)
BURSTS = (1, 20, 200)
WARM = 3
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 memory, .param .u32 number) { ret; }
"""


def lacks(what):
    print(f"graph_cuda_core.py: needs {what}", file=sys.stderr)
    sys.exit(69)


try:
    import cuda.core
    from cuda.core import Device, LaunchConfig, ObjectCode
    from cuda.core.graph import GraphDefinition
except ImportError as missing:
    lacks(f"cuda.core 1.2 ({missing}); pip install cuda-core")

CONFIG = LaunchConfig(grid=1, block=1)


def chain(kernel, buffer, count):
    """A chain of nodes, and the graph that they are in."""
    graph = GraphDefinition()
    nodes = []
    for _ in range(count):
        after = nodes[-1] if nodes else graph
        nodes.append(after.launch(CONFIG, kernel, buffer, ctypes.c_uint32(1)))
    return graph, nodes


def launches(stream, instance, burst, rounds):
    """Nanoseconds for each launch: until the last was made, and until it was done."""
    issued, done = [], []
    for round_ in range(WARM + rounds):
        start = time.perf_counter_ns()
        for _ in range(burst):
            instance.launch(stream)
        made = time.perf_counter_ns()
        stream.sync()
        end = time.perf_counter_ns()
        if round_ >= WARM:
            issued.append((made - start) / burst)
            done.append((end - start) / burst)
    return statistics.median(issued), statistics.median(done)


def changes(stream, kernel, buffers, count, rounds):
    """Nanoseconds for each node: of the changes, and of the changes and the launch after them."""
    graph, nodes = chain(kernel, buffers[0], count)
    instance = graph.instantiate()
    views = [instance[node] for node in nodes]
    changed, launched = [], []
    for round_ in range(1 + rounds):  # the first pays for what is done once
        arguments = (buffers[1 - round_ % 2], ctypes.c_uint32(round_))
        start = time.perf_counter_ns()
        for view in views:
            view.update(config=CONFIG, kernel=kernel, args=arguments)
        set_ = time.perf_counter_ns()
        instance.launch(stream)
        end = time.perf_counter_ns()
        stream.sync()
        if round_ > 0:
            changed.append((set_ - start) / count)
            launched.append((end - start) / count)
    return statistics.median(changed), statistics.median(launched)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101, help="rounds of each row (default 101)")
    parser.add_argument("--nodes", type=int, default=1000, help="nodes that are changed (default 1000)")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), help="the core to stay on")
    options = parser.parse_args()
    try:
        device = Device()
        device.set_current()
    except Exception as error:  # whatever it says without a driver or a device
        lacks(f"a GPU: {error}")
    os.sched_setaffinity(0, {options.core})  # the driver has started its threads by now
    stream = device.create_stream()
    kernel = ObjectCode.from_ptx(PTX).get_kernel("nothing")
    buffers = [device.allocate(4096, stream=stream) for _ in range(2)]
    print(f"cuda.core {cuda.core.__version__}, python {sys.version.split()[0]}, {device.name}, core {options.core}; nanoseconds\n")
    print("| stream | nodes | burst | cuda.core | until done |\n|---|---|---|---|---|")
    for count in SIZES:
        graph, _ = chain(kernel, buffers[0], count)
        instance = graph.instantiate()
        for burst in BURSTS:
            issued, done = launches(stream, instance, burst, options.rounds)
            print(f"| created stream | {count} | {burst} | {issued:.0f} | {done:.0f} |", flush=True)
    changed, launched = changes(stream, kernel, buffers, options.nodes, options.rounds)
    print("\n| changed | for each node | with the launch |\n|---|---|---|")
    print(f"| buffer and number of {options.nodes} nodes | {changed:.0f} | {launched:.0f} |")


if __name__ == "__main__":
    main()
