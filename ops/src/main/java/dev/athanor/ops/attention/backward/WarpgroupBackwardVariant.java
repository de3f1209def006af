package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.backward.BackwardVariant.Of;
import dev.athanor.ops.attention.warpgroup.Panels;
import dev.athanor.ops.attention.warpgroup.ValueScreen;
import dev.athanor.ops.attention.warpgroup.WarpgroupTile;

/**
 * The specialization of a {@link WarpgroupBackwardKernel}. Problem sizes are kernel parameters.
 *
 * @param tile its rows are queries for {@link Of#QUERIES} and keys for {@link Of#KEYS}, its columns
 *     the other of the two
 * @param dtype f16 or bf16, of all tensors but lse
 * @param d columns of q and k, padded to a multiple of 16
 * @param dv columns of v, grad and out, padded to a multiple of 16
 */
record WarpgroupBackwardVariant(Of of, WarpgroupTile tile, DType dtype, int d, int dv, Score score)
    implements Variant {

  boolean isOfQueries() {
    return of == Of.QUERIES;
  }

  /** Returns the columns of a tile. */
  int width() {
    return tile.keys();
  }

  Type type() {
    return FlashVariant.type(dtype);
  }

  /** Returns a warpgroup's rows of q or k. */
  Panels rows() {
    return new Panels(type(), WarpgroupTile.ROWS, d);
  }

  /** Returns a warpgroup's rows of grad or v. */
  Panels secondRows() {
    return new Panels(type(), WarpgroupTile.ROWS, dv);
  }

  /** Returns a tile of k or q. */
  Panels columns() {
    return new Panels(type(), width(), d);
  }

  /** Returns a tile of v or grad. */
  Panels secondColumns() {
    return new Panels(type(), width(), dv);
  }

  /** Returns the registers of a thread that copies. */
  int copying() {
    return tile.groups() == 2 ? 56 : 32;
  }

  /** Returns the registers of a thread that multiplies, which two products of scores need. */
  int multiplying() {
    return tile.groups() == 2 ? 224 : 160;
  }

  /** Returns the bytes of a warpgroup's rows, and later of two parts of a gradient. */
  int bytesOfGroup() {
    return rows().bytes() + secondRows().bytes();
  }

  int columnsAt() {
    return tile.groups() * bytesOfGroup();
  }

  /** Returns the bytes of a stage's two tiles. */
  int stageBytes() {
    return columns().bytes() + secondColumns().bytes();
  }

  int statisticsAt() {
    return columnsAt() + tile.stages() * stageBytes();
  }

  /** Returns the bytes of lse, and of delta, for the queries of a tile. */
  int statisticBytes() {
    return isOfQueries() ? 0 : width() * Float.BYTES;
  }

  int mbarriersAt() {
    return statisticsAt() + tile.stages() * 2 * statisticBytes();
  }

  /** Returns the offset of the counts of {@link ValueScreen}, behind the mbarriers. */
  int countsAt() {
    // one for the rows, two for a stage of columns, and one for its screen
    return mbarriersAt() + (1 + 3 * tile.stages()) * Mbarriers.BYTES;
  }

  int sharedBytes() {
    return countsAt() + tile.stages() * ValueScreen.WARPS * Integer.BYTES;
  }

  @Override
  public Kernel build() {
    return WarpgroupBackwardKernel.build(this);
  }

  /** Returns a name such as {@code attention_backward_dkdv_f16_d128_groups_128x64x2_causal}. */
  @Override
  public String name() {
    return "attention_backward_%s_%s_d%s%s_groups_%s%s"
        .formatted(
            isOfQueries() ? "dq" : "dkdv",
            dtype.text(),
            d,
            dv == d ? "" : "_" + dv,
            tile,
            score.suffix());
  }
}
