package dev.athanor.engine.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.athanor.engine.device.Dim3;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Optional;

/**
 * A kernel launch as the driver takes it. Each method enqueues it and returns the driver's result
 * code.
 *
 * <p>The three launch functions are called without JCuda, which does not bind cuLaunchKernelEx.
 *
 * @param kernel the kernel's name, for messages
 * @param sharedBytes dynamic shared memory of a block
 * @param parameters the array of pointers to the kernel's parameters
 */
public record LaunchCall(
    String kernel,
    FunctionHandle function,
    Dim3 grid,
    Dim3 block,
    int sharedBytes,
    StreamHandle stream,
    HostPointer parameters) {

  /** CU_LAUNCH_ATTRIBUTE_COOPERATIVE. */
  private static final int COOPERATIVE_ATTRIBUTE = 2;

  /** CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION. */
  private static final int CLUSTER_DIMENSION = 4;

  /** CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION. */
  private static final int PROGRAMMATIC_SERIALIZATION = 6;

  /** The attributes that a launch may have. */
  private static final int MAX_ATTRIBUTES = 3;

  /** CUlaunchAttribute: a number, padding, and a value of 64 bytes. */
  private static final int ATTRIBUTE_BYTES = 72;

  private static final int ATTRIBUTE_VALUE = 8;

  /** CUlaunchConfig: seven numbers, padding, the stream, the attributes, and their number. */
  private static final int CONFIG_BYTES = 56;

  private static final int CONFIG_STREAM = 32;
  private static final int CONFIG_ATTRIBUTES = 40;
  private static final int CONFIG_COUNT = 48;

  private static final MethodHandle PLAIN =
      MethodHandles.insertArguments(
          CudaDriver.require(
              "cuLaunchKernel",
              ADDRESS, // function
              JAVA_INT, // grid
              JAVA_INT,
              JAVA_INT,
              JAVA_INT, // block
              JAVA_INT,
              JAVA_INT,
              JAVA_INT, // dynamic shared memory
              ADDRESS, // stream
              ADDRESS, // parameters
              ADDRESS), // extra
          10,
          MemorySegment.NULL);

  private static final MethodHandle COOPERATIVE =
      CudaDriver.require(
          "cuLaunchCooperativeKernel",
          ADDRESS, // function
          JAVA_INT, // grid
          JAVA_INT,
          JAVA_INT,
          JAVA_INT, // block
          JAVA_INT,
          JAVA_INT,
          JAVA_INT, // dynamic shared memory
          ADDRESS, // stream
          ADDRESS); // parameters

  /** Drivers have it since CUDA 11.8. */
  private static final Optional<MethodHandle> EXTENDED =
      CudaDriver.find("cuLaunchKernelEx", ADDRESS, ADDRESS, ADDRESS, ADDRESS);

  /** Launches the kernel; one that declares its own cluster is launched in such clusters. */
  public int launch() {
    return call(PLAIN);
  }

  /** Launches the kernel with all blocks resident at once. */
  public int launchCooperative() {
    return call(COOPERATIVE);
  }

  private int call(MethodHandle function) {
    try {
      return (int)
          function.invokeExact(
              MemorySegment.ofAddress(this.function.value()),
              grid.x(),
              grid.y(),
              grid.z(),
              block.x(),
              block.y(),
              block.z(),
              sharedBytes,
              MemorySegment.ofAddress(stream.value()),
              MemorySegment.ofAddress(parameters.value()));
    } catch (Throwable e) {
      throw NativeFunctions.mismatch(e);
    }
  }

  /** Returns whether the driver takes launch attributes, which it does since CUDA 11.8. */
  public static boolean takesAttributes() {
    return EXTENDED.isPresent();
  }

  /**
   * Launches the kernel with launch attributes (CUDA driver API, cuLaunchKernelEx).
   *
   * @param cluster extents of a cluster; one block if there are none, or the kernel declares them
   * @param dependent whether it may begin before the previous kernel of the stream has ended
   * @throws IllegalArgumentException if the driver is older than CUDA 11.8
   */
  public int launchWithAttributes(Dim3 cluster, boolean cooperative, boolean dependent) {
    var function =
        EXTENDED.orElseThrow(() ->
            new IllegalArgumentException(
                "cannot launch %s in clusters of %s blocks: the NVIDIA driver is older than CUDA 11.8; update it"
                    .formatted(kernel, cluster)));
    try (var arena = Arena.ofConfined()) {
      var attributes = arena.allocate(MAX_ATTRIBUTES * ATTRIBUTE_BYTES, Long.BYTES);
      int count = 0;
      if (cluster.count() > 1) {
        set(value(attributes, count++, CLUSTER_DIMENSION), 0, cluster);
      }
      if (cooperative) {
        value(attributes, count++, COOPERATIVE_ATTRIBUTE).set(JAVA_INT, 0, 1);
      }
      if (dependent) {
        value(attributes, count++, PROGRAMMATIC_SERIALIZATION).set(JAVA_INT, 0, 1);
      }
      var config = arena.allocate(CONFIG_BYTES, Long.BYTES);
      set(config, 0, grid);
      set(config, 12, block);
      config.set(JAVA_INT, 24, sharedBytes);
      config.set(JAVA_LONG, CONFIG_STREAM, stream.value());
      config.set(ADDRESS, CONFIG_ATTRIBUTES, attributes);
      config.set(JAVA_INT, CONFIG_COUNT, count);
      return NativeFunctions.call(
          function,
          config,
          MemorySegment.ofAddress(this.function.value()),
          MemorySegment.ofAddress(parameters.value()),
          MemorySegment.NULL);
    }
  }

  /** Writes the number of an attribute and returns the place of its value. */
  private static MemorySegment value(MemorySegment attributes, int index, int number) {
    var attribute = attributes.asSlice((long) index * ATTRIBUTE_BYTES, ATTRIBUTE_BYTES);
    attribute.set(JAVA_INT, 0, number);
    return attribute.asSlice(ATTRIBUTE_VALUE);
  }

  private static void set(MemorySegment memory, long at, Dim3 extents) {
    memory.set(JAVA_INT, at, extents.x());
    memory.set(JAVA_INT, at + 4, extents.y());
    memory.set(JAVA_INT, at + 8, extents.z());
  }
}
