package dev.athanor.engine.ptx;

import java.util.List;
import java.util.stream.Collectors;

/** What an instruction reads or writes (PTX ISA 6). */
public sealed interface Operand
    permits Operand.Register,
        Operand.Immediate,
        Operand.Symbol,
        Operand.Address,
        Operand.Vector,
        Operand.Pair,
        SpecialRegister {

  /** A virtual register: a variable, not an SSA value, since PTX registers may be written again. */
  record Register(RegisterClass registerClass, String name) implements Operand {

    /** The carry flag of each thread, which no instruction names (PTX ISA 9.7.2). */
    public static final Register CARRY = new Register(RegisterClass.PRED, "CC.CF");

    @Override
    public String toString() {
      return name;
    }
  }

  /**
   * A literal. Its bits are zero-extended for unsigned and bit types, sign-extended for signed
   * ones, and those of the IEEE number for floating-point types.
   */
  record Immediate(Type type, long bits) implements Operand {

    public static Immediate of(int value) {
      return new Immediate(Type.S32, value);
    }

    public static Immediate of(float value) {
      return new Immediate(Type.F32, Float.floatToRawIntBits(value) & 0xFFFF_FFFFL);
    }

    public static Immediate of(double value) {
      return new Immediate(Type.F64, Double.doubleToRawLongBits(value));
    }

    /** Floats print in PTX's exact forms {@code 0f…} and {@code 0d…}. */
    @Override
    public String toString() {
      return switch (type) {
        case F32 -> "0f%08X".formatted((int) bits);
        case F64 -> "0d%016X".formatted(bits);
        case U64, B64 -> Long.toUnsignedString(bits);
        default -> Long.toString(bits);
      };
    }
  }

  /** The name of a parameter, a variable, or a branch target. */
  record Symbol(String name) implements Operand {
    @Override
    public String toString() {
      return name;
    }
  }

  /**
   * A memory reference {@code [base+offset]}; the base is a register or a symbol, the offset counts
   * bytes.
   */
  record Address(Operand base, long offset) implements Operand {
    @Override
    public String toString() {
      return "[" + base + (offset == 0 ? "" : offset > 0 ? "+" + offset : offset) + "]";
    }
  }

  /** {@code {a, b}}: registers, or literals where only read. */
  record Vector(List<Operand> elements) implements Operand {
    public Vector {
      elements = List.copyOf(elements);
    }

    public static Vector of(List<? extends Operand> elements) {
      return new Vector(List.copyOf(elements));
    }

    @Override
    public String toString() {
      return elements.stream().map(Operand::toString).collect(Collectors.joining(", ", "{", "}"));
    }
  }

  /** Two results, {@code d|p}. */
  record Pair(Operand first, Operand second) implements Operand {
    @Override
    public String toString() {
      return first + "|" + second;
    }
  }
}
