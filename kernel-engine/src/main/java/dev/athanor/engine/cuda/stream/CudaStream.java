package dev.athanor.engine.cuda.stream;

import static jcuda.driver.CUstream_flags.CU_STREAM_NON_BLOCKING;
import static jcuda.driver.JCudaDriver.cuGraphLaunch;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoDAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoHAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoDAsync;
import static jcuda.driver.JCudaDriver.cuMemsetD8Async;
import static jcuda.driver.JCudaDriver.cuStreamCreate;
import static jcuda.driver.JCudaDriver.cuStreamDestroy;
import static jcuda.driver.JCudaDriver.cuStreamSynchronize;
import static jcuda.driver.JCudaDriver.cuStreamWaitEvent;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.OpenStreams;
import dev.athanor.engine.cuda.context.StreamFence;
import dev.athanor.engine.cuda.driver.DevicePointer;
import dev.athanor.engine.cuda.driver.HostPointer;
import dev.athanor.engine.cuda.driver.LaunchCall;
import dev.athanor.engine.cuda.driver.StreamHandle;
import dev.athanor.engine.cuda.memory.CudaBuffer;
import dev.athanor.engine.cuda.module.CudaKernel;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.CaptureStream;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Event;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import jcuda.driver.CUgraphExec;
import org.jspecify.annotations.Nullable;

/**
 * A CUDA stream that does not synchronize with the default stream.
 *
 * <p>The driver copies from and to native memory directly, asynchronously if the memory is pinned.
 * Java arrays are copied through a {@link Staging} ring: an upload may wait for a free slot, a
 * download waits for its data.
 */
public final class CudaStream implements Stream, OpenStreams.OpenStream {

  /** Copies between two sweeps for host memory whose copies have completed. */
  private static final int COPIES_PER_SWEEP = 64;

  private final Context context;
  private final Capability capability;
  private final OpenStreams openStreams;
  private final StreamHandle handle;
  private final Parameters parameters = new Parameters();
  private @Nullable Staging staging;

  /** Host memory that pending copies may use, so that it is not garbage-collected. */
  private List<MemorySegment> held = new ArrayList<>();

  private final Deque<HeldMemory> heldUntilFence = new ArrayDeque<>();

  /**
   * Number of operations enqueued. It is incremented after the driver has the operation: if it is
   * unchanged since a fence was recorded, the fence is behind all of them and can be shared.
   */
  private final AtomicLong enqueued = new AtomicLong();

  /** The value of {@link #enqueued} before the last synchronization. */
  private volatile long synchronizedUpTo;

  /** Held while the stream is closed. */
  private final Object closing = new Object();

  // Guarded by this, since buffers are closed on any thread.
  private @Nullable StreamFence fence;
  private long fenced = -1;
  private boolean closed;

  private record HeldMemory(StreamFence until, List<MemorySegment> memory) {}

  /**
   * Creates a stream. The caller adds it to the registry.
   *
   * @param openStreams the registry, from which the stream removes itself when it is closed
   */
  public CudaStream(Context context, Capability capability, OpenStreams openStreams) {
    this.context = context;
    this.capability = capability;
    this.openStreams = openStreams;
    this.handle = openStreams.takeIdle().orElseGet(() -> create(context));
  }

  private static StreamHandle create(Context context) {
    var created = new StreamHandle();
    context.enter();
    context.check(cuStreamCreate(created, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return created;
  }

  /**
   * Returns a stream as one of this context.
   *
   * @param work the work to enqueue, with its article, for the message
   * @throws IllegalStateException if the stream is being captured
   * @throws IllegalArgumentException if the stream belongs to another device
   */
  public static CudaStream of(Context context, Stream stream, String work) {
    CaptureStream.refuse(stream, work);
    if (!(stream instanceof CudaStream own) || own.context != context) {
      throw new IllegalArgumentException("the stream does not belong to " + context.id());
    }
    return own;
  }

  @Override
  public StreamHandle handle() {
    return handle;
  }

  @Override
  public void upload(MemorySegment source, Buffer target, long offset) {
    enter();
    long to = CudaBuffer.range(context, target, offset, source.byteSize());
    requireAlive(source);
    if (source.byteSize() == 0) {
      return;
    }
    if (source.isNative()) {
      checkEnqueued(
          cuMemcpyHtoDAsync(
              new DevicePointer(to), HostPointer.of(source), source.byteSize(), handle),
          "cuMemcpyHtoDAsync");
      hold(source);
    } else {
      staging().upload(source, to);
      enqueued.incrementAndGet();
    }
  }

  @Override
  public void download(Buffer source, long offset, MemorySegment target) {
    enter();
    long from = CudaBuffer.range(context, source, offset, target.byteSize());
    requireAlive(target);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("the memory to download to is read-only");
    }
    if (target.byteSize() == 0) {
      return;
    }
    if (target.isNative()) {
      checkEnqueued(
          cuMemcpyDtoHAsync(
              HostPointer.of(target), new DevicePointer(from), target.byteSize(), handle),
          "cuMemcpyDtoHAsync");
      hold(target);
    } else {
      staging().download(from, target);
    }
  }

  @Override
  public void copy(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
    enter();
    long from = CudaBuffer.range(context, source, sourceOffset, bytes);
    long to = CudaBuffer.range(context, target, targetOffset, bytes);
    if (from < to + bytes && to < from + bytes) {
      throw new IllegalArgumentException(
          "got %d bytes to copy from byte %d to byte %d of one buffer, which overlap"
              .formatted(bytes, sourceOffset, targetOffset));
    }
    if (bytes > 0) {
      checkEnqueued(
          cuMemcpyDtoDAsync(new DevicePointer(to), new DevicePointer(from), bytes, handle),
          "cuMemcpyDtoDAsync");
    }
  }

  @Override
  public void fill(Buffer target, long offset, long bytes, byte value) {
    enter();
    long to = CudaBuffer.range(context, target, offset, bytes);
    if (bytes > 0) {
      checkEnqueued(
          cuMemsetD8Async(new DevicePointer(to), value, bytes, handle), "cuMemsetD8Async");
    }
  }

  @Override
  public void launch(Launch launch) {
    context.requireUsable();
    requireOpen();
    launch.check(capability);
    var kernel = CudaKernel.of(context, launch.kernel());
    var values = parameters.pack(context, launch.arguments());
    try {
      kernel.allowShared(launch.dynamicSharedBytes());
      if (launch.cooperative()) {
        int threads = Math.toIntExact(launch.block().count());
        int resident = kernel.residentBlocks(threads, launch.dynamicSharedBytes());
        launch.checkResident((long) capability.multiprocessors() * resident, capability);
      }
      var call =
          new LaunchCall(
              kernel.name(),
              kernel.function(),
              launch.grid(),
              launch.block(),
              launch.dynamicSharedBytes(),
              handle,
              values);
      context.enter();
      handle.addRecentKernel(kernel.name());
      int result = enqueue(launch, call);
      context.checkLaunch(result, "cuLaunchKernel", kernel.name(), handle);
      enqueued.incrementAndGet();
    } finally {
      // From here on the module is unloaded only after the work that the stream holds.
      Reference.reachabilityFence(kernel);
    }
  }

  private int enqueue(Launch launch, LaunchCall call) {
    // A kernel that declares its cluster is launched like any other.
    boolean declared = !launch.kernel().kernel().launchBounds().clusterShape().isEmpty();
    var cluster = declared ? Dim3.of(1) : launch.cluster();
    boolean dependent = launch.mayBeginEarly(capability.target()) && LaunchCall.takesAttributes();
    if (cluster.count() > 1 || dependent) {
      return call.launchWithAttributes(cluster, launch.cooperative(), dependent);
    }
    return launch.cooperative() ? call.launchCooperative() : call.launch();
  }

  /**
   * Enqueues a graph.
   *
   * @param name the graph's name, for errors
   */
  void launch(CUgraphExec graph, String name) {
    enterFor(name);
    context.checkLaunch(cuGraphLaunch(graph, handle), "cuGraphLaunch", name, handle);
    enqueued.incrementAndGet();
  }

  /**
   * Enters the stream's context for work that the caller enqueues with another library. The caller
   * calls {@link #enqueued} afterwards.
   *
   * @param name the work's name, for errors
   */
  public void enterFor(String name) {
    enter();
    handle.addRecentKernel(name);
  }

  /** Records that another library has enqueued work. */
  public void enqueued() {
    enqueued.incrementAndGet();
  }

  @Override
  public Event record() {
    enter();
    return new CudaEvent(context, handle);
  }

  @Override
  public void await(Event event) {
    enter();
    checkEnqueued(cuStreamWaitEvent(handle, CudaEvent.of(context, event), 0), "cuStreamWaitEvent");
  }

  @Override
  public void synchronize() {
    long before = enqueued.get();
    enter();
    context.check(cuStreamSynchronize(handle), "cuStreamSynchronize", handle);
    synchronizedUpTo = before;
    handle.clearRecentKernels();
    held.clear();
    heldUntilFence.forEach(each -> each.until.close());
    heldUntilFence.clear();
  }

  /** Concurrent calls wait for the first, so the stream is closed when any of them returns. */
  @Override
  public void close() {
    synchronized (closing) {
      if (isClosed()) {
        return;
      }
      boolean idle = false;
      try {
        if (!context.isUnusable()) {
          synchronize();
          idle = true;
        }
      } finally {
        release(idle);
      }
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /**
   * Closes the stream, whose work has completed or never ran.
   *
   * @param reuse whether a later stream may use the driver's one
   */
  synchronized void release(boolean reuse) {
    closed = true;
    openStreams.remove(this);
    if (!context.isUnusable()) {
      if (staging != null) {
        staging.close();
      }
      if (!reuse || !openStreams.keepIdle(handle)) {
        context.enter();
        context.check(cuStreamDestroy(handle), "cuStreamDestroy");
      }
    }
  }

  @Override
  public synchronized Optional<StreamFence> fence() {
    long now = enqueued.get();
    if (closed || now == synchronizedUpTo) {
      return Optional.empty();
    }
    var shared = fence;
    if (shared == null || fenced != now) {
      shared = new StreamFence(context, handle);
      fence = shared;
      fenced = now;
    }
    return shared.hasPassed() ? Optional.empty() : Optional.of(shared);
  }

  private void enter() {
    context.requireUsable();
    requireOpen();
    context.enter();
  }

  private void requireOpen() {
    if (isClosed()) {
      throw new IllegalStateException("the stream is closed");
    }
  }

  private void checkEnqueued(int result, String call) {
    context.check(result, call, handle);
    enqueued.incrementAndGet();
  }

  private Staging staging() {
    var ring = staging;
    if (ring == null) {
      ring = new Staging(context, handle);
      staging = ring;
    }
    return ring;
  }

  private static void requireAlive(MemorySegment memory) {
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the host memory is closed");
    }
  }

  private void hold(MemorySegment memory) {
    held.add(memory);
    if (held.size() == COPIES_PER_SWEEP) {
      heldUntilFence.add(new HeldMemory(new StreamFence(context, handle), held));
      held = new ArrayList<>();
      while (!heldUntilFence.isEmpty() && heldUntilFence.element().until.hasPassed()) {
        heldUntilFence.remove();
      }
    }
  }
}
