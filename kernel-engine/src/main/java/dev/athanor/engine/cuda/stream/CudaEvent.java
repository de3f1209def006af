package dev.athanor.engine.cuda.stream;

import static jcuda.driver.CUevent_flags.CU_EVENT_DEFAULT;
import static jcuda.driver.CUresult.CUDA_ERROR_NOT_READY;
import static jcuda.driver.JCudaDriver.cuEventCreate;
import static jcuda.driver.JCudaDriver.cuEventDestroy;
import static jcuda.driver.JCudaDriver.cuEventElapsedTime;
import static jcuda.driver.JCudaDriver.cuEventRecord;
import static jcuda.driver.JCudaDriver.cuEventSynchronize;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.driver.StreamHandle;
import dev.athanor.engine.device.Event;
import java.util.concurrent.atomic.AtomicBoolean;
import jcuda.driver.CUevent;

/** An event of the driver that records a timestamp. */
final class CudaEvent implements Event {

  private final Context context;
  private final StreamHandle stream;
  private final CUevent handle = new CUevent();
  private final AtomicBoolean closed = new AtomicBoolean();

  CudaEvent(Context context, StreamHandle stream) {
    this.context = context;
    this.stream = stream;
    context.enter();
    context.check(cuEventCreate(handle, CU_EVENT_DEFAULT), "cuEventCreate");
    try {
      context.check(cuEventRecord(handle, stream), "cuEventRecord", stream);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  @Override
  public void synchronize() {
    requireOpen();
    context.enter();
    context.check(cuEventSynchronize(handle), "cuEventSynchronize", stream);
  }

  @Override
  public double microsSince(Event earlier) {
    var millis = new float[1];
    var from = of(context, earlier);
    requireOpen();
    context.enter();
    int result = cuEventElapsedTime(millis, from, handle);
    if (result == CUDA_ERROR_NOT_READY) {
      throw new IllegalStateException("the event has not completed; synchronize with it first");
    }
    context.check(result, "cuEventElapsedTime", stream);
    return millis[0] * 1000.0;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true) && !context.isUnusable()) {
      context.enter();
      context.check(cuEventDestroy(handle), "cuEventDestroy");
    }
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("the event is closed");
    }
  }

  /** Returns the driver's handle of an event of this context. */
  static CUevent of(Context context, Event event) {
    if (!(event instanceof CudaEvent own) || own.context != context) {
      throw new IllegalArgumentException("the event does not belong to " + context.id());
    }
    own.requireOpen();
    return own.handle;
  }
}
