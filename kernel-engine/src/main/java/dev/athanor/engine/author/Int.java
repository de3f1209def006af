package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A 32-bit integer in two's complement, whose arithmetic wraps. It never changes; only an {@link
 * Variable} does, of which each operation reads what it holds where the operation is written.
 *
 * <p>It is a register plus a constant, of which the constant is added where it costs nothing: in an
 * address. Addresses are wider than an index, so an index must not wrap, with the constants that
 * were added to it or without.
 */
public class Int {
  final KernelBuilder k;
  private final @Nullable Supplier<Register> base;
  final int constant;

  /** What a register holds here, or 0 where there is none, plus a constant. */
  Int(KernelBuilder k, @Nullable Register base, int constant) {
    this(k, base == null ? null : k.held(base), constant);
  }

  private Int(KernelBuilder k, @Nullable Supplier<Register> base, int constant) {
    this.k = k;
    this.base = base;
    this.constant = constant;
  }

  /** The register to which the constant is added; null = there is none. */
  @Nullable Register base() {
    return base == null ? null : base.get();
  }

  private boolean isConstant() {
    return base == null;
  }

  public Int plus(int b) {
    int sum = constant + b;
    boolean wraps = ((constant ^ sum) & (b ^ sum)) < 0;
    // an address adds the constant without wrapping
    return wraps && !isConstant() ? new Int(k, register(), b) : new Int(k, base(), sum);
  }

  public Int plus(Int b) {
    var own = base();
    var other = b.base();
    if (own == null) {
      return b.plus(constant);
    }
    return other == null
        ? plus(b.constant)
        : new Int(k, k.pure(Type.S32, "add.s32", own, other), constant).plus(b.constant);
  }

  public Int minus(Int b) {
    return pure("sub.s32", b);
  }

  public Int times(int b) {
    var own = base();
    long product = (long) constant * b;
    if (own == null) {
      return k.integer((int) product);
    }
    if (b == 1) {
      return now();
    }
    // an address adds the constant without wrapping
    return product == (int) product
        ? new Int(k, multiple(own, b), (int) product)
        : new Int(k, multiple(register(), b), 0);
  }

  public Int times(Int b) {
    return b.isConstant()
        ? times(b.constant)
        : isConstant() ? b.times(constant) : pure("mul.lo.s32", b);
  }

  private Register multiple(Register register, int b) {
    return Integer.bitCount(b) == 1
        ? k.pure(Type.S32, "shl.b32", register, Immediate.of(Integer.numberOfTrailingZeros(b)))
        : k.pure(Type.S32, "mul.lo.s32", register, Immediate.of(b));
  }

  /**
   * This divided by {@code b}, both taken as unsigned numbers.
   *
   * @param b not 0
   */
  public Int div(int b) {
    requireDivisor(b);
    if (isConstant()) {
      return k.integer(Integer.divideUnsigned(constant, b));
    }
    if (b == 1) {
      return now();
    }
    return Integer.bitCount(b) == 1
        ? new Int(
            k,
            k.pure(Type.U32, "shr.u32", operand(), Immediate.of(Integer.numberOfTrailingZeros(b))),
            0)
        : pure("div.u32", k.integer(b));
  }

  /** This divided by {@code b}, both taken as unsigned numbers. */
  public Int div(Int b) {
    return b.isConstant() ? div(b.constant) : pure("div.u32", b);
  }

  /**
   * The remainder of the division by {@code b}, both taken as unsigned numbers.
   *
   * @param b not 0
   */
  public Int rem(int b) {
    requireDivisor(b);
    if (isConstant() || b == 1) {
      return k.integer(Integer.remainderUnsigned(constant, b));
    }
    return Integer.bitCount(b) == 1
        ? new Int(k, k.pure(Type.B32, "and.b32", operand(), Immediate.of(b - 1)), 0)
        : pure("rem.u32", k.integer(b));
  }

  /** The remainder of the division by {@code b}, both taken as unsigned numbers. */
  public Int rem(Int b) {
    return b.isConstant() ? rem(b.constant) : pure("rem.u32", b);
  }

  private static void requireDivisor(int b) {
    if (b == 0) {
      throw new IllegalArgumentException(
          BodyWriter.here() + ": a division by the constant 0; divide by another number");
    }
  }

  /** The bits in which this and {@code b} differ. */
  public Int xor(Int b) {
    return isConstant() && b.isConstant()
        ? k.integer(constant ^ b.constant)
        : new Int(k, k.pure(Type.B32, "xor.b32", operand(), b.operand()), 0);
  }

  public Int and(int b) {
    return isConstant() ? k.integer(constant & b) : bitwise("and", Immediate.of(b));
  }

  public Int and(Int b) {
    return bitwise("and", b.operand());
  }

  public Int or(Int b) {
    return bitwise("or", b.operand());
  }

  /** This shifted left by so many bits. */
  public Int shl(int by) {
    return by == 0 ? now() : shift("shl.b32", Immediate.of(by));
  }

  public Int shl(Int by) {
    return shift("shl.b32", by.operand());
  }

  /** This shifted right by so many bits, with zeros from above. */
  public Int shr(int by) {
    return by == 0 ? now() : shift("shr.u32", Immediate.of(by));
  }

  public Int shr(Int by) {
    return shift("shr.u32", by.operand());
  }

  /** This shifted right by so many bits, with copies of the sign from above. */
  public Int shrSigned(int by) {
    return by == 0 ? now() : shift("shr.s32", Immediate.of(by));
  }

  /** This shifted right by so many bits, with copies of the sign from above. */
  public Int shrSigned(Int by) {
    return shift("shr.s32", by.operand());
  }

  /** {@code count} bits from bit {@code from} on, as a number that is not negative. */
  public Int bits(int from, int count) {
    return new Int(
        k, k.pure(Type.U32, "bfe.u32", register(), Immediate.of(from), Immediate.of(count)), 0);
  }

  /** {@code count} bits from bit {@code from} on, as a number in two's complement. */
  public Int signedBits(int from, int count) {
    return new Int(
        k, k.pure(Type.S32, "bfe.s32", register(), Immediate.of(from), Immediate.of(count)), 0);
  }

  /** The four bytes of this, the lowest first: s32 for elements that have a sign, else u32. */
  List<Value> bytes(Type element) {
    var values = new ArrayList<Value>();
    boolean signed = element.kind() == Type.Kind.SIGNED;
    for (int b = 0; b < 4; b++) {
      var part = signed ? signedBits(8 * b, 8) : bits(8 * b, 8);
      values.add(new Value(k, signed ? Type.S32 : Type.U32, part.operand()));
    }
    return values;
  }

  private Int bitwise(String opcode, Operand b) {
    return new Int(k, k.pure(Type.B32, opcode + ".b32", register(), b), 0);
  }

  private Int shift(String opcode, Operand by) {
    return new Int(k, k.pure(Type.B32, opcode, register(), by), 0);
  }

  public Int min(Int b) {
    return pure("min.s32", b);
  }

  public Int max(Int b) {
    return pure("max.s32", b);
  }

  public Predicate lt(Int b) {
    return compare("lt", b);
  }

  public Predicate lt(int b) {
    return lt(k.integer(b));
  }

  public Predicate le(Int b) {
    return compare("le", b);
  }

  public Predicate gt(Int b) {
    return compare("gt", b);
  }

  public Predicate ge(Int b) {
    return compare("ge", b);
  }

  public Predicate eq(Int b) {
    return compare("eq", b);
  }

  public Predicate eq(int b) {
    return eq(k.integer(b));
  }

  public Predicate ne(Int b) {
    return compare("ne", b);
  }

  /** This as a 64-bit integer, extended by its sign. */
  public Wide wide() {
    return new Wide(k, k.pure(Type.S64, "cvt.s64.s32", register()));
  }

  /** This as f32 or f64, rounded to nearest even. */
  public Real real(Type type) {
    KernelBuilder.requireReal(type);
    return new Real(k, type, k.result(type, "cvt.rn." + type.word() + ".s32", register()));
  }

  /** This as a value that can be stored: s32. */
  public Value value() {
    return new Value(k, Type.S32, register());
  }

  private Predicate compare(String comparison, Int b) {
    return new Predicate(
        k, k.pure(Type.PRED, "setp." + comparison + ".s32", operand(), b.operand()));
  }

  private Int pure(String opcode, Int b) {
    return new Int(k, k.pure(Type.S32, opcode, operand(), b.operand()), 0);
  }

  /** This where the condition holds, else {@code other}. */
  public Int where(Predicate condition, Int other) {
    return new Int(
        k, k.pure(Type.S32, "selp.s32", operand(), other.operand(), condition.register), 0);
  }

  Register register() {
    return operand() instanceof Register r
        ? r
        : k.pure(Type.S32, "mov.s32", Immediate.of(constant));
  }

  Operand operand() {
    var own = base();
    if (own == null) {
      return Immediate.of(constant);
    }
    return constant == 0 ? own : k.pure(Type.S32, "add.s32", own, Immediate.of(constant));
  }

  /** This as it is here, where it may be a variable. */
  private Int now() {
    return new Int(k, base(), constant);
  }

  /** The address {@code [this]} in shared memory. */
  Operand.Address address() {
    var own = base();
    return new Operand.Address(own == null ? k.integer(0).register() : own, constant);
  }

  /**
   * An integer that changes. Every operation reads what it holds where the operation is written, so
   * a value made of it stays as it is when the variable changes.
   */
  public static final class Variable extends Int {

    Variable(KernelBuilder k, Register register) {
      super(k, () -> register, 0);
    }

    public void set(Int value) {
      k.emit("mov.s32", operand(), value.operand());
    }

    public void add(Int value) {
      k.emit("add.s32", operand(), operand(), value.operand());
    }
  }
}
