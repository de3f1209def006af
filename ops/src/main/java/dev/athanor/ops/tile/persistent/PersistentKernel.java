package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.PersistentProduct.Matrices;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The body of the kernel of a {@link PersistentProduct}. */
final class PersistentKernel {

  /** Registers of a thread that copies. */
  private static final int COPYING = 40;

  /** Registers of a thread that multiplies. */
  private static final int MULTIPLYING = 232;

  private final PersistentProduct product;
  private final PersistentTile tile;
  private final KernelBuilder k;
  private final Matrices matrices;
  private final SharedTile shared;
  private final Cluster cluster;
  private final StageRing ring;

  PersistentKernel(PersistentProduct product, KernelBuilder k, Matrices matrices) {
    this.product = product;
    this.k = k;
    this.matrices = matrices;
    tile = product.tile();
    shared = k.dynamicShared(Stage.REPEAT);
    cluster = new Cluster(k, tile.cluster());
    var mbarriers = new Mbarriers(k, shared.at(k.integer(tile.mbarriers())));
    ring = new StageRing(k, cluster, mbarriers, tile.stages());
  }

  <L> void write(EpilogueFunction<L> epilogue) {
    k.when(
        k.thread().eq(0),
        () -> {
          ring.initialize(PersistentTile.GROUPS);
          Stream.of(matrices.a(), matrices.b(), matrices.c()).forEach(TensorParameter::prefetch);
        });
    cluster.awaitMbarriers();
    WarpRole.divide(
        k,
        List.of(
            new WarpRole(1, COPYING, _ -> copy()),
            new WarpRole(PersistentTile.GROUPS, MULTIPLYING, group -> multiply(group, epilogue))));
    if (tile.cluster() > 1) {
      // a block must not end while the readers of others still arrive at its mbarriers
      cluster.barrier();
    }
  }

  /** Runs code for each tile of this cluster. */
  private void eachTile(Consumer<Tile> body) {
    var scheduler = product.scheduler();
    var tiles = scheduler.tiles(matrices.m(), matrices.n()).times(matrices.products());
    k.loop(
        cluster.index(),
        tiles,
        cluster.count(),
        index -> {
          var ofCluster = scheduler.tile(k, index, matrices.m(), matrices.n());
          var row = ofCluster.row().plus(cluster.rank().times(tile.m()));
          body.accept(new Tile(ofCluster.matrix(), row, ofCluster.column()));
        });
  }

  /** One thread copies the stages of all tiles. */
  private void copy() {
    k.when(
        k.thread().lt(KernelBuilder.WARP),
        () ->
            k.when(
                k.elect(),
                () -> {
                  var position = ring.ofProducer();
                  eachTile(place -> copy(place, position));
                }));
  }

  private void copy(Tile place, StageRing.Position position) {
    var indices = matrices.batch().apply(place.matrix());
    k.loop(
        k.integer(0),
        matrices.depth(),
        product.depth(),
        depth -> {
          position.awaitFree(tile.stageBytes());
          var stage = position.stage();
          var to = stage.times(tile.stageBytes());
          load(matrices.a(), product.stageA(), to, stage, place.row(), depth, indices.a(), 1);
          load(
              matrices.b(),
              product.stageB(),
              to.plus(product.stageA().bytes()),
              stage,
              place.column(),
              depth,
              indices.b(),
              tile.cluster());
          position.advance();
        });
  }

  /**
   * Copies a stage of an operand.
   *
   * @param from first row of a, or column of b
   * @param blocks that share the copies
   */
  private void load(
      TensorParameter tensor,
      Stage stage,
      Int to,
      Int full,
      Int from,
      Int depth,
      List<Int> batch,
      int blocks) {
    int extent = stage.extent() / blocks;
    int panels = stage.kIsRow() ? extent / product.depth() : 1;
    int bytes = stage.bytes() / blocks / panels;
    var rank = blocks == 1 ? k.integer(0) : cluster.rank();
    for (int panel = 0; panel < panels; panel++) {
      var first = from.plus(rank.times(extent)).plus(panel * product.depth());
      var at =
          Stream.concat(
                  stage.kIsRow() ? Stream.of(first, depth) : Stream.of(depth, first),
                  batch.stream())
              .toList();
      var tile = shared.at(to.plus(rank.times(panels * bytes)).plus(panel * bytes));
      if (blocks == 1) {
        tensor.load(tile, ring.mbarriers(), full, at);
      } else {
        tensor.multicast(tile, ring.mbarriers(), full, at, cluster.all());
      }
    }
  }

  private <L> void multiply(Int group, EpilogueFunction<L> epilogue) {
    var mma = product.mma();
    int slabs = tile.m() / PersistentTile.ROWS / PersistentTile.GROUPS;
    var sums =
        IntStream.range(0, slabs)
            .mapToObj(_ -> Stream.generate(() -> k.accumulator(mma)).limit(tile.n() / 8).toList())
            .toList();
    var own = group.times(slabs * PersistentTile.ROWS);
    var parts =
        shared.at(group.times(PersistentTile.PARTS * PersistentTile.PART_BYTES).plus(tile.parts()));
    var store =
        new TileStore(k, parts, group, matrices.c(), matrices.out(), matrices.m(), matrices.n());
    var position = ring.ofReader();
    var thread = k.thread().rem(WarpRole.GROUP);
    eachTile(place -> {
      var previous = k.variable(k.integer(0));
      k.loop(
          k.integer(0),
          matrices.depth(),
          product.depth(),
          depth -> {
            position.awaitFull();
            multiply(position.stage(), own, depth, sums);
            // all but the newest products have been computed
            k.awaitProducts(1);
            ring.free(previous, depth.gt(k.integer(0)), thread);
            previous.set(position.stage());
            position.advance();
          });
      k.awaitProducts(0);
      ring.free(previous, matrices.depth().gt(k.integer(0)), thread);
      for (int slab = 0; slab < slabs; slab++) {
        var row = place.row().plus(own).plus(slab * PersistentTile.ROWS);
        store.store(sums.get(slab), new Tile(place.matrix(), row, place.column()), epilogue);
      }
    });
    store.finish();
  }

  /** Starts to multiply a stage. The products of the first one replace the sums. */
  private void multiply(Int stage, Int own, Int depth, List<List<MatrixFragment>> sums) {
    var mma = product.mma();
    var a = product.stageA();
    var b = product.stageB();
    var offset = stage.times(tile.stageBytes());
    k.fenceProducts();
    for (int step = 0; step < product.depth(); step += mma.k()) {
      var right = b.descriptor(shared, offset.plus(a.bytes()), k.integer(0), step);
      for (int slab = 0; slab < sums.size(); slab++) {
        var left = a.descriptor(shared, offset, own.plus(slab * PersistentTile.ROWS), step);
        var sum = sums.get(slab);
        if (step == 0) {
          k.multiplyAsync(mma, left, right, !a.kIsRow(), !b.kIsRow(), sum, depth.gt(k.integer(0)));
        } else {
          k.multiplyAsync(mma, left, right, !a.kIsRow(), !b.kIsRow(), sum);
        }
      }
    }
    k.commitProducts();
  }
}
