package dev.athanor.ops.row;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** What the cases of all ops on rows are made of. */
public final class RowCases {

  public static final List<DType> DTYPES = List.of(DType.F32, DType.F16, DType.BF16);

  /**
   * Rows and their length: single elements, one more and one less than what teams hold, more teams
   * than rows and the other way round, and rows that no team can hold.
   */
  private static final int[][] SIZES = {
    {1, 1},
    {20, 3},
    {5, 7},
    {18, 13},
    {9, 31},
    {4, 33},
    {9, 63},
    {3, 65},
    {6, 100},
    {2, 127},
    {3, 514},
    {3, 1000},
    {2, 1024},
    {1, 4096},
    {1, 33_004}
  };

  private static final int[][] QUICK_SIZES = {{3, 1}, {5, 65}, {3, 100}, {2, 1024}};

  private RowCases() {}

  /** A problem that takes its turn with the dtypes. */
  public interface Sized {
    Op.Case make(int number, DType dtype, int rows, int n);
  }

  /** A case for each size. */
  public static List<Op.Case> sizes(boolean quick, Sized sized) {
    var cases = new ArrayList<Op.Case>();
    int number = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      var dtype = DTYPES.get(number % DTYPES.size());
      cases.add(sized.make(number++, dtype, size[0], size[1]));
    }
    return cases;
  }

  /** What a case has, one thing after the other. */
  public static final class Builder {
    private final Op op;
    private final Draw draw;
    private final Map<String, HostTensor> inputs = new HashMap<>();
    private final Map<String, Object> attributes = new HashMap<>();

    public Builder(Op op, RandomGenerator random) {
      this.op = op;
      this.draw = new Draw(random);
    }

    public Builder input(String name, HostTensor tensor) {
      inputs.put(name, tensor);
      return this;
    }

    /** An input of normal numbers about a mean. */
    public Builder normal(
        String name, double mean, double deviation, DType dtype, long... extents) {
      return input(name, draw.normal(mean, deviation, new TensorType(dtype, Shape.of(extents))));
    }

    public Builder normal(String name, DType dtype, long... extents) {
      return normal(name, 0, 1, dtype, extents);
    }

    public Builder integers(String name, long least, long greatest, DType dtype, long... extents) {
      return input(name, draw.integers(least, greatest, new TensorType(dtype, Shape.of(extents))));
    }

    public Builder special(String name, DType dtype, long... extents) {
      return input(name, draw.special(dtype, extents));
    }

    public Builder attribute(String name, Object value) {
      attributes.put(name, value);
      return this;
    }

    public Op.Case within(Map<String, Tolerance> tolerances) {
      return new Op.Case(inputs, Attributes.of(op.description(), attributes), tolerances);
    }
  }
}
