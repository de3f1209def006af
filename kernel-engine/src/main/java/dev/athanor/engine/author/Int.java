package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Immediate;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Type;
import org.jspecify.annotations.Nullable;

/**
 * A 32-bit integer. It is a register plus a constant, of which the constant is added where it costs
 * nothing: in an address.
 */
public class Int {
  final KernelBuilder k;
  final @Nullable Register base;
  final int constant;

  Int(KernelBuilder k, @Nullable Register base, int constant) {
    this.k = k;
    this.base = base;
    this.constant = constant;
  }

  public Int plus(int b) {
    return new Int(k, base, Math.addExact(constant, b));
  }

  public Int plus(Int b) {
    if (base == null) {
      return b.plus(constant);
    }
    return b.base == null
        ? plus(b.constant)
        : new Int(
            k, k.pure(Type.S32, "add.s32", base, b.base), Math.addExact(constant, b.constant));
  }

  public Int minus(Int b) {
    return pure("sub.s32", b);
  }

  public Int times(int b) {
    if (b == 1 || base == null) {
      return new Int(k, base, Math.multiplyExact(constant, b));
    }
    return new Int(k, multiple(base, b), Math.multiplyExact(constant, b));
  }

  public Int times(Int b) {
    return b.base == null
        ? times(b.constant)
        : base == null ? b.times(constant) : pure("mul.lo.s32", b);
  }

  private Register multiple(Register register, int b) {
    return Integer.bitCount(b) == 1
        ? k.pure(Type.S32, "shl.b32", register, Immediate.of(Integer.numberOfTrailingZeros(b)))
        : k.pure(Type.S32, "mul.lo.s32", register, Immediate.of(b));
  }

  /** This divided by {@code b}; neither may be negative. */
  public Int div(int b) {
    if (base == null || b == 1) {
      return base == null ? k.integer(constant / b) : this;
    }
    return Integer.bitCount(b) == 1
        ? new Int(
            k,
            k.pure(Type.U32, "shr.u32", operand(), Immediate.of(Integer.numberOfTrailingZeros(b))),
            0)
        : pure("div.u32", k.integer(b));
  }

  /** This divided by {@code b}; neither may be negative. */
  public Int div(Int b) {
    return pure("div.u32", b);
  }

  /** What is left over by the division by {@code b}; neither may be negative. */
  public Int rem(int b) {
    if (base == null || b == 1) {
      return k.integer(constant % b);
    }
    return Integer.bitCount(b) == 1
        ? new Int(k, k.pure(Type.B32, "and.b32", operand(), Immediate.of(b - 1)), 0)
        : pure("rem.u32", k.integer(b));
  }

  /** What is left over by the division by {@code b}; neither may be negative. */
  public Int rem(Int b) {
    return pure("rem.u32", b);
  }

  /** The bits in which this and {@code b} differ. */
  public Int xor(Int b) {
    return base == null && b.base == null
        ? k.integer(constant ^ b.constant)
        : new Int(k, k.pure(Type.B32, "xor.b32", operand(), b.operand()), 0);
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

  public Predicate eq(Int b) {
    return compare("eq", b);
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
    if (base == null) {
      return Immediate.of(constant);
    }
    return constant == 0 ? base : k.pure(Type.S32, "add.s32", base, Immediate.of(constant));
  }

  /** The address {@code [this]} in shared memory. */
  Operand.Address address() {
    return new Operand.Address(base == null ? k.integer(0).register() : base, constant);
  }

  /** An integer that changes. */
  public static final class Variable extends Int {

    Variable(KernelBuilder k, Register register) {
      super(k, register, 0);
    }

    public void set(Int value) {
      k.emit("mov.s32", operand(), value.operand());
    }
  }
}
