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

/** Shapes and inputs for the test cases of ops on rows. */
public final class RowCases {

  /** The dtypes of rows with arithmetic in f32, in the order in which cases take them. */
  public static final List<DType> DTYPES = List.of(DType.F32, DType.F16, DType.BF16);

  /**
   * Numbers of rows and their lengths: single elements, one more and one less than a team holds,
   * fewer rows than teams and more, and rows that no team can hold.
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

  /** Makes a case of a given dtype and shape. */
  public interface Sized {
    /**
     * Makes the case.
     *
     * @param number index of the case, from 0
     * @param rows number of rows
     * @param n number of elements of a row
     */
    Op.Case make(int number, DType dtype, int rows, int n);
  }

  /**
   * Returns cases of all relevant row lengths: for every team and alignment, and longer than
   * registers hold. The {@link #DTYPES} alternate.
   *
   * @param quick a few of them instead of all
   */
  public static List<Op.Case> sizes(boolean quick, Sized sized) {
    return sizes(quick, DTYPES, sized);
  }

  /** Returns such cases in which other dtypes alternate. */
  public static List<Op.Case> sizes(boolean quick, List<DType> dtypes, Sized sized) {
    var cases = new ArrayList<Op.Case>();
    int number = 0;
    for (var size : quick ? QUICK_SIZES : SIZES) {
      var dtype = dtypes.get(number % dtypes.size());
      cases.add(sized.make(number++, dtype, size[0], size[1]));
    }
    return cases;
  }

  /** Builds a case: its inputs, its attributes, then its tolerances. */
  public static final class Builder {
    private final Op op;
    private final Draw draw;
    private final Map<String, HostTensor> inputs = new HashMap<>();
    private final Map<String, Object> attributes = new HashMap<>();

    /** Creates a builder without inputs. */
    public Builder(Op op, RandomGenerator random) {
      this.op = op;
      this.draw = new Draw(random);
    }

    /** Adds an input. */
    public Builder input(String name, HostTensor tensor) {
      inputs.put(name, tensor);
      return this;
    }

    /** Adds an input of normally distributed numbers. */
    public Builder normal(
        String name, double mean, double deviation, DType dtype, long... extents) {
      return input(name, draw.normal(mean, deviation, new TensorType(dtype, Shape.of(extents))));
    }

    /** Adds an input of standard normal numbers. */
    public Builder normal(String name, DType dtype, long... extents) {
      return normal(name, 0, 1, dtype, extents);
    }

    /** Adds an input of integers from {@code least} to {@code greatest}. */
    public Builder integers(String name, long least, long greatest, DType dtype, long... extents) {
      return input(name, draw.integers(least, greatest, new TensorType(dtype, Shape.of(extents))));
    }

    /** Adds an input with NaN, infinities, zeros and extreme numbers among normal ones. */
    public Builder special(String name, DType dtype, long... extents) {
      return input(name, draw.special(dtype, extents));
    }

    /** Sets an attribute; the others have their defaults. */
    public Builder attribute(String name, Object value) {
      attributes.put(name, value);
      return this;
    }

    /**
     * Returns the case.
     *
     * @param tolerances the tolerance of each output
     */
    public Op.Case within(Map<String, Tolerance> tolerances) {
      return new Op.Case(inputs, Attributes.of(op.description(), attributes), tolerances);
    }
  }
}
