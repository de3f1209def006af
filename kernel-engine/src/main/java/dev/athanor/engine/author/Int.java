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
 * A 32-bit integer in two's complement with wrapping arithmetic. Integers are immutable; only a
 * {@link Variable} changes. An operation reads the value that a variable has where the operation is
 * written.
 *
 * <p>An integer is a register plus a constant. The constant is added where that is free: in an
 * address. Addresses are wider than indices, so an index must not wrap, with or without the
 * constants added to it.
 */
public class Int {
  final BodyEmitter emitter;
  private final @Nullable Supplier<Register> base;
  final int constant;

  /** The value that a register has here, or 0 if there is none, plus a constant. */
  Int(BodyEmitter emitter, @Nullable Register base, int constant) {
    this(emitter, base == null ? null : emitter.capture(base), constant);
  }

  private Int(BodyEmitter emitter, @Nullable Supplier<Register> base, int constant) {
    this.emitter = emitter;
    this.base = base;
    this.constant = constant;
  }

  /** A constant. */
  static Int of(BodyEmitter emitter, int value) {
    return new Int(emitter, (Register) null, value);
  }

  /** Returns the register to which the constant is added; null for a pure constant. */
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
    return wraps && !isConstant() ? new Int(emitter, register(), b) : new Int(emitter, base(), sum);
  }

  public Int plus(Int b) {
    var own = base();
    var other = b.base();
    if (own == null) {
      return b.plus(constant);
    }
    return other == null
        ? plus(b.constant)
        : new Int(emitter, emitter.pure(Type.S32, "add.s32", own, other), constant)
            .plus(b.constant);
  }

  public Int minus(Int b) {
    return pure("sub.s32", b);
  }

  public Int times(int b) {
    var own = base();
    long product = (long) constant * b;
    if (own == null) {
      return of(emitter, (int) product);
    }
    if (b == 1) {
      return capture();
    }
    // an address adds the constant without wrapping
    return product == (int) product
        ? new Int(emitter, multiple(own, b), (int) product)
        : new Int(emitter, multiple(register(), b), 0);
  }

  public Int times(Int b) {
    return b.isConstant()
        ? times(b.constant)
        : isConstant() ? b.times(constant) : pure("mul.lo.s32", b);
  }

  /** Returns the upper 32 bits of the 64-bit product of two unsigned integers. */
  public Int unsignedMultiplyHigh(Int b) {
    return pure("mul.hi.u32", b);
  }

  private Register multiple(Register register, int b) {
    return Integer.bitCount(b) == 1
        ? emitter.pure(
            Type.S32, "shl.b32", register, Immediate.of(Integer.numberOfTrailingZeros(b)))
        : emitter.pure(Type.S32, "mul.lo.s32", register, Immediate.of(b));
  }

  /**
   * Returns the unsigned quotient.
   *
   * @param b not 0
   */
  public Int div(int b) {
    requireDivisor(b);
    if (isConstant()) {
      return of(emitter, Integer.divideUnsigned(constant, b));
    }
    if (b == 1) {
      return capture();
    }
    return Integer.bitCount(b) == 1
        ? new Int(
            emitter,
            emitter.pure(
                Type.U32, "shr.u32", operand(), Immediate.of(Integer.numberOfTrailingZeros(b))),
            0)
        : pure("div.u32", of(emitter, b));
  }

  /** Returns the unsigned quotient. */
  public Int div(Int b) {
    return b.isConstant() ? div(b.constant) : pure("div.u32", b);
  }

  /**
   * Returns the unsigned remainder.
   *
   * @param b not 0
   */
  public Int rem(int b) {
    requireDivisor(b);
    if (isConstant() || b == 1) {
      return of(emitter, Integer.remainderUnsigned(constant, b));
    }
    return Integer.bitCount(b) == 1
        ? new Int(emitter, emitter.pure(Type.B32, "and.b32", operand(), Immediate.of(b - 1)), 0)
        : pure("rem.u32", of(emitter, b));
  }

  /** Returns the unsigned remainder. */
  public Int rem(Int b) {
    return b.isConstant() ? rem(b.constant) : pure("rem.u32", b);
  }

  private static void requireDivisor(int b) {
    if (b == 0) {
      throw new IllegalArgumentException(
          BodyEmitter.here() + ": division by the constant 0; use another divisor");
    }
  }

  /** Returns the bitwise exclusive or. */
  public Int xor(Int b) {
    return isConstant() && b.isConstant()
        ? of(emitter, constant ^ b.constant)
        : new Int(emitter, emitter.pure(Type.B32, "xor.b32", operand(), b.operand()), 0);
  }

  public Int and(int b) {
    return isConstant() ? of(emitter, constant & b) : bitwise("and", Immediate.of(b));
  }

  public Int and(Int b) {
    return bitwise("and", b.operand());
  }

  /** Returns {@code (this & mask) ^ flip} in one instruction. */
  public Int andXor(int mask, int flip) {
    int table = (0xF0 & 0xCC) ^ 0xAA;
    return isConstant()
        ? of(emitter, (constant & mask) ^ flip)
        : new Int(
            emitter,
            emitter.pure(
                Type.B32,
                "lop3.b32",
                register(),
                Immediate.of(mask),
                Immediate.of(flip),
                Immediate.of(table)),
            0);
  }

  public Int or(Int b) {
    return bitwise("or", b.operand());
  }

  /** Returns this shifted left by {@code by} bits. */
  public Int shl(int by) {
    return by == 0 ? capture() : shift("shl.b32", Immediate.of(by));
  }

  public Int shl(Int by) {
    return shift("shl.b32", by.operand());
  }

  /** Returns this shifted right by {@code by} bits, zero-filled. */
  public Int shr(int by) {
    return by == 0 ? capture() : shift("shr.u32", Immediate.of(by));
  }

  public Int shr(Int by) {
    return shift("shr.u32", by.operand());
  }

  /** Returns this shifted right by {@code by} bits, sign-filled. */
  public Int shrSigned(int by) {
    return by == 0 ? capture() : shift("shr.s32", Immediate.of(by));
  }

  /** Returns this shifted right by {@code by} bits, sign-filled. */
  public Int shrSigned(Int by) {
    return shift("shr.s32", by.operand());
  }

  /** Extracts {@code count} bits starting at bit {@code from}, zero-extended. */
  public Int bits(int from, int count) {
    return new Int(
        emitter,
        emitter.pure(Type.U32, "bfe.u32", register(), Immediate.of(from), Immediate.of(count)),
        0);
  }

  /** Extracts {@code count} bits starting at bit {@code from}, sign-extended. */
  public Int signedBits(int from, int count) {
    return new Int(
        emitter,
        emitter.pure(Type.S32, "bfe.s32", register(), Immediate.of(from), Immediate.of(count)),
        0);
  }

  /**
   * Returns the four bytes, the lowest first: integers as s32 or u32, other elements as they are.
   */
  List<Value> bytes(Type element) {
    var values = new ArrayList<Value>();
    boolean signed = element.kind() == Type.Kind.SIGNED;
    for (int b = 0; b < 4; b++) {
      var part = signed ? signedBits(8 * b, 8) : bits(8 * b, 8);
      values.add(
          element.kind() == Type.Kind.FLOAT
              ? new Value(emitter, element, emitter.result(element, "cvt.u16.u32", part.operand()))
              : new Value(emitter, signed ? Type.S32 : Type.U32, part.operand()));
    }
    return values;
  }

  private Int bitwise(String opcode, Operand b) {
    return new Int(emitter, emitter.pure(Type.B32, opcode + ".b32", register(), b), 0);
  }

  private Int shift(String opcode, Operand by) {
    return new Int(emitter, emitter.pure(Type.B32, opcode, register(), by), 0);
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
    return lt(of(emitter, b));
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
    return eq(of(emitter, b));
  }

  public Predicate ne(Int b) {
    return compare("ne", b);
  }

  /** Returns this sign-extended to 64 bits. */
  public Wide wide() {
    return new Wide(emitter, emitter.pure(Type.S64, "cvt.s64.s32", register()));
  }

  /** Returns this as f32 or f64, rounded to nearest even. */
  public Real real(Type type) {
    Real.requireReal(type);
    return new Real(
        emitter, type, emitter.result(type, "cvt.rn." + type.word() + ".s32", register()));
  }

  /** Returns this as a value of s32, which can be stored. */
  public Value value() {
    return new Value(emitter, Type.S32, register());
  }

  private Predicate compare(String comparison, Int b) {
    return new Predicate(
        emitter, emitter.pure(Type.PRED, "setp." + comparison + ".s32", operand(), b.operand()));
  }

  private Int pure(String opcode, Int b) {
    return new Int(emitter, emitter.pure(Type.S32, opcode, operand(), b.operand()), 0);
  }

  /** Returns this where the condition holds, else {@code other}. */
  public Int where(Predicate condition, Int other) {
    return new Int(
        emitter,
        emitter.pure(Type.S32, "selp.s32", operand(), other.operand(), condition.register()),
        0);
  }

  Register register() {
    return operand() instanceof Register r
        ? r
        : emitter.pure(Type.S32, "mov.s32", Immediate.of(constant));
  }

  Operand operand() {
    var own = base();
    if (own == null) {
      return Immediate.of(constant);
    }
    return constant == 0 ? own : emitter.pure(Type.S32, "add.s32", own, Immediate.of(constant));
  }

  /** Captures the value that this has here, in case it is a variable. */
  private Int capture() {
    return new Int(emitter, base(), constant);
  }

  /** Returns the address {@code [this]} in shared memory. */
  Operand.Address address() {
    var own = base();
    return new Operand.Address(own == null ? of(emitter, 0).register() : own, constant);
  }

  /**
   * A mutable integer. An operation reads the value that the variable has where the operation is
   * written; its result does not change when the variable does.
   */
  public static final class Variable extends Int {

    Variable(BodyEmitter emitter, Register register) {
      super(emitter, () -> register, 0);
    }

    public void set(Int value) {
      emitter.emit("mov.s32", operand(), value.operand());
    }

    public void add(Int value) {
      emitter.emit("add.s32", operand(), operand(), value.operand());
    }
  }
}
