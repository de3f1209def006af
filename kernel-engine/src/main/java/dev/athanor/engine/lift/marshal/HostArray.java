package dev.athanor.engine.lift.marshal;

import dev.athanor.engine.lift.ir.ElementType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An array or segment of the host, as memory that devices copy.
 *
 * @param given the array or segment
 * @param memory its memory; a copy if it is an array of booleans, one byte for each, or of records,
 *     which have no fixed layout
 */
public record HostArray(Object given, MemorySegment memory) {

  /**
   * Returns an array or segment as memory; empty if kernels have no such arrays.
   *
   * @throws IllegalArgumentException if it is an array of records and one is null
   */
  public static Optional<HostArray> of(Object given) {
    if (given instanceof boolean[] flags) {
      var bytes = new byte[flags.length];
      for (int i = 0; i < bytes.length; i++) {
        bytes[i] = (byte) (flags[i] ? 1 : 0);
      }
      return Optional.of(new HostArray(given, MemorySegment.ofArray(bytes)));
    }
    if (given instanceof Object[] records && element(given.getClass()).isPresent()) {
      return Optional.of(new HostArray(given, recordsOf(given).copy(records)));
    }
    return memoryOf(given).map(memory -> new HostArray(given, memory));
  }

  /** Returns memory for all elements of an array, which need not have values yet. */
  public static Optional<HostArray> toUpdate(Object given) {
    return given instanceof Object[] records && element(given.getClass()).isPresent()
        ? Optional.of(new HostArray(given, recordsOf(given).allocate(records.length)))
        : of(given);
  }

  private static HostRecords recordsOf(Object array) {
    return HostRecords.of(array.getClass().getComponentType());
  }

  /** Returns the memory of a segment or an array of numbers; empty for others. */
  public static Optional<MemorySegment> memoryOf(Object given) {
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
  public static Optional<ElementType> element(@Nullable Class<?> array) {
    var type = array == null ? null : array.getComponentType();
    return type == null ? Optional.empty() : ElementType.of(type);
  }

  /** Updates an array of booleans or records from the memory. */
  public void update() {
    switch (given) {
      case boolean[] flags -> {
        for (int i = 0; i < flags.length; i++) {
          flags[i] = memory.get(ValueLayout.JAVA_BYTE, i) != 0;
        }
      }
      case Object[] records -> recordsOf(given).update(records, memory);
      default -> {}
    }
  }
}
