package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.GroupScales;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Producer;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TensorMatmul;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TileProduct;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * Products with quantized weights on tensor cores. Weights are dequantized on their way to shared
 * memory. With {@code group}, four-bit weights remain integers and scales are applied to sums,
 * because bf16 represents the integers exactly, but not the scaled weights, nor f16 those with
 * scales of another type. With {@code split}, each block along the second dimension of the grid
 * computes {@code depth} of K and writes f32 partial sums to c for {@link SplitVariant}.
 *
 * @param group number of weights along K that are summed before a scale is applied to the sum; 0 if
 *     scales are applied to weights
 * @param accessA bytes per copy of a
 * @param accessWeights weights decoded at once: for int8, the alignment of N; for four-bit weights,
 *     32 if K is a multiple of 32
 * @param accessC bytes per store to the products
 * @param products number of products
 */
record TensorProjection(
    TensorTile tile,
    Packing packing,
    DType in,
    Epilogue epilogue,
    int group,
    int accessA,
    int accessWeights,
    int accessC,
    int products,
    boolean split)
    implements Variant {

  /** The minimum group size. */
  static final int MIN_GROUP = 32;

  /** The maximum int8 weights per load. */
  static final int MAX_INT8_WEIGHTS = 8;

  /** The minimum depth of a stage. */
  static final int DEPTH = 64;

  /**
   * Returns the number of weights that are summed before a scale is applied to the sum; 0 if scales
   * are applied to weights.
   */
  static int group(ProjectionProblem problem) {
    var packing = problem.packing();
    return PairedStaging.decodes(packing)
            && (problem.in() == DType.BF16 || packing.scale() != Type.F16)
        ? Math.min(DEPTH, 1 << Math.min(problem.groupShift(), 30))
        : 0;
  }

  static Mma mma(DType in) {
    return switch (in) {
      case F16 -> Mma.F16;
      case BF16 -> Mma.BF16;
      case F32 -> Mma.TF32;
      default -> throw new IllegalArgumentException(in.text());
    };
  }

  /** Returns the precision of the factors: f32 rows are split to keep their digits. */
  static Factors factors(DType in) {
    return in == DType.F32 ? Factors.SPLIT : Factors.PLAIN;
  }

  /** Returns the element type in shared memory. */
  static Type staged(DType in) {
    var mma = mma(in);
    return mma.equals(Mma.TF32) ? Type.F32 : mma.a();
  }

  /** Returns the order of summation, which does not depend on the rows and columns of the tile. */
  String order() {
    return "projection_%s_%s_%s_k%d_g%d"
        .formatted(packing.text(), in.text(), epilogue.out().text(), tile.k(), group);
  }

  TileProduct product() {
    return new TileProduct(
        tile,
        new Stage(staged(in), false, tile.m(), tile.k(), tile.instruction()),
        new Stage(
            staged(in), WeightStaging.kIsRow(packing), tile.n(), tile.k(), tile.instruction()),
        mma(in),
        factors(in));
  }

  int sharedBytes() {
    return split ? product().sharedBytes() : product().sharedBytes(epilogue.out());
  }

  /** Returns the split-K variant, the first of two steps. */
  TensorProjection share() {
    return new TensorProjection(
        tile,
        packing,
        in,
        Epilogue.none(DType.F32),
        group,
        accessA,
        accessWeights,
        accessC,
        products,
        true);
  }

  @Override
  public String name() {
    return "mma_%s_%s%s_%s%s_a%d_w%d_c%d%s"
        .formatted(
            packing.text(),
            in.text(),
            epilogue.name(),
            tile,
            group == 0 ? "" : "_g" + group,
            accessA,
            accessWeights,
            accessC,
            split ? "_split" : products > 1 ? "_p" + products : "");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), tile.threads(), this::write);
  }

  private void write(KernelBuilder k) {
    var scheduler = TileScheduler.of(tile);
    var problem = new ProjectionParameters(k, packing, in, epilogue, products, scheduler::tiles);
    var place = scheduler.tile(k, problem.tile, problem.m, problem.n);
    var product = product().in(k);
    var weights = weights(k, product, problem, place.column());
    var a = new TensorMatmul.Source(problem.a, problem.depth, problem.m, problem.depth, accessA);
    var rows = product.producerA(a, place.row());
    var scales = scales(k, problem, place.column());
    if (split) {
      var share = KRange.ofBlock(k, k.integer("depth"), problem.depth);
      SplitVariant.keep(k, problem.c, tile, product.multiply(rows, weights, scales, share));
      return;
    }
    var sums = product.multiply(rows, weights, scales, KRange.all(k, problem.depth));
    var c = new TensorMatmul.Destination(problem.c, problem.m, problem.n, accessC);
    product.store(sums, place, c, problem::epilogue);
  }

  private Producer weights(
      KernelBuilder k, TensorMatmul product, ProjectionParameters problem, Int column) {
    var shared = product.shared();
    var stage = product.product().b();
    if (PairedStaging.decodes(packing)) {
      int words = PairedStaging.words(packing, stage, tile.threads(), accessWeights == MIN_GROUP);
      return new PairedStaging(
          k, shared, stage, problem, column, packing, group == 0, words, tile.threads());
    }
    return new WeightStaging(
        k,
        shared,
        stage,
        problem,
        column,
        packing,
        Math.min(accessWeights, MAX_INT8_WEIGHTS),
        tile.threads());
  }

  private Optional<GroupScales> scales(KernelBuilder k, ProjectionParameters problem, Int column) {
    return group == 0
        ? Optional.empty()
        : Optional.of(
            new ColumnScales(
                k, problem, column, tile.warpN(), group, accessC >= 2 * epilogue.out().bytes()));
  }
}
