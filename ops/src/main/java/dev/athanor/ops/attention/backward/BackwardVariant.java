package dev.athanor.ops.attention.backward;

import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.attention.Engine;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.Score;
import dev.athanor.ops.attention.Tile;

/**
 * The specialization of the kernels of attention's gradients.
 *
 * @param tile its rows are queries for {@link Of#QUERIES} and keys for {@link Of#KEYS}, its columns
 *     the other of the two
 * @param dtype of all tensors but lse
 * @param d columns of q and k in shared memory
 * @param dv columns of v, grad and out in shared memory
 * @param access bytes per copy instruction for q and k
 * @param accessV bytes per copy instruction for v and grad
 */
record BackwardVariant(
    Of of, Tile tile, DType dtype, int d, int dv, int access, int accessV, Score score)
    implements Variant {

  /** The gradients that a kernel computes. */
  enum Of {
    /** dq: a block keeps queries and iterates over keys. */
    QUERIES,
    /** dk and dv: a block keeps keys and iterates over the queries that see them. */
    KEYS
  }

  /** The maximum columns of dk and of dv that a block accumulates, limited by registers. */
  static final int MAX_SUMS = 128;

  /**
   * Returns the number of columns in shared memory: padded, or two parts if a block cannot
   * accumulate all columns.
   */
  static int padded(int columns, int most) {
    return most <= MAX_SUMS ? FlashVariant.padded(columns) : 2 * MAX_SUMS;
  }

  /** Returns the number of parts of the columns of dk and dv, each accumulated by its own block. */
  int parts() {
    return of == Of.KEYS ? Math.ceilDiv(Math.max(d, dv), MAX_SUMS) : 1;
  }

  /** Returns the columns of dk or dv that a block accumulates. */
  int width(int columns) {
    return Math.min(columns, MAX_SUMS);
  }

  private int bytes(int rows, int columns) {
    return Engine.bytes(tile.unit(), rows, columns, dtype);
  }

  /** Returns the offset of the rows' second tensor: grad for queries, v for keys. */
  int secondAt() {
    return bytes(tile.rows(), d);
  }

  /** Returns the offset of the columns' first tensor: k for keys, q for queries. */
  int columnsAt() {
    return secondAt() + bytes(tile.rows(), dv);
  }

  int secondColumnsAt() {
    return columnsAt() + bytes(tile.columns(), d);
  }

  /**
   * Returns the number of column tiles in shared memory. With two, copies overlap with products.
   * One is used if rows have more than 128 columns or f32 elements, for lack of shared memory, or
   * if dk and dv are accumulated with scores of 64 columns, for lack of registers.
   */
  int stages() {
    boolean roomy = tile.unit() == Tile.Unit.TENSOR && Math.max(d, dv) <= MAX_SUMS;
    return roomy && (of == Of.QUERIES || tile.columns() <= 32) ? 2 : 1;
  }

  /** Returns the bytes of a column tile of both tensors. */
  int stageBytes() {
    return bytes(tile.columns(), d) + bytes(tile.columns(), dv);
  }

  int scratchAt() {
    return columnsAt() + stages() * stageBytes();
  }

  int sharedBytes() {
    return scratchAt() + Engine.scratchBytes(tile);
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
