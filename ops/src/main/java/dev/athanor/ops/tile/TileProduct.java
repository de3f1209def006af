package dev.athanor.ops.tile;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.ops.DType;

/**
 * The product of a tile as planners and kernels know it: how operands lie in shared memory, and the
 * instruction that multiplies them. {@link #in} gives a kernel its mainloop and its store.
 *
 * @param a the stages of a
 * @param b the stages of b
 * @param mma the instruction
 * @param factors what elements become before they are multiplied
 */
public record TileProduct(TensorTile tile, Stage a, Stage b, Mma mma, Factors factors) {

  /** Returns the product of two matrices that are staged as they are stored. */
  public static TileProduct of(TensorTile tile, Operand a, Operand b, Factors factors) {
    return new TileProduct(
        tile,
        new Stage(a.type(), a.transposed(), tile.m(), tile.k()),
        new Stage(b.type(), !b.transposed(), tile.n(), tile.k()),
        Operand.mma(a, b, factors),
        factors);
  }

  /** Returns the dynamic shared memory of a block that keeps its sums, in bytes. */
  public int sharedBytes() {
    return tile.stages() * stageBytes();
  }

  /** Returns the dynamic shared memory of a block that stores c, in bytes. */
  public int sharedBytes(DType out) {
    return Math.max(sharedBytes(), tile.warps() * SumStore.bytes(tile.warpN(), Epilogue.type(out)));
  }

  /** Returns the bytes of a stage of both operands. */
  int stageBytes() {
    return a.bytes() + b.bytes();
  }

  /** Returns how the rows and columns of sums are numbered. */
  public Interleaving interleaving() {
    return new Interleaving(a.interleaved(), b.interleaved());
  }

  /** Begins the product in a kernel, which must have no other dynamic shared memory. */
  public TensorMatmul in(KernelBuilder k) {
    return new TensorMatmul(k, k.dynamicShared(), this);
  }
}
