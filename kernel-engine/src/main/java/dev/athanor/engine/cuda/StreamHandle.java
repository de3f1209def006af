package dev.athanor.engine.cuda;

import jcuda.driver.CUstream;

/** A driver's stream, whose handle other libraries can be given. */
final class StreamHandle extends CUstream {

  long value() {
    return getNativePointer();
  }
}
