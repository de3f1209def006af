package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.attention.Score;
import java.util.Optional;

/**
 * The specialization of a {@link WarpgroupKernel}. Problem sizes are kernel parameters.
 *
 * @param dtype of q, k, v and out: f16 or bf16
 * @param d columns of q and k, padded to a multiple of 16
 * @param dv columns of v, padded to a multiple of 16
 * @param logSumExp whether lse is written
 * @param store layout of keys and values
 * @param keysOfCopy keys and values that are copied at once: those of a tile, or of its part that
 *     is never divided between blocks of a paged cache
 * @param packed whether rows are the queries of several consecutive heads and a mask needs the
 *     position of a query within its head
 * @param split whether a block processes only a part of the keys and writes to the workspace
 * @param mask the dtype of a mask input; empty without one
 * @param maskElements adjacent elements of the mask that are loaded at once: 2 if its rows have an
 *     even number, else 1
 */
record WarpgroupVariant(
    WarpgroupTile tile,
    DType dtype,
    int d,
    int dv,
    Score score,
    boolean logSumExp,
    Store store,
    int keysOfCopy,
    boolean packed,
    boolean split,
    Optional<DType> mask,
    int maskElements)
    implements Variant {

  /** Parts of the output that a warpgroup holds in shared memory until they are stored. */
  private static final int PARTS = 2;

  Type type() {
    return FlashVariant.type(dtype);
  }

  /** Returns whether keys and values are those of a cache, which lengths limit. */
  boolean cached() {
    return store != Store.DENSE;
  }

  boolean paged() {
    return store == Store.PAGED;
  }

  /** Returns whether a query may not see all keys. */
  boolean hides() {
    return score.hides() || cached() || mask.isPresent();
  }

  /** Returns the type of elements of the output. */
  Type outType() {
    return split ? Type.F32 : type();
  }

  /** Returns the queries of a warpgroup. */
  Panels queries() {
    return new Panels(type(), WarpgroupTile.ROWS, d);
  }

  Panels keys() {
    return new Panels(type(), tile.keys(), d);
  }

  Panels values() {
    return new Panels(type(), tile.keys(), dv);
  }

  /** Returns the output of a warpgroup. */
  Panels out() {
    return new Panels(outType(), WarpgroupTile.ROWS, dv);
  }

  /** Returns the bytes of a warpgroup's queries, and later of parts of its output. */
  int bytesOfGroup() {
    int part = out().bytes() / out().count();
    return Math.max(queries().bytes(), Math.min(PARTS, out().count()) * part);
  }

  int keysAt() {
    return tile.groups() * bytesOfGroup();
  }

  int valuesAt() {
    return keysAt() + tile.stages() * keys().bytes();
  }

  int mbarriersAt() {
    return valuesAt() + tile.stages() * values().bytes();
  }

  /** Returns the offset of the counts of {@link ValueScreen}, behind the mbarriers. */
  int countsAt() {
    // one for the queries, two for a stage of keys and three for one of values
    return mbarriersAt() + (1 + 5 * tile.stages()) * Mbarriers.BYTES;
  }

  int sharedBytes() {
    return countsAt() + tile.stages() * ValueScreen.WARPS * Integer.BYTES;
  }

  @Override
  public Kernel build() {
    return WarpgroupKernel.build(this);
  }

  private String dtypeAndColumns() {
    return "attention_%s_d%d%s".formatted(dtype.text(), d, dv == d ? "" : "_" + dv);
  }

  /** Returns a name such as {@code attention_f16_d128_groups_128x128x2_causal_lse}. */
  @Override
  public String name() {
    return "%s_groups_%s%s%s%s%s%s%s"
        .formatted(
            dtypeAndColumns(),
            tile,
            score.suffix(),
            mask.map(each -> "_mask_" + each.text() + (maskElements > 1 ? "x2" : "")).orElse(""),
            logSumExp ? "_lse" : "",
            switch (store) {
              case DENSE -> "";
              case CACHE -> "_cache";
              case PAGED -> "_paged" + keysOfCopy;
            },
            packed ? "_packed" : "",
            split ? "_split" : "");
  }

  /**
   * Returns the order of summation: tiles of keys one after another, whatever the number of queries
   * of a block.
   */
  String order() {
    return "%s_groups_k%d%s".formatted(dtypeAndColumns(), tile.keys(), score.suffix());
  }
}
