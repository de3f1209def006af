package dev.athanor.ops.lift;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The launches of a call of a {@link KernelOp}, with its temporary tensors in the workspace. */
final class KernelSteps {

  /** The address of an absent input, whose array has length 0. */
  private static final Slot ABSENT = Slot.of(0L);

  private static final int ALIGNMENT = 256;

  private final KernelDefinition definition;
  private final DType dtype;
  private final Sizes sizes;
  private final Map<String, TensorType> types = new HashMap<>();
  private final Map<String, Slot> addresses = new HashMap<>();
  private long workspaceBytes;

  /**
   * Allocates the temporary tensors.
   *
   * @param dtype of the kernels
   */
  KernelSteps(
      KernelDefinition definition,
      DType dtype,
      Sizes sizes,
      Map<String, TensorType> inputs,
      Map<String, TensorType> outputs,
      Map<String, TensorType> temporaries) {
    this.definition = definition;
    this.dtype = dtype;
    this.sizes = sizes;
    inputs.forEach((name, type) -> add(name, type, Slot.input(name)));
    outputs.forEach((name, type) -> add(name, type, Slot.output(name)));
    temporaries.forEach((name, type) -> {
      add(name, type, new Slot.Workspace(workspaceBytes));
      workspaceBytes += Math.ceilDiv(type.bytes(), ALIGNMENT) * ALIGNMENT;
    });
  }

  private void add(String name, TensorType type, Slot address) {
    types.put(name, type);
    addresses.put(name, address);
  }

  /** Returns the bytes of the temporary tensors. */
  long workspaceBytes() {
    return workspaceBytes;
  }

  /** Returns the steps, in launch order. */
  List<Step> all() {
    return definition.launches().stream().map(this::step).toList();
  }

  private Step step(KernelLaunch launch) {
    var kernel = launch.kernel(dtype);
    var variant = new KernelVariant(kernel);
    return new Step(
        variant,
        grid(launch, kernel),
        launch.block(kernel),
        sharedBytes(launch),
        Arguments.inOrder(variant.build(), slots(launch, kernel)));
  }

  private Dim3 grid(KernelLaunch launch, JavaKernel kernel) {
    if (launch.grid().isEmpty()) {
      long elements = written(launch, kernel).shape().elements();
      return Dim3.of((int) Math.ceilDiv(elements, launch.block(kernel).count()));
    }
    return new Dim3(blocks(0, launch), blocks(1, launch), blocks(2, launch));
  }

  /** Returns the type of the first tensor that the kernel writes. */
  private TensorType written(KernelLaunch launch, JavaKernel kernel) {
    var parameters = kernel.parameters();
    int first = 0;
    while (!parameters.get(first).isWritten()) {
      first++;
    }
    var name = launch.arguments().get(first);
    return Objects.requireNonNull(types.get(name), name);
  }

  private int blocks(int dimension, KernelLaunch launch) {
    if (dimension >= launch.grid().size()) {
      return 1;
    }
    var name = launch.grid().get(dimension);
    long blocks = sizes.atLeast(1, name, definition.name());
    if (blocks > Integer.MAX_VALUE) {
      throw new OpException.TooLarge(
          name, "%s is %d; a grid has at most 2^31 - 1 blocks".formatted(name, blocks));
    }
    return (int) blocks;
  }

  private int sharedBytes(KernelLaunch launch) {
    long bytes = launch.sharedBytes().map(each -> each.applyAsLong(sizes)).orElse(0L);
    return Math.clamp(bytes, 0, Integer.MAX_VALUE);
  }

  /**
   * Returns the arguments of the method, followed by the lengths of arrays and the bytes of
   * segments.
   */
  private List<Slot> slots(KernelLaunch launch, JavaKernel kernel) {
    var slots = new ArrayList<Slot>();
    var lengths = new ArrayList<Slot>();
    var parameters = kernel.method().getParameterTypes();
    for (int i = 0; i < parameters.length; i++) {
      var name = launch.arguments().get(i);
      switch (definition.argument(name)) {
        case KernelArgument.Tensor _ -> {
          slots.add(addresses.getOrDefault(name, ABSENT));
          var type = types.get(name);
          lengths.add(
              parameters[i] == MemorySegment.class
                  ? Slot.of(type == null ? 0 : type.bytes())
                  : Slot.of(type == null ? 0 : (int) type.shape().elements()));
        }
        case KernelArgument.Scalar scalar -> slots.add(scalar.slot(parameters[i], sizes));
      }
    }
    slots.addAll(lengths);
    return slots;
  }
}
