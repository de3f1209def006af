package dev.athanor.ops;

import dev.athanor.ops.OpDescription.Input;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;

/** The callable ops by name, built-in ones and those of plugins. */
public final class Catalogue {

  private final Map<String, Op> ops = new TreeMap<>();

  /**
   * Creates a catalogue of these ops.
   *
   * @throws IllegalStateException if two ops have the same name
   */
  public Catalogue(Iterable<? extends Op> ops) {
    for (var op : ops) {
      var other = this.ops.putIfAbsent(op.description().name(), op);
      if (other != null) {
        throw new IllegalStateException(
            "duplicate op name \"%s\": %s and %s"
                .formatted(
                    op.description().name(), other.getClass().getName(), op.getClass().getName()));
      }
    }
  }

  /**
   * Returns the ops of the class path; {@link dev.athanor.ops.plugin.Plugins} adds those of jars.
   */
  public static Catalogue load() {
    return new Catalogue(
        ServiceLoader.load(OpProvider.class, Catalogue.class.getClassLoader()).stream()
            .flatMap(provider -> provider.get().ops().stream())
            .toList());
  }

  public Optional<Op> find(String name) {
    return Optional.ofNullable(ops.get(name));
  }

  /** Returns all ops, in the order of their names. */
  public Collection<Op> all() {
    return ops.values();
  }

  /**
   * Checks the names and dtypes of a call's inputs against a description.
   *
   * @throws OpException for an unknown or missing input, a dtype that the input does not accept, or
   *     a shape of negative extents or of too many elements
   */
  public static void checkInputs(OpDescription op, Map<String, TensorType> inputs) {
    for (var name : inputs.keySet()) {
      if (op.input(name).isEmpty()) {
        throw new OpException.UnknownField(
            "inputs." + name,
            "%s has no input \"%s\"; its inputs are %s".formatted(op.name(), name, inputNames(op)));
      }
    }
    for (var input : op.inputs()) {
      var given = inputs.get(input.name());
      if (given == null && !input.optional()) {
        throw new OpException.MissingInput(
            input.name(),
            "input \"%s\" %s is missing; the inputs of %s are %s"
                .formatted(input.name(), input.shape(), op.name(), inputNames(op)));
      }
      if (given != null) {
        checkList(op, input, inputs);
      }
      if (given != null && !input.dtypes().contains(given.dtype())) {
        throw new OpException.UnsupportedDType(
            input.name(),
            "input \"%s\" is %s; %s supports %s"
                .formatted(
                    input.name(),
                    given.dtype().text(),
                    op.name(),
                    String.join(", ", input.dtypes().stream().sorted().map(DType::text).toList())));
      }
      if (given != null && given.shape().extents().stream().anyMatch(extent -> extent < 0)) {
        throw new OpException.ShapeMismatch(
            input.name(),
            "input \"%s\" has shape %s; every extent must be at least 0"
                .formatted(input.name(), given.shape()));
      }
      if (given != null && !given.hasSize()) {
        throw new OpException.TooLarge(
            input.name(),
            "input \"%s\" is %s; the maximum is 2^63 - 1 bytes"
                .formatted(input.name(), given.text()));
      }
    }
  }

  /** Checks that the inputs of a list have no gap. */
  private static void checkList(OpDescription op, Input input, Map<String, TensorType> inputs) {
    var before =
        op.inputs().stream()
            .filter(other -> other.precedes(input) && !inputs.containsKey(other.name()))
            .findFirst();
    if (before.isPresent()) {
      throw new OpException.MissingInput(
          before.get().name(),
          "input \"%s\" is missing but \"%s\" is given; the inputs of a list have consecutive numbers"
              .formatted(before.get().name(), input.name()));
    }
  }

  private static String inputNames(OpDescription op) {
    return String.join(
        ", ", op.inputs().stream().filter(Input::isListed).map(Input::label).toList());
  }
}
