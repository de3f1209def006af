package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import java.util.ArrayList;
import java.util.List;

/**
 * Products of few rows with {@link RowWeights}: the lanes of a warp share the parts of a column's
 * weights, decode them in registers and multiply them with each row, in f32. Weights are read once
 * for all rows.
 *
 * @param length of a run that a lane decodes
 * @param rows of the left matrix that a block multiplies
 * @param columns of a warp, which share what is read of the left matrix
 * @param split whether all warps of a block share the columns of one, for few columns
 * @param stages how many steps of a warp are on their way in shared memory, for blocks that no
 *     access of 16 bytes suits; 0 where lanes read their parts themselves
 * @param products how many there are
 */
record RowGemv(
    Packing packing,
    DType in,
    DType out,
    int length,
    int rows,
    int columns,
    boolean split,
    int stages,
    int products)
    implements Variant {

  static final int WARPS = 4;
  static final int THREADS = WARPS * KernelBuilder.WARP;

  private static final int COPY = 16;

  @Override
  public String name() {
    return "gemv_%s_%s_%s_l%d_m%d_n%d%s%s%s"
        .formatted(
            packing.text(),
            in.text(),
            out.text(),
            length,
            rows,
            columns,
            split ? "_split" : "",
            stages > 0 ? "_s" + stages : "",
            products > 1 ? "_p" + products : "");
  }

  /** Columns of a block. */
  int tile() {
    return split ? columns : WARPS * columns;
  }

  /** The bytes of what is on its way in shared memory. */
  int sharedBytes() {
    return WARPS * stages * columns * slotBytes();
  }

  /** The bytes of a step of a warp in a column, and those before it that were copied along. */
  private int slotBytes() {
    return stages == 0 ? 0 : Math.ceilDiv(stepBytes(), COPY) * COPY + COPY;
  }

  private int stepBytes() {
    return RowWeights.bytes(((Packing.Block) packing).format(), KernelBuilder.WARP, length);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new Body(k, this).write());
  }

  private static final class Body {
    private final KernelBuilder k;
    private final RowGemv variant;
    private final ProjectionParameters problem;
    private final RowWeights weights;
    private final Int firstRow;
    private final Int firstColumn;
    private final List<List<Real.Variable>> sums = new ArrayList<>();

    Body(KernelBuilder k, RowGemv variant) {
      this.k = k;
      this.variant = variant;
      this.problem =
          new ProjectionParameters(
              k, variant.packing, variant.in, variant.out, variant.products, variant.tile());
      this.weights = new RowWeights(k, problem, variant.packing, variant.length);
      this.firstRow = k.blockY().times(variant.rows);
      this.firstColumn =
          variant.split ? problem.column : problem.column.plus(k.warp().times(variant.columns));
      for (int c = 0; c < variant.columns; c++) {
        var ofColumn = new ArrayList<Real.Variable>();
        for (int r = 0; r < variant.rows; r++) {
          ofColumn.add(k.variable(k.real(Type.F32, 0)));
        }
        sums.add(ofColumn);
      }
    }

    void write() {
      if (variant.stages > 0) {
        staged();
      } else {
        k.loop(
            variant.split ? k.thread() : k.lane(),
            weights.parts(),
            variant.split ? THREADS : KernelBuilder.WARP,
            part -> {
              var decoded = new ArrayList<List<Run>>();
              for (int c = 0; c < variant.columns; c++) {
                decoded.add(weights.decode(column(c), part));
              }
              multiply(decoded);
            });
      }
      store();
    }

    /** A column of this warp, the last one where there are no more. */
    private Int column(int c) {
      return firstColumn.plus(c).min(problem.n.plus(-1));
    }

    /** A step is a part for each lane. */
    private void staged() {
      var ring = k.dynamicShared();
      int slot = variant.columns * variant.slotBytes();
      var own = k.warp().times(variant.stages * slot);
      int apart = variant.split ? WARPS : 1;
      var first = variant.split ? k.warp() : k.integer(0);
      var steps = weights.parts().plus(KernelBuilder.WARP - 1).div(KernelBuilder.WARP);
      int ahead = variant.stages - 1;
      for (int i = 0; i < ahead; i++) {
        fill(ring, own.plus(i * slot), first.plus(i * apart));
      }
      var full = k.variable(k.integer(0));
      var free = k.variable(k.integer(ahead * slot));
      k.loop(
          first,
          steps,
          apart,
          step -> {
            k.awaitCopies(ahead - 1);
            // all lanes' copies are there, and the slot that is filled next has been read
            k.warpBarrier();
            fill(ring, own.plus(free), step.plus(ahead * apart));
            var part = step.times(KernelBuilder.WARP).plus(k.lane());
            k.when(
                part.lt(weights.parts()),
                () -> {
                  var decoded = new ArrayList<List<Run>>();
                  for (int c = 0; c < variant.columns; c++) {
                    var begin = own.plus(full).plus(c * variant.slotBytes());
                    var start = begin.plus(before(c, step));
                    decoded.add(weights.decode(ring, start, step.times(KernelBuilder.WARP), part));
                  }
                  multiply(decoded);
                });
            for (var offset : List.of(full, free)) {
              var next = offset.plus(slot);
              offset.set(k.integer(0).where(next.eq(k.integer(variant.stages * slot)), next));
            }
          });
      k.awaitCopies(0);
    }

    private Wide rowBytes() {
      var format = ((Packing.Block) variant.packing).format();
      return problem.depth.div(format.blockElements()).wide().times(format.bytes());
    }

    /** Where a step of a column begins, in bytes. */
    private Wide start(int c, Int step) {
      return rowBytes().times(column(c)).plus(step.wide().times(variant.stepBytes()));
    }

    /** How many bytes before a step the copies begin, so that they are aligned. */
    private Int before(int c, Int step) {
      return start(c, step).narrow().rem(COPY);
    }

    /** Starts the copies of a step; beyond the end of the row they bring zeros. */
    private void fill(SharedTile ring, Int to, Int step) {
      for (int c = 0; c < variant.columns; c++) {
        var begin = start(c, step).minus(before(c, step).wide());
        var end = rowBytes().times(column(c).plus(1));
        int chunks = variant.slotBytes() / COPY;
        for (int done = 0; done < chunks; done += KernelBuilder.WARP) {
          var chunk = k.lane().plus(done);
          int slot = c * variant.slotBytes();
          Runnable copy =
              () -> {
                var from = begin.plus(chunk.times(COPY).wide());
                var valid = end.minus(from).min(k.wide(COPY)).max(k.wide(0)).narrow();
                ring.at(to.plus(slot).plus(chunk.times(COPY)), Type.U8, 1, COPY, COPY)
                    .copyAsync(
                        k.integer(0),
                        k.integer(0),
                        COPY,
                        problem.weights.plus(from),
                        k.integer(0),
                        valid);
              };
          if (done + KernelBuilder.WARP <= chunks) {
            copy.run();
          } else {
            k.when(chunk.lt(chunks), copy);
          }
        }
      }
      k.commitCopies();
    }

    /** Adds the products of the same part of each column with each row. */
    private void multiply(List<List<Run>> parts) {
      for (int run = 0; run < parts.getFirst().size(); run++) {
        var first = parts.getFirst().get(run);
        for (int r = 0; r < variant.rows; r++) {
          var row = firstRow.plus(r).min(problem.m.plus(-1));
          var x = left(row, first.first(), first.quants().size());
          for (int c = 0; c < variant.columns; c++) {
            var weight = parts.get(c).get(run);
            var sum = sums.get(c).get(r);
            sum.addProduct(dot(weight.quants(), x), weight.scale());
            if (weight.offset().isPresent()) {
              sum.addProduct(total(x), weight.offset().get());
            }
          }
        }
      }
    }

    private List<Real> left(Int row, Int first, int count) {
      var source = problem.a.row(row, problem.depth);
      int atOnce = Math.min(count, 16 / variant.in.bytes());
      var values = new ArrayList<Real>();
      for (int i = 0; i < count; i += atOnce) {
        source.load(atOnce, first.plus(i)).forEach(v -> values.add(v.widen()));
      }
      return values;
    }

    private static Real dot(List<Real> a, List<Real> b) {
      var sum = a.getFirst().times(b.getFirst());
      for (int i = 1; i < a.size(); i++) {
        sum = a.get(i).fma(b.get(i), sum);
      }
      return sum;
    }

    private static Real total(List<Real> values) {
      var sum = values.getFirst();
      for (var value : values.subList(1, values.size())) {
        sum = sum.plus(value);
      }
      return sum;
    }

    private void store() {
      var flat = new ArrayList<Real>();
      sums.forEach(flat::addAll);
      var totals =
          variant.split
              ? k.reduceBlock(flat, THREADS, 0, Real::plus)
              : flat.stream().map(s -> k.reduceLanes(s, KernelBuilder.WARP, Real::plus)).toList();
      var own = variant.split ? k.thread() : k.lane();
      var type = Problems.type(variant.out);
      for (int c = 0; c < variant.columns; c++) {
        for (int r = 0; r < variant.rows; r++) {
          var column = firstColumn.plus(c);
          var row = firstRow.plus(r);
          var value = totals.get(c * variant.rows + r).to(type);
          // a lane for each result, as far as there are lanes
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
