package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED;
import static jcuda.driver.JCudaDriver.cuGraphDestroy;
import static jcuda.driver.JCudaDriver.cuGraphExecDestroy;
import static jcuda.driver.JCudaDriver.cuGraphInstantiate;
import static jcuda.driver.JCudaDriver.cuStreamBeginCapture;
import static jcuda.driver.JCudaDriver.cuStreamEndCapture;

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
 * What the driver has captured of a stream, made executable.
 *
 * <p>The stream is one of the capture's own, and no other code has its handle. {@link
 * Context#streams} does not have it, so that a buffer which is closed meanwhile, on whichever
 * thread, puts no fence into the capture: an event that is recorded there can be neither asked nor
 * waited for (CUDA driver API, CUDA_ERROR_CAPTURED_EVENT). It does not wait for the default stream,
 * so that whoever uses that is not stopped either (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT).
 *
 * <p>The capture is relaxed (cuThreadExchangeStreamCaptureMode). A global one would forbid all
 * threads of the process to allocate memory, load modules or ask events, and be spoilt by the first
 * that does. One of the thread would forbid so to the thread it began on, and has to end there: the
 * work may load kernels and allocate, and a virtual thread may go on in another one, leaving its
 * first to other work. What a relaxed capture allows is no part of it, and need not be: code and
 * memory are there when the call that loads or allocates returns, and whether the buffers are still
 * open is asked at each launch of the graph.
 */
final class CudaGraph implements Graph {

  private final Context context;
  private final String name;
  private final Set<Buffer> buffers;

  /** Their modules must stay loaded. */
  private final List<CudaKernel> kernels;

  private final CUgraphExec executable;
  private boolean closed;

  private CudaGraph(Context context, String name, Capture capture, CUgraphExec executable) {
    this.context = context;
    this.name = name;
    this.buffers = Set.copyOf(capture.buffers);
    this.kernels = List.copyOf(capture.kernels);
    this.executable = executable;
  }

  /** What some code would have a stream do. */
  static CudaGraph of(Context context, Capability capability, Consumer<Stream> code) {
    var stream = new CudaStream(context, capability);
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
        if (!context
            .gone()) { // of a lost context nothing is left, and the fault of the code counts
          context.enter();
          result = cuStreamEndCapture(stream.handle(), captured);
          if (!complete && result == CUDA_SUCCESS) {
            context.check(cuGraphDestroy(captured), "cuGraphDestroy");
          }
        }
      }
      context.check(result, "cuStreamEndCapture");
      return instantiate(context, capture, captured);
    } finally {
      stream.release();
    }
  }

  private static CudaGraph instantiate(Context context, Capture capture, CUgraph captured) {
    var names = capture.kernels.stream().map(CudaKernel::name).distinct().toList();
    var name = "graph(%s)".formatted(String.join(", ", names));
    var executable = new CUgraphExec();
    context.enter();
    int result = cuGraphInstantiate(executable, captured, 0);
    context.check(
        cuGraphDestroy(captured), "cuGraphDestroy"); // what is executable needs it no more
    context.checkLaunch(result, "cuGraphInstantiate", name, null);
    var graph = new CudaGraph(context, name, capture, executable);
    context.graphs().add(graph);
    return graph;
  }

  /** By one thread at a time, as the driver asks for ("graph object thread safety"). */
  @Override
  public synchronized void launch(Stream stream) {
    var ours = CudaStream.of(context, stream, "a graph");
    context.requireUsable();
    if (closed) {
      throw new IllegalStateException("the graph is closed");
    }
    for (var buffer : buffers) {
      CudaBuffer.range(context, buffer, 0, 0); // it is still open
    }
    ours.launch(executable, name);
  }

  /** Drivers before CUDA 12 do not say that an executable may be destroyed while it runs. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      context.graphs().remove(this);
      if (!context.gone()) {
        context
            .afterwards()
            .add(() -> {
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

  /** Gives to the stream, and keeps in mind what it was. */
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
