package dev.athanor.engine.lift.simplify;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.lift.ir.Value;
import dev.athanor.engine.lift.ir.ValueType;
import dev.athanor.engine.ptx.Source;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Operations on literals against Java's, on special and random numbers. */
class ConstantFolderTest {

  private static final int RANDOM_PAIRS = 2000;

  private static final Map<Op, BinaryOperator<Integer>> INTS =
      Map.ofEntries(
          Map.entry(Op.ADD, (a, b) -> a + b),
          Map.entry(Op.SUB, (a, b) -> a - b),
          Map.entry(Op.MUL, (a, b) -> a * b),
          Map.entry(Op.DIV, (a, b) -> a / b),
          Map.entry(Op.REM, (a, b) -> a % b),
          Map.entry(Op.AND, (a, b) -> a & b),
          Map.entry(Op.OR, (a, b) -> a | b),
          Map.entry(Op.XOR, (a, b) -> a ^ b),
          Map.entry(Op.SHL, (a, b) -> a << b),
          Map.entry(Op.SHR, (a, b) -> a >> b),
          Map.entry(Op.USHR, (a, b) -> a >>> b),
          Map.entry(Op.MIN, Math::min),
          Map.entry(Op.MAX, Math::max),
          Map.entry(Op.NEG, (a, _) -> -a),
          Map.entry(Op.ABS, (a, _) -> Math.abs(a)));

  private static final Map<Op, BinaryOperator<Float>> FLOATS =
      Map.ofEntries(
          Map.entry(Op.ADD, (a, b) -> a + b),
          Map.entry(Op.SUB, (a, b) -> a - b),
          Map.entry(Op.MUL, (a, b) -> a * b),
          Map.entry(Op.DIV, (a, b) -> a / b),
          Map.entry(Op.MIN, Math::min),
          Map.entry(Op.MAX, Math::max),
          Map.entry(Op.NEG, (a, _) -> -a),
          Map.entry(Op.ABS, (a, _) -> Math.abs(a)),
          Map.entry(Op.SQRT, (a, _) -> (float) Math.sqrt(a)),
          Map.entry(Op.FLOOR, (a, _) -> (float) Math.floor(a)),
          Map.entry(Op.RINT, (a, _) -> (float) Math.rint(a)));

  private static <T> void check(
      ValueType type, Map<Op, BinaryOperator<T>> operations, Stream<T> numbers) {
    var all = numbers.toList();
    operations.forEach((op, java) -> {
      for (int i = 0; i < all.size() - 1; i++) {
        var a = all.get(i);
        var b = all.get(i + 1);
        if (b.equals(0) && (op == Op.DIV || op == Op.REM)) {
          continue;
        }
        var inputs = List.of(Value.constant(type, a), Value.constant(type, b));
        assertThat(folded(op, type, inputs))
            .as("%s of %s and %s", op, a, b)
            .isEqualTo(java.apply(a, b));
      }
    });
  }

  private static Object folded(Op op, ValueType type, List<Value> inputs) {
    var value = new Value(op, type, inputs, null, Source.UNKNOWN);
    return Objects.requireNonNull(ConstantFolder.fold(value), value::toString)
        .attribute(Object.class);
  }

  private static <T> Stream<T> pairs(List<T> special, Function<SplittableRandom, T> random) {
    var generator = new SplittableRandom(7);
    return Stream.concat(
        special.stream().flatMap(a -> special.stream().flatMap(b -> Stream.of(a, b))),
        Stream.generate(() -> random.apply(generator)).limit(RANDOM_PAIRS));
  }

  @Test
  void intsAreJavas() {
    var special = List.of(0, 1, -1, 31, 32, -33, Integer.MIN_VALUE, Integer.MAX_VALUE);
    check(ValueType.INT, INTS, pairs(special, SplittableRandom::nextInt));
  }

  @Test
  void floatsAreJavas() {
    var special =
        List.of(
            0f,
            -0f,
            1f,
            -2.5f,
            Float.MIN_VALUE,
            Float.MAX_VALUE,
            Float.MIN_NORMAL,
            Float.NaN,
            Float.NEGATIVE_INFINITY);
    check(ValueType.FLOAT, FLOATS, pairs(special, r -> canonical(r.nextInt())));
  }

  private static float canonical(int bits) {
    float number = Float.intBitsToFloat(bits);
    return Float.isNaN(number) ? Float.NaN : number;
  }

  @Test
  void fmaOfFloatsRoundsOnce() {
    var generator = new SplittableRandom(8);
    for (int i = 0; i < RANDOM_PAIRS; i++) {
      float a = generator.nextFloat() + 1;
      float b = generator.nextFloat() + 1;
      float c = -(a * b);
      var inputs =
          Stream.of(a, b, c).map(each -> Value.constant(ValueType.FLOAT, (Object) each)).toList();
      assertThat(folded(Op.FMA, ValueType.FLOAT, inputs)).isEqualTo(Math.fma(a, b, c));
    }
  }
}
