package dev.athanor.ops.attention.backward;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.attention.Engine;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Tile;

/**
 * What the kernels of attention's gradients are built from.
 *
 * @param tile its rows are queries for {@link Of#QUERIES} and keys for {@link Of#KEYS}, its columns
 *     the other
 * @param dtype of all tensors but lse
 * @param d columns of q and k in shared memory
 * @param dv columns of v, grad and out in shared memory
 * @param access bytes that a copy of q and k may move at once
 * @param accessV the same of v and grad
 */
record BackwardVariant(
    Of of, Tile tile, DType dtype, int d, int dv, int access, int accessV, Score score)
    implements Variant {

  /** Which gradients. */
  enum Of {
    /** dq: a block keeps queries and goes over their keys. */
    QUERIES,
    /** dk and dv: a block keeps keys and goes over the queries that see them. */
    KEYS
  }

  /** The most columns of dk and of dv that a block sums: what registers hold of both. */
  static final int MOST_SUMS = 128;

  /**
   * Columns as they are in shared memory: beyond those that a block sums at once, two parts of
   * them.
   */
  static int padded(int columns, int most) {
    return most <= MOST_SUMS ? FlashVariant.padded(columns) : 2 * MOST_SUMS;
  }

  /** Parts of the columns of dk and dv, each of which a block of its own sums. */
  int parts() {
    return of == Of.KEYS ? Math.ceilDiv(Math.max(d, dv), MOST_SUMS) : 1;
  }

  /** Columns of dk or dv that a block sums, of so many in shared memory. */
  int width(int columns) {
    return Math.min(columns, MOST_SUMS);
  }

  private int bytes(int rows, int columns) {
    return rows * Engine.pitch(tile.unit(), columns) * dtype.bytes();
  }

  /** Where the rows' second tensor begins: grad of queries, v of keys. */
  int secondAt() {
    return bytes(tile.rows(), d);
  }

  /** Where the columns' first tensor begins: k of keys, q of queries. */
  int columnsAt() {
    return secondAt() + bytes(tile.rows(), dv);
  }

  int secondColumnsAt() {
    return columnsAt() + bytes(tile.columns(), d);
  }

  /**
   * Tiles of columns in shared memory. One is copied while another is multiplied, unless rows of
   * more than 128 columns, or of f32, leave no room for two, or the sums of dk and dv and the
   * scores of 64 columns leave no registers for the addresses of both.
   */
  int stages() {
    boolean roomy = tile.unit() == Tile.Unit.TENSOR && Math.max(d, dv) <= MOST_SUMS;
    return roomy && (of == Of.QUERIES || tile.columns() <= 32) ? 2 : 1;
  }

  /** The bytes of both tensors' columns. */
  int stageBytes() {
    return bytes(tile.columns(), d) + bytes(tile.columns(), dv);
  }

  int ownAt() {
    return columnsAt() + stages() * stageBytes();
  }

  int sharedBytes() {
    return ownAt() + Engine.ownBytes(tile);
  }

  @Override
  public Kernel build() {
    return BackwardKernel.build(this);
  }

  @Override
  public String name() {
    return "attention_backward_%s_%s_d%s%s_%s%s%s"
        .formatted(
            of == Of.QUERIES ? "dq" : "dkdv",
            dtype.text(),
            d,
            dv == d ? "" : "_" + dv,
            tile,
            access == 16 && accessV == 16 ? "" : "_a" + access + "_" + accessV,
            score.suffix());
  }
}
