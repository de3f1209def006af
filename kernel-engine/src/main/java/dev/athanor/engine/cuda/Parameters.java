package dev.athanor.engine.cuda;

import dev.athanor.engine.device.Argument;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * The values of a kernel's parameters as cuLaunchKernel reads them: an array of pointers, each to
 * one value, of which the driver takes as many bytes as the parameter has. Values lie in eight
 * bytes each, lowest first, so that narrower types begin in the same place. The driver has read
 * them when the call returns; so a stream uses one array for all its launches.
 */
final class Parameters {

  private static final long SLOT = Long.BYTES;

  private int capacity;

  /** The values, then the pointers to them. */
  private MemorySegment memory = MemorySegment.NULL;

  private Address pointers = new Address();

  /** Writes the values down, and answers where the array of pointers is. */
  Address pack(Context context, List<Argument> arguments) {
    if (capacity < arguments.size()) {
      grow(Math.max(32, 2 * arguments.size()));
    }
    for (int i = 0; i < arguments.size(); i++) {
      memory.setAtIndex(
          ValueLayout.JAVA_LONG,
          i,
          switch (arguments.get(i)) {
            // The address is that of a byte of the buffer, so one byte at least is there.
            case Argument.Pointer p -> CudaBuffer.range(context, p.buffer(), p.offset(), 1);
            case Argument.Scalar s -> s.bits();
          });
    }
    return pointers;
  }

  private void grow(int count) {
    capacity = count;
    memory = Arena.ofAuto().allocate(2L * count * SLOT, SLOT);
    for (int i = 0; i < count; i++) {
      memory.setAtIndex(ValueLayout.JAVA_LONG, count + i, memory.address() + i * SLOT);
    }
    pointers = new Address(memory.address() + count * SLOT);
  }
}
