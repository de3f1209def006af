package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.ArrayList;
import java.util.List;

/**
 * The scales of factors in a kernel: one of each {@value #SIZE} elements of a row of a, {@code
 * aScale [M, K / 128]}, and one of each block of {@value #SIZE} by {@value #SIZE} elements of b,
 * {@code bScale [N / 128, K / 128]}, rounded up, both f32. Source: DeepSeek-V3 Technical Report,
 * section 3.3.2.
 *
 * @param depth K
 */
public record BlockScales(KernelBuilder k, GlobalPointer a, GlobalPointer b, Int depth) {

  /** The extent of a block along K and N. */
  public static final int SIZE = 128;

  private static final int SHIFT = Integer.numberOfTrailingZeros(SIZE);

  /** The depth of the stages of the smallest tiles. */
  private static final int SUMMED = 64;

  /** The distance between the two rows of a lane in a fragment of sums. */
  private static final int APART = 8;

  /** Declares the parameters of {@link #arguments}. */
  public static BlockScales declare(KernelBuilder k, Int depth) {
    return new BlockScales(k, k.input("aScale", Type.F32), k.input("bScale", Type.F32), depth);
  }

  public static Arguments arguments() {
    return Arguments.ofInputs("aScale", "bScale");
  }

  /** Loads the scale of an element of a; of the last one along K if its index is beyond the end. */
  public Value ofA(Int row, Int index, Int rows) {
    return a.row(row, groups()).loadWhere(row.lt(rows), group(index));
  }

  /** Loads the scale of an element of b; of the last one along K if its index is beyond the end. */
  public Value ofB(Int column, Int index, Int columns) {
    return b.row(column.shr(SHIFT), groups()).loadWhere(column.lt(columns), group(index));
  }

  private Int groups() {
    return depth.plus(SIZE - 1).shr(SHIFT);
  }

  private Int group(Int index) {
    return index.min(depth.plus(-1)).shr(SHIFT);
  }

  /**
   * Returns the scales of the sums of a tile. A warp computes columns of one block.
   *
   * @param m rows of c
   * @param n columns of c
   */
  GroupScales of(TileProduct product, Tile place, Int m, Int n) {
    var tile = product.tile();
    return new GroupScales() {
      @Override
      public int depth() {
        return BlockScales.depth(product.mma());
      }

      @Override
      public int extent() {
        return Math.min(SIZE, tile.k());
      }

      @Override
      public Loaded load(Int row, Int column, Int index) {
        var ofB = ofB(place.column().plus(column), index, n).widen();
        var first =
            place
                .row()
                .plus(row)
                .plus(new LaneCoordinates(Fragments.C_16X8.layout(), k.lane()).row());
        var scales = new ArrayList<Value>();
        for (int i = 0; i < tile.warpM(); i += APART) {
          scales.add(ofA(first.plus(i), index, m).widen().times(ofB));
        }
        return new Loaded(scales, List.of());
      }
    };
  }

  /**
   * Returns the depth of the sums that are scaled, which does not depend on the tile. Sums of an
   * instruction that keeps few bits are promoted to f32 then as well.
   */
  private static int depth(Mma mma) {
    return mma.hasReducedAccumulatorPrecision() ? mma.k() : SUMMED;
  }
}
