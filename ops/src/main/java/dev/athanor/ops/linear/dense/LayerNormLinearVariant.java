package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Producer;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TensorMatmul;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TileProduct;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Order;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Kernels of layer-norm-linear. A block computes mean and variance of the rows of its tile, and
 * normalizes the left operand on its way to shared memory. The second dimension of the grid
 * enumerates tiles along the rows. The parameters are {@code x, gamma, beta, w, bias, y, m, n, k,
 * epsilon}, without the vectors that are not given.
 */
sealed interface LayerNormLinearVariant extends Variant {

  /** The dtypes of the given vectors. */
  record Vectors(Optional<DType> gamma, Optional<DType> beta, Optional<DType> bias) {

    /** Returns the suffix of names; nothing for weights of the dtype of x without a bias. */
    String name(DType dtype) {
      var weights =
          gamma.isPresent()
              ? beta.isPresent() ? "" : "_gamma"
              : beta.isPresent() ? "_beta" : "_plain";
      var of =
          gamma.or(() -> beta).filter(other -> other != dtype).map(other -> "_" + other.text());
      var added = bias.map(other -> "_bias" + (other == dtype ? "" : other.text()));
      return weights + of.orElse("") + added.orElse("");
    }
  }

  /** The parameters of a kernel and the statistics of the block's rows. */
  final class Parameters {
    final KernelBuilder k;
    final DType dtype;
    final Vectors vectors;
    final GlobalPointer x;
    final Optional<GlobalPointer> gamma;
    final Optional<GlobalPointer> beta;
    final GlobalPointer w;
    final Optional<GlobalPointer> bias;
    final GlobalPointer y;
    final Int m;
    final Int n;
    final Int depth;
    final Real epsilon;

    final TileScheduler.Tile tile;

    /** The mean and the reciprocal standard deviation of each row of the tile. */
    final SharedTile statistics;

    Parameters(KernelBuilder k, DType dtype, Vectors vectors, int tileM, int tileN, int warps) {
      this.k = k;
      this.dtype = dtype;
      this.vectors = vectors;
      var type = Epilogue.type(dtype);
      x = k.input("x", type);
      gamma = vectors.gamma.map(of -> k.input("gamma", Epilogue.type(of)));
      beta = vectors.beta.map(of -> k.input("beta", Epilogue.type(of)));
      w = k.input("w", type);
      bias = vectors.bias.map(of -> k.input("bias", Epilogue.type(of)));
      y = k.pointer("y", type);
      m = k.integer("m");
      n = k.integer("n");
      depth = k.integer("k");
      epsilon = k.real("epsilon", Type.F32);
      tile = new TileScheduler(tileM, tileN, Order.ROWS).tileOfGrid(k);
      statistics = k.shared(Type.F32, 2, tileM, tileM);
      k.loop(k.warp(), k.integer(tileM), warps, this::findStatistics);
      k.barrier();
    }

    /** Returns the epilogue of the accumulators. */
    Epilogue.Applied epilogue() {
      return new Epilogue.Applied(
          new Epilogue(Epilogue.Scale.NONE, vectors.bias, Activation.NONE, dtype),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          bias);
    }

    /** Returns a row of x; rows beyond the last are clamped to it. */
    private GlobalPointer source(Int inTile) {
      return x.row(tile.row().plus(inTile).min(m.plus(-1)), depth);
    }

    private void findStatistics(Int inTile) {
      var source = source(inTile);
      var count = depth.real(Type.F32);
      var sum = k.variable(k.real(Type.F32, 0));
      k.loop(k.lane(), depth, KernelBuilder.WARP, i -> sum.add(source.load(i).widen()));
      var mean = k.reduceLanes(sum, KernelBuilder.WARP, Real::plus).over(count);
      var squares = k.variable(k.real(Type.F32, 0));
      k.loop(
          k.lane(),
          depth,
          KernelBuilder.WARP,
          i -> {
            var difference = source.load(i).widen().minus(mean);
            squares.addProduct(difference, difference);
          });
      var variance = k.reduceLanes(squares, KernelBuilder.WARP, Real::plus).over(count);
      k.when(
          k.lane().eq(0),
          () -> {
            statistics.store(k.integer(0), inTile, mean);
            statistics.store(k.integer(1), inTile, variance.plus(epsilon).sqrt().reciprocal());
          });
    }

    /**
     * Returns adjacent normalized elements of a row of the tile, or zeros if the condition is
     * false.
     */
    List<Real> load(Predicate inK, int count, Int inTile, Int at) {
      var mean = statistics.load(k.integer(0), inTile).widen();
      var factor = statistics.load(k.integer(1), inTile).widen();
      var values = source(inTile).loadWhere(inK, count, at);
      // both are 0 beyond K, which makes the results 0
      var scales = gamma.map(from -> LayerNormLinearVariant.load(from, inK, count, at));
      var shifts = beta.map(from -> LayerNormLinearVariant.load(from, inK, count, at));
      var normalized = new ArrayList<Real>();
      for (int i = 0; i < count; i++) {
        int element = i;
        var normal = values.get(i).widen().minus(mean).times(factor);
        var scale = scales.map(all -> all.get(element).widen());
        var shift = shifts.map(all -> all.get(element).widen());
        normalized.add(
            scale
                .map(by -> shift.map(add -> normal.fma(by, add)).orElseGet(() -> normal.times(by)))
                .orElseGet(() -> {
                  var inside = normal.where(inK, normal.constant(0));
                  return shift.map(inside::plus).orElse(inside);
                }));
      }
      return normalized;
    }
  }

  /** The maximum number of bytes of a load. */
  int MOST_BYTES = 16;

  private static List<Value> load(GlobalPointer from, Predicate condition, int count, Int at) {
    int atOnce = Math.min(count, MOST_BYTES / from.element().bytes());
    var values = new ArrayList<Value>();
    for (int i = 0; i < count; i += atOnce) {
      values.addAll(from.loadWhere(condition, atOnce, at.plus(i)));
    }
    return values;
  }

  /**
   * The kernel for tensor cores.
   *
   * @param vector elements per load of x, gamma and beta
   * @param accessW bytes per copy of w
   * @param accessY bytes per store to y
   */
  record Tensor(DType dtype, TensorTile tile, int vector, int accessW, int accessY, Vectors vectors)
      implements LayerNormLinearVariant {

    private TileProduct product() {
      var type = Epilogue.type(dtype);
      return new TileProduct(
          tile,
          new Stage(type, false, tile.m(), tile.k(), tile.instruction()),
          new Stage(type, false, tile.n(), tile.k(), tile.instruction()),
          dtype == DType.F16 ? Mma.F16 : Mma.BF16,
          Factors.PLAIN);
    }

    int sharedBytes() {
      return product().sharedBytes(dtype);
    }

    @Override
    public String name() {
      return "layer_norm_linear_%s_%s_v%d_w%d_y%d%s"
          .formatted(dtype.text(), tile, vector, accessW, accessY, vectors.name(dtype));
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(name(), tile.threads(), this::write);
    }

    private void write(KernelBuilder k) {
      var problem = new Parameters(k, dtype, vectors, tile.m(), tile.n(), tile.warps());
      var product = product().in(k);
      var a = product.product().a();
      Producer rows =
          (offset, depth) -> normalize(k, a.at(product.shared(), offset), problem, depth);
      var w = new TensorMatmul.Source(problem.w, problem.depth, problem.n, problem.depth, accessW);
      var columns = product.producerB(w, problem.tile.column());
      var sums = product.multiply(rows, columns, KRange.all(k, problem.depth));
      var y = new TensorMatmul.Destination(problem.y, problem.m, problem.n, accessY);
      product.store(sums, problem.tile, y, problem::epilogue);
    }

    private Runnable normalize(KernelBuilder k, SharedTile to, Parameters problem, Int depth) {
      int across = tile.k() / vector;
      List<Runnable> stores = new ArrayList<>();
      for (int piece = 0; piece < tile.m() * across; piece += tile.threads()) {
        var index = k.thread().plus(piece);
        var row = index.div(across);
        var column = index.rem(across).times(vector);
        var at = depth.plus(column);
        var values = new ArrayList<Value>();
        problem
            .load(at.lt(problem.depth), vector, row, at)
            .forEach(v -> values.add(v.to(Epilogue.type(dtype))));
        stores.add(() -> to.store(row, column, values));
      }
      return () -> stores.forEach(Runnable::run);
    }
  }

  /** The FMA kernel, in f32: a thread computes some rows of one column of a tile. */
  record Fma(DType dtype, Vectors vectors) implements LayerNormLinearVariant {

    /** Rows and columns of a tile, and the depth of a stage. */
    static final int TILE = 32;

    static final int THREADS = 256;

    private static final int ROWS = TILE * TILE / THREADS;

    @Override
    public String name() {
      return "layer_norm_linear_%s_%dx%d%s"
          .formatted(dtype.text(), TILE, TILE, vectors.name(dtype));
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(name(), THREADS, this::write);
    }

    private void write(KernelBuilder k) {
      var problem = new Parameters(k, dtype, vectors, TILE, TILE, THREADS / KernelBuilder.WARP);
      // one row per index along K; padded by one element, so that transposed stores hit different
      // banks
      var a = k.shared(Type.F32, TILE, TILE, TILE + 1);
      var b = k.shared(Type.F32, TILE, TILE, TILE + 1);
      var across = k.thread().rem(TILE);
      var down = k.thread().div(TILE).times(ROWS);
      var sums = new ArrayList<Real.Variable>();
      for (int i = 0; i < ROWS; i++) {
        sums.add(k.variable(k.real(Type.F32, 0)));
      }
      k.loop(
          k.integer(0),
          problem.depth,
          TILE,
          depth -> {
            var at = depth.plus(across);
            var inK = at.lt(problem.depth);
            for (int i = 0; i < ROWS; i++) {
              var row = down.plus(i);
              a.store(across, row, problem.load(inK, 1, row, at).getFirst());
              var column = problem.tile.column().plus(row).min(problem.n.plus(-1));
              b.store(across, row, problem.w.row(column, problem.depth).loadWhere(inK, at).widen());
            }
            k.barrier();
            for (int i = 0; i < TILE; i++) {
              var weight = b.load(k.integer(i), across).widen();
              for (int r = 0; r < ROWS; r++) {
                sums.get(r).addProduct(a.load(k.integer(i), down.plus(r)).widen(), weight);
              }
            }
            k.barrier();
          });
      var column = problem.tile.column().plus(across);
      var inside = column.lt(problem.n);
      var epilogue = problem.epilogue();
      var ofColumn = epilogue.column(column, problem.n);
      for (int i = 0; i < ROWS; i++) {
        var row = problem.tile.row().plus(down).plus(i);
        problem
            .y
            .row(row, problem.n)
            .storeWhere(
                inside.and(row.lt(problem.m)),
                column,
                epilogue.finish(sums.get(i), epilogue.row(row, problem.m), ofColumn));
      }
    }
  }
}
