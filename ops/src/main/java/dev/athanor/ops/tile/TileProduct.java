package dev.athanor.ops.tile;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.OpaqueMatrix;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.ops.DType;
import dev.athanor.ops.tile.TensorTile.Instruction;

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
        new Stage(a.type(), a.transposed(), tile.m(), tile.k(), tile.instruction()),
        new Stage(b.type(), !b.transposed(), tile.n(), tile.k(), tile.instruction()),
        Operand.mma(a, b, factors),
        factors);
  }

  /** Returns the dynamic shared memory of the mainloop, in bytes per block. */
  public int sharedBytes() {
    int sums = tile.instruction() == Instruction.WMMA ? tile.warps() * WarpSums.OPAQUE_BYTES : 0;
    return Math.max(tile.stages() * stageBytes(), sums);
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
    int alignment =
        switch (tile.instruction()) {
          case MMA -> Swizzle.CHUNK;
          case WGMMA -> Stage.REPEAT;
          case WMMA -> OpaqueMatrix.ALIGNMENT;
        };
    return new TensorMatmul(k, k.dynamicShared(alignment), this);
  }
}
