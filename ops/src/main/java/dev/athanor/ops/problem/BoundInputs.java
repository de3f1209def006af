package dev.athanor.ops.problem;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Agreement;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The inputs of a call that match the op's description: their shapes have the described form, equal
 * names stand for equal extents, and their dtypes agree.
 */
public final class BoundInputs {

  private static final String SAME_AS = "same as ";

  private final OpDescription op;
  private final Map<String, TensorType> inputs;
  private final Attributes attributes;
  private final ShapeBinding shapes;

  /** The position of the form of shapes that all tensors have; negative if not yet known. */
  private int form = -1;

  private BoundInputs(OpDescription op, Map<String, TensorType> inputs, Attributes attributes) {
    this.op = op;
    this.inputs = inputs;
    this.attributes = attributes;
    this.shapes = new ShapeBinding(attributes::integer);
  }

  /**
   * Binds the names in the shapes of a description to the extents of a call's inputs, in the order
   * of the description.
   *
   * @param inputs with checked names and dtypes
   * @throws OpException.ShapeMismatch if a shape does not match
   * @throws OpException.UnsupportedDType if two dtypes do not agree
   */
  public static BoundInputs of(
      OpDescription op, Map<String, TensorType> inputs, Attributes attributes) {
    var bound = new BoundInputs(op, inputs, attributes);
    for (var input : op.inputs()) {
      if (bound.has(input.name())) {
        input.agreement().ifPresent(rule -> bound.requireAgreement(input.name(), rule));
        var type = bound.type(input.name());
        bound
            .form(input.name(), input.shape(), type.shape())
            .bind(input.name(), type, bound.shapes);
      }
    }
    return bound;
  }

  private void requireAgreement(String input, Agreement rule) {
    var dtype = type(input).dtype();
    if (!has(rule.input())) {
      // the omitted input would follow its own rule
      agreement(rule.input()).ifPresent(other -> requireAgreement(input, other));
      return;
    }
    var expected = type(rule.input()).dtype();
    var others = rule.others(expected);
    if (dtype == expected || others.contains(dtype)) {
      return;
    }
    throw new OpException.UnsupportedDType(
        input,
        "%s is %s but %s is %s; %s"
            .formatted(
                input,
                dtype.text(),
                rule.input(),
                expected.text(),
                others.isEmpty()
                    ? "they must be the same"
                    : others.stream()
                        .map(DType::text)
                        .collect(Collectors.joining(" or ", "it must be that or ", ""))));
  }

  private Optional<Agreement> agreement(String input) {
    return op.input(input).flatMap(Input::agreement);
  }

  /** Returns the form of a shape that applies; the first tensor with several forms chooses. */
  private ShapePattern form(String tensor, String text, Shape shape) {
    var forms = ShapeForms.of(tensor, text).applicable(this::holds);
    if (forms.size() == 1) {
      return forms.getFirst();
    }
    if (form < 0) {
      form =
          IntStream.range(0, forms.size())
              .filter(i -> forms.get(i).fits(shape))
              .findFirst()
              .orElse(-1);
    }
    return form < 0 ? ShapeForms.anyOf(forms) : forms.get(form);
  }

  /** Returns whether a word of a condition holds, see {@link ShapeForms}. */
  private boolean holds(String word) {
    return has(word)
        || op.attributes().stream().anyMatch(attribute -> isChosen(attribute, word))
        || inputs.values().stream().anyMatch(type -> type.dtype().text().equals(word));
  }

  private boolean isChosen(Attribute attribute, String word) {
    return switch (attribute.type()) {
      case BOOLEAN -> attribute.name().equals(word) && attributes.flag(word);
      case CHOICE -> attributes.choice(attribute.name()).equals(word);
      default -> false;
    };
  }

  /** Returns whether an input is given. */
  public boolean has(String input) {
    return inputs.containsKey(input);
  }

  /** Returns the type of a given input. */
  public TensorType type(String input) {
    return Objects.requireNonNull(inputs.get(input), input);
  }

  /** Returns the dtype of a given input. */
  public DType dtype(String input) {
    return type(input).dtype();
  }

  /** Returns the extent with a name; {@code …} is the product of the leading extents. */
  public long extent(String name) {
    return shapes.extent(name);
  }

  /**
   * Returns the types of the outputs, of those with a condition if it holds.
   *
   * @throws OpException.TooLarge if the size of one in bytes exceeds 2^63 - 1
   */
  public Map<String, TensorType> outputs() {
    var types = new LinkedHashMap<String, TensorType>();
    for (var output : op.outputs()) {
      if (output.when().stream().allMatch(attributes::satisfies)) {
        var shape = form(output.name(), output.shape(), Shape.of()).shape(shapes, this::extent);
        types.put(output.name(), Checks.output(output.name(), dtype(output), shape));
      }
    }
    return types;
  }

  /** Returns the dtype of an input; of the one that it agrees with if it is omitted. */
  private DType dtypeOf(String input) {
    return has(input) ? dtype(input) : dtypeOf(agreement(input).orElseThrow().input());
  }

  private DType dtype(Output output) {
    var text = output.dtype();
    return text.startsWith(SAME_AS)
        ? dtypeOf(text.substring(SAME_AS.length()))
        : DType.of(text).orElseGet(() -> DType.of(attributes.choice(text)).orElseThrow());
  }
}
