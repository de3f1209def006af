package dev.athanor.ops.indexing;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.Locale;
import java.util.stream.Stream;

/** How scatter combines an element of x with the updates that name it. */
enum ScatterReduction {
  /** The last update replaces the element. */
  NONE,
  ADD,
  MUL,
  /** The minimum; NaN if any number is NaN. */
  MIN,
  /** The maximum; NaN if any number is NaN. */
  MAX;

  String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  static ScatterReduction of(String text) {
    return Stream.of(values()).filter(each -> each.text().equals(text)).findFirst().orElseThrow();
  }

  /** Emits the combination of two numbers of one register type. Integers wrap. */
  Value emit(KernelBuilder k, Value a, Value b) {
    if (a instanceof Real x && b instanceof Real y) {
      return switch (this) {
        case NONE -> y;
        case ADD -> x.plus(y);
        case MUL -> x.times(y);
        case MIN -> x.where(x.isNan(), y.where(y.isNan(), x.min(y)));
        case MAX -> x.where(x.isNan(), y.where(y.isNan(), x.max(y)));
      };
    }
    var type = a.type();
    var signed = type == Type.S64 ? "s64" : "s32";
    return switch (this) {
      case NONE -> b;
      case ADD -> k.compute(type, "add." + signed, a, b);
      case MUL -> k.compute(type, "mul.lo." + signed, a, b);
      case MIN -> k.compute(type, "min." + type.word(), a, b);
      case MAX -> k.compute(type, "max." + type.word(), a, b);
    };
  }

  /** Combines two numbers in float64. */
  double of(double a, double b) {
    return switch (this) {
      case NONE -> b;
      case ADD -> a + b;
      case MUL -> a * b;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
    };
  }

  /** Combines two integers, modulo 2^64. */
  long of(long a, long b) {
    return switch (this) {
      case NONE -> b;
      case ADD -> a + b;
      case MUL -> a * b;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
    };
  }
}
