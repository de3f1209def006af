package dev.athanor.ops.problem;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The alternative forms of a shape, such as {@code [M, K] or [K, M] with transposeA}. A form with a
 * condition applies if all its words hold: a flag that is true, an input that is given, the value
 * of a choice, or the dtype of an input. Of several forms without a condition, the first with the
 * rank of the tensor applies, and with it the form at the same position of all other tensors of the
 * call.
 */
record ShapeForms(List<Form> forms) {

  private static final Pattern OR = Pattern.compile(" or ");
  private static final Pattern CONDITION = Pattern.compile("(.*]) with ([\\w -]+)");

  /** The parsed texts; the descriptions of the ops hold few different ones. */
  private static final Map<String, ShapeForms> PARSED = new ConcurrentHashMap<>();

  /**
   * A form.
   *
   * @param condition empty if it always applies
   */
  record Form(ShapePattern pattern, List<String> condition) {
    Form {
      condition = List.copyOf(condition);
    }

    static Form parse(String tensor, String text) {
      var parts = CONDITION.matcher(text);
      return parts.matches()
          ? new Form(
              ShapePattern.parseWithQuotients(tensor, parts.group(1)).on(" with " + parts.group(2)),
              List.of(parts.group(2).split(" ")))
          : new Form(ShapePattern.parseWithQuotients(tensor, text), List.of());
    }
  }

  ShapeForms {
    forms = List.copyOf(forms);
  }

  /**
   * Parses the text of a description.
   *
   * @param tensor for the message
   * @throws IllegalArgumentException if the text is not a pattern
   */
  static ShapeForms of(String tensor, String text) {
    return PARSED.computeIfAbsent(
        text,
        _ -> new ShapeForms(OR.splitAsStream(text).map(each -> Form.parse(tensor, each)).toList()));
  }

  /**
   * Returns the forms that apply.
   *
   * @param holds returns whether a word of a condition holds
   */
  List<ShapePattern> applicable(Predicate<String> holds) {
    var conditional =
        forms.stream()
            .filter(form -> !form.condition.isEmpty() && form.condition.stream().allMatch(holds))
            .toList();
    var others = forms.stream().filter(form -> form.condition.isEmpty()).toList();
    return (conditional.isEmpty() ? others : conditional).stream().map(Form::pattern).toList();
  }

  /** Returns the first of some patterns, with the texts of all for the message. */
  static ShapePattern anyOf(List<ShapePattern> patterns) {
    return patterns
        .getFirst()
        .on(
            patterns.stream()
                .skip(1)
                .map(each -> " or " + each.text())
                .collect(Collectors.joining()));
  }
}
