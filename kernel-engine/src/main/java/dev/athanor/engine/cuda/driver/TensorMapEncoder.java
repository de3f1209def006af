package dev.athanor.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.athanor.engine.device.TensorMap;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;

/**
 * Encodes tensor maps (CUDA driver API, cuTensorMapEncodeTiled). Drivers have the function since
 * CUDA 12.0; JCuda does not bind it.
 */
public final class TensorMapEncoder {

  private static final long ALIGNMENT = 64;

  private static final Optional<MethodHandle> ENCODE =
      CudaDriver.find(
          "cuTensorMapEncodeTiled",
          ADDRESS,
          JAVA_INT,
          JAVA_INT,
          JAVA_LONG,
          ADDRESS,
          ADDRESS,
          ADDRESS,
          ADDRESS,
          JAVA_INT,
          JAVA_INT,
          JAVA_INT,
          JAVA_INT);

  private TensorMapEncoder() {}

  /**
   * Encodes a tensor map.
   *
   * @param address device address of the first element
   * @param target receives {@link TensorMap#BYTES}, at any alignment
   * @throws IllegalArgumentException if the driver is older than CUDA 12.0 or rejects the map
   */
  public static void encode(TensorMap map, long address, MemorySegment target) {
    var function =
        ENCODE.orElseThrow(() ->
            new IllegalArgumentException(
                "cannot encode a tensor map: the NVIDIA driver is older than CUDA 12.0; update it"));
    try (var arena = Arena.ofConfined()) {
      var encoded = arena.allocate(TensorMap.BYTES, ALIGNMENT);
      int result =
          NativeFunctions.call(
              function,
              encoded,
              map.element().driverNumber(),
              map.sizes().size(),
              address,
              arena.allocateFrom(JAVA_LONG, longs(map.sizes())),
              arena.allocateFrom(JAVA_LONG, longs(map.strides())),
              arena.allocateFrom(JAVA_INT, ints(map.box())),
              arena.allocateFrom(JAVA_INT, ints(map.elementStrides())),
              0, // not interleaved
              map.swizzle().driverNumber(),
              map.promotion().driverNumber(),
              map.fill().driverNumber());
      if (result != 0) {
        throw new IllegalArgumentException(
            "the driver rejected the tensor map with %s: %s"
                .formatted(CudaError.describe(result), map));
      }
      target.copyFrom(encoded);
    }
  }

  private static long[] longs(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  private static int[] ints(List<Integer> numbers) {
    return numbers.stream().mapToInt(Integer::intValue).toArray();
  }
}
