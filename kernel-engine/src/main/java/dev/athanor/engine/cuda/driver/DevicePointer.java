package dev.athanor.engine.cuda.driver;

import jcuda.driver.CUdeviceptr;

/** A device address as JCuda takes it. */
public final class DevicePointer extends CUdeviceptr {

  private static final CUdeviceptr ORIGIN = new CUdeviceptr();

  /** A pointer for the driver to set. */
  public DevicePointer() {}

  public DevicePointer(long address) {
    super(ORIGIN, address);
  }

  /** Returns the address. */
  public long value() {
    return getNativePointer() + getByteOffset();
  }
}
