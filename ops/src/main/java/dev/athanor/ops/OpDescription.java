package dev.athanor.ops;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The name, inputs, attributes and outputs of an op. The catalogue, the command line and the
 * documentation are generated from it.
 *
 * @param name in kebab case
 * @param summary one sentence
 * @param formula the exact definition of the outputs
 * @param flops the number of floating-point operations, as a formula in the letters of the shapes;
 *     the memory traffic is always each input once and each output once
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
   * Checks that the names are unique.
   *
   * @throws IllegalArgumentException if two inputs share a name
   */
  public OpDescription {
    inputs = List.copyOf(inputs);
    attributes = List.copyOf(attributes);
    outputs = List.copyOf(outputs);
    var names = inputs.stream().flatMap(Input::names).toList();
    if (Set.copyOf(names).size() < names.size()) {
      throw new IllegalArgumentException(
          "op \"%s\" has two inputs with the same name: %s".formatted(name, names));
    }
  }

  /**
   * The position of a tensor in a list of inputs or outputs, which a call gives or receives as
   * {@code x0}, {@code x1}, …
   *
   * @param name of the list
   * @param count maximum number of tensors in the list
   */
  public record Series(String name, int index, int count) {

    /** Returns the name of the tensor. */
    String member() {
      return name + index;
    }

    private static Stream<Series> of(String name, int count) {
      return IntStream.range(0, count).mapToObj(index -> new Series(name, index, count));
    }

    private static boolean isListed(Optional<Series> series) {
      return series.isEmpty() || series.get().index == 0;
    }

    private static String label(String name, Optional<Series> series) {
      return series.map(in -> "%s … %s%d".formatted(name, in.name, in.count - 1)).orElse(name);
    }
  }

  /**
   * The rule that a tensor has the dtype of an input, or one of some others. A floating-point dtype
   * among the others is not accepted if that of the input is wider.
   *
   * @param input if a call omits it, its own rule applies instead
   */
  public record Agreement(String input, List<DType> others) {
    public Agreement {
      others = List.copyOf(others);
    }

    /** Returns the other dtypes that are accepted if the input has a given dtype. */
    public List<DType> others(DType dtype) {
      return others.stream().filter(other -> !isNarrower(other, dtype)).toList();
    }

    private static boolean isNarrower(DType other, DType dtype) {
      return other.isFloat() && other.bytes() < dtype.bytes();
    }

    private String text(Set<DType> dtypes) {
      return others.stream()
          .map(other -> ", or " + other.text() + exception(other, dtypes))
          .collect(Collectors.joining("", "same dtype as " + input, ""));
    }

    private String exception(DType other, Set<DType> dtypes) {
      return dtypes.stream()
          .filter(dtype -> isNarrower(other, dtype))
          .sorted()
          .map(DType::text)
          .reduce((a, b) -> a + " or " + b)
          .map(wider -> " unless %s is %s".formatted(input, wider))
          .orElse("");
    }
  }

  /**
   * An input tensor.
   *
   * @param aliases alternative names, used by other libraries
   * @param shape with letters for extents: {@code […, M, K]}
   * @param agreement the rule that its dtype follows besides {@code dtypes}
   * @param series its position in a list of inputs; empty for a single input
   */
  public record Input(
      String name,
      List<String> aliases,
      String shape,
      Set<DType> dtypes,
      Optional<Agreement> agreement,
      boolean optional,
      Optional<Series> series,
      String meaning) {
    public Input {
      aliases = List.copyOf(aliases);
      dtypes = Set.copyOf(dtypes);
    }

    /** Creates an input without aliases. */
    public Input(String name, String shape, Set<DType> dtypes, boolean optional, String meaning) {
      this(name, List.of(), shape, dtypes, Optional.empty(), optional, Optional.empty(), meaning);
    }

    /**
     * Returns the inputs of a list. The first may also be called by the name of the list.
     *
     * @param least minimum number of inputs
     * @param most maximum number of inputs
     */
    public static List<Input> list(
        String name, int least, int most, String shape, Set<DType> dtypes, String meaning) {
      return Series.of(name, most)
          .map(in ->
              new Input(
                  in.member(),
                  in.index == 0 ? List.of(name) : List.of(),
                  shape,
                  dtypes,
                  Optional.empty(),
                  in.index >= least,
                  Optional.of(in),
                  meaning))
          .toList();
    }

    /** Returns this input with another alias. */
    public Input or(String alias) {
      var all = Stream.concat(aliases.stream(), Stream.of(alias)).toList();
      return new Input(name, all, shape, dtypes, agreement, optional, series, meaning);
    }

    /**
     * Returns this input with the dtype of another.
     *
     * @param others dtypes that it may have instead
     */
    public Input like(String input, DType... others) {
      var rule = new Agreement(input, List.of(others));
      return new Input(
          name,
          aliases,
          shape,
          dtypes,
          Optional.of(rule),
          optional,
          series,
          meaning + "; " + rule.text(dtypes));
    }

    /** Returns this input as an optional one. */
    public Input asOptional() {
      return new Input(name, aliases, shape, dtypes, agreement, true, series, meaning);
    }

    /** Returns the name, followed by the aliases. */
    public Stream<String> names() {
      return Stream.concat(Stream.of(name), aliases.stream());
    }

    /** Returns whether an input comes after this one in a list. */
    boolean precedes(Input other) {
      return series.isPresent()
          && other.series.isPresent()
          && series.get().name.equals(other.series.get().name)
          && series.get().index < other.series.get().index;
    }

    /** Returns whether documents show it; the first input of a list stands for all of them. */
    public boolean isListed() {
      return Series.isListed(series);
    }

    /** Returns the name in documents: {@code x0 … x31} for a list. */
    public String label() {
      return Series.label(name, series);
    }
  }

  /**
   * An output tensor.
   *
   * @param dtype a dtype, {@code same as x}, or the name of an attribute
   * @param when the condition under which the op returns it; empty for always
   * @param series its position in a list of outputs; empty for a single output
   */
  public record Output(
      String name,
      String shape,
      String dtype,
      Optional<Condition> when,
      Optional<Series> series,
      String meaning) {

    public static Output of(String name, String shape, String dtype, String meaning) {
      return new Output(name, shape, dtype, Optional.empty(), Optional.empty(), meaning);
    }

    /**
     * Returns the outputs of a list, of which each call returns the first ones.
     *
     * @param most maximum number of outputs
     */
    public static List<Output> list(
        String name, int most, String shape, String dtype, String meaning) {
      return Series.of(name, most)
          .map(in ->
              new Output(in.member(), shape, dtype, Optional.empty(), Optional.of(in), meaning))
          .toList();
    }

    /** Returns this output, conditional on the value of an attribute. */
    public Output when(String attribute, String value) {
      var condition = Optional.of(new Condition(attribute, value));
      return new Output(name, shape, dtype, condition, series, meaning);
    }

    /** Returns whether some calls do not return it. */
    public boolean optional() {
      return when.isPresent() || series.filter(in -> in.index > 0).isPresent();
    }

    /** Returns whether documents show it; the first output of a list stands for all of them. */
    public boolean isListed() {
      return Series.isListed(series);
    }

    /** Returns the name in documents: {@code y0 … y31} for a list. */
    public String label() {
      return Series.label(name, series);
    }
  }

  /**
   * The condition that an attribute has a value.
   *
   * @param value as text
   */
  public record Condition(String attribute, String value) {}

  /**
   * An attribute of an op.
   *
   * @param type the type of its values
   * @param required whether a call without it is rejected
   * @param defaultValue as text; empty if it is required or the meaning describes the default
   * @param choices of {@link AttributeType#CHOICE}
   * @param least the least valid number, also in a list
   * @param greatest the greatest valid number, also in a list
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
      return flag(name, false, meaning);
    }

    public static Attribute flag(String name, boolean defaultValue, String meaning) {
      return of(name, AttributeType.BOOLEAN, Boolean.toString(defaultValue), meaning);
    }

    public static Attribute number(String name, double defaultValue, String meaning) {
      return of(name, AttributeType.NUMBER, Double.toString(defaultValue), meaning);
    }

    /** Returns a number without a default. */
    public static Attribute number(String name, String meaning) {
      return of(name, AttributeType.NUMBER, "", meaning);
    }

    public static Attribute integer(String name, long defaultValue, String meaning) {
      return of(name, AttributeType.INTEGER, Long.toString(defaultValue), meaning);
    }

    /** Returns an integer without a default. */
    public static Attribute integer(String name, String meaning) {
      return of(name, AttributeType.INTEGER, "", meaning);
    }

    /** Returns a list of integers without a default. */
    public static Attribute integers(String name, String meaning) {
      return of(name, AttributeType.INTEGERS, "", meaning);
    }

    /** Returns a list of numbers without a default. */
    public static Attribute numbers(String name, String meaning) {
      return of(name, AttributeType.NUMBERS, "", meaning);
    }

    /** Returns a text without a default. */
    public static Attribute text(String name, String meaning) {
      return of(name, AttributeType.TEXT, "", meaning);
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
     * Returns this attribute without a default; its meaning describes the behavior if it is
     * omitted.
     */
    public Attribute withoutDefault() {
      return new Attribute(name, type, false, "", choices, least, greatest, meaning);
    }

    /** Returns this attribute as a required one. */
    public Attribute asRequired() {
      return new Attribute(name, type, true, "", choices, least, greatest, meaning);
    }

    /** Returns this attribute, limited to numbers from {@code min} to {@code max}. */
    public Attribute from(double min, double max) {
      return new Attribute(name, type, required, defaultValue, choices, min, max, meaning);
    }

    /** Returns the bounds in words: {@code from 0 to 1}; empty if there are none. */
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

  /** The type of an attribute's values. */
  public enum AttributeType {
    BOOLEAN,
    INTEGER,
    NUMBER,
    CHOICE,
    /** A list of integers. */
    INTEGERS,
    /** A list of numbers. */
    NUMBERS,
    /** Any text. */
    TEXT
  }

  /** Returns the input with this name or alias. */
  public Optional<Input> input(String input) {
    for (var each : inputs) {
      if (each.name().equals(input) || each.aliases().contains(input)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }

  /**
   * Replaces aliases by the inputs' names. Keeps unknown names.
   *
   * @throws OpException.UnknownField if one input is given by two names
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
            "\"%s\" is an alias of the input \"%s\", which is also given; give only one of them"
                .formatted(other, own));
      }
    });
    return named;
  }

  public Optional<Attribute> attribute(String attribute) {
    for (var each : attributes) {
      if (each.name().equals(attribute)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }

  public Optional<Output> output(String output) {
    for (var each : outputs) {
      if (each.name().equals(output)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }
}
