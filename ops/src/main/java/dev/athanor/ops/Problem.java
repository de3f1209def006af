package dev.athanor.ops;

import dev.athanor.engine.device.Capability;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** An op with the types of its inputs and its attributes: the input of planning. */
public record Problem(Op op, Map<String, TensorType> inputs, Attributes attributes) {

  /** The number of rows for which the order of row-invariant plans is chosen. */
  private static final int MANY_ROWS = 256;

  /** A number of rows with which every device is full, so that no plan splits K to fill it. */
  private static final int MOST_ROWS = 1 << 16;

  private static final Pattern TERM =
      Pattern.compile("(\\w+)=(?:\"([^\"]*)\"|(\\S+))(?:\\s+|$)|(\\S+)");

  public Problem {
    inputs = Map.copyOf(inputs);
  }

  /**
   * Parses {@code a=f16[64,32] b=f16[32,16] transposeB=false}: inputs with their types and
   * attributes with their values, in any order. Quotes enclose a value that contains blanks.
   *
   * @throws IllegalArgumentException for a syntax error
   * @throws OpException if the op does not accept these inputs or attributes
   */
  public static Problem parse(Op op, String text) {
    var inputs = new LinkedHashMap<String, TensorType>();
    var attributes = new LinkedHashMap<String, String>();
    for (var terms = TERM.matcher(text.strip()); terms.find(); ) {
      if (terms.group(4) != null) {
        throw new IllegalArgumentException(
            "\"%s\" is neither an input such as a=f16[64,32] nor an attribute such as alpha=2"
                .formatted(terms.group(4)));
      }
      var name = terms.group(1);
      var value = terms.group(3);
      if (value != null && value.endsWith("]")) {
        inputs.put(name, TensorType.parse(value));
      } else {
        attributes.put(name, value == null ? terms.group(2) : value);
      }
    }
    var description = op.description();
    var named = description.byName(inputs);
    Catalogue.checkInputs(description, named);
    return new Problem(op, named, Attributes.of(description, attributes));
  }

  /**
   * Returns the plans that a device can run, the one expected to be fastest first. Ops plan only
   * inputs with elements: if all outputs are empty, so is the plan, and {@link
   * Op#plansWithoutElements} plans the few results that an empty input leaves. This keeps extents
   * of 0 out of the planners and kernels.
   */
  public List<? extends Plan> plans(Capability device) {
    if (inputs.values().stream().noneMatch(TensorType::isEmpty)) {
      return op.plans(inputs, attributes, device);
    }
    var outputs = op.outputs(inputs, attributes);
    return outputs.values().stream().allMatch(TensorType::isEmpty)
        ? List.of(LaunchPlan.empty(outputs))
        : op.plansWithoutElements(inputs, attributes, device);
  }

  /** Returns the refusal of the first input that has no elements. */
  OpException requiresElements() {
    var description = op.description();
    var name =
        description.inputs().stream()
            .map(OpDescription.Input::name)
            .filter(input -> inputs.containsKey(input) && input(input).isEmpty())
            .findFirst()
            .orElseThrow();
    return new OpException.ShapeMismatch(
        name,
        "input \"%s\" has shape %s, but %s requires elements to compute its result; every extent must be at least 1"
            .formatted(name, input(name).shape(), description.name()));
  }

  private TensorType input(String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /**
   * Returns the plans whose order of summation does not depend on the number of rows, the one
   * expected to be fastest first: a row gets the same bits however many {@linkplain Op#rows rows}
   * the problem has. The order is the one that is expected to be fastest for 256 rows among those
   * that are available for any number of rows. For an op without rows, these are all plans.
   *
   * @throws OpException.UnsupportedOnDevice if there is none
   */
  public List<? extends Plan> rowInvariantPlans(Capability device) {
    var rows = op.rows(inputs, attributes);
    if (rows.isEmpty() || inputs.values().stream().anyMatch(TensorType::isEmpty)) {
      return plans(device);
    }
    var one = orders(rows.get(), 1, device);
    var many = orders(rows.get(), MANY_ROWS, device);
    var most = orders(rows.get(), MOST_ROWS, device);
    var order =
        (many.isEmpty() ? one : many)
            .stream()
                .filter(each -> one.contains(each) && (most.isEmpty() || most.contains(each)))
                .findFirst();
    var plans =
        plans(device).stream()
            .filter(plan -> order.isPresent() && order.get().equals(plan.order()))
            .toList();
    if (plans.isEmpty()) {
      throw new OpException.UnsupportedOnDevice(
          "device",
          "%s of %s has no row-invariant plan on %s; run it without row invariance"
              .formatted(op.description().name(), text(), device.name()));
    }
    return plans;
  }

  /** Returns the orders for a number of rows, the fastest first; empty if these are too many. */
  private List<String> orders(Rows rows, long count, Capability device) {
    try {
      var types = rows.withCount(inputs, count);
      return op.plans(types, attributes, device).stream().map(Plan::order).toList();
    } catch (OpException.TooLarge e) {
      return List.of();
    }
  }

  /** Returns random inputs for timing and checks. */
  public Map<String, HostTensor> draw(RandomGenerator random) {
    return op.draw(inputs, attributes, new Draw(random));
  }

  /**
   * Returns the inputs in the order of the description and the attributes with values other than
   * the default.
   */
  public String text() {
    var description = op.description();
    var defaults = Attributes.defaults(description);
    var given = new TreeMap<>(attributes.values());
    given.entrySet().removeIf(each -> each.getValue().equals(defaults.get(each.getKey())));
    var terms =
        description.inputs().stream()
            .flatMap(input ->
                inputs.entrySet().stream().filter(each -> each.getKey().equals(input.name())))
            .map(each -> each.getKey() + "=" + each.getValue().text())
            .collect(Collectors.toList());
    given.forEach((name, value) -> terms.add(name + "=" + quoted(Attributes.text(value))));
    return String.join(" ", terms);
  }

  private static String quoted(String value) {
    return value.isEmpty() || value.chars().anyMatch(Character::isWhitespace) || value.endsWith("]")
        ? "\"" + value + "\""
        : value;
  }
}
