package dev.athanor.ops.tile;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.ops.DType;

/**
 * The product of a tile, for planners and kernels: the layouts of operands in shared memory and the
 * instruction that multiplies them. {@link #in} provides the mainloop and the store of a kernel.
 *
 * @param a the stages of a
 * @param b the stages of b
 * @param mma the instruction
 * @param factors conversion of the elements before the multiplication
 */
public record TileProduct(TensorTile tile, Stage a, Stage b, Mma mma, Factors factors) {

  /** Returns the product of two matrices whose stages have the layout of global memory. */
  public static TileProduct of(TensorTile tile, Operand a, Operand b, Factors factors) {
    return new TileProduct(
        tile,
        new Stage(a.type(), a.transposed(), tile.m(), tile.k(), tile.ofGroups()),
        new Stage(b.type(), !b.transposed(), tile.n(), tile.k(), tile.ofGroups()),
        Operand.mma(a, b, factors),
        factors);
  }

  /** Returns the dynamic shared memory of the mainloop, in bytes per block. */
  public int sharedBytes() {
    return tile.stages() * stageBytes();
  }

  /** Returns the dynamic shared memory of the mainloop and the store of c, in bytes per block. */
  public int sharedBytes(DType out) {
    return Math.max(sharedBytes(), tile.warps() * SumStore.bytes(tile.warpN(), Epilogue.type(out)));
  }

  /** Returns the bytes of a stage of both operands. */
  int stageBytes() {
    return a.bytes() + b.bytes();
  }

  /** Returns the interleaving of the rows and columns of sums. */
  public Interleaving interleaving() {
    return new Interleaving(a.interleaved(), b.interleaved());
  }

  /** Returns the product in a kernel, which must use no other dynamic shared memory. */
  public TensorMatmul in(KernelBuilder k) {
    var shared = tile.ofGroups() ? k.dynamicShared(Stage.REPEAT) : k.dynamicShared();
    return new TensorMatmul(k, shared, this);
  }
}
