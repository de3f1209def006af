package dev.athanor.engine.cuda.context;

import static jcuda.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY;
import static jcuda.driver.CUresult.CUDA_SUCCESS;
import static jcuda.driver.JCudaDriver.cuCtxSetCurrent;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRelease;
import static jcuda.driver.JCudaDriver.cuDevicePrimaryCtxRetain;
import static jcuda.driver.JCudaDriver.cuMemGetInfo;

import dev.athanor.engine.cuda.driver.CudaError;
import dev.athanor.engine.cuda.driver.StreamHandle;
import dev.athanor.engine.cuda.driver.TensorMapEncoder;
import dev.athanor.engine.device.DeviceException;
import java.util.List;
import java.util.function.Supplier;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import org.jspecify.annotations.Nullable;

/**
 * A GPU's primary context. It turns result codes into exceptions, and is lost after a sticky error.
 *
 * <p>CUDA keeps the current context per operating-system thread. A virtual thread may continue on
 * another carrier thread after it blocks, at locks too, so setting the context once per Java thread
 * is not enough. Callers therefore take all locks first and call {@link #enter} right before each
 * group of driver calls. Between these calls the virtual thread keeps its carrier: native calls pin
 * it. Entering costs well under a microsecond.
 */
public final class Context {

  private final String id;
  private final CUdevice device;
  private final CUcontext handle = new CUcontext();
  private final Supplier<List<String>> recentKernels;
  private final TensorMapEncoder tensorMaps = new TensorMapEncoder();
  private volatile boolean closed;
  private volatile @Nullable String lost;

  /**
   * Retains the primary context.
   *
   * @param recentKernels names the kernels launched lately on all open streams
   * @throws DeviceException.Unavailable if the driver refuses
   */
  public Context(String id, CUdevice device, Supplier<List<String>> recentKernels) {
    this.id = id;
    this.device = device;
    this.recentKernels = recentKernels;
    int result = cuDevicePrimaryCtxRetain(handle, device);
    if (result != CUDA_SUCCESS) {
      throw new DeviceException.Unavailable(
          "cannot open %s: %s%s"
              .formatted(
                  id,
                  CudaError.describe(result),
                  CudaError.fatal(result)
                      ? "; a kernel failed earlier in this process, so start a new one"
                      : ""));
    }
  }

  /** Returns the device's id, such as {@code cuda:0}. */
  public String id() {
    return id;
  }

  /** Returns the encoder of the tensor maps of this device's launches. */
  public TensorMapEncoder tensorMaps() {
    return tensorMaps;
  }

  /**
   * Makes this the context of the calling thread.
   *
   * @throws DeviceException.Lost if the context is lost
   * @throws IllegalStateException if the device is closed
   */
  public void enter() {
    requireUsable();
    check(cuCtxSetCurrent(handle), "cuCtxSetCurrent");
  }

  /**
   * Checks that driver calls are possible.
   *
   * @throws DeviceException.Lost if the context is lost
   * @throws IllegalStateException if the device is closed
   */
  public void requireUsable() {
    if (closed) {
      throw new IllegalStateException(id + " is closed");
    }
    var reason = lost;
    if (reason != null) {
      throw new DeviceException.Lost(reason);
    }
  }

  /** Returns whether the context is closed or lost, so that no driver call is possible. */
  public boolean isUnusable() {
    return closed || lost != null;
  }

  /** Throws the exception for a result code other than success. */
  public void check(int result, String call) {
    check(result, call, null);
  }

  /**
   * Throws the exception for a result code other than success.
   *
   * @param stream the stream of the call, whose kernels are the first suspects
   */
  public void check(int result, String call, @Nullable StreamHandle stream) {
    if (result != CUDA_SUCCESS) {
      throw failure(result, call, stream);
    }
  }

  /**
   * Throws the exception for a result code of a launch other than success.
   *
   * @param kernel name of the kernel or graph
   * @throws DeviceException.KernelFault if the driver rejects only this launch
   */
  public void checkLaunch(int result, String call, String kernel, @Nullable StreamHandle stream) {
    if (CudaError.rejectsLaunch(result)) {
      throw new DeviceException.KernelFault(
          kernel, List.of("the driver rejected the launch with " + CudaError.describe(result)));
    }
    check(result, call, stream);
  }

  private RuntimeException failure(int result, String call, @Nullable StreamHandle stream) {
    var failure = call + " failed with " + CudaError.describe(result);
    if (CudaError.fatal(result)) {
      var message = id + " is lost: " + failure + "; " + suspects(stream);
      lost = message;
      return new DeviceException.Lost(message);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return new DeviceException.OutOfMemory(0, freeBytes());
    }
    // The engine misused the driver.
    return new IllegalStateException(id + ": " + failure);
  }

  private String suspects(@Nullable StreamHandle stream) {
    var ofStream = stream == null ? List.<String>of() : stream.recentKernels();
    if (!ofStream.isEmpty()) {
      return "kernels launched on this stream since it was last synchronized: "
          + String.join(", ", ofStream);
    }
    var ofAllStreams = recentKernels.get();
    return ofAllStreams.isEmpty()
        ? "no kernel was running"
        : "kernels launched since their streams were last synchronized: "
            + String.join(", ", ofAllStreams);
  }

  /**
   * Returns the bytes that the driver can still allocate; 0 if it does not say. The caller has
   * entered the context.
   */
  public long freeBytes() {
    var free = new long[1];
    return cuMemGetInfo(free, new long[1]) == CUDA_SUCCESS ? free[0] : 0;
  }

  /** Releases the context. All allocations in it must be freed before. */
  public void close() {
    if (!closed) {
      closed = true;
      // The result does not matter: a lost context returns its sticky error again.
      int ignored = cuDevicePrimaryCtxRelease(device);
    }
  }
}
