package dev.athanor.ops.tile;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** Multiplies the fragments of a step and adds the products to the sums of a warp. */
sealed interface WarpProduct {

  /** Returns the extent along K of the fragments of a step. */
  int depth();

  void multiply(WarpFragments fragments, WarpSums sums);

  /**
   * Returns the products of a warp.
   *
   * @param promoted depth of partial sums, which the caller adds to those of all of K; 0 without
   */
  static WarpProduct of(KernelBuilder k, TileProduct product, int promoted) {
    var mma = product.mma();
    return switch (product.factors()) {
      case PLAIN -> new Plain(k, mma, mma.hasReducedAccumulatorPrecision() && promoted != mma.k());
      case SPLIT -> new Split(k, mma);
      case WIDENED -> new Widened(k, mma, product.a().element(), product.b().element());
    };
  }

  /**
   * Returns the column to multiply after {@code i} others of a row. The order is serpentine, so
   * that each product shares a fragment with the previous one.
   */
  private static int column(int row, int i, int across) {
    return row % 2 == 0 ? i : across - 1 - i;
  }

  /**
   * {@link Factors#PLAIN}.
   *
   * @param promoted whether the products of each instruction are promoted to f32
   */
  record Plain(KernelBuilder k, Mma mma, boolean promoted) implements WarpProduct {

    @Override
    public int depth() {
      return mma.k();
    }

    @Override
    public void multiply(WarpFragments fragments, WarpSums sums) {
      for (int row = 0; row < fragments.rows().size(); row++) {
        for (int i = 0; i < sums.across(); i++) {
          int column = column(row, i, sums.across());
          var left = fragments.rows().get(row);
          var right = fragments.columns().get(column);
          if (promoted) {
            k.mmaThenAdd(mma, left, right, sums.get(row, column));
          } else {
            k.mma(mma, left, right, sums.get(row, column));
          }
        }
      }
    }
  }

  /**
   * {@link Factors#WIDENED}: the bytes of a lane that are neighbors along K are used in two steps
   * of f16.
   */
  record Widened(KernelBuilder k, Mma mma, Type a, Type b) implements WarpProduct {

    @Override
    public int depth() {
      return 2 * mma.k();
    }

    @Override
    public void multiply(WarpFragments bytes, WarpSums sums) {
      var columns = bytes.columns().stream().map(column -> widen(column, b)).toList();
      for (int row = 0; row < bytes.rows().size(); row++) {
        var halves = widen(bytes.rows().get(row), a);
        var lower = inOrderOfRows(halves.part(0, 4));
        var upper = inOrderOfRows(halves.part(4, 8));
        for (int i = 0; i < columns.size(); i++) {
          int column = column(row, i, columns.size());
          var sum = sums.get(row, column);
          k.mma(mma, lower, columns.get(column).part(0, 2), sum);
          k.mma(mma, upper, columns.get(column).part(2, 4), sum);
        }
      }
    }

    /**
     * Reorders halves: the lower ones of the first and the last eight rows, then the upper ones.
     */
    private static MatrixFragment inOrderOfRows(MatrixFragment halves) {
      return MatrixFragment.of(halves.get(0), halves.get(2), halves.get(1), halves.get(3));
    }

    /** Converts each four bytes to f16: the two lower ones, then the two upper ones. */
    private MatrixFragment widen(MatrixFragment bytes, Type element) {
      var widened = new ArrayList<Value>();
      for (var four : bytes.registers()) {
        for (var pair : four.halves(Type.B16)) {
          widened.add(k.compute(Type.B32, "cvt.rn.f16x2.%sx2".formatted(element.word()), pair));
        }
      }
      return new MatrixFragment(widened);
    }
  }

  /** {@link Factors#SPLIT}. */
  record Split(KernelBuilder k, Mma mma) implements WarpProduct {

    /** The greatest finite number of tf32. */
    private static final double GREATEST = 0x1.FFCp127;

    /** The bits of f32 that exist in tf32. */
    private static final int TF32_BITS = 0xFFFFE000;

    /**
     * The tf32 parts of the numbers of a fragment.
     *
     * @param high the leading 11 bits, truncated
     * @param low the remainder
     * @param nearest the number rounded
     */
    private record Parts(MatrixFragment high, MatrixFragment low, MatrixFragment nearest) {}

    @Override
    public int depth() {
      return mma.k();
    }

    @Override
    public void multiply(WarpFragments fragments, WarpSums sums) {
      var columns = fragments.columns().stream().map(Split::split).toList();
      for (int row = 0; row < fragments.rows().size(); row++) {
        var left = split(fragments.rows().get(row));
        for (int column = 0; column < columns.size(); column++) {
          var right = columns.get(column);
          var sum = sums.get(row, column);
          k.mma(mma, left.nearest, right.low, sum);
          k.mma(mma, left.low, right.high, sum);
          k.mma(mma, left.high, right.high, sum);
        }
      }
    }

    /**
     * Splits numbers. High parts are finite, since an infinity times a low part of 0 would be NaN:
     * an infinity has the greatest finite number as its high part and an infinite low part. High
     * parts are truncated, so that both parts of a number have its sign, and so do products with an
     * infinity.
     */
    private static Parts split(MatrixFragment numbers) {
      List<Value> high = new ArrayList<>();
      List<Value> low = new ArrayList<>();
      List<Value> nearest = new ArrayList<>();
      for (var number : numbers.registers()) {
        var whole = (Real) number;
        var finite = whole.max(whole.constant(-GREATEST)).min(whole.constant(GREATEST));
        var leading = (Real) finite.bits().and(TF32_BITS).value().as(Type.F32);
        high.add(leading.to(Type.TF32));
        low.add(whole.minus(leading).to(Type.TF32));
        nearest.add(finite.to(Type.TF32));
      }
      return new Parts(
          new MatrixFragment(high), new MatrixFragment(low), new MatrixFragment(nearest));
    }
  }
}
