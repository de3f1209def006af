package dev.athanor.engine.cuda;

import static jcuda.driver.CUstream_flags.CU_STREAM_NON_BLOCKING;
import static jcuda.driver.JCudaDriver.cuGraphLaunch;
import static jcuda.driver.JCudaDriver.cuLaunchCooperativeKernel;
import static jcuda.driver.JCudaDriver.cuLaunchKernel;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoDAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyDtoHAsync;
import static jcuda.driver.JCudaDriver.cuMemcpyHtoDAsync;
import static jcuda.driver.JCudaDriver.cuMemsetD8Async;
import static jcuda.driver.JCudaDriver.cuStreamCreate;
import static jcuda.driver.JCudaDriver.cuStreamDestroy;
import static jcuda.driver.JCudaDriver.cuStreamSynchronize;
import static jcuda.driver.JCudaDriver.cuStreamWaitEvent;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.CaptureStream;
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
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicLong;
import jcuda.driver.CUgraphExec;
import org.jspecify.annotations.Nullable;

/**
 * A driver's stream that does not wait for the default one.
 *
 * <p>Copies from and to native memory are the driver's alone, and truly asynchronous where that
 * memory is pinned. Memory of Java arrays goes through a {@link Staging} ring: an upload may wait
 * for room in it, a download waits for its data.
 */
final class CudaStream implements Stream {

  /** How many kernels of a stream a loss may be laid at. */
  private static final int SUSPECTS = 4;

  /** After how many uploads and downloads their host memory is looked through for what is done. */
  private static final int HELD = 64;

  private final Context context;
  private final Capability capability;
  private final StreamHandle handle = new StreamHandle();
  private final Parameters parameters = new Parameters();
  private @Nullable Staging staging;

  /** Host memory that copies may still use, so that the collector does not free it. */
  private List<MemorySegment> held = new ArrayList<>();

  private final Deque<Held> heldBefore = new ArrayDeque<>();
  private final Deque<String> recentKernels = new ConcurrentLinkedDeque<>();

  /**
   * Counts what was enqueued, after the driver has it: so a fence that is shared because the count
   * is the same as at its making was made after that work.
   */
  private final AtomicLong enqueued = new AtomicLong();

  private volatile long waited;

  /** Held by the one that closes. */
  private final Object closing = new Object();

  // Guarded by this, for buffers are closed on any thread.
  private @Nullable StreamFence fence;
  private long fenced = -1;
  private boolean closed;

  private record Held(StreamFence until, List<MemorySegment> memory) {}

  /** A stream that {@link Context#streams} does not have yet, so that nobody waits for its work. */
  CudaStream(Context context, Capability capability) {
    this.context = context;
    this.capability = capability;
    context.enter();
    context.check(cuStreamCreate(handle, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }

  /**
   * The stream as one of a context.
   *
   * @param work what it is wanted for, with its article
   * @throws IllegalStateException when it is captured
   * @throws IllegalArgumentException when it is one of another device
   */
  static CudaStream of(Context context, Stream stream, String work) {
    CaptureStream.refuse(stream, work);
    if (!(stream instanceof CudaStream ours) || ours.context != context) {
      throw new IllegalArgumentException("the stream is not one of " + context.id());
    }
    return ours;
  }

  StreamHandle handle() {
    return handle;
  }

  /** The last kernels launched since the stream was last waited for. */
  List<String> recentKernels() {
    return List.copyOf(recentKernels);
  }

  @Override
  public void upload(MemorySegment source, Buffer target, long offset) {
    enter();
    long to = CudaBuffer.range(context, target, offset, source.byteSize());
    alive(source);
    if (source.byteSize() == 0) {
      return;
    }
    if (source.isNative()) {
      done(
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
    alive(target);
    if (target.isReadOnly()) {
      throw new IllegalArgumentException("the memory to download to is read-only");
    }
    if (target.byteSize() == 0) {
      return;
    }
    if (target.isNative()) {
      done(
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
      done(
          cuMemcpyDtoDAsync(new DevicePointer(to), new DevicePointer(from), bytes, handle),
          "cuMemcpyDtoDAsync");
    }
  }

  @Override
  public void fill(Buffer target, long offset, long bytes, byte value) {
    enter();
    long to = CudaBuffer.range(context, target, offset, bytes);
    if (bytes > 0) {
      done(cuMemsetD8Async(new DevicePointer(to), value, bytes, handle), "cuMemsetD8Async");
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
      context.enter();
      suspect(kernel.name());
      int result = enqueue(launch, kernel, values);
      context.checkLaunch(result, "cuLaunchKernel", kernel.name(), this);
      enqueued.incrementAndGet();
    } finally {
      // from here on the stream holds work that unloading the module waits for
      Reference.reachabilityFence(kernel);
    }
  }

  /**
   * Enqueues a graph.
   *
   * @param name what a loss is laid at
   */
  void launch(CUgraphExec graph, String name) {
    enterFor(name);
    context.checkLaunch(cuGraphLaunch(graph, handle), "cuGraphLaunch", name, this);
    enqueued.incrementAndGet();
  }

  /** A kernel that says its cluster itself is launched like any other. */
  private int enqueue(Launch launch, CudaKernel kernel, HostPointer values) {
    var grid = launch.grid();
    var block = launch.block();
    if (launch.cluster().count() > 1 && kernel.kernel().limits().cluster().isEmpty()) {
      return DriverCallsSince118.launch(launch, kernel, handle, values);
    }
    if (launch.cooperative()) {
      return cuLaunchCooperativeKernel(
          kernel.function(),
          grid.x(),
          grid.y(),
          grid.z(),
          block.x(),
          block.y(),
          block.z(),
          launch.dynamicSharedBytes(),
          handle,
          values);
    }
    return cuLaunchKernel(
        kernel.function(),
        grid.x(),
        grid.y(),
        grid.z(),
        block.x(),
        block.y(),
        block.z(),
        launch.dynamicSharedBytes(),
        handle,
        values,
        null);
  }

  /**
   * Enters the stream's context for work under a name that a loss is laid at. Of that which another
   * library enqueues {@link #enqueued} tells afterwards.
   */
  void enterFor(String name) {
    enter();
    suspect(name);
  }

  /** Notes that another library has enqueued work. */
  void enqueued() {
    enqueued.incrementAndGet();
  }

  @Override
  public Event record() {
    enter();
    return new CudaEvent(context, this);
  }

  @Override
  public void await(Event event) {
    enter();
    done(cuStreamWaitEvent(handle, CudaEvent.of(context, event), 0), "cuStreamWaitEvent");
  }

  @Override
  public void synchronize() {
    long all = enqueued.get();
    enter();
    context.check(cuStreamSynchronize(handle), "cuStreamSynchronize", this);
    waited = all;
    recentKernels.clear();
    held.clear();
    heldBefore.forEach(each -> each.until.close());
    heldBefore.clear();
  }

  /** A second closer waits for the first, so that the stream is closed when this returns. */
  @Override
  public void close() {
    synchronized (closing) {
      if (isClosed()) {
        return;
      }
      try {
        if (!context.gone()) {
          synchronize();
        }
      } finally {
        release();
      }
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /** Closes the queue, whose work is done or never ran. */
  synchronized void release() {
    closed = true;
    context.streams().remove(this);
    if (!context.gone()) {
      if (staging != null) {
        staging.close();
      }
      context.enter();
      context.check(cuStreamDestroy(handle), "cuStreamDestroy");
    }
  }

  /**
   * A fence behind all that was enqueued until now, or nothing where that is done. Any thread may
   * ask.
   */
  synchronized Optional<StreamFence> fence() {
    long now = enqueued.get();
    if (closed || now == waited) {
      return Optional.empty();
    }
    var shared = fence;
    if (shared == null || fenced != now) {
      shared = new StreamFence(context, handle);
      fence = shared;
      fenced = now;
    }
    return shared.passed() ? Optional.empty() : Optional.of(shared);
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

  private void done(int result, String call) {
    context.check(result, call, this);
    enqueued.incrementAndGet();
  }

  private void suspect(String kernel) {
    recentKernels.add(kernel);
    if (recentKernels.size() > SUSPECTS) {
      recentKernels.remove();
    }
  }

  private Staging staging() {
    var ring = staging;
    if (ring == null) {
      ring = new Staging(context, this);
      staging = ring;
    }
    return ring;
  }

  private static void alive(MemorySegment memory) {
    if (!memory.scope().isAlive()) {
      throw new IllegalStateException("the host memory is closed");
    }
  }

  private void hold(MemorySegment memory) {
    held.add(memory);
    if (held.size() == HELD) {
      heldBefore.add(new Held(new StreamFence(context, handle), held));
      held = new ArrayList<>();
      while (!heldBefore.isEmpty() && heldBefore.element().until.passed()) {
        heldBefore.remove();
      }
    }
  }
}
