package dev.athanor.engine.cuda.stream;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED;
import static jcuda.driver.JCudaDriver.cuGraphDestroy;
import static jcuda.driver.JCudaDriver.cuGraphExecDestroy;
import static jcuda.driver.JCudaDriver.cuGraphInstantiate;
import static jcuda.driver.JCudaDriver.cuStreamBeginCapture;
import static jcuda.driver.JCudaDriver.cuStreamEndCapture;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.context.DeferredFrees;
import dev.athanor.engine.cuda.context.OpenStreams;
import dev.athanor.engine.cuda.memory.CudaBuffer;
import dev.athanor.engine.cuda.module.CudaKernel;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.CaptureStream;
import dev.athanor.engine.device.Graph;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Stream;
import java.lang.ref.Reference;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;

/**
 * A CUDA graph: captured work of a stream, made executable.
 *
 * <p>Work is captured on a stream that only the capture uses. The stream is not among the device's
 * {@link OpenStreams}: otherwise a buffer that is closed meanwhile, on any thread, would record a
 * fence into the capture, and an event recorded there can be neither queried nor waited for (CUDA
 * driver API, CUDA_ERROR_CAPTURED_EVENT). The stream does not synchronize with the default stream,
 * so users of that stream are not disturbed either (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT).
 *
 * <p>The capture mode is relaxed (cuThreadExchangeStreamCaptureMode). The global mode would forbid
 * all threads of the process to allocate memory, load modules or query events, and the first thread
 * to do so would invalidate the capture. The thread-local mode would forbid it to the thread on
 * which the capture began, and the capture must end there; but the captured code may load kernels
 * and allocate, and a virtual thread may continue on another carrier thread and leave the first to
 * other work. Calls that the relaxed mode permits are not part of the graph, and need not be: loads
 * and allocations are complete when the call returns, and each launch of the graph checks that its
 * buffers are still open.
 */
public final class CudaGraph implements Graph {

  private final Context context;
  private final DeferredFrees deferredFrees;
  private final Set<CudaGraph> openGraphs;
  private final String name;
  private final Set<Buffer> buffers;

  /** Their modules must stay loaded. */
  private final List<CudaKernel> kernels;

  private final CUgraphExec executable;
  private boolean closed;

  private CudaGraph(
      Context context,
      DeferredFrees deferredFrees,
      Set<CudaGraph> openGraphs,
      String name,
      Capture capture,
      CUgraphExec executable) {
    this.context = context;
    this.deferredFrees = deferredFrees;
    this.openGraphs = openGraphs;
    this.name = name;
    this.buffers = Set.copyOf(capture.buffers);
    this.kernels = List.copyOf(capture.kernels);
    this.executable = executable;
  }

  /**
   * Captures the work that {@code code} enqueues on a stream.
   *
   * @param openGraphs receives the graph, which removes itself when it is closed
   */
  public static CudaGraph capture(
      Context context,
      Capability capability,
      DeferredFrees deferredFrees,
      Set<CudaGraph> openGraphs,
      Consumer<Stream> code) {
    var stream = new CudaStream(context, capability, new OpenStreams());
    try {
      context.enter();
      context.check(
          cuStreamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
          "cuStreamBeginCapture");
      var capture = new Capture(stream);
      var captured = new CUgraph();
      int result = CUDA_SUCCESS;
      boolean complete = false;
      try {
        code.accept(capture);
        complete = true;
      } finally {
        capture.end();
        // A lost context has destroyed the capture, and the exception of the code matters more.
        if (!context.isUnusable()) {
          context.enter();
          result = cuStreamEndCapture(stream.handle(), captured);
          if (!complete && result == CUDA_SUCCESS) {
            context.check(cuGraphDestroy(captured), "cuGraphDestroy");
          }
        }
      }
      context.check(result, "cuStreamEndCapture");
      var graph = instantiate(context, deferredFrees, openGraphs, capture, captured);
      openGraphs.add(graph);
      return graph;
    } finally {
      stream.release(false);
    }
  }

  private static CudaGraph instantiate(
      Context context,
      DeferredFrees deferredFrees,
      Set<CudaGraph> openGraphs,
      Capture capture,
      CUgraph captured) {
    var names = capture.kernels.stream().map(CudaKernel::name).distinct().toList();
    var name = "graph(%s)".formatted(String.join(", ", names));
    var executable = new CUgraphExec();
    context.enter();
    int result = cuGraphInstantiate(executable, captured, 0);
    // An executable graph does not need its template.
    context.check(cuGraphDestroy(captured), "cuGraphDestroy");
    context.checkLaunch(result, "cuGraphInstantiate", name, null);
    return new CudaGraph(context, deferredFrees, openGraphs, name, capture, executable);
  }

  /** Synchronized, since the driver's graphs are not thread-safe ("graph object thread safety"). */
  @Override
  public synchronized void launch(Stream stream) {
    var own = CudaStream.of(context, stream, "a graph");
    context.requireUsable();
    if (closed) {
      throw new IllegalStateException("the graph is closed");
    }
    for (var buffer : buffers) {
      CudaBuffer.range(context, buffer, 0, 0); // throws if the buffer is closed
    }
    own.launch(executable, name);
  }

  /**
   * Destroys the graph after its launches: drivers before CUDA 12 do not document that an
   * executable graph may be destroyed while it runs.
   */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      openGraphs.remove(this);
      if (!context.isUnusable()) {
        deferredFrees.add(() -> {
          try {
            context.enter();
            context.check(cuGraphExecDestroy(executable), "cuGraphExecDestroy");
          } finally {
            Reference.reachabilityFence(kernels);
          }
        });
      }
    }
  }

  /** Forwards work to the captured stream and records the buffers and kernels that it uses. */
  private static final class Capture extends CaptureStream {
    private final CudaStream stream;
    private final Set<Buffer> buffers = new HashSet<>();
    private final Set<CudaKernel> kernels = new LinkedHashSet<>();

    Capture(CudaStream stream) {
      this.stream = stream;
    }

    @Override
    public void copy(
        Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes) {
      requireOpen();
      stream.copy(source, sourceOffset, target, targetOffset, bytes);
      buffers.addAll(List.of(source, target));
    }

    @Override
    public void fill(Buffer target, long offset, long bytes, byte value) {
      requireOpen();
      stream.fill(target, offset, bytes, value);
      buffers.add(target);
    }

    @Override
    public void launch(Launch launch) {
      requireOpen();
      stream.launch(launch);
      buffers.addAll(launch.buffers());
      kernels.add((CudaKernel) launch.kernel());
    }
  }
}
