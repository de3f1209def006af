package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Fill;
import dev.athanor.engine.device.TensorMap.Promotion;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Order;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A product whose blocks compute one tile after another. A warpgroup copies stages of both operands
 * to a ring in shared memory; the others multiply them with {@code wgmma} and store c. The copies
 * for the next tile overlap with the store of this one. The blocks of a cluster copy a share of the
 * columns of b each, for all of them.
 *
 * @param a the left operand
 * @param b the right operand
 */
public record PersistentProduct(PersistentTile tile, Operand a, Operand b) {

  /**
   * Elements along K that tensor cores add if they keep few bits of a sum: 13 of a sum of fp8. If
   * they added 128, as is usual, the relative error would exceed 1e-3 where all products have one
   * sign.
   */
  static final int PROMOTED = 64;

  /**
   * The matrices in a kernel. The coordinates of a and b are the column and row in memory and two
   * indices of a batch; those of c are the column, the row and the index of the product.
   *
   * @param products number of matrices of c
   * @param range returns the range of K that a product sums
   * @param batch returns the indices of the matrices of a product in a and in b
   * @param scales of blocks of fp8
   * @param grouped rows of a, whose groups are the products
   */
  public record Matrices(
      TensorParameter a,
      TensorParameter b,
      TensorParameter c,
      Type out,
      Int m,
      Int n,
      Int products,
      Function<Int, KRange> range,
      Function<Int, Indices> batch,
      Optional<BlockScales> scales,
      Optional<Grouped> grouped) {}

  /**
   * Rows of a in groups. All are rows of one matrix c.
   *
   * @param c its first element
   */
  public record Grouped(GroupedRows groups, GlobalPointer c) {}

  /** The indices of the matrices of a product, innermost first. */
  public record Indices(List<Int> a, List<Int> b) {}

  /** Returns the depth of a stage. */
  public int depth() {
    return SharedTile.ASYNC_ROW / a.dtype().bytes();
  }

  public Mma mma() {
    return Operand.mma(a, b, Factors.PLAIN);
  }

  Stage stageA() {
    return new Stage(a.type(), a.transposed(), tile.m(), depth(), Instruction.WGMMA);
  }

  Stage stageB() {
    return new Stage(b.type(), !b.transposed(), tile.n(), depth(), Instruction.WGMMA);
  }

  /**
   * A dimension of a batch.
   *
   * @param stride elements between matrices; 0 for the same matrix, whose index is always 0
   */
  public record Repetition(long count, long stride) {}

  /**
   * Returns the tensor a.
   *
   * @param leadingDimension elements between rows in memory
   * @param batch innermost dimension first
   */
  public TensorMap tensorA(int leadingDimension, int m, int k, List<Repetition> batch) {
    return tensor(a.dtype(), stageA(), tile.m(), leadingDimension, m, k, batch);
  }

  /** Returns the tensor b, of which a block of a cluster copies a share of the columns. */
  public TensorMap tensorB(int leadingDimension, int n, int k, List<Repetition> batch) {
    return tensor(b.dtype(), stageB(), tile.n() / tile.cluster(), leadingDimension, n, k, batch);
  }

  private TensorMap tensor(
      DType dtype,
      Stage stage,
      int copied,
      int leadingDimension,
      int extent,
      int k,
      List<Repetition> batch) {
    var sizes = new ArrayList<Long>();
    var strides = new ArrayList<Long>();
    var box = new ArrayList<Integer>();
    sizes.add((long) (stage.kIsRow() ? extent : k));
    sizes.add((long) (stage.kIsRow() ? k : extent));
    strides.add((long) leadingDimension * dtype.bytes());
    box.add(depth());
    box.add(stage.kIsRow() ? depth() : copied);
    for (var each : batch) {
      boolean isRepeated = each.stride == 0;
      // the stride of a single matrix is not used, but must be valid
      strides.add(isRepeated ? strides.getLast() * sizes.getLast() : each.stride * dtype.bytes());
      sizes.add(isRepeated ? 1 : each.count);
      box.add(1);
    }
    return new TensorMap(
        element(dtype),
        sizes,
        strides,
        box,
        Collections.nCopies(box.size(), 1),
        SwizzleMode.BYTES_128,
        Fill.ZERO,
        Promotion.BYTES_128);
  }

  /** Returns the tensor c. */
  public static TensorMap tensorC(DType dtype, int m, int n, long products) {
    long row = (long) n * dtype.bytes();
    return TensorMap.of(
            element(dtype),
            List.of((long) n, (long) m, products),
            List.of(row, row * m),
            List.of(SharedTile.ASYNC_ROW / dtype.bytes(), PersistentTile.ROWS, 1))
        .withSwizzle(SwizzleMode.BYTES_128);
  }

  private static Element element(DType dtype) {
    return switch (dtype) {
      case F32 -> Element.F32;
      case I32 -> Element.S32;
      case F16 -> Element.F16;
      case BF16 -> Element.BF16;
      case I8, E4M3, E5M2 -> Element.U8;
      default ->
          throw new IllegalArgumentException("unsupported dtype of a tensor: " + dtype.text());
    };
  }

  /** Returns the scheduler of the tiles of clusters. */
  public TileScheduler scheduler() {
    return new TileScheduler(tile.rowsOfCluster(), tile.n(), Order.BANDS);
  }

  /**
   * Emits the kernel's body.
   *
   * @param epilogue returns that of a product, given its index
   */
  public <L> void write(
      KernelBuilder k, Matrices matrices, Function<Int, EpilogueFunction<L>> epilogue) {
    new PersistentKernel(this, k, matrices).write(epilogue);
  }
}
