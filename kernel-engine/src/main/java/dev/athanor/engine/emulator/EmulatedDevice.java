package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.LoadedKernel;
import dev.athanor.engine.device.LoadedKernel.Origin;
import dev.athanor.engine.device.LruCache;
import dev.athanor.engine.device.Multiprocessor;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.memory.EncodedTensorMap;
import dev.athanor.engine.emulator.memory.GlobalMemory;
import dev.athanor.engine.emulator.memory.LaneAccess;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.memory.ModuleVariables;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.program.Program;
import dev.athanor.engine.emulator.run.LaunchedKernel;
import dev.athanor.engine.emulator.run.LoadedProgram;
import dev.athanor.engine.emulator.run.WorkerPool;
import dev.athanor.engine.emulator.sanitizer.SanitizedLaunch;
import dev.athanor.engine.emulator.step.LaunchContext;
import dev.athanor.engine.emulator.step.PrintBuffer;
import dev.athanor.engine.emulator.watch.LaunchObserver;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.RuntimeFunction;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.engine.ptx.check.Inliner;
import dev.athanor.engine.ptx.check.Verifier;
import dev.athanor.engine.ptx.legal.Legalizer;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A device that runs on any machine. It executes kernels as the PTX manual specifies, several
 * blocks in parallel, and stops a kernel at the first block that does something undefined. Its
 * streams are synchronous.
 */
public final class EmulatedDevice implements Device {

  private static final int MOST_THREADS = 1024;
  private static final int SHARED_BYTES = 48 << 10;

  /** Maximum number of cached modules; loaded kernels keep their programs regardless. */
  static final int MODULES = 512;

  /** The multiprocessors of an H100, for cooperative launches. */
  private static final int MULTIPROCESSORS = 132;

  private static final int WORKSPACE_BYTES = 256;

  private final EmulatorOptions options;
  private final Capability capability;
  private final GlobalMemory memory;
  private final WorkerPool workers;

  /** Modules with variables are not evicted: kernels may have written to the variables. */
  private final LruCache<Module, Programs> programs =
      new LruCache<>(MODULES, each -> !each.module.variables().isEmpty());

  private final Set<HostMemory> hostMemory = ConcurrentHashMap.newKeySet();
  private final AtomicLong launches = new AtomicLong();
  private volatile boolean closed;

  public EmulatedDevice() {
    this(EmulatorOptions.DEFAULT);
  }

  public EmulatedDevice(EmulatorOptions options) {
    this(0, options);
  }

  /**
   * @param number the number in the device ID, for one of several devices
   */
  public EmulatedDevice(int number, EmulatorOptions options) {
    this.options = options;
    this.memory = new GlobalMemory(options.memoryBytes(), options.sanitize() != Sanitize.OFF);
    this.workers = new WorkerPool(options.workers());
    this.capability =
        new Capability(
            "emulator:" + number,
            Capability.EMULATOR,
            options.target(),
            "Java " + Runtime.version().feature(),
            options.workers(),
            MOST_THREADS,
            SHARED_BYTES,
            Multiprocessor.of(options.target()).sharedBytesPerBlock(),
            options.memoryBytes());
  }

  @Override
  public Capability capability() {
    return capability;
  }

  @Override
  public Buffer allocate(long bytes) {
    checkAllocation(bytes);
    return memory.allocate(bytes);
  }

  @Override
  public Buffer allocateForWriting(long bytes) {
    checkAllocation(bytes);
    return memory.allocateForWriting(bytes, "a buffer");
  }

  private void checkAllocation(long bytes) {
    checkOpen();
    if (bytes < 1) {
      throw new IllegalArgumentException("a buffer has at least 1 byte, got " + bytes);
    }
  }

  @Override
  public boolean clearsMemory() {
    return true;
  }

  @Override
  public boolean isSynchronous() {
    return true;
  }

  @Override
  public HostMemory allocateHost(long bytes) {
    checkOpen();
    var allocated = HostMemory.pageable(bytes, hostMemory::remove);
    GlobalMemory.poison(allocated.segment());
    hostMemory.add(allocated);
    return allocated;
  }

  @Override
  public Stream openStream() {
    checkOpen();
    return new EmulatedStream(this);
  }

  @Override
  public Graph capture(Consumer<Stream> work) {
    checkOpen();
    return EmulatedGraph.of(this, work);
  }

  @Override
  public LoadedKernel load(Module given, String kernel) {
    checkOpen();
    var module = Legalizer.legalize(given, options.target());
    if (module.kernel(kernel).isEmpty()) {
      throw new DeviceException.LoadFailed(
          kernel,
          "the module has "
              + module.kernels().stream().map(Kernel::name).collect(Collectors.joining(", ")));
    }
    if (!options.target().canRun(module.target())) {
      throw new DeviceException.LoadFailed(
          kernel, "it is for %s, the device is %s".formatted(module.target(), options.target()));
    }
    try {
      return programs.get(module, Programs::new).load(this, kernel);
    } catch (IllegalArgumentException e) {
      var failed = new DeviceException.LoadFailed(kernel, String.valueOf(e.getMessage()));
      failed.initCause(e);
      throw failed;
    }
  }

  /** The loaded kernels of a verified module, and its variables. */
  private static final class Programs {
    private final Module module;
    private final Map<String, LoadedProgram> byKernel = new HashMap<>();
    private @Nullable ModuleVariables variables;

    Programs(Module module) {
      Verifier.verify(module);
      this.module = module;
    }

    synchronized Loaded load(EmulatedDevice device, String kernel) {
      var known = byKernel.get(kernel);
      if (known != null) {
        return new Loaded(device, known, Origin.HIT);
      }
      var inliner = new Inliner(module);
      var inlined = inliner.kernel(kernel);
      if (inlined.instructions().anyMatch(EmulatedDevice::usesHeap)) {
        device.memory.openHeap(device.options.heapBytes());
      }
      var ofModule = variables;
      if (ofModule == null) {
        ofModule = new ModuleVariables(inliner.variables(), device.memory);
        variables = ofModule;
      }
      var program = new LoadedProgram(new Program(inlined, ofModule));
      byKernel.put(kernel, program);
      return new Loaded(device, program, Origin.COMPILED);
    }
  }

  private static boolean usesHeap(Instruction instruction) {
    return instruction.form().semantics() instanceof Semantics.RuntimeCall call
        && (call.function() == RuntimeFunction.MALLOC || call.function() == RuntimeFunction.FREE);
  }

  private record Loaded(EmulatedDevice device, LoadedProgram program, Origin origin)
      implements LoadedKernel {
    @Override
    public Kernel kernel() {
      return program.code().written();
    }
  }

  /** Returns the program of a kernel of an emulator. */
  public static LoadedProgram program(LoadedKernel kernel) {
    return ((Loaded) kernel).program;
  }

  @Override
  public MemoryUsage memory() {
    long used = memory.used();
    return new MemoryUsage(used, 0, memory.limit() - used);
  }

  @Override
  public void close() {
    if (!closed && options.sanitize() != Sanitize.OFF) {
      reportLeaks();
    }
    closed = true;
    memory.close();
    workers.close();
    hostMemory.forEach(HostMemory::close);
  }

  private void reportLeaks() {
    var heap = memory.heap();
    var leaks = heap == null ? null : heap.leaks();
    if (leaks != null) {
      options.output().accept(leaks + "\n");
    }
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException("the device is closed");
    }
  }

  /** Runs work that accesses memory, none of which is freed meanwhile. */
  void use(Runnable work) {
    memory.enter();
    try {
      checkOpen();
      work.run();
    } finally {
      memory.leave();
    }
  }

  /**
   * Returns the allocation behind a buffer.
   *
   * @throws IllegalArgumentException if another device made it
   * @throws IllegalStateException if it is closed
   */
  Allocation own(Buffer buffer) {
    if (!(buffer instanceof Allocation allocation) || !allocation.belongsTo(memory)) {
      throw new IllegalArgumentException("a buffer of another device, " + buffer);
    }
    if (allocation.isClosed()) {
      throw new IllegalStateException(allocation + " is closed");
    }
    return allocation;
  }

  /** Validates a launch and reads its parameters; returns its execution. */
  Consumer<LastLaunch> prepare(Launch launch) {
    if (!(launch.kernel() instanceof Loaded loaded) || loaded.device != this) {
      throw new IllegalArgumentException(
          "kernel " + launch.kernel().kernel().name() + " was loaded on another device");
    }
    launch.check(capability);
    var parameters = parameters(launch);
    launch.checkResident(residentBlocks(launch), capability);
    return last -> run(launch, loaded.program, parameters, last);
  }

  /**
   * @param previous the launch that a dependent one may overlap; null = none
   */
  private static LaunchObserver.@Nullable Factory sanitizer(
      EmulatorOptions options, @Nullable SanitizedLaunch previous) {
    boolean races = options.sanitize() == Sanitize.FULL;
    return options.sanitize() == Sanitize.OFF
        ? null
        : launch -> new SanitizedLaunch(launch, races, options.ignored(), previous);
  }

  private void run(Launch launch, LoadedProgram program, Memory parameters, LastLaunch last) {
    if (!launch.mayBeginEarly(options.target())) {
      last.clear();
    }
    var previous = last.take();
    var workspace = launch.cooperative() ? workspace() : null;
    try {
      var launched =
          LaunchedKernel.of(
              launches.getAndIncrement(),
              program,
              new LaunchContext(
                  program.code().kernel(),
                  launch.grid(),
                  launch.block(),
                  launch.cluster(),
                  launch.kernel().kernel().staticSharedBytes() + launch.dynamicSharedBytes(),
                  program.code().variables().constants(),
                  parameters,
                  memory.snapshot(),
                  options,
                  workspace == null ? 0 : workspace.address(),
                  new PrintBuffer()),
              sanitizer(options, previous));
      try {
        if (workspace == null) {
          workers.run(launched);
        } else {
          WorkerPool.runCooperatively(launched);
        }
        if (launched.observer() instanceof SanitizedLaunch sanitized) {
          last.set(sanitized);
        }
      } finally {
        launched.context().printed().deliver(options.output());
      }
    } finally {
      if (workspace != null) {
        workspace.close();
      }
    }
  }

  /**
   * Allocates the memory in which the blocks of a cooperative launch count arrivals: a size, and a
   * word that is 0.
   */
  private Allocation workspace() {
    var workspace = memory.allocate(WORKSPACE_BYTES, "the workspace of a cooperative launch");
    workspace.segment().fill((byte) 0);
    workspace.segment().set(ValueLayout.JAVA_INT, 0, WORKSPACE_BYTES);
    workspace.define(0, WORKSPACE_BYTES);
    return workspace;
  }

  /**
   * Returns how many blocks of a launch the emulated GPU holds at once by threads, blocks and
   * shared memory. Registers are not limited.
   */
  private long residentBlocks(Launch launch) {
    var each = Multiprocessor.of(options.target());
    int warps = Math.toIntExact(Math.ceilDiv(launch.block().count(), Warps.SIZE));
    int shared =
        launch.kernel().kernel().staticSharedBytes()
            + launch.dynamicSharedBytes()
            + each.reservedSharedBytes();
    int resident =
        Math.min(
            each.blocks(),
            Math.min(each.warps() / warps, each.sharedBytes() / Math.max(1, shared)));
    return (long) MULTIPROCESSORS * resident;
  }

  private Memory parameters(Launch launch) {
    var kernel = launch.kernel().kernel();
    var segment =
        Arena.ofAuto()
            .allocate(Math.max(1, kernel.parameterBytes()), 128)
            .asSlice(0, kernel.parameterBytes());
    var offsets = List.copyOf(kernel.parameterOffsets().values());
    for (int i = 0; i < kernel.parameters().size(); i++) {
      var parameter = kernel.parameters().get(i);
      var place = segment.asSlice(offsets.get(i), parameter.bytes());
      switch (launch.arguments().get(i)) {
        // the address must point into the buffer, so at least one byte must be there
        case Argument.Pointer pointer ->
            place.set(LaneAccess.LONG, 0, address(pointer.buffer(), pointer.offset(), 1));
        case Argument.Scalar scalar -> {
          for (int at = 0; at < parameter.bytes(); at++) {
            place.set(ValueLayout.JAVA_BYTE, at, (byte) (scalar.bits() >>> (8 * at)));
          }
        }
        case Argument.Bytes bytes -> place.copyFrom(bytes.segment());
        case Argument.Tensor tensor ->
            EncodedTensorMap.encode(
                tensor.map(),
                address(tensor.buffer(), tensor.offset(), tensor.map().bytes()),
                place);
      }
    }
    return new Memory.Small(Space.PARAM, segment);
  }

  private long address(Buffer buffer, long offset, long bytes) {
    var allocation = own(buffer);
    allocation.requireRange(offset, bytes);
    return allocation.address() + offset;
  }
}
