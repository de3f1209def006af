package dev.athanor.ops.problem;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.Shape;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The alternative forms of a shape, such as {@code [M, K] or [K, M] with transposeA}. A form with
 * the name of a flag applies if the flag is true; of the others, the first with the rank of the
 * tensor.
 */
record ShapeForms(List<Form> forms) {

  private static final Pattern OR = Pattern.compile(" or ");
  private static final Pattern FLAG = Pattern.compile("(.*]) with (\\w+)");

  /** The parsed texts; the descriptions of the ops hold few different ones. */
  private static final Map<String, ShapeForms> PARSED = new ConcurrentHashMap<>();

  /**
   * A form.
   *
   * @param flag empty if it always applies
   */
  record Form(ShapePattern pattern, String flag) {
    static Form parse(String tensor, String text) {
      var parts = FLAG.matcher(text);
      return parts.matches()
          ? new Form(
              ShapePattern.parse(tensor, parts.group(1)).on(" with " + parts.group(2)),
              parts.group(2))
          : new Form(ShapePattern.parse(tensor, text), "");
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

  /** Returns the form of an input. */
  ShapePattern choose(Shape shape, Attributes attributes) {
    return applicable(attributes)
        .filter(pattern -> pattern.fits(shape))
        .findFirst()
        .orElseGet(() -> choose(attributes));
  }

  /** Returns the form of an output. */
  ShapePattern choose(Attributes attributes) {
    return applicable(attributes).findFirst().orElseThrow();
  }

  private Stream<ShapePattern> applicable(Attributes attributes) {
    boolean flagged =
        forms.stream().anyMatch(form -> !form.flag.isEmpty() && attributes.flag(form.flag));
    return forms.stream()
        .filter(form ->
            flagged ? !form.flag.isEmpty() && attributes.flag(form.flag) : form.flag.isEmpty())
        .map(Form::pattern);
  }
}
