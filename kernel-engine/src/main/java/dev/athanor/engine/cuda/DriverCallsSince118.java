package dev.athanor.engine.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.TensorMap;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;

/**
 * Functions that drivers have since CUDA 11.8 and 12.0, and that JCuda does not bind: launches in
 * clusters and tensor maps (CUDA driver API, cuLaunchKernelEx and cuTensorMapEncodeTiled).
 */
final class DriverCallsSince118 {

  /** CU_LAUNCH_ATTRIBUTE_COOPERATIVE. */
  private static final int COOPERATIVE = 2;

  /** CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION. */
  private static final int CLUSTER_DIMENSION = 4;

  /** CUlaunchAttribute: a number, padding, and a value of 64 bytes. */
  private static final int ATTRIBUTE_BYTES = 72;

  private static final int ATTRIBUTE_VALUE = 8;

  /** CUlaunchConfig: seven numbers, padding, the stream, the attributes, and how many. */
  private static final int CONFIG_BYTES = 56;

  private static final int CONFIG_STREAM = 32;
  private static final int CONFIG_ATTRIBUTES = 40;
  private static final int CONFIG_COUNT = 48;

  private static final long MAP_ALIGNMENT = 64;

  private static final Optional<MethodHandle> LAUNCH =
      function("cuLaunchKernelEx", ADDRESS, ADDRESS, ADDRESS, ADDRESS);
  private static final Optional<MethodHandle> ENCODE =
      function(
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

  private DriverCallsSince118() {}

  @SuppressWarnings("restricted") // the probe has found the library
  private static Optional<MethodHandle> function(String name, MemoryLayout... parameters) {
    return SymbolLookup.libraryLookup(CudaDriver.LIBRARY, Arena.global())
        .find(name)
        .map(symbol ->
            Linker.nativeLinker()
                .downcallHandle(symbol, FunctionDescriptor.of(JAVA_INT, parameters)));
  }

  /**
   * Enqueues a launch in clusters; answers the driver's code.
   *
   * @param values the array of pointers to the kernel's parameters
   * @throws IllegalArgumentException when the driver is too old
   */
  static int launch(Launch launch, CudaKernel kernel, StreamHandle stream, HostPointer values) {
    var function =
        LAUNCH.orElseThrow(() ->
            new IllegalArgumentException(
                "cannot launch %s: got clusters of %s blocks, for which the NVIDIA driver must know CUDA 11.8 or later"
                    .formatted(kernel.name(), launch.cluster())));
    try (var arena = Arena.ofConfined()) {
      var attributes = arena.allocate(2 * ATTRIBUTE_BYTES, Long.BYTES);
      attributes.set(JAVA_INT, 0, CLUSTER_DIMENSION);
      set(attributes, ATTRIBUTE_VALUE, launch.cluster());
      attributes.set(JAVA_INT, ATTRIBUTE_BYTES, COOPERATIVE);
      attributes.set(JAVA_INT, ATTRIBUTE_BYTES + ATTRIBUTE_VALUE, 1);
      var config = arena.allocate(CONFIG_BYTES, Long.BYTES);
      set(config, 0, launch.grid());
      set(config, 12, launch.block());
      config.set(JAVA_INT, 24, launch.dynamicSharedBytes());
      config.set(JAVA_LONG, CONFIG_STREAM, stream.value());
      config.set(ADDRESS, CONFIG_ATTRIBUTES, attributes);
      config.set(JAVA_INT, CONFIG_COUNT, launch.cooperative() ? 2 : 1);
      return call(
          function,
          config,
          MemorySegment.ofAddress(kernel.function().value()),
          MemorySegment.ofAddress(values.value()),
          MemorySegment.NULL);
    }
  }

  private static void set(MemorySegment memory, long at, Dim3 extents) {
    memory.set(JAVA_INT, at, extents.x());
    memory.set(JAVA_INT, at + 4, extents.y());
    memory.set(JAVA_INT, at + 8, extents.z());
  }

  /**
   * Encodes a tensor map.
   *
   * @param address of the first element
   * @param to its {@link TensorMap#BYTES}, at any alignment
   * @throws IllegalArgumentException when the driver is too old or refuses the map
   */
  static void encode(TensorMap map, long address, MemorySegment to) {
    var function =
        ENCODE.orElseThrow(() ->
            new IllegalArgumentException(
                "a tensor map needs an NVIDIA driver that knows CUDA 12.0 or later"));
    try (var arena = Arena.ofConfined()) {
      var encoded = arena.allocate(TensorMap.BYTES, MAP_ALIGNMENT);
      int result =
          call(
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
            "the driver refuses the tensor map with %s: %s"
                .formatted(CudaError.describe(result), map));
      }
      to.copyFrom(encoded);
    }
  }

  private static long[] longs(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  private static int[] ints(List<Integer> numbers) {
    return numbers.stream().mapToInt(Integer::intValue).toArray();
  }

  private static int call(MethodHandle function, Object... arguments) {
    try {
      return (int) function.invokeWithArguments(arguments);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e); // native functions throw nothing
    }
  }
}
