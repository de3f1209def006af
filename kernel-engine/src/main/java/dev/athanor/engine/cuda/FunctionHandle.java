package dev.athanor.engine.cuda;

import jcuda.driver.CUfunction;

/** A driver's function, whose handle what JCuda does not bind can be given. */
final class FunctionHandle extends CUfunction {

  long value() {
    return getNativePointer();
  }
}
