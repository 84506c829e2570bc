// The kernels of switch.c and switch.cpp in CUDA C++.

// The driver's own, since 12.3: nothing has to be linked.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long condition, unsigned value);

// What is computed, the operand, where the machine reads next, and how many instructions there are.
struct machine {
  unsigned result, operand, at, count;
};

struct instruction {
  unsigned which, operand;
};

// Reads an instruction and its operand; one condition is which it is, the other whether there are more.
extern "C" __global__ void fetch(unsigned long long which, unsigned long long more, machine *machine, const instruction *program) {
  const instruction &next = program[machine->at++];
  machine->operand = next.operand;
  cudaGraphSetConditional(which, next.which);
  cudaGraphSetConditional(more, machine->at < machine->count);
}

extern "C" __global__ void add(machine *machine) { machine->result += machine->operand; }

extern "C" __global__ void subtract(machine *machine) { machine->result -= machine->operand; }

extern "C" __global__ void multiply(machine *machine) { machine->result *= machine->operand; }
