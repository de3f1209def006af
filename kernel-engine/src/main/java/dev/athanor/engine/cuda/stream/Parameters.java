package dev.athanor.engine.cuda.stream;

import dev.athanor.engine.cuda.context.Context;
import dev.athanor.engine.cuda.driver.HostPointer;
import dev.athanor.engine.cuda.memory.CudaBuffer;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.TensorMap;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Packs a kernel's arguments as cuLaunchKernel reads them: an array of pointers to the values. The
 * driver reads as many bytes of a value as its parameter has. A number occupies a slot of 8 bytes,
 * little-endian, so narrower types start at the same address; a byte array occupies as many slots
 * as it needs. The driver has read the values when the launch call returns, so a stream reuses one
 * segment for all its launches.
 */
final class Parameters {

  private static final long SLOT = Long.BYTES;

  /** The strictest alignment of a parameter: a tensor map's. */
  private static final long ALIGNMENT = 64;

  private int capacity;

  /** The values, then the pointers to them. */
  private MemorySegment memory = MemorySegment.NULL;

  /** Packs the values and returns the address of the array of pointers. */
  HostPointer pack(Context context, List<Argument> arguments) {
    long slots = 0;
    for (var argument : arguments) {
      slots += slots(argument);
    }
    if (capacity < slots + arguments.size()) {
      capacity = Math.toIntExact(2 * (slots + arguments.size()) + ALIGNMENT / SLOT);
      memory = Arena.ofAuto().allocate(capacity * SLOT, ALIGNMENT);
    }
    long at = 0;
    long pointer = slots;
    for (var argument : arguments) {
      switch (argument) {
        // A pointer must point into the buffer, at one byte at least.
        case Argument.Pointer p ->
            memory.setAtIndex(
                ValueLayout.JAVA_LONG, at, CudaBuffer.range(context, p.buffer(), p.offset(), 1));
        case Argument.Scalar s -> memory.setAtIndex(ValueLayout.JAVA_LONG, at, s.bits());
        case Argument.Bytes b ->
            MemorySegment.copy(b.segment(), 0, memory, at * SLOT, b.segment().byteSize());
        case Argument.Tensor t ->
            context
                .tensorMaps()
                .encode(
                    t.map(),
                    CudaBuffer.range(context, t.buffer(), t.offset(), t.map().bytes()),
                    memory.asSlice(at * SLOT, TensorMap.BYTES));
      }
      memory.setAtIndex(ValueLayout.JAVA_LONG, pointer, memory.address() + at * SLOT);
      at += slots(argument);
      pointer++;
    }
    return new HostPointer(memory.address() + slots * SLOT);
  }

  private static long slots(Argument argument) {
    return switch (argument) {
      case Argument.Bytes b -> Math.ceilDiv(b.segment().byteSize(), SLOT);
      case Argument.Tensor _ -> TensorMap.BYTES / SLOT;
      case Argument.Pointer _, Argument.Scalar _ -> 1;
    };
  }
}
