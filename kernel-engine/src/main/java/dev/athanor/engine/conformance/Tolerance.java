package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.InstructionForm.ErrorBound;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;

/**
 * How far an answer may be from the emulator's: not at all for most instructions; the manual bounds
 * the others.
 */
record Tolerance(ErrorBound bound) {

  static final Tolerance EXACT = new Tolerance(ErrorBound.EXACT);

  /** The bound of the instruction's row (PTX ISA 9.7.3 and 9.7.4). */
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

  /** Whether the manual promises anything for the operands from {@code at} on. */
  boolean covers(Probe probe, long[] sources, int at) {
    boolean defined =
        switch (probe.instruction().form().facts().undefined()) {
          case NOTHING -> true;
          case ZERO_DIVISOR -> sources[at + 1] != 0;
          case BASE_ABOVE_31 -> sources[at + 1] <= 31;
        };
    if (!defined) {
      return false;
    }
    double greatest = bound.maxMagnitude();
    if (greatest == Double.POSITIVE_INFINITY) {
      return true;
    }
    for (int i = 0; i < probe.sources().size(); i++) {
      double operand = Math.abs(number(probe.sources().get(i).type(), sources[at + i]));
      boolean bounded = probe.sources().size() == 1 || i == 1; // the divisor
      if (bounded && (operand > greatest || (i == 1 && operand < 1 / greatest))) {
        return false;
      }
    }
    return true;
  }

  /** Whether two answers, packed perhaps, are near enough. */
  boolean accepts(Type type, long wanted, long answer) {
    if (wanted == answer) {
      return true;
    }
    if (isExact()) {
      return false;
    }
    var element = type.element();
    for (int at = 0; at < type.bits(); at += element.bits()) {
      if (!isNear(
          number(element, wanted >>> at), number(element, answer >>> at), number(element, 2))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Whether two numbers are near enough.
   *
   * @param step of subnormal numbers, twice
   */
  private boolean isNear(double wanted, double answer, double step) {
    if (Double.isNaN(wanted) || Double.isInfinite(wanted)) {
      return Double.compare(wanted, answer) == 0;
    }
    double difference = Math.abs(wanted - answer);
    return difference <= bound.relative() * Math.abs(wanted)
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
