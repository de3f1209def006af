package dev.athanor.ops;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What an op is called, takes and gives. The catalogue, the command line and the documents are made
 * from it.
 *
 * @param name in kebab case
 * @param summary one sentence
 * @param formula what the outputs are, exactly
 */
public record OpDescription(
    String name,
    String summary,
    List<Input> inputs,
    List<Attribute> attributes,
    List<Output> outputs,
    String formula) {

  public OpDescription {
    inputs = List.copyOf(inputs);
    attributes = List.copyOf(attributes);
    outputs = List.copyOf(outputs);
  }

  /**
   * A tensor that an op takes.
   *
   * @param shape with letters for extents: {@code […, M, K]}
   */
  public record Input(
      String name, String shape, Set<DType> dtypes, boolean optional, String meaning) {
    public Input {
      dtypes = Set.copyOf(dtypes);
    }
  }

  /** A tensor that an op gives. */
  public record Output(String name, String shape, String meaning) {}

  /**
   * A setting of an op.
   *
   * @param type the values it takes
   * @param defaultValue as text; empty when the meaning says what is taken then
   * @param choices of {@link AttributeType#CHOICE}
   */
  public record Attribute(
      String name, AttributeType type, String defaultValue, List<String> choices, String meaning) {
    public Attribute {
      choices = List.copyOf(choices);
    }

    public static Attribute flag(String name, String meaning) {
      return new Attribute(name, AttributeType.BOOLEAN, "false", List.of(), meaning);
    }

    public static Attribute number(String name, double defaultValue, String meaning) {
      return new Attribute(
          name, AttributeType.NUMBER, Double.toString(defaultValue), List.of(), meaning);
    }

    public static Attribute choice(
        String name, String defaultValue, List<String> choices, String meaning) {
      return new Attribute(name, AttributeType.CHOICE, defaultValue, choices, meaning);
    }
  }

  /** The values that an attribute takes. */
  public enum AttributeType {
    BOOLEAN,
    INTEGER,
    NUMBER,
    CHOICE
  }

  public Optional<Input> input(String input) {
    return inputs.stream().filter(i -> i.name().equals(input)).findFirst();
  }

  public Optional<Attribute> attribute(String attribute) {
    return attributes.stream().filter(a -> a.name().equals(attribute)).findFirst();
  }

  public Optional<Output> output(String output) {
    return outputs.stream().filter(o -> o.name().equals(output)).findFirst();
  }
}
