package dev.athanor.engine.cuda;

import static jcuda.driver.CUevent_flags.CU_EVENT_DEFAULT;
import static jcuda.driver.CUresult.CUDA_ERROR_NOT_READY;
import static jcuda.driver.JCudaDriver.cuEventCreate;
import static jcuda.driver.JCudaDriver.cuEventDestroy;
import static jcuda.driver.JCudaDriver.cuEventElapsedTime;
import static jcuda.driver.JCudaDriver.cuEventRecord;
import static jcuda.driver.JCudaDriver.cuEventSynchronize;

import dev.athanor.engine.device.Event;
import java.util.concurrent.atomic.AtomicBoolean;
import jcuda.driver.CUevent;

/** A driver's event with a time. */
final class CudaEvent implements Event {

  private final Context context;
  private final CudaStream stream;
  private final CUevent handle = new CUevent();
  private final AtomicBoolean closed = new AtomicBoolean();

  CudaEvent(Context context, CudaStream stream) {
    this.context = context;
    this.stream = stream;
    context.enter();
    context.check(cuEventCreate(handle, CU_EVENT_DEFAULT), "cuEventCreate");
    try {
      context.check(cuEventRecord(handle, stream.handle()), "cuEventRecord", stream);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  @Override
  public void synchronize() {
    open();
    context.enter();
    context.check(cuEventSynchronize(handle), "cuEventSynchronize", stream);
  }

  @Override
  public double microsSince(Event earlier) {
    var millis = new float[1];
    var from = of(context, earlier);
    open();
    context.enter();
    int result = cuEventElapsedTime(millis, from, handle);
    if (result == CUDA_ERROR_NOT_READY) {
      throw new IllegalStateException("an event was not reached yet; wait for it first");
    }
    context.check(result, "cuEventElapsedTime", stream);
    return millis[0] * 1000.0;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true) && !context.gone()) {
      context.enter();
      context.check(cuEventDestroy(handle), "cuEventDestroy");
    }
  }

  private void open() {
    if (closed.get()) {
      throw new IllegalStateException("the event is closed");
    }
  }

  /** The driver's handle of an event of this context. */
  static CUevent of(Context context, Event event) {
    if (!(event instanceof CudaEvent ours) || ours.context != context) {
      throw new IllegalArgumentException("the event is not one of " + context.id());
    }
    ours.open();
    return ours.handle;
  }
}
