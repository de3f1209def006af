package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Semantics.AtomicFunction;
import dev.athanor.engine.ptx.Type;

/** What asynchronous reductions write (PTX ISA 9.7.9.25.4.2, 9.7.13.7). */
public final class Reductions {

  private Reductions() {}

  /**
   * The function of an operation such as {@code add} on a type.
   *
   * @throws IllegalArgumentException when the type has no such operation
   */
  public static AtomicFunction of(String operation, Type type) {
    return switch (operation) {
      case "and" -> (old, b, _, _) -> old & b;
      case "or" -> (old, b, _, _) -> old | b;
      case "xor" -> (old, b, _, _) -> old ^ b;
      case "inc" -> (old, b, _, _) -> Long.compareUnsigned(old, b) >= 0 ? 0 : old + 1;
      case "dec" -> (old, b, _, _) -> old == 0 || Long.compareUnsigned(old, b) > 0 ? b : old - 1;
      case "add" -> sum(type);
      case "min" -> extreme(type, false);
      case "max" -> extreme(type, true);
      default -> throw none(operation, type);
    };
  }

  private static IllegalArgumentException none(String operation, Type type) {
    return new IllegalArgumentException(
        "there is no reduction .%s of .%s".formatted(operation, type.word()));
  }

  private static AtomicFunction sum(Type type) {
    return switch (type) {
      case U32, S32, U64, S64 -> (old, b, _, _) -> old + b;
      case F32 -> (old, b, c, _) -> Atomics.addFloat(old, b, c, false);
      case F64 -> Atomics::addDouble;
      case F16 -> Atomics::addHalf;
      case BF16 -> Atomics::addBfloat;
      default -> throw none("add", type);
    };
  }

  private static AtomicFunction extreme(Type type, boolean greatest) {
    return switch (type) {
      case U32, U64 -> (old, b, _, _) -> (Long.compareUnsigned(old, b) > 0) == greatest ? old : b;
      case S32 -> (old, b, _, _) -> ((int) old > (int) b) == greatest ? old : b;
      case S64 -> (old, b, _, _) -> (old > b) == greatest ? old : b;
      case F16, BF16 ->
          (old, b, _, _) -> {
            float x = SmallFloat.decode((int) old & 0xFFFF, type);
            float y = SmallFloat.decode((int) b & 0xFFFF, type);
            if (Float.isNaN(x) || Float.isNaN(y)) {
              return Float.isNaN(x) ? b : old;
            }
            return (Float.compare(x, y) > 0) == greatest ? old : b;
          };
      default -> throw none(greatest ? "max" : "min", type);
    };
  }
}
