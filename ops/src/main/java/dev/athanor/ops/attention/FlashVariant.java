package dev.athanor.ops.attention;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.Locale;
import java.util.Optional;

/**
 * The specialization of a kernel that computes attention in one pass over the keys. Problem sizes
 * are kernel parameters.
 *
 * @param dtype of q, k, v and out
 * @param d columns of q and k, padded to a multiple of 16
 * @param dv columns of v, padded to a multiple of 16
 * @param access bytes per copy instruction for q and k
 * @param accessV bytes per copy instruction for v and out
 * @param logSumExp whether lse is written
 * @param store layout of keys and values
 * @param packed whether rows are the queries of several consecutive heads and a mask needs the
 *     position of a query within its head
 * @param split whether a block processes only a part of the keys and writes to the workspace
 * @param mask the dtype of a mask input; empty without one
 */
public record FlashVariant(
    Tile tile,
    DType dtype,
    int d,
    int dv,
    int access,
    int accessV,
    Score score,
    boolean logSumExp,
    Store store,
    boolean packed,
    boolean split,
    Optional<DType> mask)
    implements Variant {

  /** The layout of keys and values. */
  public enum Store {
    /** Full tensors. */
    DENSE,
    /** Tensors filled up to given lengths. */
    CACHE,
    /** Blocks addressed by a block table, filled up to given lengths. */
    PAGED
  }

  /** The maximum number of columns of q and of v. */
  static final int MAX_COLUMNS = 576;

  /** Returns the number of columns in shared memory, including zero padding. */
  public static int padded(int columns) {
    return padded(columns, 1);
  }

  /** Returns the number of columns that several warps share, including zero padding. */
  static int padded(int columns, int warps) {
    return Math.ceilDiv(columns, 16 * warps) * 16 * warps;
  }

  /** Returns the PTX type of the elements. */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      default -> throw new IllegalArgumentException("attention does not compute " + dtype.text());
    };
  }

  /** Returns whether a query may not see all keys. */
  boolean hides() {
    return score.hides() || mask.isPresent();
  }

  /** Returns the bytes of a tile of rows in shared memory. */
  int bytes(int rows, int columns) {
    return Engine.bytes(tile.unit(), rows, columns, dtype);
  }

  /**
   * Returns the offset of the key tile. The memory before it holds the queries and finally the
   * output.
   */
  int keysAt() {
    return Math.max(bytes(tile.rows(), d), bytes(tile.rows(), dv));
  }

  int valuesAt() {
    return keysAt() + bytes(tile.columns(), d);
  }

  int scratchAt() {
    return valuesAt() + bytes(tile.columns(), dv);
  }

  int sharedBytes() {
    return scratchAt() + Engine.scratchBytes(tile);
  }

  @Override
  public Kernel build() {
    return FlashKernel.build(this);
  }

  /** Returns a name such as {@code attention_f16_d64_tensor_64x64w16_causal_lse}. */
  @Override
  public String name() {
    return "attention_%s_d%s%s_%s%s%s%s%s%s%s%s"
        .formatted(
            dtype.text(),
            d,
            dv == d ? "" : "_" + dv,
            tile,
            access == 16 && accessV == 16 ? "" : "_a" + access + "_" + accessV,
            score.suffix(),
            mask.map(each -> "_mask_" + each.text()).orElse(""),
            logSumExp ? "_lse" : "",
            store == Store.DENSE ? "" : "_" + store.name().toLowerCase(Locale.ROOT),
            packed ? "_packed" : "",
            split ? "_split" : "");
  }
}
