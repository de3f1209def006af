package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.PersistentProduct.Matrices;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The body of the kernel of a {@link PersistentProduct}. */
final class PersistentKernel {

  private final PersistentProduct product;
  private final PersistentTile tile;
  private final KernelBuilder k;
  private final Matrices matrices;
  private final SharedTile shared;
  private final PersistentBlock block;
  private final StageRing ring;

  PersistentKernel(PersistentProduct product, KernelBuilder k, Matrices matrices) {
    this.product = product;
    this.k = k;
    this.matrices = matrices;
    tile = product.tile();
    block = new PersistentBlock(k, tile.cluster(), tile.stages(), tile.mbarriers());
    shared = block.shared();
    ring = block.ring();
  }

  <L> void write(Function<Int, EpilogueFunction<L>> epilogue) {
    block.divide(
        List.of(matrices.a(), matrices.b(), matrices.c()),
        tile.groups(),
        tile.groups(),
        this::copy,
        group -> multiply(group, epilogue));
  }

  /**
   * Runs code for each tile of this block.
   *
   * @param body emits the code, given the tile and the end of the rows that belong to its product
   * @return the end of the rows of all products
   */
  private Int eachTile(BiConsumer<Tile, Int> body) {
    var scheduler = product.scheduler();
    var m = matrices.m();
    var n = matrices.n();
    if (matrices.grouped().isPresent()) {
      var groups = matrices.grouped().get().groups();
      return groups.eachTile(
          block.cluster(),
          scheduler,
          m,
          n,
          (ofCluster, end) -> body.accept(block.ofBlock(ofCluster, tile.m()), end));
    }
    var tiles = scheduler.tiles(m, n).times(matrices.products());
    block.eachTile(scheduler, m, n, tiles, tile.m(), place -> body.accept(place, m));
    return m;
  }

  /** Copies the stages of all tiles: one lane does, but all look for tiles of groups. */
  private void copy() {
    var isCopying = k.elect();
    if (matrices.grouped().isPresent()) {
      var position = ring.ofProducer();
      eachTile((place, _) -> k.when(isCopying, () -> copy(place, position)));
    } else {
      k.when(
          isCopying,
          () -> {
            var position = ring.ofProducer();
            eachTile((place, _) -> copy(place, position));
          });
    }
  }

  private void copy(Tile place, StageRing.Position position) {
    var indices = matrices.batch().apply(place.matrix());
    var range = matrices.range().apply(place.matrix());
    k.loop(
        range.from(),
        range.to(),
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
    var rank = blocks == 1 ? k.integer(0) : block.cluster().rank();
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
        tensor.multicast(tile, ring.mbarriers(), full, at, block.cluster().all());
      }
    }
  }

  private <L> void multiply(Int group, Function<Int, EpilogueFunction<L>> epilogue) {
    int slabs = tile.slabs();
    var sums = accumulators(slabs);
    var own = group.times(slabs * PersistentTile.ROWS);
    var parts =
        shared.at(group.times(PersistentTile.PARTS * PersistentTile.PART_BYTES).plus(tile.parts()));
    var store =
        new TileStore(k, parts, group, matrices.c(), matrices.out(), matrices.m(), matrices.n());
    var position = ring.ofReader();
    var multiplied =
        product.mma().hasReducedAccumulatorPrecision() ? promoted(own, sums) : ahead(own, sums);
    var end =
        eachTile((place, endOfRows) -> {
          multiplied.accept(place, position);
          var ofProduct = epilogue.apply(place.matrix());
          for (int slab = 0; slab < slabs; slab++) {
            var row = place.row().plus(own).plus(slab * PersistentTile.ROWS);
            var part = sums.get(slab);
            matrices
                .grouped()
                .ifPresentOrElse(
                    all ->
                        store.storeRows(part, row, place.column(), endOfRows, all.c(), ofProduct),
                    () ->
                        store.store(
                            part, new Tile(place.matrix(), row, place.column()), ofProduct));
          }
        });
    matrices.grouped().ifPresent(all -> store.clear(all.c(), end, tile.groups()));
    store.finish();
  }

  /** Declares the sums of a warpgroup: of each 64 rows, a fragment for each 8 columns. */
  private List<List<MatrixFragment>> accumulators(int slabs) {
    return IntStream.range(0, slabs)
        .mapToObj(
            _ -> Stream.generate(() -> k.accumulator(product.mma())).limit(tile.n() / 8).toList())
        .toList();
  }

  /**
   * Multiplies the stages of a tile. The products of a stage are started before those of the
   * previous one are complete.
   */
  private BiConsumer<Tile, StageRing.Position> ahead(Int own, List<List<MatrixFragment>> sums) {
    return (place, position) -> {
      var previous = k.variable(k.integer(0));
      var range = matrices.range().apply(place.matrix());
      k.loop(
          range.from(),
          range.to(),
          product.depth(),
          depth -> {
            position.awaitFull();
            var isLater = depth.gt(range.from());
            start(position.stage(), own, 0, product.depth(), Optional.of(isLater), sums);
            k.awaitProducts(1);
            free(previous, Optional.of(isLater));
            previous.set(position.stage());
            position.advance();
          });
      k.awaitProducts(0);
      free(previous, Optional.empty());
    };
  }

  /**
   * Multiplies the stages of a tile if tensor cores keep few bits of sums: they add {@value
   * PersistentProduct#PROMOTED} products along K, and f32 additions the rest. Meanwhile they
   * multiply for the other warpgroup.
   */
  private BiConsumer<Tile, StageRing.Position> promoted(Int own, List<List<MatrixFragment>> sums) {
    var parts = accumulators(sums.size());
    return (place, position) -> {
      reals(sums).forEach(sum -> sum.set(k.real(Type.F32, 0)));
      var range = matrices.range().apply(place.matrix());
      k.loop(
          range.from(),
          range.to(),
          product.depth(),
          depth -> {
            var scales = matrices.scales().map(each -> scales(each, place, own, depth));
            position.awaitFull();
            for (int from = 0; from < product.depth(); from += PersistentProduct.PROMOTED) {
              int to = from + PersistentProduct.PROMOTED;
              start(position.stage(), own, from, to, Optional.empty(), parts);
              k.awaitProducts(0);
              if (to == product.depth()) {
                free(position.stage(), Optional.empty());
              }
              for (int slab = 0; slab < sums.size(); slab++) {
                add(sums.get(slab), parts.get(slab), slab, scales);
              }
            }
            position.advance();
          });
    };
  }

  /**
   * Loads the scales of a stage, which is as deep as a block: of each 64 rows, those of this
   * thread's upper and lower rows.
   */
  private List<Real> scales(BlockScales scales, Tile place, Int own, Int depth) {
    var ofB = scales.ofB(place.column(), depth, matrices.n()).widen();
    var thread = new LaneCoordinates(Fragments.D_64X8, k.thread().rem(WarpRole.GROUP));
    var row = place.row().plus(own).plus(thread.row());
    return IntStream.range(0, 2 * product.tile().slabs())
        .mapToObj(i -> row.plus(i / 2 * PersistentTile.ROWS + i % 2 * 8))
        .map(each -> scales.ofA(each, depth, matrices.m()).widen().times(ofB))
        .toList();
  }

  private static void add(
      List<MatrixFragment> sums,
      List<MatrixFragment> parts,
      int slab,
      Optional<List<Real>> scales) {
    for (int i = 0; i < sums.size(); i++) {
      for (int register = 0; register < sums.get(i).size(); register++) {
        var sum = (Real.Variable) sums.get(i).get(register);
        var more = (Real) parts.get(i).get(register);
        int half = 2 * slab + register / 2;
        scales.ifPresentOrElse(
            each -> sum.addProduct(more, each.get(half)), () -> sum.set(sum.plus(more)));
      }
    }
  }

  private static Stream<Real.Variable> reals(List<List<MatrixFragment>> sums) {
    return sums.stream()
        .flatMap(List::stream)
        .flatMap(fragment -> fragment.registers().stream())
        .map(Real.Variable.class::cast);
  }

  private void free(Int stage, Optional<Predicate> condition) {
    ring.free(stage, k.thread().rem(WarpRole.GROUP), condition);
  }

  /**
   * Starts to multiply a part of a stage.
   *
   * @param from first index along K, within the stage
   * @param to end, exclusive
   * @param adds whether the first products are added to the sums; without it, they replace them
   */
  private void start(
      Int stage,
      Int own,
      int from,
      int to,
      Optional<Predicate> adds,
      List<List<MatrixFragment>> sums) {
    var mma = product.mma();
    var a = product.stageA();
    var b = product.stageB();
    var offset = stage.times(tile.stageBytes());
    k.fenceProducts();
    for (int step = from; step < to; step += mma.k()) {
      var right = b.descriptor(shared, offset.plus(a.bytes()), k.integer(0), step);
      for (int slab = 0; slab < sums.size(); slab++) {
        var left = a.descriptor(shared, offset, own.plus(slab * PersistentTile.ROWS), step);
        var sum = sums.get(slab);
        if (step == from && adds.isPresent()) {
          k.multiplyAsync(mma, left, right, !a.kIsRow(), !b.kIsRow(), sum, adds.get());
        } else {
          k.multiplyAsync(mma, left, right, !a.kIsRow(), !b.kIsRow(), sum, step > from);
        }
      }
    }
    k.commitProducts();
  }
}
