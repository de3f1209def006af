package dev.athanor.ops.map;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Casts between all pairs of dtypes. Dtypes of one or two bytes are tested with all bit patterns,
 * wider ones with numbers at the limits, ties, and random numbers.
 */
final class CastCases {

  private static final int RANDOM = 200;
  private static final Set<DType> QUICK_TO = Set.of(DType.F32, DType.BF16, DType.E4M3, DType.I8);
  private static final Set<DType> QUICK_FROM = Set.of(DType.F64, DType.F32, DType.I64, DType.E5M2);

  private final OpDescription op;
  private final RandomGenerator random;
  private final boolean quick;

  CastCases(OpDescription op, RandomGenerator random, boolean quick) {
    this.op = op;
    this.random = random;
    this.quick = quick;
  }

  List<Case> all() {
    var dtypes = op.inputs().getFirst().dtypes().stream().sorted().toList();
    var cases = new ArrayList<Case>();
    for (var from : dtypes) {
      if (quick && !QUICK_FROM.contains(from)) {
        continue;
      }
      var x = numbers(from, dtypes);
      for (var to : dtypes) {
        if (!quick || QUICK_TO.contains(to)) {
          for (var attributes : attributes(from, to)) {
            cases.add(
                new Case(
                    Map.of("x", x), Attributes.of(op, attributes), Map.of("y", Tolerance.exact())));
          }
        }
      }
    }
    return cases;
  }

  /** Returns the default conversion, and the others where they can change the result. */
  private List<Map<String, ?>> attributes(DType from, DType to) {
    var all = new ArrayList<Map<String, ?>>();
    all.add(Map.of("to", to.text()));
    if (quick || from.bytes() < 4) {
      return all;
    }
    if (to.isFloat()) {
      all.add(Map.of("to", to.text(), "saturate", to != DType.E4M3));
    } else if (from.isFloat() && (to == DType.I8 || to == DType.U32 || to == DType.I64)) {
      for (var round : List.of("nearest-even", "floor", "ceil")) {
        all.add(Map.of("to", to.text(), "round", round));
      }
    }
    return all;
  }

  private HostTensor numbers(DType from, List<DType> dtypes) {
    if (from == DType.BOOL) {
      return HostTensor.of(TensorType.of(from, 3), 0, 1, 1);
    }
    if (from.bytes() <= 2) {
      return everything(from);
    }
    return from.isFloat() ? reals(from, dtypes) : integers(from, dtypes);
  }

  /** Returns all bit patterns of a dtype of one or two bytes. */
  static HostTensor everything(DType dtype) {
    int bytes = dtype.bytes();
    var tensor = HostTensor.zeros(TensorType.of(dtype, 1 << (8 * bytes)));
    var patterns = bytes == 1 ? DType.U8 : DType.I16;
    for (int i = 0; i < tensor.type().shape().elements(); i++) {
      patterns.writeLong(tensor.data(), i, bytes == 1 ? i : (short) i);
    }
    return tensor;
  }

  private HostTensor reals(DType from, List<DType> dtypes) {
    var values = new ArrayList<Double>();
    for (double x : new double[] {0, 0.5, 1.5, 2.5, Double.POSITIVE_INFINITY, Double.NaN}) {
      values.add(x);
    }
    for (var to : dtypes) {
      if (to.isFloat()) {
        double least = to.spacing(0);
        double tie = 1 + to.epsilon() / 2;
        values.addAll(around(tie));
        values.addAll(around(tie + to.epsilon()));
        values.addAll(around(to.greatest()));
        values.addAll(around(to.overflow()));
        values.addAll(List.of(least, least / 2, least * 1.5, Math.nextUp(least / 2)));
      } else {
        double greatest = Rounding.round(to, Double.POSITIVE_INFINITY, Conversion.usual(to));
        values.addAll(around(greatest + 0.5));
        values.addAll(around(greatest));
        values.addAll(around(Rounding.least(to) - 0.5));
      }
    }
    for (int i = 0; i < RANDOM; i++) {
      double wide = Double.longBitsToDouble(random.nextLong());
      values.add(i % 2 == 0 ? wide : random.nextGaussian(0, Math.scalb(1.0, i / 4)));
    }
    var tensor = HostTensor.zeros(TensorType.of(from, 2L * values.size()));
    for (int i = 0; i < values.size(); i++) {
      double value =
          Rounding.round(from, Objects.requireNonNull(values.get(i)), Conversion.usual(from));
      from.write(tensor.data(), 2L * i, value);
      from.write(tensor.data(), 2L * i + 1, -value);
    }
    return tensor;
  }

  private static List<Double> around(double value) {
    return List.of(
        value,
        Math.nextUp(value),
        Math.nextDown(value),
        (double) Math.nextUp((float) value),
        (double) Math.nextDown((float) value));
  }

  private HostTensor integers(DType from, List<DType> dtypes) {
    var values = new ArrayList<Long>(List.of(0L, 1L, -1L));
    for (var to : dtypes) {
      if (to.isFloat()) {
        // ties and their neighbors, just beyond the range in which the type has every integer
        for (int bits = 1; bits < 10; bits++) {
          long tie = (long) Math.scalb(2 / to.epsilon(), bits) + (1L << (bits - 1));
          values.addAll(List.of(tie, tie + 1, tie - 1, -tie, -tie - 1));
        }
      } else {
        long greatest = Rounding.greatest(to);
        long least = Rounding.least(to);
        values.addAll(List.of(greatest, greatest - 1, greatest + 1, least, least - 1, least + 1));
      }
    }
    for (int i = 0; i < RANDOM; i++) {
      values.add(random.nextLong() >> (i % 64));
    }
    var tensor = HostTensor.zeros(TensorType.of(from, values.size()));
    for (int i = 0; i < values.size(); i++) {
      long value = Objects.requireNonNull(values.get(i));
      from.writeLong(
          tensor.data(), i, Math.clamp(value, Rounding.least(from), Rounding.greatest(from)));
    }
    return tensor;
  }
}
