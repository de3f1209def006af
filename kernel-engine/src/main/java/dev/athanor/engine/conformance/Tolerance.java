package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.InstructionForm.ErrorBound;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;

/**
 * The permitted deviation from the emulator's result: none for most instructions, else the manual's
 * error bound.
 */
record Tolerance(ErrorBound bound) {

  static final Tolerance EXACT = new Tolerance(ErrorBound.EXACT);

  /** Returns the error bound of the instruction's row (PTX ISA 9.7.3 and 9.7.4). */
  static Tolerance of(Instruction instruction) {
    var modifiers = instruction.modifiers();
    if (!modifiers.has("approx") && !modifiers.has("full")) {
      return EXACT;
    }
    var bound = instruction.form().facts().errorBound();
    if (bound == null) {
      throw new IllegalStateException(
          instruction + " is approximate, but its row states no error bound");
    }
    return new Tolerance(bound);
  }

  boolean isExact() {
    return equals(EXACT);
  }

  /** Returns whether the manual defines the result for the operands from index {@code at} on. */
  boolean isDefined(Probe probe, long[] sources, int at) {
    boolean defined =
        switch (probe.instruction().form().facts().undefined()) {
          case NOTHING -> true;
          case ZERO_DIVISOR -> sources[at + 1] != 0;
          case BASE_ABOVE_31 -> sources[at + 1] <= 31;
        };
    if (!defined) {
      return false;
    }
    double maxMagnitude = bound.maxMagnitude();
    if (maxMagnitude == Double.POSITIVE_INFINITY) {
      return true;
    }
    for (int i = 0; i < probe.sources().size(); i++) {
      double operand = Math.abs(number(probe.sources().get(i).type(), sources[at + i]));
      boolean bounded = probe.sources().size() == 1 || i == 1; // the divisor
      if (bounded && (operand > maxMagnitude || (i == 1 && operand < 1 / maxMagnitude))) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether a result, which may be packed, is within the bound. */
  boolean accepts(Type type, long expected, long result) {
    if (expected == result) {
      return true;
    }
    if (isExact()) {
      return false;
    }
    var element = type.element();
    for (int at = 0; at < type.bits(); at += element.bits()) {
      if (!isNear(
          number(element, expected >>> at), number(element, result >>> at), number(element, 2))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether a number is within the bound.
   *
   * @param step twice the distance of subnormal numbers
   */
  private boolean isNear(double expected, double result, double step) {
    if (Double.isNaN(expected) || Double.isInfinite(expected)) {
      return Double.compare(expected, result) == 0;
    }
    double difference = Math.abs(expected - result);
    return difference <= bound.relative() * Math.abs(expected)
        || difference <= Math.max(bound.absolute(), step);
  }

  private static double number(Type type, long bits) {
    return switch (type) {
      case F64 -> Double.longBitsToDouble(bits);
      case F16 -> Float.float16ToFloat((short) bits);
      case BF16 -> Float.intBitsToFloat((int) bits << 16);
      default -> Float.intBitsToFloat((int) bits);
    };
  }
}
