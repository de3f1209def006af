package dev.athanor.ops.convolution;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.StagedOperand;
import dev.athanor.ops.tile.TensorMatmul;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TileProduct;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * A convolution on tensor cores, as the product of the {@link PatchMatrix} and the weights of each
 * group; channels are the last dimension. The parameters are {@code x, weight, y}, the pixels of
 * all images of y, the filters of a group, the products that an element adds, the channels of a
 * group, the distances between pixels of x and of y and between images of x, those of {@link
 * WindowParameters} and those of the epilogue. Without an epilogue, this is the first of two
 * split-K steps: each block along the second dimension of the grid computes {@code share} of K and
 * writes partial sums to y for {@link SplitVariant}.
 *
 * @param rank number of spatial dimensions
 * @param wholeTaps whether the channels are a multiple of the depth of a stage
 * @param accessC bytes per store to y
 */
record ImplicitVariant(
    TensorTile tile,
    Operand x,
    Operand weight,
    int rank,
    boolean wholeTaps,
    Optional<Epilogue> epilogue,
    int accessC)
    implements Variant {

  TileProduct product() {
    return TileProduct.of(tile, x, weight, Factors.PLAIN);
  }

  private TilePartition partition() {
    return StagedOperand.partition(product().a(), x.access(), tile.threads());
  }

  /** Returns the number of runs of x that a thread copies per stage. */
  int runs() {
    return partition().offsets().size();
  }

  private PatchMatrix.Table table() {
    return new PatchMatrix.Table(partition(), wholeTaps);
  }

  /** Returns the dynamic shared memory of a block besides the table. */
  private int productBytes() {
    return epilogue.map(e -> product().sharedBytes(e.out())).orElse(product().sharedBytes());
  }

  /**
   * Returns the dynamic shared memory of a block.
   *
   * @param taps of a window
   */
  int sharedBytes(int taps) {
    return productBytes() + table().bytes(taps);
  }

  @Override
  public String name() {
    return "convolution_%s_%dd_%s%s_a%d_b%d%s"
        .formatted(
            x.dtype().text(),
            rank,
            tile,
            wholeTaps ? "_taps" : "",
            x.access(),
            weight.access(),
            epilogue.map(e -> e.name() + "_c" + accessC).orElse("_split"));
  }

  /** Returns the order of summation: instructions of one shape in ascending K, for any tile. */
  String order(Epilogue of) {
    return "convolution_%s_%dd_%s_k%d%s"
        .formatted(
            x.dtype().text(), rank, tile.instruction().text(), product().mma().k(), of.name());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), tile.threads(), this::write);
  }

  private void write(KernelBuilder k) {
    var firstX = k.input("x", x.type());
    var firstWeight = k.input("weight", weight.type());
    var firstY =
        k.pointer("y", epilogue.map(e -> Epilogue.type(e.out())).orElse(product().mma().sum()));
    var pixels = k.integer("pixels");
    var filters = k.integer("filters");
    var depth = k.integer("depth");
    var channels = k.integer("channels");
    var xPixel = k.integer("xPixel");
    var yPixel = k.integer("yPixel");
    var xImage = k.wide("xImage");
    var windows = WindowParameters.declare(k, rank);
    var range =
        epilogue.isPresent() ? KRange.all(k, depth) : KRange.ofBlock(k, k.integer("share"), depth);
    var applied = epilogue.map(e -> e.declare(k));

    var place = TileScheduler.of(tile).tile(k, pixels, filters);
    var group = place.matrix();
    var product = product().in(k);
    var x0 = firstX.plus(group.times(channels).wide());
    var patches =
        new PatchMatrix(
            k,
            new PatchMatrix.Parameters(x0, pixels, channels, xPixel, xImage, windows),
            table(),
            product.shared().at(k.integer(productBytes())),
            place.row(),
            range.from(),
            tile.k());
    var ofGroup = firstWeight.matrix(group, depth.wide().times(filters));
    var weights = new TensorMatmul.Source(ofGroup, depth, filters, depth, weight.access());
    var sums =
        product.multiply(
            product.producerA(patches, x.access()),
            product.producerB(weights, place.column()),
            range);
    if (applied.isEmpty()) {
      SplitVariant.keep(k, firstY, tile, sums);
      return;
    }
    var firstFilter = group.times(filters);
    product.store(
        sums,
        place,
        destination(firstY, firstFilter, pixels, filters, yPixel),
        applied.get().fromColumn(firstFilter));
  }

  private TensorMatmul.Destination destination(
      GlobalPointer y, Int first, Int pixels, Int filters, Int yPixel) {
    return new TensorMatmul.Destination(y.plus(first.wide()), pixels, filters, yPixel, accessC);
  }
}
