package dev.athanor.client;

import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The description of an operation.
 *
 * @param name the name in kebab case
 * @param summary a summary in one sentence
 * @param formula the formula of the outputs
 * @param flops the number of floating-point operations of a call, in terms of the symbolic extents
 */
public record OpDescription(
    String name,
    String summary,
    List<Input> inputs,
    List<Attribute> attributes,
    List<Output> outputs,
    String formula,
    String flops) {

  /**
   * A list of inputs or outputs. Calls name them {@code x0}, {@code x1}, … for the list {@code x}.
   *
   * @param count the maximum number of tensors
   */
  public record TensorList(String name, int count) {

    /** Returns the names of the tensors. */
    public List<String> names() {
      return IntStream.range(0, count).mapToObj(i -> name + i).toList();
    }
  }

  /**
   * An input.
   *
   * @param list the list of which this input is the first; null for a single input
   * @param aliases other names that requests may use
   * @param shape the shape, with letters for extents: {@code […, M, K]}
   */
  public record Input(
      String name,
      @Nullable TensorList list,
      @Nullable List<String> aliases,
      String shape,
      List<String> dtypes,
      boolean optional,
      String meaning) {}

  /**
   * An attribute.
   *
   * @param type boolean, integer, number, integers or numbers (lists), text, or choice, one of
   *     {@code choices}
   * @param defaultValue null if the meaning describes the default
   */
  public record Attribute(
      String name,
      String type,
      @com.fasterxml.jackson.annotation.JsonProperty("default") @Nullable Object defaultValue,
      @Nullable List<String> choices,
      @Nullable Double minimum,
      @Nullable Double maximum,
      String meaning) {}

  /**
   * An output.
   *
   * @param list the list of which this output is the first; null for a single output
   * @param dtype a dtype, the name of an attribute, or for example {@code same as x}
   * @param optional whether attributes decide if the operation computes it
   */
  public record Output(
      String name,
      @Nullable TensorList list,
      String shape,
      String dtype,
      boolean optional,
      String meaning) {

    /** Returns the name, or those of the list. */
    public List<String> names() {
      return list == null ? List.of(name) : list.names();
    }
  }
}
