package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.Semantics.AtomicFunction;
import dev.athanor.engine.ptx.Type;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * A binary operation shared by {@code atom} and {@code red}, asynchronous reductions and {@code
 * redux}, defined by lane functions (PTX ISA 9.7.13.7, 9.7.13.12, 9.7.9.25.4.2).
 */
public enum ReductionOperation {
  ADD,
  MIN,
  MAX,
  AND,
  OR,
  XOR,
  INC,
  DEC;

  /** Returns the operation in an instruction's modifiers; empty if there is none. */
  public static Optional<ReductionOperation> of(Modifiers modifiers) {
    return Arrays.stream(values()).filter(each -> modifiers.has(each.word())).findFirst();
  }

  /** Returns the modifier of the operation. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the operation on 32-bit integers.
   *
   * @throws IllegalArgumentException if the type does not support it
   */
  public IntBinaryOperator onInts(Type type) {
    boolean signed = type.kind() == Type.Kind.SIGNED;
    return switch (this) {
      case ADD -> IntegerFunctions::add;
      case AND -> LaneFunctions::and;
      case OR -> LaneFunctions::or;
      case XOR -> LaneFunctions::xor;
      case MIN -> signed ? IntegerFunctions::min : IntegerFunctions::minUnsigned;
      case MAX -> signed ? IntegerFunctions::max : IntegerFunctions::maxUnsigned;
      case INC -> (old, limit) -> Integer.compareUnsigned(old, limit) >= 0 ? 0 : old + 1;
      case DEC ->
          (old, limit) -> old == 0 || Integer.compareUnsigned(old, limit) > 0 ? limit : old - 1;
    };
  }

  /**
   * Returns the operation on f32.
   *
   * @param propagatesNans whether the result is NaN if an operand is
   * @throws IllegalArgumentException if f32 does not support it
   */
  FloatOperator onFloats(boolean propagatesNans) {
    return switch (this) {
      case MIN -> propagatesNans ? FloatFunctions::minOrNan : FloatFunctions::min;
      case MAX -> propagatesNans ? FloatFunctions::maxOrNan : FloatFunctions::max;
      case ADD, AND, OR, XOR, INC, DEC -> throw unsupported(Type.F32);
    };
  }

  /** An operation on two f32 numbers. */
  @FunctionalInterface
  interface FloatOperator {
    float apply(float a, float b);
  }

  /**
   * Returns the operation on 64-bit integers; for sums and logic, the low bits are also correct for
   * narrower types.
   */
  private LongBinaryOperator onLongs(Type type) {
    boolean signed = type.kind() == Type.Kind.SIGNED;
    return switch (this) {
      case ADD -> IntegerFunctions::add;
      case AND -> LaneFunctions::and;
      case OR -> LaneFunctions::or;
      case XOR -> LaneFunctions::xor;
      case MIN -> signed ? IntegerFunctions::min : IntegerFunctions::minUnsigned;
      case MAX -> signed ? IntegerFunctions::max : IntegerFunctions::maxUnsigned;
      case INC, DEC -> throw unsupported(type);
    };
  }

  /**
   * Returns the operation of {@code atom} and {@code red} on values in memory.
   *
   * @throws IllegalArgumentException if the type does not support it
   */
  public AtomicFunction inMemory(Type type) {
    return switch (type) {
      case U64, S64, B64 -> onLongsInMemory(type);
      case U32, S32, B32 ->
          switch (this) {
            case ADD, AND, OR, XOR -> onLongsInMemory(type);
            case MIN, MAX, INC, DEC -> {
              var ints = onInts(type);
              yield (old, b, _, _) -> ints.applyAsInt((int) old, (int) b);
            }
          };
      case F32 -> sum(type, Atomics::addFloat);
      case F64 -> sum(type, Atomics::addDouble);
      case F16X2, BF16X2 -> {
        var one = inMemory(type.element());
        yield (old, b, c, global) ->
            one.apply(old & 0xFFFF, b & 0xFFFF, c, global)
                | one.apply(old >>> 16, b >>> 16, c, global) << 16;
      }
      case F16, BF16 ->
          switch (this) {
            case ADD -> type == Type.F16 ? Atomics::addHalf : Atomics::addBfloat;
            case MIN ->
                (old, b, _, _) ->
                    SmallFloat.encode(FloatFunctions.min(small(old, type), small(b, type)), type);
            case MAX ->
                (old, b, _, _) ->
                    SmallFloat.encode(FloatFunctions.max(small(old, type), small(b, type)), type);
            case AND, OR, XOR, INC, DEC -> throw unsupported(type);
          };
      default -> throw unsupported(type);
    };
  }

  /**
   * Returns the operation of asynchronous reductions, which keep subnormals also in global memory.
   *
   * @throws IllegalArgumentException if the type does not support it
   */
  public AtomicFunction asynchronous(Type type) {
    var function = inMemory(type);
    return (old, b, c, _) -> function.apply(old, b, c, false);
  }

  private AtomicFunction onLongsInMemory(Type type) {
    var longs = onLongs(type);
    return (old, b, _, _) -> longs.applyAsLong(old, b);
  }

  private AtomicFunction sum(Type type, AtomicFunction sum) {
    if (this != ADD) {
      throw unsupported(type);
    }
    return sum;
  }

  private static float small(long bits, Type type) {
    return SmallFloat.decode((int) bits & 0xFFFF, type);
  }

  private IllegalArgumentException unsupported(Type type) {
    return new IllegalArgumentException(
        ".%s does not support the reduction .%s".formatted(type.word(), word()));
  }
}
