package dev.athanor.engine.device;

import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.engine.ptx.LaunchBounds;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Variable;
import dev.athanor.engine.ptx.Warps;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A kernel launch.
 *
 * @param cluster extents of a cluster: blocks that are co-resident and access each other's shared
 *     memory
 * @param dynamicSharedBytes size of the kernel's dynamic shared memory in bytes; 0 if it has none
 * @param cooperative whether all blocks are resident at once, so that grid barriers are possible
 * @param dependent whether the launch may begin before the previous kernel of its stream has ended
 *     (programmatic dependent launch). The kernel must then execute {@code griddepcontrol.wait}
 *     before it accesses memory that earlier kernels write, or writes memory that they access. This
 *     is a permission: devices before sm_90, and those other than NVIDIA's, ignore it
 */
public record Launch(
    LoadedKernel kernel,
    Dim3 grid,
    Dim3 block,
    Dim3 cluster,
    int dynamicSharedBytes,
    List<Argument> arguments,
    boolean cooperative,
    boolean dependent) {

  private static final int MAX_CLUSTER_BLOCKS = 8;
  private static final int MAX_BLOCK_Z = 64;
  private static final int MAX_GRID_YZ = 65_535;

  /** Registers of a block, on every GPU since sm_50 (CUDA programming guide 16.2). */
  private static final int MAX_REGISTERS = 65_536;

  /** Allocation unit of a thread's registers. */
  private static final int REGISTER_UNIT = 8;

  private static final int WARP = Warps.SIZE;

  public Launch {
    arguments = List.copyOf(arguments);
  }

  /** Creates a launch that is neither cooperative nor dependent. */
  public Launch(
      LoadedKernel kernel,
      Dim3 grid,
      Dim3 block,
      Dim3 cluster,
      int dynamicSharedBytes,
      List<Argument> arguments) {
    this(kernel, grid, block, cluster, dynamicSharedBytes, arguments, false, false);
  }

  /** Creates a launch with the clusters that the kernel declares, if any. */
  public Launch(
      LoadedKernel kernel,
      Dim3 grid,
      Dim3 block,
      int dynamicSharedBytes,
      List<Argument> arguments) {
    this(kernel, grid, block, cluster(kernel), dynamicSharedBytes, arguments);
  }

  private static Dim3 cluster(LoadedKernel kernel) {
    var cluster = kernel.kernel().launchBounds().clusterShape();
    return cluster.isEmpty()
        ? Dim3.of(1)
        : new Dim3(cluster.get(0), cluster.get(1), cluster.get(2));
  }

  /** Returns the same launch as a cooperative one. */
  public Launch asCooperative() {
    return new Launch(kernel, grid, block, cluster, dynamicSharedBytes, arguments, true, dependent);
  }

  /** Returns the same launch as a dependent one. */
  public Launch asDependent() {
    return new Launch(
        kernel, grid, block, cluster, dynamicSharedBytes, arguments, cooperative, true);
  }

  /**
   * Returns whether the launch is dependent and a device of a target can run it so, from sm_90 (PTX
   * ISA 9.7.13.13).
   */
  public boolean mayBeginEarly(Target target) {
    return dependent && target.sm() >= Target.SM_90.sm();
  }

  /**
   * Checks that all blocks of a cooperative launch can be resident at once.
   *
   * @param resident number of its blocks that the device holds at once
   * @throws IllegalArgumentException if the grid has more blocks
   */
  public void checkResident(long resident, Capability capability) {
    if (cooperative && grid.count() > resident) {
      throw refused(
          "a cooperative grid of %d blocks of %s threads; only %d fit on %s at once"
              .formatted(grid.count(), block, resident, capability.name()));
    }
  }

  /** Returns the buffers that the arguments refer to. */
  public List<Buffer> buffers() {
    return arguments.stream()
        .<Buffer>mapMulti((argument, found) -> {
          switch (argument) {
            case Argument.Pointer pointer -> found.accept(pointer.buffer());
            case Argument.Tensor tensor -> found.accept(tensor.buffer());
            case Argument.Scalar _, Argument.Bytes _ -> {}
          }
        })
        .toList();
  }

  /**
   * Checks the launch against its kernel and a device: block, grid, clusters, shared memory,
   * registers and arguments. Every device calls this before it runs a launch.
   *
   * @throws IllegalArgumentException if a limit is exceeded or an argument does not match
   */
  public void check(Capability capability) {
    var code = kernel.kernel();
    if (block.count() > capability.maxThreadsPerBlock()) {
      throw refused(
          "a block of %s threads; the limit of %s is %d"
              .formatted(block, capability.name(), capability.maxThreadsPerBlock()));
    }
    if (code.maxThreads() > 0 && block.count() > code.maxThreads()) {
      throw refused(
          "a block of %s threads; the limit of the kernel is %d"
              .formatted(block, code.maxThreads()));
    }
    checkShape(code.launchBounds());
    if (block.z() > MAX_BLOCK_Z) {
      throw refused(
          "a block of %s threads; the limit of %s for z is %d"
              .formatted(block, capability.name(), MAX_BLOCK_Z));
    }
    if (grid.y() > MAX_GRID_YZ || grid.z() > MAX_GRID_YZ) {
      throw refused(
          "a grid of %s blocks; the limit of %s for y and z is %d"
              .formatted(grid, capability.name(), MAX_GRID_YZ));
    }
    checkCluster(code.launchBounds());
    if (dynamicSharedBytes < 0) {
      throw refused(
          "%d bytes of dynamic shared memory; the minimum is 0".formatted(dynamicSharedBytes));
    }
    long shared = (long) code.staticSharedBytes() + dynamicSharedBytes;
    if (shared > capability.sharedBytesPerBlockOptIn()) {
      throw refused(
          "%d bytes of shared memory; the limit of %s is %d per block"
              .formatted(shared, capability.name(), capability.sharedBytesPerBlockOptIn()));
    }
    long registers =
        Math.ceilDiv(block.count(), WARP)
            * WARP
            * Math.ceilDiv(kernel.registers(), REGISTER_UNIT)
            * REGISTER_UNIT;
    if (registers > MAX_REGISTERS) {
      throw refused(
          "a block of %s threads with %d registers each, %d in whole warps; the limit of %s is %d"
              .formatted(block, kernel.registers(), registers, capability.name(), MAX_REGISTERS));
    }
    var parameters = code.parameters();
    if (arguments.size() != parameters.size()) {
      throw refused(
          "%d arguments; the kernel takes %d".formatted(arguments.size(), parameters.size()));
    }
    for (int i = 0; i < parameters.size(); i++) {
      if (!arguments.get(i).fits(parameters.get(i))) {
        throw refused(
            "%s for parameter %s of type %s"
                .formatted(arguments.get(i), parameters.get(i).name(), type(parameters.get(i))));
      }
    }
  }

  private void checkCluster(LaunchBounds limits) {
    if (!limits.clusterShape().isEmpty() && !cluster.equals(cluster(kernel))) {
      throw refused(
          "clusters of %s blocks; the kernel requires %s".formatted(cluster, cluster(kernel)));
    }
    if (cluster.count() > MAX_CLUSTER_BLOCKS) {
      throw refused(
          "clusters of %s blocks; the limit is %d".formatted(cluster, MAX_CLUSTER_BLOCKS));
    }
    if (grid.x() % cluster.x() != 0 || grid.y() % cluster.y() != 0 || grid.z() % cluster.z() != 0) {
      throw refused(
          "a grid of %s blocks, which is not a multiple of the clusters of %s"
              .formatted(grid, cluster));
    }
  }

  private static String type(Parameter parameter) {
    return "."
        + parameter.type().word()
        + (parameter.count() == Variable.SCALAR ? "" : "[" + parameter.count() + "]");
  }

  /** Checks the block and cluster extents that the kernel declares. */
  private void checkShape(LaunchBounds limits) {
    if (!limits.requiredBlockShape().isEmpty()
        && !limits.requiredBlockShape().equals(extents(block))) {
      throw refused(
          "a block of %s threads; the kernel requires %s"
              .formatted(block, times(limits.requiredBlockShape())));
    }
    for (int i = 0; i < limits.clusterShape().size(); i++) {
      if (extents(grid).get(i) % limits.clusterShape().get(i) != 0) {
        throw refused(
            "a grid of %s blocks, which is not a multiple of the clusters of %s"
                .formatted(grid, times(limits.clusterShape())));
      }
    }
  }

  private static List<Integer> extents(Dim3 shape) {
    return List.of(shape.x(), shape.y(), shape.z());
  }

  private static String times(List<Integer> extents) {
    return extents.stream().map(String::valueOf).collect(Collectors.joining("x"));
  }

  private IllegalArgumentException refused(String got) {
    return new IllegalArgumentException("cannot launch " + kernel.kernel().name() + ": got " + got);
  }
}
