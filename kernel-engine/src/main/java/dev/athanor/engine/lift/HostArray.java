package dev.athanor.engine.lift;

import dev.athanor.engine.lift.ir.Element;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An array or segment of the host, as memory that devices copy.
 *
 * @param given the array or segment
 * @param memory its memory; a copy of one byte for each element if it is an array of booleans,
 *     which have no fixed layout
 */
record HostArray(Object given, MemorySegment memory) {

  /** Returns an array as memory; empty if it has no numbers or booleans. */
  static Optional<HostArray> of(Object given) {
    if (given instanceof boolean[] flags) {
      var bytes = new byte[flags.length];
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = (byte) (flags[i] ? 1 : 0);
      }
      return Optional.of(new HostArray(given, MemorySegment.ofArray(bytes)));
    }
    return memoryOf(given).map(memory -> new HostArray(given, memory));
  }

  /** Returns the memory of a segment or an array; empty for booleans. */
  static Optional<MemorySegment> memoryOf(Object given) {
    return switch (given) {
      case MemorySegment segment -> Optional.of(segment);
      case byte[] array -> Optional.of(MemorySegment.ofArray(array));
      case short[] array -> Optional.of(MemorySegment.ofArray(array));
      case char[] array -> Optional.of(MemorySegment.ofArray(array));
      case int[] array -> Optional.of(MemorySegment.ofArray(array));
      case long[] array -> Optional.of(MemorySegment.ofArray(array));
      case float[] array -> Optional.of(MemorySegment.ofArray(array));
      case double[] array -> Optional.of(MemorySegment.ofArray(array));
      default -> Optional.empty();
    };
  }

  /** Returns the type of the elements of an array; empty if kernels have no such arrays. */
  static Optional<Element> element(@Nullable Class<?> array) {
    return array == null ? Optional.empty() : Element.of(array.getComponentType());
  }

  /** Updates an array of booleans from the memory. */
  void update() {
    if (given instanceof boolean[] flags) {
      for (int i = 0; i < flags.length; i++) {
        flags[i] = memory.get(ValueLayout.JAVA_BYTE, i) != 0;
      }
    }
  }
}
