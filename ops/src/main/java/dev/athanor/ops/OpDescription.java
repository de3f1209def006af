package dev.athanor.ops;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What an op is called, takes and gives. The catalogue, the command line and the documents are made
 * from it.
 *
 * @param name in kebab case
 * @param summary one sentence
 * @param formula what the outputs are, exactly
 * @param flops how many floating-point operations it takes, in the letters of the shapes; the bytes
 *     are always each input once and each output once
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
   * Checks the names.
   *
   * @throws IllegalArgumentException when two inputs have one name
   */
  public OpDescription {
    inputs = List.copyOf(inputs);
    attributes = List.copyOf(attributes);
    outputs = List.copyOf(outputs);
    var names = inputs.stream().flatMap(Input::names).toList();
    if (Set.copyOf(names).size() < names.size()) {
      throw new IllegalArgumentException(
          "two inputs of %s have one name: %s".formatted(name, names));
    }
  }

  /**
   * A tensor that an op takes.
   *
   * @param aliases other names that callers may give it by, since other libraries call it so
   * @param shape with letters for extents: {@code […, M, K]}
   */
  public record Input(
      String name,
      List<String> aliases,
      String shape,
      Set<DType> dtypes,
      boolean optional,
      String meaning) {
    public Input {
      aliases = List.copyOf(aliases);
      dtypes = Set.copyOf(dtypes);
    }

    /** An input of one name. */
    public Input(String name, String shape, Set<DType> dtypes, boolean optional, String meaning) {
      this(name, List.of(), shape, dtypes, optional, meaning);
    }

    /** This input, which may be given by another name too. */
    public Input or(String alias) {
      var all = Stream.concat(aliases.stream(), Stream.of(alias)).toList();
      return new Input(name, all, shape, dtypes, optional, meaning);
    }

    /** The name, and the aliases after it. */
    public Stream<String> names() {
      return Stream.concat(Stream.of(name), aliases.stream());
    }
  }

  /**
   * A tensor that an op gives.
   *
   * @param dtype which dtype it has, in words: {@code that of x}
   * @param when the condition under which it is given; empty for always
   */
  public record Output(
      String name, String shape, String dtype, Optional<Condition> when, String meaning) {

    public static Output of(String name, String shape, String dtype, String meaning) {
      return new Output(name, shape, dtype, Optional.empty(), meaning);
    }

    /** This output, given only where an attribute has a value. */
    public Output when(String attribute, String value) {
      return new Output(name, shape, dtype, Optional.of(new Condition(attribute, value)), meaning);
    }

    /** Whether attributes say if it is given. */
    public boolean optional() {
      return when.isPresent();
    }
  }

  /**
   * That an attribute has a value.
   *
   * @param value as text
   */
  public record Condition(String attribute, String value) {}

  /**
   * A setting of an op.
   *
   * @param type the values it takes
   * @param required whether a call without it is refused
   * @param defaultValue as text; empty when it is required, or the meaning says what is taken then
   * @param choices of {@link AttributeType#CHOICE}
   * @param least the smallest number that it takes
   * @param greatest the greatest number that it takes
   */
  public record Attribute(
      String name,
      AttributeType type,
      boolean required,
      String defaultValue,
      List<String> choices,
      double least,
      double greatest,
      String meaning) {
    public Attribute {
      choices = List.copyOf(choices);
    }

    public static Attribute flag(String name, String meaning) {
      return of(name, AttributeType.BOOLEAN, "false", meaning);
    }

    public static Attribute number(String name, double defaultValue, String meaning) {
      return of(name, AttributeType.NUMBER, Double.toString(defaultValue), meaning);
    }

    /** A number without a default. */
    public static Attribute number(String name, String meaning) {
      return of(name, AttributeType.NUMBER, "", meaning);
    }

    public static Attribute integer(String name, long defaultValue, String meaning) {
      return of(name, AttributeType.INTEGER, Long.toString(defaultValue), meaning);
    }

    /** An integer without a default. */
    public static Attribute integer(String name, String meaning) {
      return of(name, AttributeType.INTEGER, "", meaning);
    }

    public static Attribute choice(
        String name, String defaultValue, List<String> choices, String meaning) {
      return new Attribute(
          name,
          AttributeType.CHOICE,
          false,
          defaultValue,
          choices,
          Double.NEGATIVE_INFINITY,
          Double.POSITIVE_INFINITY,
          meaning);
    }

    private static Attribute of(
        String name, AttributeType type, String defaultValue, String meaning) {
      return new Attribute(
          name,
          type,
          false,
          defaultValue,
          List.of(),
          Double.NEGATIVE_INFINITY,
          Double.POSITIVE_INFINITY,
          meaning);
    }

    /**
     * Returns this attribute without a default; its meaning says what holds when it is left out.
     */
    public Attribute withoutDefault() {
      return new Attribute(name, type, false, "", choices, least, greatest, meaning);
    }

    /** This attribute, without which a call is refused. */
    public Attribute asRequired() {
      return new Attribute(name, type, true, "", choices, least, greatest, meaning);
    }

    /** This attribute, whose numbers are from {@code min} to {@code max}. */
    public Attribute from(double min, double max) {
      return new Attribute(name, type, required, defaultValue, choices, min, max, meaning);
    }

    /** The bounds in words: {@code from 0 to 1}; empty where there are none. */
    public String bounds() {
      boolean below = Double.isFinite(least);
      boolean above = Double.isFinite(greatest);
      return below && above
          ? "from %s to %s".formatted(text(least), text(greatest))
          : below ? "at least " + text(least) : above ? "at most " + text(greatest) : "";
    }

    private static String text(double bound) {
      return bound == Math.rint(bound) && Math.abs(bound) < 1e15
          ? Long.toString((long) bound)
          : Double.toString(bound);
    }
  }

  /** The values that an attribute takes. */
  public enum AttributeType {
    BOOLEAN,
    INTEGER,
    NUMBER,
    CHOICE
  }

  /** The input of this name or alias. */
  public Optional<Input> input(String input) {
    return inputs.stream().filter(i -> i.names().anyMatch(input::equals)).findFirst();
  }

  /**
   * What was given for inputs, under the inputs' own names. Names that the op does not know stay.
   *
   * @throws OpException.UnknownField when one input is given by two names
   */
  public <T> Map<String, T> byName(Map<String, T> given) {
    var named = new LinkedHashMap<String, T>();
    given.forEach((name, value) -> {
      var own = input(name).map(Input::name).orElse(name);
      if (named.putIfAbsent(own, value) != null) {
        var alias = input(own).stream().flatMap(i -> i.aliases().stream());
        var other = alias.filter(given::containsKey).findFirst().orElse(name);
        throw new OpException.UnknownField(
            "inputs." + other,
            "%s is another name of the input \"%s\", which is given as well; give one of them"
                .formatted(other, own));
      }
    });
    return named;
  }

  public Optional<Attribute> attribute(String attribute) {
    return attributes.stream().filter(a -> a.name().equals(attribute)).findFirst();
  }

  public Optional<Output> output(String output) {
    return outputs.stream().filter(o -> o.name().equals(output)).findFirst();
  }
}
