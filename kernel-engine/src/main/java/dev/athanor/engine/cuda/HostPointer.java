package dev.athanor.engine.cuda;

import java.lang.foreign.MemorySegment;
import jcuda.Pointer;

/** Host memory by its address, as JCuda takes it. The driver may set one that has none yet. */
final class HostPointer extends Pointer {

  HostPointer() {}

  HostPointer(long address) {
    super(address);
  }

  /** The start of native memory, which the caller keeps alive. */
  static HostPointer of(MemorySegment memory) {
    return new HostPointer(memory.address());
  }

  long value() {
    return getNativePointer() + getByteOffset();
  }
}
