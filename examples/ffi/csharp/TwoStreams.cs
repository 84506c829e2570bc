// Two streams, an event between them, a kernel, a captured graph with a parameter, and a task that completes when the work is done.
//
//   mcs TwoStreams.cs
//   LD_LIBRARY_PATH=PREFIX/lib mono TwoStreams.exe     PREFIX is where scripts/install.sh has installed cushim
//
// docs/languages/csharp.md explains it.
using System;
using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Cushim {
  // What of cushim the program uses, as cushim.cdef.h has it. -----------------------------------------------------------------

  [StructLayout(LayoutKind.Sequential)]
  struct DriverInfo {
    public UIntPtr StructSize;
    public int Version, Kind;
    public IntPtr Path, Getter;
    public UIntPtr CandidateCount, SymbolCount;
    public int OlderThanSupported, Reserved;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct Endpoint {
    public int Kind;
    public uint Flags;
    public ulong Address, Offset;
    public IntPtr Context, Owner;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct Dim3 {
    public uint X, Y, Z;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct LaunchConfig {
    public UIntPtr StructSize;
    public Dim3 Grid, Block, Cluster;
    public uint SharedBytes, Flags;
    public int Priority, MemorySyncDomain;
    public uint ProgrammaticEventFlags;
    public IntPtr ProgrammaticEvent, Attributes;
    public UIntPtr AttributeCount, AttributeStride;
    public IntPtr Context;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct ArgData {
    public int Kind;
    public uint Size;
    public IntPtr Value;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct ParameterData {
    public IntPtr Name, Value;
    public uint Size, Reserved;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct DrainItem {
    public int Kind, Level;
    public IntPtr Data;
    [MarshalAs(UnmanagedType.ByValArray, SizeConst = 48)] public byte[] Target;
    [MarshalAs(UnmanagedType.ByValArray, SizeConst = 960)] public byte[] Text;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct PollFd {
    public int Fd;
    public short Events, Returned;
  }

  static class Lib {
    const string Name = "libcushim.so.0.1";
    public const int EndpointHost = 1, EndpointBuffer = 5;
    public const int ArgBytes = 1, ArgBuffer = 3, ArgParameter = 6;

    [DllImport(Name)] public static extern IntPtr cushim_last_error_message();
    [DllImport(Name)] public static extern int cushim_set_label(Stream handle, string label);
    [DllImport(Name)] public static extern int cushim_driver_open(IntPtr options, out Driver driver);
    [DllImport(Name)] public static extern int cushim_driver_get_info(Driver driver, ref DriverInfo info);
    [DllImport(Name)] public static extern int cushim_driver_get_device(Driver driver, int ordinal, out IntPtr device);
    [DllImport(Name)] public static extern int cushim_driver_destroy(IntPtr driver);
    [DllImport(Name)] public static extern int cushim_context_retain_primary(IntPtr device, out Context context);
    [DllImport(Name)] public static extern int cushim_context_allocate_host(
      Context context, UIntPtr bytes, uint flags, out IntPtr address);
    [DllImport(Name)] public static extern int cushim_context_free_host(Context context, IntPtr address);
    [DllImport(Name)] public static extern int cushim_context_destroy(IntPtr context);
    [DllImport(Name)] public static extern int cushim_stream_create(Context context, IntPtr options, out Stream stream);
    [DllImport(Name)] public static extern int cushim_stream_wait_event(Stream stream, Event e);
    [DllImport(Name)] public static extern int cushim_stream_copy(
      Stream stream, ref Endpoint destination, ref Endpoint source, UIntPtr bytes);
    [DllImport(Name)] public static extern int cushim_stream_launch_host_function(
      Stream stream, IntPtr function, IntPtr data, IntPtr owner);
    [DllImport(Name)] public static extern int cushim_stream_destroy(IntPtr stream);
    [DllImport(Name)] public static extern int cushim_event_create(Context context, IntPtr options, out Event e);
    [DllImport(Name)] public static extern int cushim_event_record(Event e, Stream stream);
    [DllImport(Name)] public static extern int cushim_event_record(Event e, IntPtr stream);
    [DllImport(Name)] public static extern int cushim_event_destroy(IntPtr e);
    [DllImport(Name)] public static extern int cushim_buffer_create_default(
      IntPtr device, Stream stream, UIntPtr bytes, out Buffer buffer);
    [DllImport(Name)] public static extern int cushim_buffer_destroy(IntPtr buffer);
    [DllImport(Name)] public static extern int cushim_library_load(
      Context context, byte[] image, UIntPtr size, IntPtr options, out Library library);
    [DllImport(Name)] public static extern int cushim_library_destroy(IntPtr library);
    [DllImport(Name)] public static extern int cushim_kernel_create(Library library, string name, out Kernel kernel);
    [DllImport(Name)] public static extern int cushim_kernel_launch(
      Kernel kernel, IntPtr stream, ref LaunchConfig config, [In] ArgData[] args, UIntPtr argCount);
    [DllImport(Name)] public static extern int cushim_kernel_destroy(IntPtr kernel);
    [DllImport(Name)] public static extern int cushim_builder_create(Context context, IntPtr options, out Builder builder);
    [DllImport(Name)] public static extern int cushim_builder_begin(Builder builder);
    [DllImport(Name)] public static extern IntPtr cushim_builder_stream(Builder builder);
    [DllImport(Name)] public static extern int cushim_builder_end(Builder builder, out Graph graph);
    [DllImport(Name)] public static extern int cushim_builder_destroy(IntPtr builder);
    [DllImport(Name)] public static extern int cushim_graph_destroy(IntPtr graph);
    [DllImport(Name)] public static extern int cushim_exec_create(Graph graph, IntPtr options, out Exec exec, IntPtr result);
    [DllImport(Name)] public static extern int cushim_exec_launch(Exec exec, Stream stream);
    [DllImport(Name)] public static extern int cushim_exec_set_parameter(
      Exec exec, string name, ref float value, UIntPtr size, IntPtr nodes);
    [DllImport(Name)] public static extern int cushim_exec_destroy(IntPtr exec);
    [DllImport(Name)] public static extern int cushim_drain_fd(out int fd);
    [DllImport(Name)] public static extern int cushim_drain(IntPtr items, UIntPtr stride, UIntPtr capacity, out UIntPtr count);
    [DllImport("libc")] public static extern int poll(ref PollFd fds, UIntPtr count, int timeout);

    public static UIntPtr SizeOf<T>() { return (UIntPtr)Marshal.SizeOf(typeof(T)); }

    public static void Check(int status) {
      if (status != 0) throw new CushimException(status);
    }
  }

  // The same by the habits of C#. -----------------------------------------------------------------------------------------------

  class CushimException : Exception {
    public readonly int Status;

    // Of this thread's last failed call: no `await` stands between the call and this.
    public CushimException(int status) : base(Marshal.PtrToStringAnsi(Lib.cushim_last_error_message())) { Status = status; }
  }

  // An object of the library with a handle of its own. A SafeHandle stays as long as a call is made with it, and is destroyed by
  // Dispose, or by its finalizer.
  abstract class Owned : SafeHandle {
    protected Owned() : base(IntPtr.Zero, true) { }
    public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
  }

  sealed class Driver : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_driver_destroy(handle) == 0; }

    public static Driver Open() {
      Driver driver;
      Lib.Check(Lib.cushim_driver_open(IntPtr.Zero, out driver));
      return driver;
    }

    public DriverInfo Info {
      get {
        var info = new DriverInfo { StructSize = Lib.SizeOf<DriverInfo>() };
        Lib.Check(Lib.cushim_driver_get_info(this, ref info));
        return info;
      }
    }

    // A handle that a getter returns is borrowed: nobody destroys it.
    public IntPtr Device(int ordinal) {
      IntPtr device;
      Lib.Check(Lib.cushim_driver_get_device(this, ordinal, out device));
      return device;
    }
  }

  sealed class Context : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_context_destroy(handle) == 0; }

    public static Context Primary(IntPtr device) {
      Context context;
      Lib.Check(Lib.cushim_context_retain_primary(device, out context));
      return context;
    }

    public Stream Stream(string label) {
      Stream stream;
      Lib.Check(Lib.cushim_stream_create(this, IntPtr.Zero, out stream));
      Lib.Check(Lib.cushim_set_label(stream, label));
      return stream;
    }

    public Event Event() {
      Event created;
      Lib.Check(Lib.cushim_event_create(this, IntPtr.Zero, out created));
      return created;
    }

    // Page-locked memory: arrays of C# move, and this does not.
    public IntPtr AllocateHost(int bytes) {
      IntPtr address;
      Lib.Check(Lib.cushim_context_allocate_host(this, (UIntPtr)bytes, 0, out address));
      return address;
    }

    public void FreeHost(IntPtr address) { Lib.Check(Lib.cushim_context_free_host(this, address)); }

    public Kernel Load(string code, string name) {
      var image = System.Text.Encoding.UTF8.GetBytes(code);
      Library library;
      Lib.Check(Lib.cushim_library_load(this, image, (UIntPtr)image.Length, IntPtr.Zero, out library));
      using (library) {
        Kernel kernel; // keeps the library
        Lib.Check(Lib.cushim_kernel_create(library, name, out kernel));
        return kernel;
      }
    }

    // What is enqueued in the stream that `record` gets, as a graph.
    public Exec Capture(Action<IntPtr> record) {
      Builder builder;
      Lib.Check(Lib.cushim_builder_create(this, IntPtr.Zero, out builder));
      using (builder) {
        Lib.Check(Lib.cushim_builder_begin(builder));
        record(Lib.cushim_builder_stream(builder));
        Graph graph;
        Lib.Check(Lib.cushim_builder_end(builder, out graph));
        using (graph) {
          Exec exec;
          Lib.Check(Lib.cushim_exec_create(graph, IntPtr.Zero, out exec, IntPtr.Zero));
          return exec;
        }
      }
    }
  }

  sealed class Stream : Owned {
    static readonly ConcurrentDictionary<long, TaskCompletionSource<bool>> Waiting =
      new ConcurrentDictionary<long, TaskCompletionSource<bool>>();
    static long last;

    protected override bool ReleaseHandle() { return Lib.cushim_stream_destroy(handle) == 0; }

    public void Wait(Event e) { Lib.Check(Lib.cushim_stream_wait_event(this, e)); }

    public void Upload(Buffer to, IntPtr from, int bytes) {
      Endpoint destination = to.Endpoint, source = Host(from);
      Lib.Check(Lib.cushim_stream_copy(this, ref destination, ref source, (UIntPtr)bytes));
      GC.KeepAlive(to); // of which the endpoint has the handle only
    }

    public void Download(IntPtr to, Buffer from, int bytes) {
      Endpoint destination = Host(to), source = from.Endpoint;
      Lib.Check(Lib.cushim_stream_copy(this, ref destination, ref source, (UIntPtr)bytes));
      GC.KeepAlive(from);
    }

    static Endpoint Host(IntPtr address) { return new Endpoint { Kind = Lib.EndpointHost, Address = (ulong)address.ToInt64() }; }

    // Completes when the work that is in the stream now is done. The driver does not call C#: the library gives back the number
    // of the task, to the thread that drains.
    public Task Done() {
      var number = Interlocked.Increment(ref last);
      var waiting = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
      Waiting[number] = waiting;
      Lib.Check(Lib.cushim_stream_launch_host_function(this, IntPtr.Zero, (IntPtr)number, IntPtr.Zero));
      return waiting.Task;
    }

    public static void Drain() {
      int fd;
      Lib.Check(Lib.cushim_drain_fd(out fd));
      var size = Marshal.SizeOf(typeof(DrainItem));
      var items = Marshal.AllocHGlobal(8 * size);
      while (true) {
        var poll = new PollFd { Fd = fd, Events = 1 }; // POLLIN
        Lib.poll(ref poll, (UIntPtr)1, -1);
        UIntPtr count;
        Lib.Check(Lib.cushim_drain(items, (UIntPtr)size, (UIntPtr)8, out count));
        for (var i = 0; i < (int)count; i++) {
          var item = (DrainItem)Marshal.PtrToStructure(items + i * size, typeof(DrainItem));
          TaskCompletionSource<bool> waiting;
          if (Waiting.TryRemove(item.Data.ToInt64(), out waiting)) waiting.SetResult(true);
        }
      }
    }
  }

  sealed class Event : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_event_destroy(handle) == 0; }
    public void Record(Stream stream) { Lib.Check(Lib.cushim_event_record(this, stream)); }
    public void Record(IntPtr stream) { Lib.Check(Lib.cushim_event_record(this, stream)); }
  }

  sealed class Buffer : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_buffer_destroy(handle) == 0; }

    public static Buffer Allocate(IntPtr device, Stream stream, int bytes) {
      Buffer buffer;
      Lib.Check(Lib.cushim_buffer_create_default(device, stream, (UIntPtr)bytes, out buffer));
      return buffer;
    }

    public Endpoint Endpoint { get { return new Endpoint { Kind = Lib.EndpointBuffer, Address = (ulong)handle.ToInt64() }; } }
  }

  sealed class Library : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_library_destroy(handle) == 0; }
  }

  sealed class Builder : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_builder_destroy(handle) == 0; }
  }

  sealed class Graph : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_graph_destroy(handle) == 0; }
  }

  // An argument of a kernel, with memory that C# does not move.
  sealed class Arg : IDisposable {
    public ArgData Data;
    readonly IntPtr[] memory;
    readonly object keeps;

    Arg(int kind, uint size, IntPtr value, object keeps, params IntPtr[] memory) {
      Data = new ArgData { Kind = kind, Size = size, Value = value };
      this.keeps = keeps;
      this.memory = memory;
    }

    public static Arg Memory(Buffer buffer) { return new Arg(Lib.ArgBuffer, 0, buffer.DangerousGetHandle(), buffer); }

    public static Arg Number(float value) {
      var place = Place(value);
      return new Arg(Lib.ArgBytes, 4, place, null, place);
    }

    // A number that has a name: Exec.Set changes it.
    public static Arg Parameter(string name, float value) {
      IntPtr text = Marshal.StringToHGlobalAnsi(name), place = Place(value), parameter = Marshal.AllocHGlobal(24);
      Marshal.StructureToPtr(new ParameterData { Name = text, Value = place, Size = 4 }, parameter, false);
      return new Arg(Lib.ArgParameter, 0, parameter, null, text, place, parameter);
    }

    static IntPtr Place(float value) {
      var place = Marshal.AllocHGlobal(4);
      Marshal.Copy(new[] { value }, 0, place, 1);
      return place;
    }

    public void Dispose() {
      foreach (var address in memory) Marshal.FreeHGlobal(address);
      GC.KeepAlive(keeps);
    }
  }

  sealed class Kernel : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_kernel_destroy(handle) == 0; }

    public void Launch(Stream stream, int grid, int block, params Arg[] args) {
      Launch(stream.DangerousGetHandle(), grid, block, args);
      GC.KeepAlive(stream);
    }

    // The arguments are disposed of.
    public void Launch(IntPtr stream, int grid, int block, params Arg[] args) {
      var config = new LaunchConfig {
        StructSize = Lib.SizeOf<LaunchConfig>(),
        Grid = new Dim3 { X = (uint)grid, Y = 1, Z = 1 },
        Block = new Dim3 { X = (uint)block, Y = 1, Z = 1 },
      };
      try {
        var data = Array.ConvertAll(args, arg => arg.Data);
        Lib.Check(Lib.cushim_kernel_launch(this, stream, ref config, data, (UIntPtr)data.Length));
      } finally {
        foreach (var arg in args) arg.Dispose();
      }
    }
  }

  sealed class Exec : Owned {
    protected override bool ReleaseHandle() { return Lib.cushim_exec_destroy(handle) == 0; }
    public void Launch(Stream stream) { Lib.Check(Lib.cushim_exec_launch(this, stream)); }
    public void Set(string name, float value) {
      Lib.Check(Lib.cushim_exec_set_parameter(this, name, ref value, (UIntPtr)4, IntPtr.Zero));
    }
  }

  // The program. ------------------------------------------------------------------------------------------------------------------

  static class Program {
    // numbers[i] *= by
    const string Scale = @"
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
";

    const int Count = 1024, Bytes = 4 * Count;

    static async Task Run() {
      string[] kinds = { "none", "native", "compat", "WSL", "Tegra", "software" };
      using (var driver = Driver.Open()) {
        var info = driver.Info;
        var kind = info.Kind < kinds.Length ? kinds[info.Kind] : "other";
        Console.Error.WriteLine("driver of CUDA {0}.{1}, {2}", info.Version / 1000, info.Version % 1000 / 10, kind);
        var device = driver.Device(0);
        using (var context = Context.Primary(device))
        using (Stream upload = context.Stream("upload"), compute = context.Stream("compute"))
        using (var uploaded = context.Event())
        using (var scale = context.Load(Scale, "scale"))
        using (var buffer = Buffer.Allocate(device, upload, Bytes)) {
          var numbers = context.AllocateHost(Bytes);
          var values = new float[Count];
          for (var i = 0; i < Count; i++) values[i] = i;
          Marshal.Copy(values, 0, numbers, Count);

          // One stream copies, and the other one waits for that.
          upload.Upload(buffer, numbers, Bytes);
          uploaded.Record(upload);
          compute.Wait(uploaded);
          scale.Launch(compute, Count / 128, 128, Arg.Memory(buffer), Arg.Number(2));

          // The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
          using (var exec = context.Capture(
            stream => scale.Launch(stream, Count / 128, 128, Arg.Memory(buffer), Arg.Parameter("by", 3)))) {
            exec.Launch(compute);
            exec.Set("by", 0.5f);
            exec.Launch(compute);
          }

          compute.Download(numbers, buffer, Bytes);
          await compute.Done();
          Marshal.Copy(numbers, values, 0, Count);
          for (var i = 0; i < Count; i++) {
            if (values[i] != i * 3) throw new Exception(string.Format("number {0} is {1} instead of {2}", i, values[i], i * 3));
          }
          Console.WriteLine("{0} numbers are right", Count);
          context.FreeHost(numbers);

          // A handle that was destroyed is refused, with a sentence. A SafeHandle would be refused by the runtime before.
          var stale = upload.DangerousGetHandle();
          upload.Dispose();
          try {
            uploaded.Record(stale);
          } catch (CushimException refused) {
            if (!refused.Message.Contains("upload")) throw;
            Console.WriteLine(refused.Message);
            return;
          }
          throw new Exception("a destroyed stream was accepted");
        }
      }
    }

    static int Main() {
      try {
        new Thread(Stream.Drain) { IsBackground = true }.Start(); // it does not keep the program
        Run().GetAwaiter().GetResult();
        return 0;
      } catch (Exception failure) {
        Console.Error.WriteLine(failure);
        return 1;
      }
    }
  }
}
