package dev.athanor.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.athanor.engine.device.LruCache;
import dev.athanor.engine.device.TensorMap;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;

/**
 * Encodes tensor maps (CUDA driver API, cuTensorMapEncodeTiled) and caches the encoded ones, so
 * that repeated launches do not encode again. Drivers have the function since CUDA 12.0; JCuda does
 * not bind it.
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

  /** Maximum number of cached maps. */
  private static final int LIMIT = 1024;

  private final LruCache<Key, MemorySegment> encoded = new LruCache<>(LIMIT);

  private record Key(TensorMap map, long address) {}

  /**
   * Writes an encoded tensor map.
   *
   * @param address device address of the first element
   * @param target receives {@link TensorMap#BYTES}, at any alignment
   * @throws IllegalArgumentException if the driver is older than CUDA 12.0 or rejects the map
   */
  public void encode(TensorMap map, long address, MemorySegment target) {
    target.copyFrom(encoded.get(new Key(map, address), TensorMapEncoder::encode));
  }

  private static MemorySegment encode(Key key) {
    var map = key.map;
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
              key.address,
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
      return MemorySegment.ofArray(encoded.toArray(JAVA_BYTE));
    }
  }

  private static long[] longs(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  private static int[] ints(List<Integer> numbers) {
    return numbers.stream().mapToInt(Integer::intValue).toArray();
  }
}
