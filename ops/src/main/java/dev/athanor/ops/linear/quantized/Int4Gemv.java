package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Ring;
import java.util.ArrayList;
import java.util.List;

/**
 * Products of few rows with four-bit weights. Each warp copies words of the same columns to shared
 * memory, several steps ahead to hide the DRAM latency. It decodes them to tensor-core fragments,
 * which multiply up to eight rows at the cost of one. The warps of a block share K and add their
 * sums in shared memory in a fixed order.
 *
 * @param rows of the left matrix per block: a power of two up to 8
 * @param columns per block: 32 or 64; 64 for AWQ
 * @param group depth that shares scales: a power of two from 32 to {@link Int4Slot#DEPTH}
 * @param alignK alignment of K for k-packed weights: 8, 16 or 32
 * @param alignN alignment of the number of columns: a power of two up to 32
 * @param products number of products
 * @param share whether blocks along the grid's third dimension share K. In this case {@code c}
 *     receives partial sums and a parameter {@code depth} is the depth per block
 */
record Int4Gemv(
    Packing packing,
    DType in,
    Epilogue epilogue,
    int rows,
    int columns,
    int group,
    int alignK,
    int alignN,
    int products,
    boolean share)
    implements Variant {

  /** The maximum of {@link #alignK} and {@link #alignN}. */
  static final int MAX_ALIGNMENT = 32;

  /** Total columns of all warps of a block. */
  private static final int COLUMNS_OF_WARPS = 256;

  private static final int MAX_STAGES = 4;

  /** The limit for shared memory; all GPUs since sm_80 permit 99 KB per block. */
  private static final int SHARED_BYTES = 98 * 1024;

  @Override
  public String name() {
    return "gemv_%s_%s%s_m%d_n%d_g%d_s%d%s_c%d%s"
        .formatted(
            packing.text(),
            in.text(),
            epilogue.name(),
            rows,
            columns,
            group,
            stages(),
            packing instanceof Packing.AlongK ? "_k" + alignK : "",
            alignN,
            share ? "_split" : products > 1 ? "_p" + products : "");
  }

  private int warps() {
    return COLUMNS_OF_WARPS / columns;
  }

  int threads() {
    return warps() * KernelBuilder.WARP;
  }

  /** Returns the number of steps of a warp in shared memory, including the one being multiplied. */
  int stages() {
    return Math.min(MAX_STAGES, SHARED_BYTES / (warps() * slot().bytes()));
  }

  private Int4Slot slot() {
    return new Int4Slot(packing, columns, rows, group);
  }

  /** Returns the minimum bytes of weights in flight per block. */
  int bytesInFlight() {
    return warps() * (stages() - 1) * slot().weightBytes();
  }

  /** Returns the dynamic shared memory of a block in bytes. */
  int sharedBytes() {
    return warps() * stages() * slot().bytes();
  }

  /** Returns the kernel that computes shares of K. */
  Int4Gemv split() {
    return new Int4Gemv(
        packing,
        in,
        Epilogue.none(DType.F32),
        rows,
        columns,
        group,
        alignK,
        alignN,
        products,
        true);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), threads(), k -> new Body(k, this).write());
  }

  private static final class Body {
    private final KernelBuilder k;
    private final Int4Gemv variant;
    private final ProjectionParameters problem;
    private final Mma mma;
    private final Int4Slot slot;
    private final SharedTile shared;
    private final Int4Fragments fragments;
    private final Int firstRow;
    private final Int firstColumn;
    private final List<MatrixFragment> sums = new ArrayList<>();

    Body(KernelBuilder k, Int4Gemv variant) {
      this.k = k;
      this.variant = variant;
      int columns = variant.columns;
      problem =
          new ProjectionParameters(
              k,
              variant.packing,
              variant.in,
              variant.epilogue,
              variant.products,
              (m, n) -> n.plus(columns - 1).div(columns));
      mma = variant.in == DType.BF16 ? Mma.BF16 : Mma.F16;
      slot = variant.slot();
      shared = k.dynamicShared();
      fragments = new Int4Fragments(k, shared, slot, mma.a());
      firstRow = k.blockY().times(variant.rows);
      firstColumn = problem.tile.times(columns);
      for (int i = 0; i < columns; i += mma.m()) {
        sums.add(k.accumulator(mma));
      }
    }

    void write() {
      Int first = k.integer(0);
      var limit = problem.depth;
      if (variant.share) {
        var depth = k.integer("depth");
        first = k.blockZ().times(depth);
        limit = first.plus(depth).min(problem.depth);
      }
      var copies =
          new Int4Copies(
              k,
              shared,
              slot,
              problem,
              firstRow,
              firstColumn,
              limit,
              variant.alignK,
              variant.alignN);
      int ringBytes = variant.stages() * slot.bytes();
      var slots =
          new Ring.Slots(
              k.warp().times(ringBytes), slot.bytes(), variant.stages(), variant.warps());
      var step = first.div(Int4Slot.DEPTH).plus(k.warp());
      slots.fillAhead(copies, step);
      var ring = new Ring(k, slots, copies, k::warpBarrier);
      k.loop(
          step,
          limit.plus(Int4Slot.DEPTH - 1).div(Int4Slot.DEPTH),
          variant.warps(),
          each -> {
            ring.begin(each);
            multiply(ring.full());
            ring.advance();
          });
      k.awaitCopies(0);
      k.barrier();
      store();
    }

    /** Multiplies a step. */
    private void multiply(Int begin) {
      int wordsOfGroup = variant.group / Int4Slot.DEPTH_OF_LANES;
      for (int group = 0; group < slot.groups(); group++) {
        var zeros = fragments.zeros(begin, group);
        var ofGroup = new ArrayList<MatrixFragment>();
        sums.forEach(_ -> ofGroup.add(k.accumulator(mma)));
        int from = group * wordsOfGroup;
        for (int word = from; word < from + wordsOfGroup; word += slot.wordsAtOnce()) {
          var words = fragments.words(begin, word);
          for (int i = 0; i < words.size(); i++) {
            multiply(
                fragments.left(begin, word + i), fragments.weights(words.get(i), zeros), ofGroup);
          }
        }
        add(ofGroup, fragments.scales(begin, group));
      }
    }

    private void multiply(
        List<Value> left, List<MatrixFragment> weights, List<MatrixFragment> products) {
      for (int half = 0; half < 2; half++) {
        var b = new MatrixFragment(left.subList(2 * half, 2 * half + 2));
        for (int i = 0; i < products.size(); i++) {
          k.mma(mma, weights.get(i).part(4 * half, 4 * half + 4), b, products.get(i));
        }
      }
    }

    /** Returns the rows of a lane's accumulators: two, or one for a single row. */
    private int rowsOfLane() {
      return Math.min(2, variant.rows);
    }

    /** Adds the scaled products of a group. */
    private void add(List<MatrixFragment> products, List<Real> scales) {
      for (int i = 0; i < products.size(); i++) {
        for (int half = 0; half < 2; half++) {
          for (int row = 0; row < rowsOfLane(); row++) {
            var sum = (Real.Variable) sums.get(i).get(2 * half + row);
            sum.addProduct((Real) products.get(i).get(2 * half + row), scales.get(2 * i + half));
          }
        }
      }
    }

    /** Adds the sums of the warps and stores the results. */
    private void store() {
      int columns = variant.columns;
      var parts =
          shared.at(k.integer(0), Type.F32, variant.warps() * variant.rows, columns, columns);
      var lane = new LaneCoordinates(Fragments.transposed(Fragments.C_16X8).layout(), k.lane());
      for (int row = 0; row < rowsOfLane(); row++) {
        var ofLane = lane.row().plus(row);
        for (int c = 0; c < fragments.columns(); c++) {
          parts.storeWhere(
              ofLane.lt(variant.rows),
              k.warp().times(variant.rows).plus(ofLane),
              fragments.column(c),
              sums.get(c / 2).get(c % 2 * 2 + row));
        }
      }
      k.barrier();
      var epilogue = problem.epilogue();
      var target =
          variant.share
              ? problem.c.matrix(k.blockZ(), problem.m.wide().times(problem.n))
              : problem.c;
      k.loop(
          k.thread(),
          k.integer(variant.rows * columns),
          variant.threads(),
          index -> {
            var ofBlock = index.div(columns);
            var row = firstRow.plus(ofBlock);
            var column = firstColumn.plus(index.rem(columns));
            var sum = parts.load(ofBlock, index.rem(columns)).widen();
            for (int warp = 1; warp < variant.warps(); warp++) {
              var other = ofBlock.plus(warp * variant.rows);
              sum = sum.plus(parts.load(other, index.rem(columns)).widen());
            }
            var value =
                epilogue.finish(
                    sum, epilogue.row(row, problem.m), epilogue.column(column, problem.n));
            target
                .row(row, problem.n)
                .storeWhere(row.lt(problem.m).and(column.lt(problem.n)), column, value);
          });
    }
  }
}
