package dev.athanor.engine.lift.host;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The shared memory of a block. New arrays are filled with a pattern, NaN in floats and doubles, so
 * that a kernel that reads an element before it writes it gives a conspicuous result.
 */
final class SharedArrays {
  private static final long PATTERN = 0xA5A5_A5A5_A5A5_A5A5L;

  private final Map<CallSite, Object> arrays = new HashMap<>();
  private final int dynamicBytes;
  private @Nullable Object dynamic;

  SharedArrays(int dynamicBytes) {
    this.dynamicBytes = dynamicBytes;
  }

  /** Returns the array of a call, which the first thread that comes creates. */
  synchronized <T> T of(CallSite site, Class<T> type, int length) {
    if (length < 1) {
      throw new IllegalArgumentException(
          "%s asks for %d elements; the minimum is 1".formatted(site, length));
    }
    var array = arrays.computeIfAbsent(site, _ -> create(type, length));
    if (Array.getLength(array) != length) {
      throw new IllegalArgumentException(
          "%s asks for %d elements, and before for %d; the length must be a constant"
              .formatted(site, length, Array.getLength(array)));
    }
    return type.cast(array);
  }

  /** Returns the dynamic shared memory as one array. */
  synchronized <T> T dynamic(Class<T> type) {
    if (dynamic == null) {
      dynamic = create(type, dynamicBytes / bytes(type));
    }
    if (!type.isInstance(dynamic)) {
      throw new IllegalStateException(
          "dynamic shared memory is a %s here and a %s elsewhere; use one type in a kernel"
              .formatted(type.getSimpleName(), dynamic.getClass().getSimpleName()));
    }
    return type.cast(dynamic);
  }

  private static int bytes(Class<?> array) {
    return switch (Array.newInstance(array.componentType(), 0)) {
      case byte[] _ -> Byte.BYTES;
      case short[] _ -> Short.BYTES;
      case int[] _ -> Integer.BYTES;
      case float[] _ -> Float.BYTES;
      default -> Long.BYTES;
    };
  }

  private static Object create(Class<?> type, int length) {
    var array = Array.newInstance(type.componentType(), length);
    switch (array) {
      case byte[] bytes -> Arrays.fill(bytes, (byte) PATTERN);
      case short[] shorts -> Arrays.fill(shorts, (short) PATTERN);
      case int[] ints -> Arrays.fill(ints, (int) PATTERN);
      case long[] longs -> Arrays.fill(longs, PATTERN);
      case float[] floats -> Arrays.fill(floats, Float.NaN);
      case double[] doubles -> Arrays.fill(doubles, Double.NaN);
      default -> throw new IllegalArgumentException("no shared array can be a " + type);
    }
    return array;
  }
}
