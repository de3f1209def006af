package dev.athanor.engine.cuda;

import java.lang.foreign.MemorySegment;
import jcuda.Pointer;

/** Host memory by its address, as JCuda takes it. The driver may set one that has none yet. */
final class Address extends Pointer {

  Address() {}

  Address(long address) {
    super(address);
  }

  /** The start of native memory, which the caller keeps alive. */
  static Address of(MemorySegment memory) {
    return new Address(memory.address());
  }

  long value() {
    return getNativePointer() + getByteOffset();
  }
}
