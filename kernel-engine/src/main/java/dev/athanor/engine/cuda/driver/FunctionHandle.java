package dev.athanor.engine.cuda.driver;

import jcuda.driver.CUfunction;

/** The driver's handle of a function. */
public final class FunctionHandle extends CUfunction {

  /** Returns the handle as native code takes it. */
  public long value() {
    return getNativePointer();
  }
}
