package dev.athanor.ops.convolution;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.convolution.WindowParameters.Dimension;
import dev.athanor.ops.tile.StagedOperand;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The left factor of a convolution as a product, which is never in memory: row {@code r} holds the
 * window of pixel {@code r} of all images, tap by tap, and the channels of a group for each tap.
 * Channels are the last dimension of x, so a run of elements is inside one tap.
 *
 * <p>A table in shared memory has what depends on the tap: its offset in x, and for each thread a
 * bit for each of its rows, which says whether the tap is inside x. If the channels are a multiple
 * of the depth of a stage, all threads are at the same tap, and most stages advance only the
 * channel.
 */
final class PatchMatrix implements StagedOperand {

  /** A first position so far outside of x that no tap is inside. */
  private static final int OUTSIDE = Integer.MIN_VALUE;

  /**
   * A row that this thread reads.
   *
   * @param first x at the first tap, which may be outside of it
   * @param positions of the first tap in x, outermost first
   */
  private record Row(GlobalPointer first, List<Int> positions) {}

  private final KernelBuilder k;
  private final Parameters parameters;
  private final Table table;
  private final int depth;
  private final Int taps;
  private final SharedTile offsets;
  private final SharedTile insides;
  private final List<Row> rows = new ArrayList<>();
  private final Int.Variable tap;
  private final Int.Variable channel;
  private final Int.Variable offset;
  private final Int.Variable inside;
  private boolean started;

  /**
   * The kernel's description of x.
   *
   * @param x first channel of the group
   * @param pixels rows of the matrix
   * @param channels channels of the group
   * @param pixelStride distance between pixels in elements
   * @param imageStride distance between images in elements
   */
  record Parameters(
      GlobalPointer x,
      Int pixels,
      Int channels,
      Int pixelStride,
      Wide imageStride,
      WindowParameters windows) {}

  /**
   * The table of a block.
   *
   * @param partition of a stage, whose rows have at most as many runs as the block has threads
   * @param wholeTaps whether the channels are a multiple of the depth of a stage
   */
  record Table(TilePartition partition, boolean wholeTaps) {

    private static final int OFFSET_BYTES = Integer.BYTES;

    /** Returns its size in bytes. */
    int bytes(int taps) {
      return (taps + 1) * (OFFSET_BYTES + partition.threads() * bits().bytes());
    }

    private Type bits() {
      int rows = partition.offsets().size();
      return rows <= 8 ? Type.U8 : rows <= 16 ? Type.U16 : Type.U32;
    }
  }

  /**
   * Fills the table. All threads of the block must call it.
   *
   * @param shared shared memory for the table
   * @param first first row of the block
   * @param from first index along K of the block
   * @param depth of a stage
   */
  PatchMatrix(
      KernelBuilder k,
      Parameters parameters,
      Table table,
      SharedTile shared,
      Int first,
      Int from,
      int depth) {
    this.k = k;
    this.parameters = parameters;
    this.table = table;
    this.depth = depth;
    taps = product(Dimension::kernel);
    offsets = shared.at(k.integer(0), Type.S32, 1, 1, 1);
    insides =
        shared.at(
            taps.plus(1).times(Table.OFFSET_BYTES),
            table.bits(),
            1,
            table.partition.threads(),
            table.partition.threads());
    var row = table.partition.row(k.thread());
    var column = table.partition.column(k.thread());
    for (var offset : table.partition.offsets()) {
      rows.add(row(first.plus(row).plus(offset.row()), table.wholeTaps ? column : k.integer(0)));
    }
    fill(0, k.integer(0), k.integer(0), Collections.nCopies(rows.size(), null));
    enter(taps, k.integer(0), k.integer(0));
    k.barrier();
    var index = table.wholeTaps ? from : from.plus(column);
    tap = k.variable(index.div(parameters.channels));
    channel = k.variable(index.minus(tap.times(parameters.channels)));
    offset = k.variable(k.integer(0));
    inside = k.variable(k.integer(0));
    look();
  }

  private Int product(Function<Dimension, Int> extent) {
    return parameters.windows.dimensions().stream().map(extent).reduce(k.integer(1), Int::times);
  }

  private Row row(Int index, Int column) {
    var windows = parameters.windows;
    var pixels = product(Dimension::out);
    var image = index.div(pixels);
    var place = windows.place(index.minus(image.times(pixels)));
    var outside = index.ge(parameters.pixels);
    var positions = new ArrayList<Int>();
    var pixel = k.wide(0);
    for (int i = 0; i < place.size(); i++) {
      var dimension = windows.dimensions().get(i);
      var position = dimension.first(place.get(i));
      pixel = pixel.times(dimension.in()).plus(position.wide());
      positions.add(i == 0 ? k.integer(OUTSIDE).where(outside, position) : position);
    }
    var start =
        parameters
            .x
            .matrix(image, parameters.imageStride)
            .plus(pixel.times(parameters.pixelStride).plus(column.wide()));
    return new Row(start, positions);
  }

  /**
   * Emits loops over the taps along a dimension and those after it.
   *
   * @param index of the tap along the dimensions before it
   * @param pixel offset of the tap in pixels, along these dimensions
   * @param holds for each row whether the tap is inside x along them; null before the first
   */
  private void fill(
      int dimension, Int index, Int pixel, List<? extends @Nullable Predicate> holds) {
    var dimensions = parameters.windows.dimensions();
    if (dimension == dimensions.size()) {
      Int bits = k.integer(0);
      for (int i = 0; i < rows.size(); i++) {
        var held = Objects.requireNonNull(holds.get(i));
        bits = bits.or(k.integer(1 << i).where(held, k.integer(0)));
      }
      enter(index, pixel.times(parameters.pixelStride), bits);
      return;
    }
    var own = dimensions.get(dimension);
    k.loop(
        k.integer(0),
        own.kernel(),
        1,
        t -> {
          var step = t.times(own.dilation());
          var inner = new ArrayList<Predicate>();
          for (int i = 0; i < rows.size(); i++) {
            var position = rows.get(i).positions.get(dimension).plus(step);
            var holdsHere = position.ge(k.integer(0)).and(position.lt(own.in()));
            var before = holds.get(i);
            inner.add(before == null ? holdsHere : before.and(holdsHere));
          }
          fill(
              dimension + 1,
              index.times(own.kernel()).plus(t),
              pixel.times(own.in()).plus(step),
              inner);
        });
  }

  private void enter(Int index, Int ownOffset, Int bits) {
    insides.store(index, k.thread(), bits.value());
    k.when(k.thread().eq(0), () -> offsets.store(index, k.integer(0), ownOffset.value()));
  }

  /** Reads the table. Beyond the last tap is one that is inside of no row. */
  private void look() {
    var entry = tap.min(taps);
    offset.set(offsets.load(entry, k.integer(0)).integer());
    inside.set(insides.load(entry, k.thread()).integer());
  }

  private void advance() {
    if (table.wholeTaps) {
      channel.set(channel.plus(depth));
      k.when(
          channel.ge(parameters.channels),
          () -> {
            channel.set(k.integer(0));
            tap.set(tap.plus(1));
            look();
          });
      return;
    }
    var more = k.integer(depth).div(parameters.channels);
    var sum = channel.plus(depth).minus(more.times(parameters.channels));
    var isNext = sum.ge(parameters.channels);
    channel.set(sum.minus(parameters.channels).where(isNext, sum));
    tap.set(tap.plus(more).plus(k.integer(1).where(isNext, k.integer(0))));
    look();
  }

  @Override
  public Runs of(Int row, Int column, Int from) {
    if (started) {
      advance();
    }
    started = true;
    var at = offset.plus(channel).wide();
    return (below, right) -> {
      int index = table.partition.offsets().indexOf(new TilePartition.Offset(below, right));
      return new Run(rows.get(index).first.plus(at), 0, inside.and(1 << index).ne(k.integer(0)));
    };
  }
}
