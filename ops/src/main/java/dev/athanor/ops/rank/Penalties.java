package dev.athanor.ops.rank;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.problem.Checks;
import java.util.List;

/**
 * The penalties of tokens that occurred before: that of the CTRL paper (arXiv 1909.05858), and the
 * two of OpenAI's API.
 *
 * @param repetition divides positive logits and multiplies others
 * @param frequency subtracted for each occurrence
 * @param presence subtracted once
 */
record Penalties(float repetition, float frequency, float presence) {

  static final String COUNTS = "counts";

  private static final String REPETITION = "repetitionPenalty";
  private static final String FREQUENCY = "frequencyPenalty";
  private static final String PRESENCE = "presencePenalty";

  private static final Penalties NONE = new Penalties(1, 0, 0);

  static final List<Attribute> ATTRIBUTES =
      List.of(
          Attribute.number(
              REPETITION, 1, "divides positive logits of tokens that occurred, multiplies others"),
          Attribute.number(
              FREQUENCY, 0, "subtracted from a logit for each occurrence of its token"),
          Attribute.number(
              PRESENCE, 0, "subtracted from the logits of tokens that occurred at least once"));

  /**
   * Returns the penalties of a call.
   *
   * @param counted whether the call includes the counts
   * @throws OpException.InvalidAttribute if there are penalties but no counts, or one is out of
   *     range
   */
  static Penalties of(Attributes attributes, boolean counted) {
    double repetition = attributes.number(REPETITION);
    if (repetition < 1e-6 || repetition > 1e6) {
      throw new OpException.InvalidAttribute(
          REPETITION,
          "attribute \"%s\" is %s; it must be from 1e-6 to 1e6".formatted(REPETITION, repetition));
    }
    for (var attribute : ATTRIBUTES) {
      var name = attribute.name();
      double number = attributes.number(name);
      if (!counted && number != Double.parseDouble(attribute.defaultValue())) {
        throw new OpException.InvalidAttribute(
            name,
            "attribute \"%s\" is %s but input \"counts\" is missing; include the counts of the tokens, or omit the attribute"
                .formatted(name, number));
      }
    }
    return new Penalties(
        (float) repetition,
        Checks.single(attributes, FREQUENCY),
        Checks.single(attributes, PRESENCE));
  }

  /** Returns whether the penalties change no logit. */
  boolean isNone() {
    return equals(NONE);
  }

  /** Returns the logit of a token, with the arithmetic of the kernel. */
  float apply(float logit, long count) {
    if (count <= 0) {
      return logit;
    }
    float repeated = logit > 0 ? logit / repetition : logit * repetition;
    return repeated - frequency * count - presence;
  }
}
