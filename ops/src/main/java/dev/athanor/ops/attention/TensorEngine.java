package dev.athanor.ops.attention;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RegisterTile.Layout;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * An engine for f16 and bf16 on tensor cores with f32 accumulators. A warp holds 16 or 32 rows. The
 * accumulators of the first product serve as the left fragment of the second one without data
 * movement: a lane's elements of two adjacent 16x8 accumulators are its elements of a 16x16 left
 * fragment.
 */
final class TensorEngine extends Engine {

  private static final int M = 16;
  private static final int N = 8;
  private static final int K = 16;

  /** Elements in 128 bytes, one row of all banks. */
  private static final int BANKS = 64;

  /** Two adjacent fragments of the right factor. */
  private static final LinearLayout RIGHT = Fragments.tiled(Fragments.B_16X8, K, 2 * N).layout();

  private final Mma shape;
  private final Int lane;
  private final Int warpRow;

  TensorEngine(KernelBuilder k, Tile tile, Type type) {
    super(k, tile, type);
    shape = type == Type.F16 ? Mma.F16 : Mma.BF16;
    lane = k.lane();
    warpRow = (tile.across() == 1 ? k.warp() : k.warp().div(tile.across())).times(tile.warpRows());
  }

  /** Returns a pitch that swizzling supports: 32 or 64 bytes, or a multiple of 128 bytes. */
  static int pitch(int columns) {
    return columns < BANKS
        ? Integer.highestOneBit(2 * columns - 1)
        : Math.ceilDiv(columns, BANKS) * BANKS;
  }

  @Override
  public SharedTile tile(SharedTile shared, int offset, int rows, int columns) {
    return shared.at(k.integer(offset), type, rows, pitch(columns));
  }

  @Override
  public void useScratch(SharedTile shared, int offset) {}

  @Override
  int neighbors() {
    return Fragments.C_16X8.layout().contiguous(Axis.ELEMENT, Axis.COLUMN);
  }

  @Override
  public Left keep(SharedTile left, int columns, int most) {
    var fragments = new ArrayList<MatrixFragment>();
    if (columns <= most) {
      for (int depth = 0; depth < columns; depth += K) {
        for (int row = 0; row < tile.warpRows(); row += M) {
          fragments.add(fragment(left, row, depth));
        }
      }
    }
    return new Left(left, columns, fragments);
  }

  private MatrixFragment fragment(SharedTile left, int row, int depth) {
    return new MatrixFragment(
        left.loadFragment(Fragments.A_16X16.layout(), lane, warpRow.plus(row), k.integer(depth)));
  }

  @Override
  public RegisterTile scores(int columns) {
    return sums(columns);
  }

  /** Returns zeros in the layout Fragments.C_16X8 for each 16x8 part. */
  @Override
  public RegisterTile sums(int columns) {
    return sums(columns, column -> column);
  }

  @Override
  RegisterTile part(int columns) {
    return tile.across() == 1
        ? sums(columns)
        : sums(columns / tile.across(), column -> column.plus(firstOfPart(columns)));
  }

  @Override
  Int firstOfPart(int columns) {
    return tile.across() == 1
        ? k.integer(0)
        : k.warp().rem(tile.across()).times(columns / tile.across());
  }

  private RegisterTile sums(int columns, UnaryOperator<Int> shift) {
    var rows = new ArrayList<Integer>();
    for (int row = 0; row < tile.warpRows(); row += 8) {
      rows.add(row);
    }
    var places = new ArrayList<Integer>();
    for (int column = 0; column < columns; column += N) {
      places.add(column);
      places.add(column + 1);
    }
    var at = new LaneCoordinates(Fragments.C_16X8.layout(), lane);
    var firstRow = warpRow.plus(at.row());
    return new RegisterTile(k, new Layout(firstRow, rows, shift.apply(at.column()), places, 4));
  }

  /** Returns a lane's four registers of a 16x8 part. */
  private static MatrixFragment part(RegisterTile sums, int row, int column) {
    int first = column / N * 2;
    return new MatrixFragment(
        Stream.of(sums.get(row / 8, first, 2), sums.get(row / 8 + 1, first, 2))
            .<Value>flatMap(List::stream)
            .toList());
  }

  @Override
  public void dot(RegisterTile scores, Left left, SharedTile right) {
    int fragmentsOfDepth = tile.warpRows() / M;
    for (int depth = 0; depth < left.columns(); depth += K) {
      var rows = new ArrayList<MatrixFragment>();
      for (int f = 0; f < fragmentsOfDepth; f++) {
        rows.add(
            left.fragments().isEmpty()
                ? fragment(left.tile(), f * M, depth)
                : left.fragments().get(depth / K * fragmentsOfDepth + f));
      }
      for (int column = 0; column < scores.columns() / 2 * N; column += 2 * N) {
        var two = right.loadFragment(RIGHT.transposed(), lane, k.integer(column), k.integer(depth));
        multiply(scores, rows, new MatrixFragment(two), column);
      }
    }
  }

  @Override
  int chunk() {
    return 2 * N;
  }

  /** Returns the contributions of two 16-bit elements. */
  private Value map(Value pair, Mapping mapping) {
    if (mapping == Mapping.ALL) {
      return pair;
    }
    var bits = pair.integer();
    var flags = HalfPairs.nonFinite(bits, type);
    if (mapping == Mapping.FINITE) {
      return HalfPairs.finite(k, bits, flags).value().as(Type.B32);
    }
    var nan = bits.and(HalfPairs.fraction(type)).plus(0x7FFF_7FFF).shr(15).and(flags);
    var minus = bits.shr(15).and(flags).and(nan.xor(k.integer(-1)));
    var code =
        flags
            .times(code(INFINITY))
            .plus(minus.times(code(MINUS_INFINITY) - code(INFINITY)))
            .plus(nan.times(code(NAN) - code(INFINITY)));
    return code.value().as(Type.B32);
  }

  /** Returns the 16-bit encoding of a code. */
  private int code(int number) {
    return type == Type.F16
        ? Float.floatToFloat16(number) & 0xFFFF
        : Float.floatToRawIntBits(number) >>> 16;
  }

  @Override
  public void addWeighted(
      RegisterTile sums, RegisterTile weights, SharedTile right, Int column, Mapping mapping) {
    for (int depth = 0; depth < weights.columns() / 2 * N; depth += K) {
      var rows = new ArrayList<MatrixFragment>();
      for (int row = 0; row < tile.warpRows(); row += M) {
        rows.add(weightFragment(weights, row, depth));
      }
      for (int n = 0; n < sums.columns() / 2 * N; n += 2 * N) {
        var two = right.loadFragment(RIGHT, lane, k.integer(depth), column.plus(n));
        var parts = new MatrixFragment(two).map(pair -> map(pair, mapping));
        multiply(sums, rows, parts, n);
      }
    }
  }

  private void multiply(
      RegisterTile sums, List<MatrixFragment> rows, MatrixFragment two, int column) {
    for (int f = 0; f < rows.size(); f++) {
      k.mma(shape, rows.get(f), two.part(0, 2), part(sums, f * M, column));
      k.mma(shape, rows.get(f), two.part(2, 4), part(sums, f * M, column + N));
    }
  }

  private MatrixFragment weightFragment(RegisterTile weights, int row, int depth) {
    var registers = new ArrayList<Value>();
    for (int column = depth; column < depth + K; column += N) {
      var of = part(weights, row, column);
      registers.add(pair((Real) of.get(0), (Real) of.get(1)));
      registers.add(pair((Real) of.get(2), (Real) of.get(3)));
    }
    return new MatrixFragment(registers);
  }

  private Value pair(Real low, Real high) {
    // the first operand becomes the upper half
    return k.compute(Type.B32, "cvt.rn." + type.word() + "x2.f32", high, low);
  }
}
