package dev.athanor.service.codec;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The JSON view of an op, used by REST responses and the command line. */
public record OpView(
    String name,
    String summary,
    List<Input> inputs,
    List<Attribute> attributes,
    List<Output> outputs,
    String formula,
    String flops) {

  /** All ops. */
  public record Ops(List<OpView> ops) {

    public static Ops of(Collection<OpDescription> ops) {
      return new Ops(ops.stream().map(OpView::of).toList());
    }
  }

  /**
   * A list of inputs or outputs, which are named {@code x0}, {@code x1}, … if the list is named x.
   */
  public record TensorList(String name, int count) {

    private static @Nullable TensorList of(Optional<OpDescription.Series> series) {
      return series.map(in -> new TensorList(in.name(), in.count())).orElse(null);
    }
  }

  /** An input, or the first of a list. */
  public record Input(
      String name,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable TensorList list,
      @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> aliases,
      String shape,
      List<String> dtypes,
      boolean optional,
      String meaning) {}

  /**
   * An output, or the first of a list, and the condition under which it is computed; null for
   * always.
   */
  public record Output(
      String name,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable TensorList list,
      String shape,
      String dtype,
      boolean optional,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Condition when,
      String meaning) {}

  /** The condition that an attribute has a value, which has the attribute's type. */
  public record Condition(String attribute, Object value) {}

  /** An attribute; its default has the attribute's type, or is null if there is none. */
  public record Attribute(
      String name,
      String type,
      boolean required,
      @JsonProperty("default") @Nullable Object defaultValue,
      @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> choices,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Number minimum,
      @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable Number maximum,
      String meaning) {}

  public static OpView of(OpDescription op) {
    return new OpView(
        op.name(),
        op.summary(),
        op.inputs().stream()
            .filter(OpDescription.Input::isListed)
            .map(i ->
                new Input(
                    i.name(),
                    TensorList.of(i.series()),
                    i.aliases(),
                    i.shape(),
                    i.dtypes().stream().sorted().map(DType::text).toList(),
                    i.optional(),
                    i.meaning()))
            .toList(),
        op.attributes().stream().map(OpView::attribute).toList(),
        op.outputs().stream()
            .filter(OpDescription.Output::isListed)
            .map(o ->
                new Output(
                    o.name(),
                    TensorList.of(o.series()),
                    o.shape(),
                    o.dtype(),
                    o.optional(),
                    condition(op, o),
                    o.meaning()))
            .toList(),
        op.formula(),
        op.flops());
  }

  private static @Nullable Condition condition(OpDescription op, OpDescription.Output output) {
    return output
        .when()
        .map(when -> {
          var attribute = op.attribute(when.attribute()).orElseThrow();
          return new Condition(attribute.name(), typed(attribute.type(), when.value()));
        })
        .orElse(null);
  }

  private static Attribute attribute(OpDescription.Attribute attribute) {
    var text = attribute.defaultValue();
    return new Attribute(
        attribute.name(),
        attribute.type().name().toLowerCase(Locale.ROOT),
        attribute.required(),
        text.isEmpty() ? null : typed(attribute.type(), text),
        attribute.choices(),
        bound(attribute, attribute.least()),
        bound(attribute, attribute.greatest()),
        attribute.meaning());
  }

  private static Object typed(OpDescription.AttributeType type, String text) {
    return switch (type) {
      case BOOLEAN -> Boolean.valueOf(text);
      case INTEGER -> (long) Double.parseDouble(text);
      case NUMBER -> Double.valueOf(text);
      case CHOICE, TEXT -> text;
      case INTEGERS -> list(OpDescription.AttributeType.INTEGER, text);
      case NUMBERS -> list(OpDescription.AttributeType.NUMBER, text);
    };
  }

  private static List<Object> list(OpDescription.AttributeType element, String text) {
    return Stream.of(text.split(",", -1)).map(each -> typed(element, each)).toList();
  }

  private static @Nullable Number bound(OpDescription.Attribute attribute, double value) {
    if (!Double.isFinite(value)) {
      return null;
    }
    if (attribute.type() == OpDescription.AttributeType.INTEGER
        || attribute.type() == OpDescription.AttributeType.INTEGERS) {
      return (long) value;
    }
    return value;
  }
}
