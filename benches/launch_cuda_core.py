#!/usr/bin/env python3
"""What a launch takes through cuda.core: the empty kernels of bench-calls, with 0, 2 and 16 arguments.

usage: benches/launch_cuda_core.py [--millis N] [--core N]

Run it beside `bench-calls --filter launch`, on the same machine and the same core, one after the other and once more:
machines that are lent differ by more than what is compared. Each round launches 64 times and then waits, unmeasured; the
table has nanoseconds per launch, the median over all rounds and its quartiles. Needs a GPU and `pip install cuda-core`.

Exit status: 0 measured; 2 wrong usage; 69 cuda.core or a GPU is missing.
"""
import argparse
import os
import statistics
import sys
import time

BURST = 64
THREADS = 32
COUNTS = (0, 2, 16)


def lacks(what):
    print(f"launch_cuda_core.py: needs {what}", file=sys.stderr)
    sys.exit(69)


try:
    import cuda.core
    try:
        from cuda.core import Device, LaunchConfig, ObjectCode, launch
    except ImportError:  # before 1.0
        from cuda.core.experimental import Device, LaunchConfig, ObjectCode, launch
except ImportError as missing:
    lacks(f"cuda.core ({missing}); pip install cuda-core")


def ptx():
    """The text that bench-calls loads: empty kernels, whose parameters are numbers of 8 bytes."""
    kernels = (
        f".visible .entry take_{count}({', '.join(f'.param .u64 p{i}' for i in range(count))}) {{ ret; }}\n"
        for count in COUNTS
    )
    return ".version 7.0\n.target sm_70\n.address_size 64\n" + "".join(kernels)


def measure(stream, config, kernel, arguments, seconds):
    """Nanoseconds per launch, of each round."""
    def once():
        start = time.perf_counter_ns()
        for _ in range(BURST):
            launch(stream, config, kernel, *arguments)
        taken = time.perf_counter_ns() - start
        stream.sync()
        return taken / BURST

    once()  # pays for what is done once
    rounds, end = [], time.monotonic() + seconds
    while len(rounds) < 9 or time.monotonic() < end:
        rounds.append(once())
    return rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millis", type=int, default=500, help="time for each row (default 500)")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), help="the core to stay on")
    options = parser.parse_args()
    try:
        device = Device()
        device.set_current()
    except Exception as error:  # whatever it says without a driver or a device
        lacks(f"a GPU: {error}")
    os.sched_setaffinity(0, {options.core})  # the driver has started its threads by now
    stream = device.create_stream()
    code = ObjectCode.from_ptx(ptx().encode())
    config = LaunchConfig(grid=1, block=THREADS)
    print(f"cuda.core {cuda.core.__version__}, python {sys.version.split()[0]}, {device.name}, core {options.core}")
    print("ns per launch: the median over the rounds [quartiles]")
    for count in COUNTS:
        rounds = measure(stream, config, code.get_kernel(f"take_{count}"), range(count), options.millis / 1000)
        low, median, high = statistics.quantiles(rounds, n=4)
        name = f"launch, {count or 'no'} arguments"
        print(f"{name:<32}{median:>9.0f} [{low:.0f} {high:.0f}]{len(rounds):>9} rounds")


if __name__ == "__main__":
    main()
