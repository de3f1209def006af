package dev.athanor.engine.ptx;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** An operand of an instruction (PTX ISA 6). */
public sealed interface Operand
    permits Operand.Register,
        Operand.Immediate,
        Operand.Symbol,
        Operand.Address,
        Operand.Element,
        Operand.Vector,
        Operand.Pair,
        Operand.Sink,
        Operand.Negation,
        Operand.Tile,
        Operand.Arguments,
        SpecialRegister {
  /** Returns the registers of the operand, including those of an address. */
  default Stream<Register> registers() {
    return switch (this) {
      case Register r -> Stream.of(r);
      case Address a -> a.base().registers();
      case Vector v -> v.elements().stream().flatMap(Operand::registers);
      case Pair p -> Stream.concat(p.first().registers(), p.second().registers());
      case Negation n -> Stream.of(n.register());
      case Tile t ->
          Stream.concat(t.map().registers(), t.coordinates().stream().flatMap(Operand::registers));
      case Arguments a -> a.list().stream().flatMap(Operand::registers);
      case Immediate _, Symbol _, Element _, Sink _, SpecialRegister _ -> Stream.empty();
    };
  }

  /**
   * A virtual register. It is a variable, not an SSA value: PTX may write a register repeatedly.
   */
  record Register(RegisterClass registerClass, String name) implements Operand {
    /** The carry flag of each thread, which instructions use implicitly (PTX ISA 9.7.2). */
    public static final Register CARRY = new Register(RegisterClass.PRED, "CC.CF");

    @Override
    public String toString() {
      return name;
    }
  }

  /**
   * A literal. Its bits are zero-extended for unsigned and bit types, sign-extended for signed
   * types, and IEEE bits for floating-point types.
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

    /** Returns the literal; floats in PTX's exact forms {@code 0f…} and {@code 0d…}. */
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

  /**
   * The name of a parameter, variable, function or label.
   *
   * @param offset bytes added to its address
   */
  record Symbol(String name, long offset) implements Operand {
    /** Creates a symbol without an offset. */
    public Symbol(String name) {
      this(name, 0);
    }

    @Override
    public String toString() {
      return offset == 0 ? name : name + "+" + offset;
    }
  }

  /**
   * {@code array[i]} in a text. The table replaces it by the memory there in a load or store, and
   * else by its address.
   */
  record Element(Symbol address) implements Operand {
    @Override
    public String toString() {
      return address.toString();
    }
  }

  /** A memory reference {@code [base+offset]}: a register or symbol, and an offset in bytes. */
  record Address(Operand base, long offset) implements Operand {
    @Override
    public String toString() {
      // ptxas rejects "-" here
      return "[" + base + (offset == 0 ? "" : "+" + offset) + "]";
    }
  }

  /** {@code {a, b}}: registers; sources may contain literals. */
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

  /** {@code _}: a discarded result. */
  record Sink() implements Operand {
    @Override
    public String toString() {
      return "_";
    }
  }

  /** {@code !p}: a negated predicate. */
  record Negation(Register register) implements Operand {
    @Override
    public String toString() {
      return "!" + register;
    }
  }

  /** {@code [map, {x, y}]}: the start of a tile of a tensor, innermost coordinate first. */
  record Tile(Operand map, List<Operand> coordinates) implements Operand {
    public Tile {
      coordinates = List.copyOf(coordinates);
    }

    @Override
    public String toString() {
      return coordinates.stream()
          .map(Operand::toString)
          .collect(Collectors.joining(", ", "[" + map + ", {", "}]"));
    }
  }

  /** {@code (a, b)}: the arguments or results of a call. */
  record Arguments(List<Operand> list) implements Operand {
    public Arguments {
      list = List.copyOf(list);
    }

    @Override
    public String toString() {
      return list.stream().map(Operand::toString).collect(Collectors.joining(", ", "(", ")"));
    }
  }
}
