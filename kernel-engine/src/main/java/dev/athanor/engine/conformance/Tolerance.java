package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;

/**
 * How far an answer may be from the emulator's. Nearly all instructions are exact; the manual
 * bounds the others.
 *
 * @param relative the greatest difference as a share of the right value
 * @param absolute the greatest difference; an answer is right within either
 * @param greatest beyond which operand the manual promises nothing
 */
record Tolerance(double relative, double absolute, double greatest) {

  static final Tolerance EXACT = new Tolerance(0, 0, Double.POSITIVE_INFINITY);

  private static Tolerance relative(double bound) {
    return new Tolerance(bound, 0, Double.POSITIVE_INFINITY);
  }

  private static Tolerance absolute(double bound) {
    return new Tolerance(0, bound, Double.POSITIVE_INFINITY);
  }

  /** The bounds of the PTX manual (9.7.3 and 9.7.4), in multiples of an ulp at least 2^-23. */
  static Tolerance of(Instruction instruction) {
    var modifiers = instruction.modifiers();
    var type = modifiers.type().map(Type::element).orElse(Type.B32);
    if (modifiers.has("full")) {
      return relative(0x1p-22); // 2 ulp
    }
    if (!modifiers.has("approx")) {
      return EXACT;
    }
    return switch (instruction.form().mnemonic()) {
      case "rcp", "sqrt" -> relative(type == Type.F64 ? 0x1p-19 : 0x1p-23);
      case "rsqrt" ->
          relative(type == Type.F32 ? 0x1p-22 : modifiers.has("ftz") ? 0x1p-19 : 0x1p-50);
      case "div" -> new Tolerance(0x1p-22, 0, 0x1p126);
      case "sin", "cos" -> new Tolerance(0, 0x1p-20, 2 * Math.PI);
      case "lg2" -> new Tolerance(0x1p-22, 0x1p-22, Double.POSITIVE_INFINITY);
      case "ex2" -> relative(type == Type.F32 ? 0x1p-22 : type == Type.F16 ? 0x1p-9 : 0x1p-7);
      case "tanh" ->
          type == Type.F32 ? relative(0x1p-10) : absolute(type == Type.F16 ? 0x1p-10 : 0x1p-8);
      default ->
          throw new IllegalStateException(
              instruction + " is approximate, and nobody has said how much");
    };
  }

  boolean isExact() {
    return equals(EXACT);
  }

  /** Whether the manual promises anything for the operands from {@code at} on. */
  boolean covers(Probe probe, long[] sources, int at) {
    if (divides(probe) && sources[at + 1] == 0) {
      return false;
    }
    if (probe.mnemonic().equals("fns") && sources[at + 1] > 31) {
      return false;
    }
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

  private static boolean divides(Probe probe) {
    return (probe.mnemonic().equals("div") || probe.mnemonic().equals("rem"))
        && probe.sources().getLast().type().kind() != Type.Kind.FLOAT;
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
    return difference <= relative * Math.abs(wanted) || difference <= Math.max(absolute, step);
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
