package dev.athanor.ops.check;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Optional;

/**
 * What came of one case computed by one kernel variant.
 *
 * @param number of the case among those of its op, from 1
 * @param kernel the name of the variant; empty when there is none, since the op refused its case
 * @param error the greatest of the outputs by the metric of the case; infinite without a result
 * @param limit how far the outputs may be off
 */
public record Check(
    String op,
    int number,
    String kernel,
    Map<String, TensorType> inputs,
    Attributes attributes,
    double error,
    double limit,
    Optional<Failure> failure) {

  public Check {
    inputs = Map.copyOf(inputs);
  }

  /** Returns the error as a share of what is allowed: up to 1 is right. */
  public double share() {
    return error == 0 ? 0 : error / limit;
  }

  /**
   * What is wrong.
   *
   * @param sentence says it to a person, with names, indices and numbers
   */
  public record Failure(Kind kind, String sentence) {}

  /** How a kernel can be wrong. */
  public enum Kind {
    /** Its result is too far from the reference. */
    WRONG,
    /** It left elements of an output unwritten. */
    UNWRITTEN,
    /** It wrote beyond the end of an output. */
    OVERRUN,
    /** A second run gave other bits. */
    NOT_REPEATED,
    /** It changed an input. */
    INPUT_CHANGED,
    /** The device stopped it, or refused it. */
    FAULT,
    /** The op refuses its own case, or its reference does not go with its plan. */
    REFUSED
  }
}
