package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.linear.quantized.warpgroup.WeightProduct.Groups;
import dev.athanor.ops.linear.quantized.warpgroup.WeightProduct.Matrices;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TileScheduler.Tile;
import dev.athanor.ops.tile.persistent.PersistentBlock;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The body of the kernel of a {@link WeightProduct}. Tiles are those of the transpose of c. */
final class WeightKernel {

  private static final int COLUMNS_OF_FRAGMENT = 8;

  /** The greatest shift of the depth of a group. */
  private static final int MOST_SHIFT = 30;

  private final WeightProduct product;
  private final WeightTile tile;
  private final KernelBuilder k;
  private final Matrices matrices;
  private final SharedTile shared;
  private final PersistentBlock block;
  private final StageRing ring;

  WeightKernel(WeightProduct product, KernelBuilder k, Matrices matrices) {
    this.product = product;
    this.k = k;
    this.matrices = matrices;
    tile = product.tile();
    block = new PersistentBlock(k, tile.cluster(), tile.stages(), product.mbarriers());
    shared = block.shared();
    ring = block.ring();
  }

  <L> void write(EpilogueFunction<L> epilogue) {
    // each warp reads weights of its own
    int readers = WeightTile.GROUPS * WarpRole.GROUP / KernelBuilder.WARP;
    block.divide(
        List.of(matrices.a(), matrices.weights(), matrices.c()),
        readers,
        WeightTile.GROUPS,
        () -> k.when(k.elect(), this::copy),
        group -> multiply(group, epilogue));
  }

  /** Runs code for each tile of this block. */
  private void eachTile(Consumer<Tile> body) {
    var scheduler = product.scheduler();
    var tiles = scheduler.tiles(matrices.n(), matrices.m());
    block.eachTile(scheduler, matrices.n(), matrices.m(), tiles, WeightTile.COLUMNS, body);
  }

  /** Copies the stages of all tiles. */
  private void copy() {
    var position = ring.ofProducer();
    eachTile(place ->
        k.loop(
            k.integer(0),
            matrices.depth(),
            WeightTile.DEPTH,
            depth -> {
              position.awaitFree(product.stageBytes());
              copy(place, position.stage(), depth);
              position.advance();
            }));
  }

  /** Copies a stage: the rows of a, which the blocks of a cluster share, then the weights. */
  private void copy(Tile place, Int stage, Int depth) {
    var offset = stage.times(product.stageBytes());
    int rows = tile.rows() / tile.cluster();
    var first = block.cluster().rank().times(rows);
    var to = shared.at(offset.plus(first.times(SharedTile.ASYNC_ROW)));
    var at = List.of(depth, place.column().plus(first));
    if (tile.cluster() == 1) {
      matrices.a().load(to, ring.mbarriers(), stage, at);
    } else {
      matrices.a().multicast(to, ring.mbarriers(), stage, at, block.cluster().all());
    }
    matrices
        .weights()
        .load(
            shared.at(offset.plus(tile.rowBytes())),
            ring.mbarriers(),
            stage,
            product.weights().at(depth, place.row()));
  }

  /** What a warp reads, and how its lanes decode it. */
  private record Reader(StageWeights.Lane lane, Int group, StageRing.Position position) {}

  private <L> void multiply(Int group, EpilogueFunction<L> epilogue) {
    var sums = accumulators();
    var parts = matrices.groups().map(_ -> accumulators());
    var lane = product.weights().lane(k, product.mma().a());
    var own = group.times(WeightTile.OF_GROUP);
    var room =
        shared.at(group.times(WeightTile.PARTS * WeightTile.PART_BYTES).plus(product.parts()));
    var store =
        new TransposedStore(
            k, room, group, lane, matrices.c(), matrices.out(), matrices.m(), matrices.n());
    var reader = new Reader(lane, group, ring.ofReader());
    eachTile(place -> {
      var row = place.row().plus(own);
      reals(sums).forEach(sum -> sum.set(k.real(Type.F32, 0)));
      switch (lane) {
        case PackedWords.Lane words ->
            multiplyGroups(row.plus(lane.column()), words, reader, parts.orElseThrow(), sums);
        case Int8Rows.Lane _ -> multiply(k.integer(0), matrices.depth(), reader, List.of(), sums);
      }
      store.store(sums, new Tile(place.matrix(), row, place.column()), epilogue);
    });
    store.finish();
  }

  private List<MatrixFragment> accumulators() {
    return Stream.generate(() -> k.accumulator(product.mma()))
        .limit(tile.rows() / COLUMNS_OF_FRAGMENT)
        .toList();
  }

  private static Stream<Real.Variable> reals(List<MatrixFragment> sums) {
    return sums.stream()
        .flatMap(fragment -> fragment.registers().stream())
        .map(Real.Variable.class::cast);
  }

  /**
   * The scales and the numbers to subtract for the zero points of a group, of the lane's two
   * columns each.
   */
  private record OfGroup(List<Real> scales, List<Value> zeros) {}

  private OfGroup load(Groups groups, Int column, PackedWords.Lane lane, Int depth) {
    var group = depth.min(matrices.depth().plus(-1)).shr(groups.shift());
    var ofGroup = groups.scales().row(group, matrices.n());
    var scales = new ArrayList<Real>();
    var zeros = new ArrayList<Value>();
    for (int half = 0; half < 2; half++) {
      var own = column.plus(half * lane.apart());
      var exists = own.lt(matrices.n());
      scales.add(ofGroup.loadWhere(exists, own).widen());
      zeros.add(
          groups
              .zeros()
              .map(points -> {
                var word =
                    points
                        .row(group, matrices.n().div(Int4Layout.WORD))
                        .loadWhere(exists, own.div(Int4Layout.WORD));
                return lane.zero(word.integer(), groups.addedToZeros());
              })
              .orElseGet(lane::middle));
    }
    return new OfGroup(scales, zeros);
  }

  /**
   * Multiplies the stages of a tile. Those of a group are summed before their scale is applied.
   *
   * @param column the first column of c of the lane
   * @param parts sums of a group
   */
  private void multiplyGroups(
      Int column,
      PackedWords.Lane lane,
      Reader reader,
      List<MatrixFragment> parts,
      List<MatrixFragment> sums) {
    var groups = matrices.groups().orElseThrow();
    var first = load(groups, column, lane, k.integer(0));
    var scales = first.scales.stream().map(k::variable).toList();
    var zeros = first.zeros.stream().map(k::variable).toList();
    var groupDepth = k.integer(1).shl(groups.shift().min(k.integer(MOST_SHIFT)));
    k.loop(
        k.integer(0),
        matrices.depth(),
        groupDepth,
        from -> {
          var end = from.plus(groupDepth);
          // needed after the products of this group
          var next = load(groups, column, lane, end);
          reals(parts).forEach(part -> part.set(k.real(Type.F32, 0)));
          multiply(from, end.min(matrices.depth()), reader, List.copyOf(zeros), parts);
          for (int i = 0; i < sums.size(); i++) {
            for (int j = 0; j < sums.get(i).size(); j++) {
              var sum = (Real.Variable) sums.get(i).get(j);
              sum.addProduct((Real) parts.get(i).get(j), scales.get(j / 2));
            }
          }
          for (int half = 0; half < 2; half++) {
            scales.get(half).set(next.scales.get(half));
            zeros.get(half).set(next.zeros.get(half));
          }
        });
  }

  /**
   * Multiplies the stages of a range of K.
   *
   * @param zeros to subtract from the weights of each of the lane's two columns, if there are any
   * @param sums to which the products are added
   */
  private void multiply(
      Int from, Int end, Reader reader, List<Value> zeros, List<MatrixFragment> sums) {
    var position = reader.position;
    var previous = k.variable(k.integer(0));
    k.loop(
        from,
        end,
        WeightTile.DEPTH,
        depth -> {
          position.awaitFull();
          start(position.stage(), previous, depth.gt(from), reader, zeros, sums);
          previous.set(position.stage());
          position.advance();
        });
    k.awaitProducts(0);
    free(previous, Optional.empty());
  }

  /**
   * Starts to multiply a stage. The weights of a step are decoded while those of the previous steps
   * are multiplied, as many as a stage has: the registers are those of the step a stage before.
   *
   * @param previous stage, which is free once only products of this one are left
   * @param isLater whether there is a previous stage
   */
  private void start(
      Int stage,
      Int previous,
      Predicate isLater,
      Reader reader,
      List<Value> zeros,
      List<MatrixFragment> sums) {
    var mma = product.mma();
    var offset = stage.times(product.stageBytes());
    var decoders = reader.lane.load(shared, offset.plus(tile.rowBytes()), reader.group, zeros);
    var rows = new Stage(mma.a(), false, tile.rows(), WeightTile.DEPTH, Instruction.WGMMA);
    int last = decoders.size() - 1;
    for (int step = 0; step <= last; step++) {
      k.awaitProducts(last);
      if (step == last) {
        // all lanes have read the weights of both stages
        k.warpBarrier();
        free(previous, Optional.of(isLater));
      }
      var weights = decoders.get(step).decode();
      var right = rows.descriptor(shared, offset, k.integer(0), step * StageWeights.STEP);
      k.fenceProducts();
      k.multiplyAsync(mma, weights, right, true, sums);
      k.commitProducts();
    }
  }

  private void free(Int stage, Optional<Predicate> condition) {
    ring.free(stage, k.lane(), condition);
  }
}
