package dev.athanor.engine.cuda;

import static jcuda.driver.CUevent_flags.CU_EVENT_DISABLE_TIMING;
import static jcuda.driver.CUresult.CUDA_ERROR_NOT_READY;
import static jcuda.driver.JCudaDriver.cuEventCreate;
import static jcuda.driver.JCudaDriver.cuEventDestroy;
import static jcuda.driver.JCudaDriver.cuEventQuery;
import static jcuda.driver.JCudaDriver.cuEventRecord;
import static jcuda.driver.JCudaDriver.cuEventSynchronize;

import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import org.jspecify.annotations.Nullable;

/** Tells when the work that a stream held at one moment is done. */
final class StreamFence {

  private final Context context;
  private final CUevent event = new CUevent();
  private boolean passed;

  StreamFence(Context context, CUstream stream) {
    this.context = context;
    context.enter();
    context.check(cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    try {
      context.check(cuEventRecord(event, stream), "cuEventRecord");
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Whether the work is done, asking the driver until it once was. */
  synchronized boolean passed() {
    if (!passed) {
      context.enter();
      int result = cuEventQuery(event);
      if (result != CUDA_ERROR_NOT_READY) {
        context.check(result, "cuEventQuery");
        pass();
      }
    }
    return passed;
  }

  /** Waits for the work. */
  void await() {
    await(null);
  }

  /** Waits for the work of a stream, whose kernels are suspected when it failed. */
  synchronized void await(@Nullable CudaStream stream) {
    if (!passed) {
      context.enter();
      context.check(cuEventSynchronize(event), "cuEventSynchronize", stream);
      pass();
    }
  }

  /** Gives the event back, where nobody will ask for it or the work is known to be done. */
  synchronized void close() {
    if (!passed && !context.gone()) {
      context.enter();
      pass();
    }
  }

  private void pass() {
    passed = true;
    context.check(cuEventDestroy(event), "cuEventDestroy");
  }
}
