package dev.athanor.ops.attention;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.Locale;

/**
 * What a kernel is built from that computes attention in one pass over the keys. Sizes are no part
 * of it: they are parameters of the kernel.
 *
 * @param dtype of q, k, v and out
 * @param d columns of q and k, padded to a multiple of 16
 * @param dv columns of v, padded to a multiple of 16
 * @param access bytes that a copy of q and k may move at once
 * @param accessV the same of v and out
 * @param logSumExp whether lse is written
 * @param store where keys and values are
 * @param packed whether rows are the queries of several heads, one head after the other, and a mask
 *     asks for the place of a query in its head
 * @param split whether a block has a part of the keys only, and writes to the workspace
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
    boolean split)
    implements Variant {

  /** Where keys and values are. */
  public enum Store {
    /** In tensors that are full. */
    DENSE,
    /** In tensors that are filled as far as the lengths say. */
    CACHE,
    /** In blocks that a table names, as many as the lengths need. */
    PAGED
  }

  /** The most columns of q and of v. */
  static final int MOST_COLUMNS = 256;

  /** Columns as they are in shared memory, zeros behind the last. */
  public static int padded(int columns) {
    return Math.ceilDiv(columns, 16) * 16;
  }

  /** The PTX type of the elements. */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      default -> throw new IllegalArgumentException("attention does not compute " + dtype.text());
    };
  }

  /** The bytes of a tile of rows in shared memory. */
  int bytes(int rows, int columns) {
    return rows * Engine.pitch(tile.unit(), columns) * dtype.bytes();
  }

  /** Where the tile of keys begins; before it are the queries, and in the end the output. */
  int keysAt() {
    return Math.max(bytes(tile.rows(), d), bytes(tile.rows(), dv));
  }

  int valuesAt() {
    return keysAt() + bytes(tile.columns(), d);
  }

  int ownAt() {
    return valuesAt() + bytes(tile.columns(), dv);
  }

  int sharedBytes() {
    return ownAt() + Engine.ownBytes(tile);
  }

  @Override
  public Kernel build() {
    return FlashKernel.build(this);
  }

  /** For instance {@code attention_f16_d64_tensor_64x64w16_causal_lse}. */
  @Override
  public String name() {
    return "attention_%s_d%s%s_%s%s%s%s%s%s%s"
        .formatted(
            dtype.text(),
            d,
            dv == d ? "" : "_" + dv,
            tile,
            access == 16 && accessV == 16 ? "" : "_a" + access + "_" + accessV,
            score.suffix(),
            logSumExp ? "_lse" : "",
            store == Store.DENSE ? "" : "_" + store.name().toLowerCase(Locale.ROOT),
            packed ? "_packed" : "",
            split ? "_split" : "");
  }
}
