package dev.athanor.ops.row.rope;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.row.RowKernel;
import java.util.Optional;

/**
 * A kernel that computes cosines and sines of the angles {@code position · 2^(i · step)} for {@code
 * 0 <= i < half}, as two matrices with a row for each position. The step is −2 · log2(theta) /
 * rotaryDim. The kernel's parameters are {@code cos, sin, positions, rows, half, step}, without
 * positions if they are not given. The arithmetic is f64 until the final rounding, since f32
 * represents an angle of 10^6 only to 0.06.
 *
 * @param table dtype of the matrices, f32 or f64
 * @param positions whether positions are given; otherwise they are 0, 1, …
 */
record RopeTable(DType table, boolean positions) implements Variant {

  static final int THREADS = 256;

  /** Terms of the series of 2^x; the next one is below the precision of f64. */
  private static final int POWER_TERMS = 14;

  /** Terms of the series of cosine and sine; the next one is below the precision of f32 or f64. */
  private static final int SINGLE_TERMS = 7;

  private static final int DOUBLE_TERMS = 10;

  /** The difference of π/2 and its nearest f64. */
  private static final double HALF_PI_LOW = 0x1.1a62633145c07p-54;

  @Override
  public String name() {
    return "rope_table" + (table == DType.F64 ? "_f64" : "") + (positions ? "_positions" : "");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(
        name(),
        THREADS,
        k -> {
          var type = RowKernel.type(table);
          var cosines = k.pointer("cos", type);
          var sines = k.pointer("sin", type);
          var given =
              positions
                  ? Optional.of(k.pointer("positions", Type.S32))
                  : Optional.<GlobalPointer>empty();
          var rows = k.integer("rows");
          var half = k.integer("half");
          var step = k.real("step", Type.F64);
          var index = k.block().times(THREADS).plus(k.thread());
          var row = index.div(half);
          k.when(
              row.lt(rows),
              () -> {
                var position = given.map(of -> of.load(row).integer()).orElse(row);
                var frequency = power(index.rem(half).real(Type.F64).times(step));
                cosineAndSine(
                    position.real(Type.F64).times(frequency),
                    (cosine, sine) -> {
                      cosines.store(index, cosine.to(type));
                      sines.store(index, sine.to(type));
                    });
              });
        });
  }

  private interface CosineAndSine {
    void accept(Real cosine, Real sine);
  }

  /** Returns 2 to a power from -126 (exclusive) to 0. */
  private static Real power(Real exponent) {
    var whole = exponent.round();
    var fraction = exponent.minus(whole.real(Type.F64)).times(Math.log(2));
    var sum = fraction.constant(1.0);
    for (int i = POWER_TERMS; i > 0; i--) {
      sum = sum.times(fraction).fma(fraction.constant(1.0 / i), fraction.constant(1));
    }
    var two = (Real) whole.plus(127).shl(23).value().as(Type.F32);
    return sum.times((Real) two.to(Type.F64));
  }

  /** Computes cosine and sine after reducing the angle by multiples of π/2. */
  private void cosineAndSine(Real angle, CosineAndSine then) {
    var quarters = angle.times(2 / Math.PI);
    var quarter = quarters.round();
    var whole = quarter.real(Type.F64).negate();
    var rest =
        whole.fma(angle.constant(HALF_PI_LOW), whole.fma(angle.constant(Math.PI / 2), angle));
    var square = rest.times(rest);
    var sine = series(square, 1).times(rest);
    var cosine = series(square, 0);
    var odd = quarter.and(1).eq(1);
    var one = sine.where(odd, cosine);
    var two = cosine.where(odd, sine);
    // the cosine is negative in quadrants 2 and 3, the sine in 3 and 4
    then.accept(signed(one, quarter.plus(1)), signed(two, quarter));
  }

  private static Real signed(Real value, Int quarter) {
    return value.negate().where(quarter.and(2).eq(2), value);
  }

  /**
   * Returns the series 1/first! − square/(first + 2)! + …, to be multiplied by the angle for the
   * sine.
   */
  private Real series(Real square, int first) {
    var sum = square.constant(1);
    for (int i = table == DType.F64 ? DOUBLE_TERMS : SINGLE_TERMS; i > 0; i--) {
      double divisor = (2.0 * i + first) * (2.0 * i + first - 1);
      sum = sum.times(square).fma(square.constant(-1 / divisor), square.constant(1));
    }
    return sum;
  }
}
