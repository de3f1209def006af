package dev.athanor.models;

import dev.athanor.models.fusion.Fusion;
import dev.athanor.models.graph.Graph;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * A model as read from files. Its graph of ops is made for inputs of known shapes, so that whatever
 * depends on shapes alone is computed once.
 */
public interface ModelDefinition {

  /**
   * An input, or an output that files declare.
   *
   * @param extents numbers, or names of extents that calls choose; a name stands for one extent
   */
  record Input(String name, DType dtype, List<String> extents) {
    public Input {
      extents = List.copyOf(extents);
    }

    @Override
    public String toString() {
      return "%s %s[%s]".formatted(name, dtype.text(), String.join(", ", extents));
    }
  }

  /** A tensor that a session keeps between calls: an input that an output of each call replaces. */
  sealed interface State {

    /** Returns the name of the input of the graph. */
    String input();

    /** Returns the name of the output of the graph that is the input of the next call. */
    String output();

    /**
     * A tensor of one session.
     *
     * @param initial its type before the first call; all elements are 0
     */
    record Carried(String input, String output, TensorType initial) implements State {}

    /**
     * The keys or values of a layer, in blocks that sessions share: {@code [blocks, heads,
     * blockSize, size]}, as {@code attention-decode} reads them. Graphs with such states have the
     * inputs {@link #LENGTHS} and {@link #BLOCK_TABLE}.
     */
    record Cached(String input, String output, DType dtype, long heads, long size)
        implements State {}
  }

  /** The input {@code i32[B]} with the positions of each sequence, including those of the call. */
  String LENGTHS = "lengths";

  /** The input {@code i32[B, maxBlocks]} with the blocks of each sequence. */
  String BLOCK_TABLE = "blockTable";

  /** Returns the inputs that calls give. */
  List<Input> inputs();

  /** Returns the names of the outputs that calls may ask for. */
  List<String> outputs();

  /**
   * Returns the dtype and the extents that the files declare for an output; empty if they do not.
   */
  default Optional<Input> declared(String output) {
    return Optional.empty();
  }

  /** Returns what a session keeps; empty if calls are independent. */
  default List<State> states() {
    return List.of();
  }

  /**
   * Returns the handles or names of resident tensors that graphs read as inputs, by the names of
   * these inputs. Their types are those of each call.
   */
  default Map<String, String> residents() {
    return Map.of();
  }

  /** Returns the maximum number of positions of a session. */
  default int maxPositions() {
    return Integer.MAX_VALUE;
  }

  /** Returns the constants that the files store. */
  Collection<HostTensor> weights();

  /**
   * Returns the graph for inputs of some types, before {@linkplain #fused fusion}.
   *
   * @param types of all inputs and {@linkplain #residents resident tensors}; with those of
   *     {@linkplain #states states} for a call of a session
   * @param outputs the outputs to compute: some of the {@linkplain #outputs model's}, and of the
   *     states' for a call of a session
   * @throws ModelException.InvalidInput if the types do not suit the model
   * @throws ModelException.Unsupported if no ops compute the model for these types
   */
  Graph graph(Map<String, TensorType> types, Set<String> outputs);

  /**
   * Returns the graph that computes all outputs.
   *
   * @throws ModelException as above
   */
  default Graph graph(Map<String, TensorType> types) {
    return graph(types, Set.copyOf(outputs()));
  }

  /**
   * Returns the graph with fused steps.
   *
   * @throws ModelException as {@link #graph}
   */
  default Graph fused(Map<String, TensorType> types, Set<String> outputs) {
    return Fusion.of(graph(types, outputs));
  }

  /**
   * Checks the types of inputs.
   *
   * @param inputs what the model requires
   * @return the extents that have names
   * @throws ModelException.InvalidInput if a type does not fit, or an input is missing or unknown
   */
  static Map<String, Long> check(List<Input> inputs, Map<String, TensorType> types) {
    var names = inputs.stream().map(Input::name).collect(Collectors.toCollection(TreeSet::new));
    if (!names.equals(new TreeSet<>(types.keySet()))) {
      throw new ModelException.InvalidInput(
          "the inputs of the model are %s, got %s"
              .formatted(inputs, new TreeSet<>(types.keySet())));
    }
    var bound = new HashMap<String, Long>();
    for (var input : inputs) {
      var type = Objects.requireNonNull(types.get(input.name()));
      boolean fits = type.dtype() == input.dtype() && type.shape().rank() == input.extents().size();
      for (int i = 0; fits && i < input.extents().size(); i++) {
        fits = fits(input.extents().get(i), type.shape().extent(i), bound);
      }
      if (!fits) {
        throw new ModelException.InvalidInput(
            "input \"%s\" is %s; the model requires %s%s"
                .formatted(input.name(), type, input, bound.isEmpty() ? "" : " with " + bound));
      }
    }
    return bound;
  }

  private static boolean fits(String expected, long extent, Map<String, Long> bound) {
    if (expected.matches("\\d+")) {
      return extent == Long.parseLong(expected);
    }
    var known = bound.putIfAbsent(expected, extent);
    return known == null || known == extent;
  }
}
