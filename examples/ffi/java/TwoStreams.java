// Two streams, an event between them, a kernel, a captured graph with a parameter, and a future that completes when the work is done.
//
//   java -cp jna.jar TwoStreams.java PREFIX     PREFIX is where scripts/install.sh has installed cushim
//
// docs/languages/java.md explains it.
import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;

public class TwoStreams {
  /** What of cushim the program uses, as cushim.cdef.h has it. A handle is a Pointer that is never followed; size_t is a long. */
  public interface Cushim extends Library {
    int ENDPOINT_HOST = 1, ENDPOINT_BUFFER = 5;
    int ARG_BYTES = 1, ARG_BUFFER = 3, ARG_PARAMETER = 6;

    String cushim_last_error_message();
    String cushim_status_name(int status);
    int cushim_set_label(Pointer handle, String label);
    int cushim_driver_open(Pointer options, PointerByReference driver);
    int cushim_driver_get_info(Pointer driver, Info info);
    int cushim_driver_get_device(Pointer driver, int ordinal, PointerByReference device);
    int cushim_driver_destroy(Pointer driver);
    int cushim_context_retain_primary(Pointer device, PointerByReference context);
    int cushim_context_allocate_host(Pointer context, long bytes, int flags, PointerByReference address);
    int cushim_context_free_host(Pointer context, Pointer address);
    int cushim_context_destroy(Pointer context);
    int cushim_stream_create(Pointer context, Pointer options, PointerByReference stream);
    int cushim_stream_wait_event(Pointer stream, Pointer event);
    int cushim_stream_copy(Pointer stream, Endpoint destination, Endpoint source, long bytes);
    int cushim_stream_launch_host_function(Pointer stream, Pointer function, long data, Pointer owner);
    int cushim_stream_destroy(Pointer stream);
    int cushim_event_create(Pointer context, Pointer options, PointerByReference event);
    int cushim_event_record(Pointer event, Pointer stream);
    int cushim_event_destroy(Pointer event);
    int cushim_buffer_create_default(Pointer device, Pointer stream, long bytes, PointerByReference buffer);
    int cushim_buffer_destroy(Pointer buffer);
    int cushim_library_load(Pointer context, byte[] image, long size, Pointer options, PointerByReference library);
    int cushim_library_destroy(Pointer library);
    int cushim_kernel_create(Pointer library, String name, PointerByReference kernel);
    int cushim_kernel_launch(Pointer kernel, Pointer stream, LaunchConfig config, Pointer args, long argCount);
    int cushim_kernel_destroy(Pointer kernel);
    int cushim_builder_create(Pointer context, Pointer options, PointerByReference builder);
    int cushim_builder_begin(Pointer builder);
    Pointer cushim_builder_stream(Pointer builder);
    int cushim_builder_end(Pointer builder, PointerByReference graph);
    int cushim_builder_destroy(Pointer builder);
    int cushim_graph_destroy(Pointer graph);
    int cushim_exec_create(Pointer graph, Pointer options, PointerByReference exec, Pointer result);
    int cushim_exec_launch(Pointer exec, Pointer stream);
    int cushim_exec_set_parameter(Pointer exec, String name, Pointer value, long size, Pointer nodes);
    int cushim_exec_destroy(Pointer exec);
    int cushim_drain_fd(IntByReference fd);
    int cushim_drain(Pointer items, long stride, long capacity, LongByReference count);

    @FieldOrder({"structSize", "version", "kind", "path", "getter", "candidateCount", "symbolCount", "olderThanSupported", "reserved"})
    class Info extends Structure {
      public long structSize = size();
      public int version, kind;
      public String path, getter;
      public long candidateCount, symbolCount;
      public int olderThanSupported, reserved;
    }

    @FieldOrder({"kind", "flags", "address", "offset", "context", "owner"})
    class Endpoint extends Structure {
      public int kind, flags;
      public long address, offset;
      public Pointer context, owner;

      public Endpoint(int kind, Pointer address) {
        this.kind = kind;
        this.address = Pointer.nativeValue(address);
      }
    }

    @FieldOrder({"structSize", "grid", "block", "cluster", "sharedBytes", "flags", "priority", "memorySyncDomain",
        "programmaticEventFlags", "programmaticEvent", "attributes", "attributeCount", "attributeStride", "context"})
    class LaunchConfig extends Structure {
      public long structSize;
      public int[] grid, block, cluster = new int[3];
      public int sharedBytes, flags, priority, memorySyncDomain, programmaticEventFlags;
      public Pointer programmaticEvent, attributes;
      public long attributeCount, attributeStride;
      public Pointer context;

      public LaunchConfig(int grid, int block) {
        this.grid = new int[] {grid, 1, 1};
        this.block = new int[] {block, 1, 1};
        structSize = size();
      }
    }
  }

  /** The C library's, to wait for a descriptor. */
  public interface C extends Library {
    int poll(Pointer fds, long count, int timeout);
  }

  static Cushim lib;

  public static class CushimException extends RuntimeException {
    public final String status;

    CushimException(int status) {
      super(lib.cushim_last_error_message()); // of this thread's last failed call
      this.status = lib.cushim_status_name(status);
    }
  }

  static void check(int status) {
    if (status != 0) throw new CushimException(status);
  }

  /** Calls a function that returns a handle in the place that it gets. */
  static Pointer out(ToIntFunction<PointerByReference> function) {
    PointerByReference place = new PointerByReference();
    check(function.applyAsInt(place));
    return place.getValue();
  }

  /** A handle; of a borrowed one, nothing more. */
  static class Handle {
    final Pointer pointer;

    Handle(Pointer pointer) {
      this.pointer = pointer;
    }

    /**
     * Calls a function with the handle. The object is reachable until the call has returned: without the fence, its cleaner may run
     * while the call is made, as soon as `pointer` has been read.
     */
    final void call(ToIntFunction<Pointer> function, Object... others) {
      try {
        check(function.applyAsInt(pointer));
      } finally {
        Reference.reachabilityFence(this);
        Reference.reachabilityFence(others);
      }
    }
  }

  /** An object of the library with a handle of its own: in try-with-resources, or destroyed when nothing refers to it any more. */
  static class Owned extends Handle implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();
    private final Cleaner.Cleanable cleanable;

    Owned(ToIntFunction<PointerByReference> create, ToIntFunction<Pointer> destroy) {
      super(out(create));
      cleanable = CLEANER.register(this, clean(pointer, destroy));
    }

    // Static: what cleans must not refer to the object.
    private static Runnable clean(Pointer pointer, ToIntFunction<Pointer> destroy) {
      return () -> check(destroy.applyAsInt(pointer));
    }

    @Override
    public void close() {
      cleanable.clean(); // a second time does nothing
    }
  }

  static class Driver extends Owned {
    Driver() {
      super(place -> lib.cushim_driver_open(null, place), lib::cushim_driver_destroy);
    }

    Cushim.Info info() {
      Cushim.Info info = new Cushim.Info();
      call(driver -> lib.cushim_driver_get_info(driver, info));
      return info;
    }

    Device device(int ordinal) {
      return new Device(out(place -> lib.cushim_driver_get_device(pointer, ordinal, place)));
    }
  }

  static class Device extends Handle {
    Device(Pointer pointer) {
      super(pointer);
    }

    Context primaryContext() {
      return new Context(this);
    }

    Buffer allocate(Stream stream, long bytes) {
      return new Buffer(this, stream, bytes);
    }
  }

  static class Context extends Owned {
    Context(Device device) {
      super(place -> lib.cushim_context_retain_primary(device.pointer, place), lib::cushim_context_destroy);
    }

    Stream stream(String label) {
      Stream stream = new Stream(this);
      stream.call(handle -> lib.cushim_set_label(handle, label));
      return stream;
    }

    Event event() {
      return new Event(this);
    }

    HostFloats floats(int count) {
      return new HostFloats(this, count);
    }

    Kernel load(String code, String name) {
      byte[] image = code.getBytes(StandardCharsets.UTF_8);
      try (Owned library = new Owned(
          place -> lib.cushim_library_load(pointer, image, image.length, null, place), lib::cushim_library_destroy)) {
        return new Kernel(library, name); // which keeps the library
      }
    }

    /** What is enqueued in the stream that `record` gets, as a graph. */
    Exec capture(Consumer<Handle> record) {
      try (Owned builder = new Owned(place -> lib.cushim_builder_create(pointer, null, place), lib::cushim_builder_destroy)) {
        builder.call(lib::cushim_builder_begin);
        record.accept(new Handle(lib.cushim_builder_stream(builder.pointer)));
        try (Owned graph = new Owned(place -> lib.cushim_builder_end(builder.pointer, place), lib::cushim_graph_destroy)) {
          return new Exec(graph);
        }
      }
    }
  }

  /** Page-locked memory: arrays of Java move, and this does not. */
  static class HostFloats implements AutoCloseable {
    final Context context;
    final Pointer address;
    final FloatBuffer values;

    HostFloats(Context context, int count) {
      this.context = context;
      address = out(place -> lib.cushim_context_allocate_host(context.pointer, 4L * count, 0, place));
      values = address.getByteBuffer(0, 4L * count).order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    Cushim.Endpoint endpoint() {
      return new Cushim.Endpoint(Cushim.ENDPOINT_HOST, address);
    }

    @Override
    public void close() {
      context.call(handle -> lib.cushim_context_free_host(handle, address));
    }
  }

  static class Stream extends Owned {
    private static final Map<Long, CompletableFuture<Void>> WAITING = new ConcurrentHashMap<>();
    private static final AtomicLong LAST = new AtomicLong();

    Stream(Context context) {
      super(place -> lib.cushim_stream_create(context.pointer, null, place), lib::cushim_stream_destroy);
    }

    void await(Event event) {
      call(stream -> lib.cushim_stream_wait_event(stream, event.pointer), event);
    }

    void copy(Cushim.Endpoint to, Cushim.Endpoint from, long bytes) {
      call(stream -> lib.cushim_stream_copy(stream, to, from, bytes));
    }

    /**
     * Completes when the work that is in the stream now is done. The driver does not call Java: the library gives back the number of
     * the future, to the thread that drains.
     */
    CompletableFuture<Void> done() {
      CompletableFuture<Void> future = new CompletableFuture<>();
      long number = LAST.incrementAndGet();
      WAITING.put(number, future);
      call(stream -> lib.cushim_stream_launch_host_function(stream, null, number, null));
      return future;
    }

    static void drain(C c) {
      IntByReference fd = new IntByReference();
      check(lib.cushim_drain_fd(fd));
      Memory poll = new Memory(8), items = new Memory(8 * 1024); // struct pollfd, cushim_drain_item
      poll.setInt(0, fd.getValue());
      poll.setInt(4, 1); // POLLIN
      LongByReference count = new LongByReference();
      while (true) {
        c.poll(poll, 1, -1);
        check(lib.cushim_drain(items, 1024, 8, count));
        for (long i = 0; i < count.getValue(); i++) WAITING.remove(items.getLong(i * 1024 + 8)).complete(null);
      }
    }
  }

  static class Event extends Owned {
    Event(Context context) {
      super(place -> lib.cushim_event_create(context.pointer, null, place), lib::cushim_event_destroy);
    }

    void record(Stream stream) {
      call(event -> lib.cushim_event_record(event, stream.pointer), stream);
    }
  }

  static class Buffer extends Owned {
    Buffer(Device device, Stream stream, long bytes) {
      super(place -> lib.cushim_buffer_create_default(device.pointer, stream.pointer, bytes, place), lib::cushim_buffer_destroy);
    }

    Cushim.Endpoint endpoint() {
      return new Cushim.Endpoint(Cushim.ENDPOINT_BUFFER, pointer);
    }
  }

  /** An argument of a kernel. `keeps` is what `value` points to: it must stay until the call has returned. */
  record Arg(int kind, int size, Pointer value, List<Object> keeps) {
    static Arg memory(Buffer buffer) {
      return new Arg(Cushim.ARG_BUFFER, 0, buffer.pointer, List.of(buffer));
    }

    static Arg number(float value) {
      Memory kept = memoryOf(value);
      return new Arg(Cushim.ARG_BYTES, 4, kept, List.of(kept));
    }

    /** A number that has a name: Exec.set changes it. */
    static Arg parameter(String name, float value) {
      byte[] text = name.getBytes(StandardCharsets.UTF_8);
      Memory named = new Memory(text.length + 1), kept = memoryOf(value), parameter = new Memory(24);
      named.write(0, text, 0, text.length);
      named.setByte(text.length, (byte) 0);
      parameter.setPointer(0, named);
      parameter.setPointer(8, kept);
      parameter.setLong(16, 4); // size, and zero for what is reserved
      return new Arg(Cushim.ARG_PARAMETER, 0, parameter, List.of(named, kept));
    }

    static Memory memoryOf(float value) {
      Memory memory = new Memory(4);
      memory.setFloat(0, value);
      return memory;
    }
  }

  static class Kernel extends Owned {
    Kernel(Owned library, String name) {
      super(place -> lib.cushim_kernel_create(library.pointer, name, place), lib::cushim_kernel_destroy);
    }

    void launch(Handle stream, int grid, int block, Arg... args) {
      Memory packed = new Memory(16L * args.length);
      for (int i = 0; i < args.length; i++) {
        packed.setInt(16L * i, args[i].kind);
        packed.setInt(16L * i + 4, args[i].size);
        packed.setPointer(16L * i + 8, args[i].value);
      }
      Cushim.LaunchConfig config = new Cushim.LaunchConfig(grid, block);
      call(kernel -> lib.cushim_kernel_launch(kernel, stream.pointer, config, packed, args.length), stream, args);
    }
  }

  static class Exec extends Owned {
    Exec(Owned graph) {
      super(place -> lib.cushim_exec_create(graph.pointer, null, place, null), lib::cushim_exec_destroy);
    }

    void launch(Stream stream) {
      call(exec -> lib.cushim_exec_launch(exec, stream.pointer), stream);
    }

    void set(String name, float value) {
      Memory memory = Arg.memoryOf(value);
      call(exec -> lib.cushim_exec_set_parameter(exec, name, memory, 4, null));
    }
  }

  /** numbers[i] *= by */
  static final String SCALE = """
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
      """;

  static final int COUNT = 1024, BYTES = 4 * COUNT;

  public static void main(String[] arguments) {
    if (arguments.length != 1) throw new IllegalArgumentException("usage: java -cp jna.jar TwoStreams.java PREFIX");
    Map<String, Object> options = Map.of(Library.OPTION_STRING_ENCODING, "UTF-8");
    lib = Native.load(arguments[0] + "/lib/libcushim.so.0.1", Cushim.class, options);
    C c = Native.load("c", C.class);
    Thread drains = new Thread(() -> Stream.drain(c), "cushim");
    drains.setDaemon(true); // it does not keep the program
    drains.start();

    String[] kinds = {"none", "native", "compat", "WSL", "Tegra", "software"};
    try (Driver driver = new Driver()) {
      Cushim.Info info = driver.info();
      System.err.printf("driver of CUDA %d.%d, %s%n", info.version / 1000, info.version % 1000 / 10,
          info.kind < kinds.length ? kinds[info.kind] : "other");
      Device device = driver.device(0);
      try (Context context = device.primaryContext(); HostFloats numbers = context.floats(COUNT);
          Stream upload = context.stream("upload"); Stream compute = context.stream("compute"); Event uploaded = context.event();
          Kernel scale = context.load(SCALE, "scale"); Buffer buffer = device.allocate(upload, BYTES)) {
        for (int i = 0; i < COUNT; i++) numbers.values.put(i, i);

        // One stream copies, and the other one waits for that.
        upload.copy(buffer.endpoint(), numbers.endpoint(), BYTES);
        uploaded.record(upload);
        compute.await(uploaded);
        scale.launch(compute, COUNT / 128, 128, Arg.memory(buffer), Arg.number(2));

        // The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
        try (Exec exec = context.capture(
            stream -> scale.launch(stream, COUNT / 128, 128, Arg.memory(buffer), Arg.parameter("by", 3)))) {
          exec.launch(compute);
          exec.set("by", 0.5f);
          exec.launch(compute);
        }

        compute.copy(numbers.endpoint(), buffer.endpoint(), BYTES);
        compute.done().join();
        for (int i = 0; i < COUNT; i++) {
          float number = numbers.values.get(i);
          if (number != i * 3) throw new AssertionError("number " + i + " is " + number + " instead of " + i * 3);
        }
        System.out.println(COUNT + " numbers are right");

        // A handle that was destroyed is refused, with a sentence.
        upload.close();
        System.out.println(refusal(() -> uploaded.record(upload)));
      }
    }
  }

  static String refusal(Runnable call) {
    try {
      call.run();
    } catch (CushimException refused) {
      if (refused.getMessage().contains("upload")) return refused.getMessage();
      throw refused;
    }
    throw new AssertionError("a destroyed stream was accepted");
  }
}
