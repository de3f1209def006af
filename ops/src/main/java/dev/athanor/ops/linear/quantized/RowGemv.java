package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.quant.Run;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Producer;
import dev.athanor.ops.tile.Ring;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Products of few rows with {@link RowWeights}. The lanes of a warp share a column's weights,
 * decode them in registers and multiply them with each row in f32. Weights are read once for all
 * rows; {@link StagedRows} reads the left matrix once for all columns of a block.
 *
 * @param length of the run that a lane decodes
 * @param rows of the left matrix per block
 * @param columns per warp, which share the loads of the left matrix
 * @param split whether all warps of a block share the same columns, for products with few columns;
 *     the left matrix is not staged in this case
 * @param stages steps in flight in shared memory per warp, for block formats that do not support
 *     16-byte accesses; 0 if lanes read their parts directly
 * @param products number of products
 */
record RowGemv(
    Packing packing,
    DType in,
    Epilogue epilogue,
    int length,
    int rows,
    int columns,
    boolean split,
    int stages,
    int products)
    implements Variant {

  private static final int COPY = 16;

  @Override
  public String name() {
    return "gemv_%s_%s%s_l%d_m%d_n%d%s%s%s"
        .formatted(
            packing.text(),
            in.text(),
            epilogue.name(),
            length,
            rows,
            columns,
            split ? "_split" : "",
            stages > 0 ? "_s" + stages : "",
            products > 1 ? "_p" + products : "");
  }

  private int warps() {
    return split ? 4 : 8;
  }

  int threads() {
    return warps() * KernelBuilder.WARP;
  }

  /** Returns the columns per block. */
  int tile() {
    return split ? columns : warps() * columns;
  }

  /** Returns the bytes of the ring buffers in shared memory. */
  private int ringBytes() {
    return warps() * stages * columns * slotBytes();
  }

  /** Returns the dynamic shared memory of a block. */
  int sharedBytes() {
    return ringBytes() + (split ? 0 : StagedRows.bytes(packing, in, length, rows));
  }

  /**
   * Returns the bytes of a warp's step in a column, including bytes copied before it for alignment.
   */
  private int slotBytes() {
    return stages == 0 ? 0 : Math.ceilDiv(stepBytes(), COPY) * COPY + COPY;
  }

  private int stepBytes() {
    return RowWeights.bytes(format(), KernelBuilder.WARP, length);
  }

  /** Returns the format of blocks that are copied to shared memory. */
  private DType format() {
    return ((Packing.Block) packing).format();
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), threads(), k -> new Body(k, this).write());
  }

  /** The weights of a column that a lane decodes in a step. */
  private record Part(List<Run> runs) {}

  /** The source of the left operands for a run of a part. */
  private interface Left {

    /** Returns the elements of a row. */
    List<Real> run(int row, int run, Run weights);

    /** Returns the sum of the elements. */
    Real total(int row, int run, List<Real> ofRun);
  }

  private static final class Body {
    private final KernelBuilder k;
    private final RowGemv variant;
    private final ProjectionParameters problem;
    private final RowWeights weights;
    private final SharedTile shared;
    private final Int firstRow;
    private final Int firstColumn;
    private final Int steps;

    /** The accumulators: for each column, one per row. */
    private final List<Real.Variable> sums;

    Body(KernelBuilder k, RowGemv variant) {
      this.k = k;
      this.variant = variant;
      this.problem =
          new ProjectionParameters(
              k,
              variant.packing,
              variant.in,
              variant.epilogue,
              variant.products,
              (m, n) -> n.plus(variant.tile() - 1).div(variant.tile()));
      // the error of raised quants is negligible relative to that of 16-bit activations
      boolean raised = variant.in != DType.F32;
      this.weights = new RowWeights(k, problem, variant.packing, variant.length, raised);
      this.shared = k.dynamicShared();
      this.firstRow = k.blockY().times(variant.rows);
      var ofBlock = problem.tile.times(variant.tile());
      this.firstColumn = variant.split ? ofBlock : ofBlock.plus(k.warp().times(variant.columns));
      // a step has one part for each lane
      this.steps = weights.parts().plus(KernelBuilder.WARP - 1).div(KernelBuilder.WARP);
      this.sums =
          Stream.generate(() -> k.variable(k.real(Type.F32, 0)))
              .limit((long) variant.columns * variant.rows)
              .toList();
    }

    void write() {
      var ring = variant.stages > 0 ? new StepRing() : null;
      if (variant.split) {
        k.loop(k.warp(), steps, variant.warps(), step -> multiply(ring, step, fromGlobal()));
      } else {
        var staged =
            new StagedRows(
                k,
                shared.at(k.integer(variant.ringBytes()), Type.U8, 1, 1, 1),
                problem,
                variant.packing,
                variant.in,
                variant.length,
                variant.rows,
                variant.threads());
        k.loop(
            k.integer(0),
            steps,
            staged.steps(),
            first -> {
              staged.fill(firstRow, first);
              k.loop(
                  first,
                  first.plus(staged.steps()).min(steps),
                  1,
                  step -> multiply(ring, step, fromShared(staged, step.minus(first))));
              k.barrier();
            });
      }
      if (ring != null) {
        k.awaitCopies(0);
      }
      store();
    }

    /** Returns a column of this warp, clamped to the last one. */
    private Int column(int c) {
      return firstColumn.plus(c).min(problem.n.plus(-1));
    }

    /** The ring buffer of the steps in flight to shared memory. */
    private final class StepRing implements Producer {
      private final Int own = k.warp().times(variant.ringBytes() / variant.warps());
      private final Ring slots;

      StepRing() {
        int apart = variant.split ? variant.warps() : 1;
        int bytes = variant.columns * variant.slotBytes();
        // offsets are relative, so that the end of the ring is a constant
        var layout = new Ring.Slots(k.integer(0), bytes, variant.stages, apart);
        slots = new Ring(k, layout, this, k::warpBarrier);
        layout.fillAhead(this, variant.split ? k.warp() : k.integer(0));
      }

      /** Decodes a lane's part of a step that has begun. */
      List<Run> decode(int c, Int step, Int part) {
        var begin = own.plus(slots.full()).plus(c * variant.slotBytes());
        return weights.decode(
            shared, begin.plus(before(c, step)), step.times(KernelBuilder.WARP), part);
      }

      private Wide rowBytes() {
        var format = variant.format();
        return problem.depth.div(format.blockElements()).wide().times(format.bytes());
      }

      /** Returns the offset of a step in a column, in bytes. */
      private Wide start(int c, Int step) {
        return rowBytes().times(column(c)).plus(step.wide().times(variant.stepBytes()));
      }

      /** Returns the number of bytes by which the copies start before a step, for alignment. */
      private Int before(int c, Int step) {
        return start(c, step).narrow().rem(COPY);
      }

      /** Starts the copies of a step; bytes beyond the end of the row become zeros. */
      @Override
      public Runnable fill(Int offset, Int step) {
        var to = own.plus(offset);
        for (int c = 0; c < variant.columns; c++) {
          var begin = start(c, step).minus(before(c, step).wide());
          var end = rowBytes().times(column(c).plus(1));
          int ofColumn = c * variant.slotBytes();
          TilePartition.each(
              k,
              k.lane(),
              KernelBuilder.WARP,
              variant.slotBytes() / COPY,
              chunk -> {
                var from = begin.plus(chunk.times(COPY).wide());
                var valid = end.minus(from).min(k.wide(COPY)).max(k.wide(0)).narrow();
                shared
                    .at(to.plus(ofColumn).plus(chunk.times(COPY)), Type.U8, 1, COPY, COPY)
                    .copyAsync(
                        k.integer(0),
                        k.integer(0),
                        COPY,
                        problem.weights.plus(from),
                        k.integer(0),
                        valid);
              });
        }
        k.commitCopies();
        return () -> {};
      }
    }

    /** Multiplies a lane's part of a step. */
    private void multiply(@Nullable StepRing ring, Int step, Left left) {
      if (ring != null) {
        ring.slots.begin(step);
      }
      var part = step.times(KernelBuilder.WARP).plus(k.lane());
      k.when(
          part.lt(weights.parts()),
          () -> {
            var decoded = new ArrayList<Part>();
            for (int c = 0; c < variant.columns; c++) {
              decoded.add(
                  new Part(
                      ring != null ? ring.decode(c, step, part) : weights.decode(column(c), part)));
            }
            multiply(decoded, left);
          });
      if (ring != null) {
        ring.slots.advanceBoth();
      }
    }

    /** Adds the products of one part of each column with each row. */
    private void multiply(List<Part> parts, Left left) {
      for (int run = 0; run < parts.getFirst().runs.size(); run++) {
        var first = parts.getFirst().runs.get(run);
        for (int r = 0; r < variant.rows; r++) {
          var x = left.run(r, run, first);
          var total = first.offset().isPresent() ? left.total(r, run, x) : null;
          for (int c = 0; c < variant.columns; c++) {
            var weight = parts.get(c).runs.get(run);
            var sum = sums.get(c * variant.rows + r);
            sum.addProduct(dot(weight.quants(), x), weight.scale());
            if (total != null) {
              sum.addProduct(total, weight.offset().orElseThrow());
            }
          }
        }
      }
    }

    private Left fromShared(StagedRows staged, Int step) {
      return new Left() {
        @Override
        public List<Real> run(int row, int run, Run weights) {
          return staged.load(row, step, run, weights.quants().size());
        }

        @Override
        public Real total(int row, int run, List<Real> ofRun) {
          return staged.total(row, step, run);
        }
      };
    }

    private Left fromGlobal() {
      return new Left() {
        @Override
        public List<Real> run(int row, int run, Run weights) {
          var source = problem.a.row(firstRow.plus(row).min(problem.m.plus(-1)), problem.depth);
          int count = weights.quants().size();
          int atOnce = Math.min(count, 16 / variant.in.bytes());
          var values = new ArrayList<Real>();
          for (int i = 0; i < count; i += atOnce) {
            source.load(atOnce, weights.first().plus(i)).forEach(v -> values.add(v.widen()));
          }
          return values;
        }

        @Override
        public Real total(int row, int run, List<Real> ofRun) {
          return StagedRows.sum(ofRun);
        }
      };
    }

    private static Real dot(List<Real> a, List<Real> b) {
      var sum = a.getFirst().times(b.getFirst());
      for (int i = 1; i < a.size(); i++) {
        sum = a.get(i).fma(b.get(i), sum);
      }
      return sum;
    }

    private void store() {
      var totals =
          variant.split
              ? k.reduceBlock(List.copyOf(sums), variant.threads(), 0, Real::plus)
              : sums.stream().map(s -> k.reduceLanes(s, KernelBuilder.WARP, Real::plus)).toList();
      var own = variant.split ? k.thread() : k.lane();
      var epilogue = problem.epilogue();
      for (int c = 0; c < variant.columns; c++) {
        var column = firstColumn.plus(c);
        var ofColumn = epilogue.column(column, problem.n);
        for (int r = 0; r < variant.rows; r++) {
          var row = firstRow.plus(r);
          var sum = totals.get(c * variant.rows + r);
          var value = epilogue.finish(sum, epilogue.row(row, problem.m), ofColumn);
          // one lane for each result; lanes repeat after a warp
          var mine = own.eq((c * variant.rows + r) % KernelBuilder.WARP);
          problem
              .c
              .row(row, problem.n)
              .storeWhere(mine.and(column.lt(problem.n)).and(row.lt(problem.m)), column, value);
        }
      }
    }
  }
}
