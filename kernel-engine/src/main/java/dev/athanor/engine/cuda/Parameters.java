package dev.athanor.engine.cuda;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.TensorMap;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * The values of a kernel's parameters as cuLaunchKernel reads them: an array of pointers, each to
 * one value, of which the driver takes as many bytes as the parameter has. Numbers lie in eight
 * bytes each, lowest first, so that narrower types begin in the same place; arrays lie where there
 * is room for any. The driver has read them when the call returns; so a stream uses one array for
 * all its launches.
 */
final class Parameters {

  private static final long SLOT = Long.BYTES;

  /** The alignment of any parameter, such as a tensor map. */
  private static final long ALIGNMENT = 64;

  private int capacity;

  /** The values, then the pointers to them. */
  private MemorySegment memory = MemorySegment.NULL;

  /** Writes the values down, and answers where the array of pointers is. */
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
        // The address is that of a byte of the buffer, so one byte at least is there.
        case Argument.Pointer p ->
            memory.setAtIndex(
                ValueLayout.JAVA_LONG, at, CudaBuffer.range(context, p.buffer(), p.offset(), 1));
        case Argument.Scalar s -> memory.setAtIndex(ValueLayout.JAVA_LONG, at, s.bits());
        case Argument.Bytes b ->
            MemorySegment.copy(b.segment(), 0, memory, at * SLOT, b.segment().byteSize());
        case Argument.Tensor t ->
            DriverCallsSince118.encode(
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
