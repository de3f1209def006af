package dev.athanor.ops;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.TensorMap;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * One launch of a plan.
 *
 * @param block threads per block
 * @param sharedBytes of the kernel's dynamic shared array; 0 when it has none
 * @param dependent whether it may begin before the previous launch has ended, as in {@link
 *     Launch#dependent}
 */
public record Step(
    Variant variant,
    Dim3 grid,
    Dim3 block,
    int sharedBytes,
    Arguments arguments,
    boolean dependent) {

  private static final int MAX_GRID_YZ = 65_535;

  /** The most static shared memory that a kernel can declare. */
  private static final int MAX_STATIC_SHARED_BYTES = 48 << 10;

  /** Creates a launch that begins after the previous one has ended. */
  public Step(Variant variant, Dim3 grid, Dim3 block, int sharedBytes, Arguments arguments) {
    this(variant, grid, block, sharedBytes, arguments, false);
  }

  /** Creates a launch of one-dimensional blocks. */
  public Step(Variant variant, Dim3 grid, int threads, int sharedBytes, Arguments arguments) {
    this(variant, grid, Dim3.of(threads), sharedBytes, arguments);
  }

  /** Returns the same launch with other arguments. */
  public Step map(UnaryOperator<Slot> change) {
    return new Step(variant, grid, block, sharedBytes, arguments.map(change), dependent);
  }

  /** Returns the same launch as a dependent one. */
  public Step asDependent() {
    return new Step(variant, grid, block, sharedBytes, arguments, true);
  }

  /** Returns the number of threads per block. */
  public int threads() {
    return Math.toIntExact(block.count());
  }

  /** The source of a kernel argument. */
  public sealed interface Slot {

    /** The address of an input. */
    record Input(String name, long byteOffset) implements Slot {}

    /** The address of an output. */
    record Output(String name, long byteOffset) implements Slot {}

    /** An address in the plan's workspace. */
    record Workspace(long byteOffset) implements Slot {}

    /**
     * A tensor for the copies of a {@code TensorParameter}.
     *
     * @param first the address of its first element
     */
    record Tensor(Slot first, TensorMap map) implements Slot {}

    /** A number, which has no address. */
    record Scalar(Argument value) implements Slot {}

    /** Returns the address some bytes further. */
    default Slot advanced(long bytes) {
      return switch (this) {
        case Input(var name, var offset) -> new Input(name, offset + bytes);
        case Output(var name, var offset) -> new Output(name, offset + bytes);
        case Workspace(var offset) -> new Workspace(offset + bytes);
        case Tensor(var first, var map) -> new Tensor(first.advanced(bytes), map);
        case Scalar scalar -> scalar;
      };
    }

    /** Returns what replaces this; of a tensor, its address is replaced. */
    default Slot map(UnaryOperator<Slot> change) {
      return this instanceof Tensor(var first, var map)
          ? new Tensor(change.apply(first), map)
          : change.apply(this);
    }

    static Slot input(String name) {
      return new Input(name, 0);
    }

    static Slot output(String name) {
      return new Output(name, 0);
    }

    static Slot of(int value) {
      return new Scalar(Argument.of(value));
    }

    static Slot of(long value) {
      return new Scalar(Argument.of(value));
    }

    static Slot of(float value) {
      return new Scalar(Argument.of(value));
    }

    static Slot of(double value) {
      return new Scalar(Argument.of(value));
    }
  }

  /**
   * Returns in one sentence why the device cannot launch this step; empty if it can. Checks the
   * features, then shared memory, then the block, then the grid.
   */
  public Optional<String> refusal(Capability device) {
    var lacking = device.features().lacking(variant::build);
    if (lacking.isPresent()) {
      return Optional.of("requires %s, which %s lacks".formatted(lacking.get(), device.name()));
    }
    int limit = device.sharedBytesPerBlockOptIn();
    int shared = sharedBytes + device.features().exchangeBytes(block.count());
    if (shared + MAX_STATIC_SHARED_BYTES > limit) {
      shared += variant.build().staticSharedBytes();
    }
    if (shared > limit) {
      return Optional.of(
          "requires %d bytes of shared memory; the limit per block on %s is %d"
              .formatted(shared, device.name(), limit));
    }
    if (block.count() > device.maxThreadsPerBlock()) {
      return Optional.of(
          "requires blocks of %d threads; the limit on %s is %d"
              .formatted(block.count(), device.name(), device.maxThreadsPerBlock()));
    }
    if (grid.y() > MAX_GRID_YZ || grid.z() > MAX_GRID_YZ) {
      return Optional.of(
          "requires a grid of %s blocks; the limit on %s is %d along y and z"
              .formatted(grid, device.name(), MAX_GRID_YZ));
    }
    return Optional.empty();
  }

  private static Argument argument(Slot slot, Bindings bindings) {
    return switch (slot) {
      case Slot.Tensor(var first, var map)
          when argument(first, bindings) instanceof Argument.Pointer(var buffer, var offset) ->
          new Argument.Tensor(map, buffer, offset);
      case Slot.Tensor tensor ->
          throw new IllegalArgumentException("a tensor begins at an address, got " + tensor.first);
      case Slot.Input(var name, var offset) -> pointer(bindings.input(name), offset);
      case Slot.Output(var name, var offset) -> pointer(bindings.output(name), offset);
      case Slot.Workspace(var offset) ->
          new Argument.Pointer(bindings.workspace().orElseThrow(), offset);
      case Slot.Scalar(var value) -> value;
    };
  }

  private static Argument pointer(DeviceTensor tensor, long offset) {
    return new Argument.Pointer(tensor.buffer(), tensor.offset() + offset);
  }

  Launch launch(KernelCache kernels, Bindings bindings) {
    var kernel = kernels.get(variant);
    var ordered = arguments.of(kernel.kernel(), slot -> argument(slot, bindings));
    var launch = new Launch(kernel, grid, block, sharedBytes, ordered);
    return dependent ? launch.asDependent() : launch;
  }
}
