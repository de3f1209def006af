package dev.athanor.ops.linear.gemv;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.linear.BatchParameters;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.TileScheduler;
import java.util.ArrayList;
import java.util.List;

/**
 * A product of a matrix and a vector, limited by memory bandwidth. Loads are as wide as the
 * alignment of the rows allows, and a thread has several loads in flight. K may be split over the
 * second dimension of the grid, whose blocks then write one set of partial sums each.
 */
final class GemvKernel {

  private final KernelBuilder k;
  private final GemvVariant variant;
  private final Product product;
  private final Type sumType;
  private final int elements;
  private final GlobalPointer matrix;
  private final GlobalPointer x;
  private final GlobalPointer y;
  private final Int outputs;
  private final Int ld;
  private final Int columnStep;
  private final Epilogue.Applied epilogue;

  /** The first output of the block. */
  private final Int first;

  /** The block's part of K. */
  private final KRange range;

  GemvKernel(KernelBuilder k, GemvVariant variant) {
    this.k = k;
    this.variant = variant;
    product = variant.product();
    sumType = product.sumType();
    elements = variant.elements();
    var firstMatrix = k.input("matrix", product.type());
    var firstX = k.input("x", product.type());
    var firstY = k.pointer("y", product.outType());
    outputs = k.integer("outputs");
    var depth = k.integer("depth");
    ld = k.integer("ld");
    var chunk = k.integer("chunk");
    var batch = new BatchParameters(k);
    var strideSplit = k.wide("strideSplit");
    columnStep = k.integer("columnStep");
    epilogue = product.epilogue().declare(k);

    var tile = TileScheduler.ofRows(variant.outputs(), TileScheduler.Order.ROWS).tile(k, outputs);
    first = tile.row();
    var own = batch.of(new BatchParameters.Matrices(firstMatrix, firstX, firstY), tile.matrix());
    matrix = own.a();
    x = own.b();
    y = own.c().matrix(k.blockY(), strideSplit);
    range = KRange.ofBlock(k, chunk, depth);
  }

  /**
   * A vector of matrix elements and the elements of x to multiply with.
   *
   * @param ofX one element for each matrix element, or one for all
   */
  private record Factors(List<Value> ofMatrix, List<Value> ofX) {}

  void write() {
    if (product.transposeA()) {
      columns();
    } else {
      rows();
    }
  }

  /** Multiplies each row with a group of threads, which read adjacent elements. */
  private void rows() {
    var row = first.plus(k.thread().div(variant.lanes()));
    var lane = k.thread().rem(variant.lanes());
    // a group without a row reads the last row, which avoids a predicate
    var source = matrix.row(row.min(outputs.plus(-1)), ld);
    var sums = zeros(GemvVariant.UNROLL);
    k.loop(
        range.from(),
        range.to(),
        variant.step(),
        at -> {
          var loaded = new ArrayList<Factors>();
          for (int i = 0; i < GemvVariant.UNROLL; i++) {
            var index = at.plus(lane.times(elements)).plus(i * variant.lanes() * elements);
            var inside = index.lt(range.to());
            loaded.add(
                new Factors(
                    source.loadWhere(inside, elements, index),
                    x.loadWhere(inside, elements, index)));
          }
          for (int i = 0; i < loaded.size(); i++) {
            var factors = loaded.get(i);
            for (int e = 0; e < elements; e++) {
              sums.get(i).addProduct(factors.ofMatrix.get(e).widen(), factors.ofX.get(e).widen());
            }
          }
        });
    Real sum = sums.get(0).plus(sums.get(1)).plus(sums.get(2).plus(sums.get(3)));
    var whole =
        variant.lanes() <= KernelBuilder.WARP
            ? k.reduceLanes(sum, variant.lanes(), Real::plus)
            : k.reduceBlock(List.of(sum), GemvVariant.THREADS, 0, Real::plus).getFirst();
    store(lane.eq(0).and(row.lt(outputs)), row, whole);
  }

  /**
   * Multiplies columns: the lanes of a warp have adjacent columns, and the warps of a block take
   * rows in turn. The partial sums are added in shared memory in the order of the warps.
   */
  private void columns() {
    int warps = GemvVariant.THREADS / variant.lanes();
    var column = first.plus(k.lane().times(elements));
    var sums = zeros(elements);
    k.loop(
        range.from(),
        range.to(),
        variant.step(),
        at -> {
          var loaded = new ArrayList<Factors>();
          for (int i = 0; i < GemvVariant.UNROLL; i++) {
            var row = at.plus(k.warp()).plus(i * warps);
            var inside = row.lt(range.to()).and(column.lt(outputs));
            loaded.add(
                new Factors(
                    matrix.row(row, ld).loadWhere(inside, elements, column),
                    x.loadWhere(inside, 1, row)));
          }
          for (var factors : loaded) {
            var ofX = factors.ofX.getFirst().widen();
            for (int e = 0; e < elements; e++) {
              sums.get(e).addProduct(factors.ofMatrix.get(e).widen(), ofX);
            }
          }
        });

    // A lane stores one or two vectors; the second vectors are offset by half of the banks.
    int vector = Math.min(elements, 16 / sumType.bytes());
    int pitch = variant.lanes() * vector + 64 / sumType.bytes();
    var parts = k.shared(sumType, warps, elements / vector * pitch, elements / vector * pitch);
    for (int i = 0; i < elements; i += vector) {
      parts.store(
          k.warp(), k.lane().times(vector).plus(i / vector * pitch), sums.subList(i, i + vector));
    }
    k.barrier();
    var output = k.thread();
    k.when(
        output.lt(variant.outputs()),
        () -> {
          var within = output.rem(elements);
          var place =
              within
                  .div(vector)
                  .times(pitch)
                  .plus(output.div(elements).times(vector))
                  .plus(within.rem(vector));
          var sum = parts.load(k.integer(0), place).widen();
          for (int warp = 1; warp < warps; warp++) {
            sum = sum.plus(parts.load(k.integer(warp), place).widen());
          }
          var index = first.plus(output);
          store(index.lt(outputs), index, sum);
        });
  }

  private List<Real.Variable> zeros(int count) {
    var sums = new ArrayList<Real.Variable>();
    for (int i = 0; i < count; i++) {
      sums.add(k.variable(k.real(sumType, 0)));
    }
    return sums;
  }

  private void store(Predicate condition, Int output, Real sum) {
    y.storeWhere(
        condition, output, GemvVariant.finish(k, epilogue, sum, output, columnStep, outputs));
  }
}
