// Two streams, an event between them, a kernel, a captured graph with a parameter, and a promise for when the work is done.
//
//   npm install
//   node two_streams.js PREFIX     PREFIX is where scripts/install.sh has installed cushim
//
// docs/languages/node.md explains it.
import koffi from 'koffi';

const prefix = process.argv[2];
if (!prefix) throw new Error('usage: node two_streams.js PREFIX');
const library = koffi.load(`${prefix}/lib/libcushim.so.0.1`);

// What of cushim the program uses, as cushim.cdef.h has it. A handle is `void *`, which is a BigInt for koffi. --------------

koffi.struct('driver_info', {
  struct_size: 'size_t', version: 'int32_t', kind: 'int32_t', path: 'const char *', getter: 'const char *',
  candidate_count: 'size_t', symbol_count: 'size_t', older_than_supported: 'int32_t', reserved: 'int32_t',
});
koffi.struct('endpoint', {
  kind: 'int32_t', flags: 'uint32_t', address: 'uint64_t', offset: 'uint64_t', context: 'void *', owner: 'void *',
});
koffi.struct('dim3', {x: 'uint32_t', y: 'uint32_t', z: 'uint32_t'});
koffi.struct('launch_config', {
  struct_size: 'size_t', grid: 'dim3', block: 'dim3', cluster: 'dim3', shared_bytes: 'uint32_t', flags: 'uint32_t',
  priority: 'int32_t', memory_sync_domain: 'int32_t', programmatic_event_flags: 'uint32_t', programmatic_event: 'void *',
  attributes: 'void *', attribute_count: 'size_t', attribute_stride: 'size_t', context: 'void *',
});
koffi.struct('arg', {kind: 'int32_t', size: 'uint32_t', value: 'void *'});
koffi.struct('parameter', {name: 'const char *', value: 'void *', size: 'uint32_t', reserved: 'uint32_t'});
koffi.struct('drain_item', {
  kind: 'int32_t', level: 'int32_t', data: 'uintptr_t', target: koffi.array('char', 48), text: koffi.array('char', 960),
});

const ENDPOINT_HOST = 1, ENDPOINT_BUFFER = 5;
const ARG_BYTES = 1, ARG_BUFFER = 3, ARG_PARAMETER = 6;
const KINDS = ['none', 'native', 'compat', 'WSL', 'Tegra', 'software'];

const lastMessage = library.func('const char *cushim_last_error_message()');
const statusName = library.func('const char *cushim_status_name(int32_t status)');

class CushimError extends Error {
  constructor(status) {
    super(lastMessage()); // the thread's last failed call: read here, before anything is awaited
    this.name = 'CushimError';
    this.code = statusName(status);
  }
}

// A function of the library, which throws where the library returns a status that is not zero.
function declare(prototype) {
  const call = library.func(`int32_t cushim_${prototype}`);
  return (...given) => {
    const status = call(...given);
    if (status !== 0) throw new CushimError(status);
  };
}

const lib = {
  setLabel: declare('set_label(void *handle, const char *label)'),
  driverOpen: declare('driver_open(void *options, _Out_ void **driver)'),
  driverGetInfo: declare('driver_get_info(void *driver, _Inout_ driver_info *info)'),
  driverGetDevice: declare('driver_get_device(void *driver, int32_t ordinal, _Out_ void **device)'),
  contextRetainPrimary: declare('context_retain_primary(void *device, _Out_ void **context)'),
  contextAllocateHost: declare('context_allocate_host(void *context, size_t bytes, uint32_t flags, _Out_ void **address)'),
  contextFreeHost: declare('context_free_host(void *context, void *address)'),
  streamCreate: declare('stream_create(void *context, void *options, _Out_ void **stream)'),
  streamWaitEvent: declare('stream_wait_event(void *stream, void *event)'),
  streamCopy: declare('stream_copy(void *stream, endpoint *destination, endpoint *source, size_t bytes)'),
  streamLaunchHostFunction: declare('stream_launch_host_function(void *stream, void *function, uintptr_t data, void *owner)'),
  eventCreate: declare('event_create(void *context, void *options, _Out_ void **event)'),
  eventRecord: declare('event_record(void *event, void *stream)'),
  bufferCreateDefault: declare('buffer_create_default(void *device, void *stream, size_t bytes, _Out_ void **buffer)'),
  libraryLoad: declare('library_load(void *context, const char *image, size_t size, void *options, _Out_ void **library)'),
  kernelCreate: declare('kernel_create(void *library, const char *name, _Out_ void **kernel)'),
  kernelLaunch: declare('kernel_launch(void *kernel, void *stream, launch_config *config, arg *args, size_t arg_count)'),
  builderCreate: declare('builder_create(void *context, void *options, _Out_ void **builder)'),
  builderBegin: declare('builder_begin(void *builder)'),
  builderEnd: declare('builder_end(void *builder, _Out_ void **graph)'),
  builderStream: library.func('void *cushim_builder_stream(void *builder)'),
  execCreate: declare('exec_create(void *graph, void *options, _Out_ void **exec, void *result)'),
  execLaunch: declare('exec_launch(void *exec, void *stream)'),
  execSetParameter: declare('exec_set_parameter(void *exec, const char *name, const void *value, size_t size, void *nodes)'),
  drainFd: declare('drain_fd(_Out_ int32_t *fd)'),
  drain: declare('drain(_Out_ drain_item *items, size_t stride, size_t capacity, _Out_ size_t *count)'),
};
const destroy = {};
for (const kind of ['driver', 'context', 'stream', 'event', 'buffer', 'library', 'kernel', 'builder', 'graph', 'exec']) {
  destroy[kind] = declare(`${kind}_destroy(void *handle)`);
}

// The same by the habits of JavaScript. -----------------------------------------------------------------------------

// Destroys what the program has not closed, some time after nobody refers to it any more.
const forgotten = new FinalizationRegistry(({kind, handle}) => destroy[kind](handle));

// An object of the library with a handle of its own.
class Owned {
  constructor(kind, create) {
    const place = [null];
    create(place);
    this.handle = place[0];
    this.kind = kind;
    forgotten.register(this, {kind: this.kind, handle: this.handle}, this);
  }

  close() {
    forgotten.unregister(this);
    destroy[this.kind](this.handle);
  }
}

class Driver extends Owned {
  constructor() { super('driver', place => lib.driverOpen(null, place)); }

  get info() {
    const info = {struct_size: koffi.sizeof('driver_info')};
    lib.driverGetInfo(this.handle, info);
    return info;
  }

  // A handle that a getter returns is borrowed: nobody destroys it.
  device(ordinal) {
    const place = [null];
    lib.driverGetDevice(this.handle, ordinal, place);
    return {handle: place[0]};
  }
}

class Context extends Owned {
  constructor(device) { super('context', place => lib.contextRetainPrimary(device.handle, place)); }

  // Page-locked memory, which the collector neither moves nor frees.
  allocateHost(bytes) {
    const place = [null];
    lib.contextAllocateHost(this.handle, bytes, 0, place);
    return place[0];
  }

  freeHost(address) { lib.contextFreeHost(this.handle, address); }

  load(code) { return new Library('library', place => lib.libraryLoad(this.handle, code, Buffer.byteLength(code), null, place)); }

  // What `record` enqueues in the stream that it gets, as a graph.
  capture(record) {
    const builder = new Owned('builder', place => lib.builderCreate(this.handle, null, place));
    try {
      lib.builderBegin(builder.handle);
      record({handle: lib.builderStream(builder.handle)});
      return new Graph('graph', place => lib.builderEnd(builder.handle, place));
    } finally {
      builder.close();
    }
  }
}

// Who waits for work: by a number, which the library gives back when the stream has come so far. The driver calls no JavaScript.
const waiting = new Map();
let last = 0;
let poll = null;

function drain() {
  const items = Array(8).fill(null), count = [0];
  lib.drain(items, koffi.sizeof('drain_item'), items.length, count);
  for (const {data} of items.slice(0, count[0])) {
    const resolve = waiting.get(data);
    waiting.delete(data);
    resolve();
  }
  if (waiting.size === 0) poll.unref(); // Node may end
}

class Stream extends Owned {
  constructor(context, label) {
    super('stream', place => lib.streamCreate(context.handle, null, place));
    lib.setLabel(this.handle, label);
  }

  wait(event) { lib.streamWaitEvent(this.handle, event.handle); }
  copy(to, from, bytes) { lib.streamCopy(this.handle, to, from, bytes); }

  // A promise that is resolved when the work that is in the stream now is done. The event loop waits, on a descriptor.
  done() {
    if (!poll) {
      const fd = [0];
      lib.drainFd(fd);
      poll = koffi.node.poll(fd[0], {readable: true}, drain);
    }
    lib.streamLaunchHostFunction(this.handle, null, ++last, null);
    poll.ref();
    return new Promise(resolve => waiting.set(last, resolve));
  }
}

class Event extends Owned {
  constructor(context) { super('event', place => lib.eventCreate(context.handle, null, place)); }
  record(stream) { lib.eventRecord(this.handle, stream.handle); }
}

class Library extends Owned {
  kernel(name) { return new Kernel('kernel', place => lib.kernelCreate(this.handle, name, place)); }
}
class Graph extends Owned {
  instantiate() { return new Exec('exec', place => lib.execCreate(this.handle, null, place, null)); }
}
class Exec extends Owned {
  launch(stream) { lib.execLaunch(this.handle, stream.handle); }
  set(name, value) { lib.execSetParameter(this.handle, name, value, value.byteLength, null); }
}

const onHost = address => ({kind: ENDPOINT_HOST, address});
const onDevice = buffer => ({kind: ENDPOINT_BUFFER, address: buffer.handle});

// Arguments of kernels: memory of a device, a value as a typed array of one, and a value that has a name. What they point to stays
// until the call returns.
const memory = buffer => ({kind: ARG_BUFFER, size: 0, value: buffer.handle});
const value = array => ({kind: ARG_BYTES, size: array.byteLength, value: array});
const parameter = (name, array) => ({
  kind: ARG_PARAMETER, size: 0, value: koffi.as({name, value: array, size: array.byteLength, reserved: 0}, 'parameter *'),
});

class Kernel extends Owned {
  launch(stream, grid, block, ...args) {
    const config = {struct_size: koffi.sizeof('launch_config'), grid: {x: grid, y: 1, z: 1}, block: {x: block, y: 1, z: 1}};
    lib.kernelLaunch(this.handle, stream.handle, config, args, args.length);
  }
}

// The program. ------------------------------------------------------------------------------------------------------

// numbers[i] *= by
const SCALE = `
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 numbers, .param .f32 by) {
  .reg .u32 %i, %block, %threads;
  .reg .u64 %at, %offset;
  .reg .f32 %by, %number;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  mul.wide.u32 %offset, %i, 4;
  ld.param.u64 %at, [numbers];
  ld.param.f32 %by, [by];
  add.u64 %at, %at, %offset;
  ld.global.f32 %number, [%at];
  mul.f32 %number, %number, %by;
  st.global.f32 [%at], %number;
  ret;
}
`;

const COUNT = 1024, BYTES = 4 * COUNT;

const driver = new Driver();
const {version, kind} = driver.info;
console.error(`driver of CUDA ${Math.floor(version / 1000)}.${version % 1000 / 10}, ${KINDS[kind] ?? 'other'}`);

const device = driver.device(0);
const context = new Context(device);
const upload = new Stream(context, 'upload'), compute = new Stream(context, 'compute');
const uploaded = new Event(context);
const scale = context.load(SCALE).kernel('scale');

const pinned = context.allocateHost(BYTES);
const numbers = new Float32Array(koffi.view(pinned, BYTES));
numbers.forEach((_, i) => { numbers[i] = i; });
const buffer = new Owned('buffer', place => lib.bufferCreateDefault(device.handle, upload.handle, BYTES, place));

// One stream copies, and the other one waits for that.
upload.copy(onDevice(buffer), onHost(pinned), BYTES);
uploaded.record(upload);
compute.wait(uploaded);
scale.launch(compute, COUNT / 128, 128, memory(buffer), value(Float32Array.of(2)));

// The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
const graph = context.capture(stream => {
  scale.launch(stream, COUNT / 128, 128, memory(buffer), parameter('by', Float32Array.of(3)));
});
const exec = graph.instantiate();
exec.launch(compute);
exec.set('by', Float32Array.of(0.5));
exec.launch(compute);

compute.copy(onHost(pinned), onDevice(buffer), BYTES);
await compute.done();

numbers.forEach((number, i) => {
  if (number !== i * 3) throw new Error(`number ${i} is ${number} instead of ${i * 3}`);
});
console.log(`${COUNT} numbers are right`);
context.freeHost(pinned);

// A handle that was destroyed is refused, with a sentence.
upload.close();
let refused;
try {
  uploaded.record(upload);
} catch (error) {
  refused = error;
}
if (!(refused instanceof CushimError && refused.message.includes('upload'))) throw new Error('a destroyed stream was accepted');
console.log(refused.message);
