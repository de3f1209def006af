package dev.athanor.engine.cuda.context;

import static jcuda.driver.CUevent_flags.CU_EVENT_DISABLE_TIMING;
import static jcuda.driver.CUresult.CUDA_ERROR_NOT_READY;
import static jcuda.driver.JCudaDriver.cuEventCreate;
import static jcuda.driver.JCudaDriver.cuEventDestroy;
import static jcuda.driver.JCudaDriver.cuEventQuery;
import static jcuda.driver.JCudaDriver.cuEventRecord;
import static jcuda.driver.JCudaDriver.cuEventSynchronize;

import dev.athanor.engine.cuda.driver.StreamHandle;
import jcuda.driver.CUevent;
import org.jspecify.annotations.Nullable;

/** A fence behind all work enqueued on a stream so far. It passes when that work has completed. */
public final class StreamFence {

  private final Context context;
  private final CUevent event = new CUevent();
  private boolean passed;

  /** Records the fence on a stream. */
  public StreamFence(Context context, StreamHandle stream) {
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

  /** Returns whether the work has completed; queries the driver until it has. */
  public synchronized boolean hasPassed() {
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
  public void await() {
    await(null);
  }

  /**
   * Waits for the work.
   *
   * @param waiting the stream that waits, whose kernels are the first suspects of an error
   */
  public synchronized void await(@Nullable StreamHandle waiting) {
    if (!passed) {
      context.enter();
      context.check(cuEventSynchronize(event), "cuEventSynchronize", waiting);
      pass();
    }
  }

  /** Destroys the event of a fence that is no longer needed or known to have passed. */
  public synchronized void close() {
    if (!passed && !context.isUnusable()) {
      context.enter();
      pass();
    }
  }

  private void pass() {
    passed = true;
    context.check(cuEventDestroy(event), "cuEventDestroy");
  }
}
