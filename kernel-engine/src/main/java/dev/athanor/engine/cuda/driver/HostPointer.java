package dev.athanor.engine.cuda.driver;

import java.lang.foreign.MemorySegment;
import jcuda.Pointer;

/** An address of host memory as JCuda takes it. */
public final class HostPointer extends Pointer {

  /** A pointer for the driver to set. */
  public HostPointer() {}

  public HostPointer(long address) {
    super(address);
  }

  /** Returns a pointer to the start of native memory, which the caller keeps alive. */
  public static HostPointer of(MemorySegment memory) {
    return new HostPointer(memory.address());
  }

  /** Returns the address. */
  public long value() {
    return getNativePointer() + getByteOffset();
  }
}
