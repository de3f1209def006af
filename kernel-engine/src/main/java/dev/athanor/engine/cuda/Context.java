package dev.athanor.engine.cuda;

import static jcuda.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY;
import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuCtxSetCurrent;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRelease;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRetain;
import static jcuda.driver.JCudaDriver.cuMemGetInfo;

import dev.athanor.engine.device.DeviceException;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import org.jspecify.annotations.Nullable;

/**
 * A GPU's primary context: what the driver calls of this package run in, and what is lost with it.
 *
 * <p>CUDA keeps the current context per operating-system thread. A virtual thread may go on in
 * another one wherever it blocks, which is at locks too, so that setting it once per Java thread
 * would not do. Therefore {@link #enter} is called after all locks are taken and right before each
 * group of driver calls; between those nothing gives the thread up, for a native call pins it. It
 * costs well under a microsecond.
 */
final class Context {

  private final String id;
  private final CUdevice device;
  private final CUcontext handle = new CUcontext();
  private final Set<CudaStream> streams = ConcurrentHashMap.newKeySet();
  private final Set<CudaGraph> graphs = ConcurrentHashMap.newKeySet();
  private final DeferredFrees afterwards = new DeferredFrees(this);
  private volatile boolean closed;
  private volatile @Nullable String lost;

  Context(String id, CUdevice device) {
    this.id = id;
    this.device = device;
    int result = cuDevicePrimaryCtxRetain(handle, device);
    if (result != CUDA_SUCCESS) {
      throw new DeviceException.Unavailable(
          id + " could not be opened: " + CudaError.describe(result));
    }
  }

  String id() {
    return id;
  }

  /** The streams that are open. */
  Set<CudaStream> streams() {
    return streams;
  }

  /** The graphs that are open. */
  Set<CudaGraph> graphs() {
    return graphs;
  }

  DeferredFrees afterwards() {
    return afterwards;
  }

  /** What passes once all work is done that the streams hold now; none where they are idle. */
  List<StreamFence> fences() {
    return streams.stream().map(CudaStream::fence).flatMap(Optional::stream).toList();
  }

  /**
   * Makes this the context of the calling thread.
   *
   * @throws DeviceException.Lost when it is lost
   * @throws IllegalStateException when its device is closed
   */
  void enter() {
    requireUsable();
    check(cuCtxSetCurrent(handle), "cuCtxSetCurrent");
  }

  void requireUsable() {
    if (closed) {
      throw new IllegalStateException(id + " is closed");
    }
    var why = lost;
    if (why != null) {
      throw new DeviceException.Lost(why);
    }
  }

  /** Whether nothing can be asked of it any more. */
  boolean gone() {
    return closed || lost != null;
  }

  /** Throws what a result other than success means. */
  void check(int result, String call) {
    if (result != CUDA_SUCCESS) {
      throw failure(result, call, null);
    }
  }

  /** As {@link #check}, for a call that concerns a stream, whose kernels are the first suspects. */
  void check(int result, String call, @Nullable CudaStream stream) {
    if (result != CUDA_SUCCESS) {
      throw failure(result, call, stream);
    }
  }

  /**
   * As {@link #check}, for a launch.
   *
   * @param kernel what is launched
   * @throws DeviceException.KernelFault when it was refused for a reason of its own
   */
  void checkLaunch(int result, String call, String kernel, @Nullable CudaStream stream) {
    if (CudaError.refusesLaunch(result)) {
      throw new DeviceException.KernelFault(
          kernel, List.of("the launch was refused with %s".formatted(CudaError.describe(result))));
    }
    check(result, call, stream);
  }

  private RuntimeException failure(int result, String call, @Nullable CudaStream stream) {
    var what = call + " answered " + CudaError.describe(result);
    if (CudaError.fatal(result)) {
      var sentence = id + " is lost: " + what + "; " + suspects(stream);
      lost = sentence;
      return new DeviceException.Lost(sentence);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return new DeviceException.OutOfMemory(0, free());
    }
    // A misuse of the driver by this package.
    return new IllegalStateException(id + ": " + what);
  }

  private String suspects(@Nullable CudaStream stream) {
    var here = stream == null ? List.<String>of() : stream.recentKernels();
    if (!here.isEmpty()) {
      return "kernels launched on this stream since it was last waited for: "
          + String.join(", ", here);
    }
    var anywhere =
        streams.stream().map(CudaStream::recentKernels).flatMap(Collection::stream).toList();
    return anywhere.isEmpty()
        ? "no kernel was running"
        : "kernels launched since their streams were last waited for: "
            + String.join(", ", anywhere);
  }

  /** What the driver can still allocate; 0 when it does not say. Called in the context. */
  long free() {
    var free = new long[1];
    return cuMemGetInfo(free, new long[1]) == CUDA_SUCCESS ? free[0] : 0;
  }

  /** Gives the context back; what was allocated in it must be freed before. */
  void close() {
    if (!closed) {
      closed = true;
      // Its answer changes nothing: a lost context reports its loss once more.
      int ignored = cuDevicePrimaryCtxRelease(device);
    }
  }
}
