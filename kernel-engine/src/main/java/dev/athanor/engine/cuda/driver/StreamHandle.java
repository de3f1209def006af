package dev.athanor.engine.cuda.driver;

import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import jcuda.driver.CUstream;

/**
 * The driver's handle of a stream, and the names of the kernels launched on the stream since it was
 * last synchronized: an error of the context names them as suspects.
 */
public final class StreamHandle extends CUstream {

  /** Maximum number of suspects. */
  private static final int SUSPECTS = 4;

  private final Deque<String> recentKernels = new ConcurrentLinkedDeque<>();

  /** Returns the handle as native code takes it. */
  public long value() {
    return getNativePointer();
  }

  /** Adds a kernel or graph that is about to be launched. */
  public void addRecentKernel(String name) {
    recentKernels.add(name);
    if (recentKernels.size() > SUSPECTS) {
      recentKernels.remove();
    }
  }

  /** Returns the last kernels launched since the stream was last synchronized. */
  public List<String> recentKernels() {
    return List.copyOf(recentKernels);
  }

  /** Forgets the kernels, whose work has completed. */
  public void clearRecentKernels() {
    recentKernels.clear();
  }
}
