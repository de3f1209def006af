package dev.athanor.ops.check;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Optional;

/**
 * The result of one case computed by one kernel variant.
 *
 * @param number of the case among those of its op, from 1
 * @param kernel the name of the variant; empty if the op rejected its case
 * @param error the largest error of the outputs in the metric of the case; infinite without a
 *     result
 * @param limit the limit of the error
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

  /** Returns the error divided by its limit; at most 1 if the result is correct. */
  public double share() {
    return error == 0 ? 0 : error / limit;
  }

  /**
   * The cause of a failed check.
   *
   * @param sentence a readable description with names, indices and numbers
   */
  public record Failure(Kind kind, String sentence) {}

  /** The kind of a failure. */
  public enum Kind {
    /** The error of the result exceeds the limit. */
    WRONG,
    /** Elements of an output were not written. */
    UNWRITTEN,
    /** The kernel wrote beyond the end of an output. */
    OVERRUN,
    /** A second run gave different bits. */
    NOT_REPEATED,
    /** The kernel changed an input. */
    INPUT_CHANGED,
    /** The device reported a fault or rejected the launch. */
    FAULT,
    /** The op rejected its own case, or its reference does not match its plan. */
    REFUSED
  }
}
