package dev.athanor.engine.cuda;

import jcuda.driver.CUdeviceptr;

/** Device memory by its address, as JCuda takes it. The driver may set one that has none yet. */
final class DevicePointer extends CUdeviceptr {

  private static final CUdeviceptr ORIGIN = new CUdeviceptr();

  DevicePointer() {}

  DevicePointer(long address) {
    super(ORIGIN, address);
  }

  long value() {
    return getNativePointer() + getByteOffset();
  }
}
