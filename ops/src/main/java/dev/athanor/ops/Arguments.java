package dev.athanor.ops;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Kernel.Parameter;
import dev.athanor.ops.Step.Slot;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of a launch, by the names of the kernel's parameters. The kernel defines their
 * order.
 */
public final class Arguments {

  public static final Arguments NONE = new Arguments(Map.of());

  private final Map<String, Slot> slots;

  private Arguments(Map<String, Slot> slots) {
    this.slots = slots;
  }

  /** Returns the sources of the arguments, by the names of the parameters. */
  public Map<String, Slot> slots() {
    return Collections.unmodifiableMap(slots);
  }

  public boolean isEmpty() {
    return slots.isEmpty();
  }

  /** Binds each of these inputs to the parameter of its name. */
  public static Arguments ofInputs(String... names) {
    return NONE.inputs(names);
  }

  /** Binds slots to parameters whose names are {@code name} and an index: x0, x1 and so on. */
  public static Arguments ofParts(String name, List<? extends Slot> slots) {
    var all = NONE;
    for (var slot : slots) {
      all = all.with(name + all.slots.size(), slot);
    }
    return all;
  }

  /** Binds slots to the parameters of a kernel in order. */
  public static Arguments inOrder(Kernel kernel, List<Slot> slots) {
    var all = NONE;
    for (int i = 0; i < slots.size(); i++) {
      all = all.with(kernel.parameters().get(i).name(), slots.get(i));
    }
    return all;
  }

  /** Adds these inputs, each for the parameter of its name. */
  public Arguments inputs(String... names) {
    return each(names, Slot::input);
  }

  /** Adds these outputs, each for the parameter of its name. */
  public Arguments outputs(String... names) {
    return each(names, Slot::output);
  }

  private Arguments each(String[] names, Function<String, Slot> slot) {
    var all = this;
    for (var name : names) {
      all = all.with(name, slot.apply(name));
    }
    return all;
  }

  /**
   * Adds the argument of a parameter.
   *
   * @throws IllegalArgumentException if the parameter has an argument already
   */
  public Arguments with(String parameter, Slot slot) {
    return with(Map.of(parameter, slot));
  }

  /** Adds an argument of type s32. */
  public Arguments with(String parameter, int value) {
    return with(parameter, Slot.of(value));
  }

  /** Adds an argument of type s64. */
  public Arguments with(String parameter, long value) {
    return with(parameter, Slot.of(value));
  }

  /** Adds an argument of type f32. */
  public Arguments with(String parameter, float value) {
    return with(parameter, Slot.of(value));
  }

  /** Adds an argument of type f64. */
  public Arguments with(String parameter, double value) {
    return with(parameter, Slot.of(value));
  }

  /**
   * Adds arguments.
   *
   * @throws IllegalArgumentException if a parameter has an argument already
   */
  public Arguments with(Arguments others) {
    return with(others.slots);
  }

  private Arguments with(Map<String, Slot> others) {
    var all = new LinkedHashMap<>(slots);
    others.forEach((parameter, slot) -> {
      if (all.putIfAbsent(parameter, slot) != null) {
        throw new IllegalArgumentException("two arguments for parameter " + parameter);
      }
    });
    return new Arguments(all);
  }

  /** Returns the same parameters with other arguments: see {@link Slot#map}. */
  public Arguments map(UnaryOperator<Slot> change) {
    var changed = new LinkedHashMap<String, Slot>();
    slots.forEach((parameter, slot) -> changed.put(parameter, slot.map(change)));
    return new Arguments(changed);
  }

  /**
   * Returns the arguments in the order of the kernel's parameters.
   *
   * @throws IllegalArgumentException if the names are not those of the kernel's parameters
   */
  List<Argument> of(Kernel kernel, Function<Slot, Argument> resolve) {
    var parameters = kernel.parameters();
    var arguments = new ArrayList<Argument>(parameters.size());
    for (var parameter : parameters) {
      var slot = slots.get(parameter.name());
      if (slot == null) {
        throw mismatch(kernel);
      }
      arguments.add(resolve.apply(slot));
    }
    if (arguments.size() != slots.size()) {
      throw mismatch(kernel);
    }
    return arguments;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Arguments arguments && slots.equals(arguments.slots);
  }

  @Override
  public int hashCode() {
    return slots.hashCode();
  }

  @Override
  public String toString() {
    return slots.toString();
  }

  private IllegalArgumentException mismatch(Kernel kernel) {
    return new IllegalArgumentException(
        "kernel %s has the parameters %s; got arguments for %s"
            .formatted(
                kernel.name(),
                kernel.parameters().stream().map(Parameter::name).toList(),
                slots.keySet()));
  }
}
