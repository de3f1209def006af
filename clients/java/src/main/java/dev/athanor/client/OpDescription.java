package dev.athanor.client;

import java.util.List;
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
   * An input.
   *
   * @param aliases other names that requests may use
   * @param shape the shape, with letters for extents: {@code […, M, K]}
   */
  public record Input(
      String name,
      @Nullable List<String> aliases,
      String shape,
      List<String> dtypes,
      boolean optional,
      String meaning) {}

  /**
   * An attribute.
   *
   * @param type boolean, integer, number, or choice, one of {@code choices}
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
   * @param dtype a dtype, the name of an attribute, or for example {@code same as x}
   * @param optional whether attributes decide if the operation computes it
   */
  public record Output(String name, String shape, String dtype, boolean optional, String meaning) {}
}
