package dev.athanor.ops.tile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Variant;
import dev.athanor.ops.tile.TileScheduler.Order;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Tiles of 4 rows and 2 columns. */
class TileSchedulerTest {

  private static final int MATRICES = 2;
  private static final int NUMBERS = 3;

  /** Stores the tile of each block. */
  private record Tiles(TileScheduler scheduler) implements Variant {
    @Override
    public String name() {
      return "tiles_" + scheduler.order().name().toLowerCase(Locale.ROOT);
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(
          name(),
          1,
          k -> {
            var out = k.pointer("out", Type.S32);
            var rows = k.integer("rows");
            var tile =
                scheduler.n() == 1
                    ? scheduler.tile(k, rows)
                    : scheduler.tile(k, rows, k.integer("columns"));
            var first = k.block().times(NUMBERS);
            out.store(first, tile.matrix().value());
            out.store(first.plus(1), tile.row().value());
            out.store(first.plus(2), tile.column().value());
          });
    }
  }

  private record Place(int matrix, int row, int column) {}

  private static List<Place> places(TileScheduler scheduler, int rows, int columns) {
    int blocks = (int) scheduler.tiles(rows, columns) * MATRICES;
    var numbers = new int[blocks * NUMBERS];
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        var out = device.allocate(numbers.length * (long) Integer.BYTES)) {
      var arguments = new ArrayList<>(List.of(Argument.of(out), Argument.of(rows)));
      if (scheduler.n() > 1) {
        arguments.add(Argument.of(columns));
      }
      var kernel = new KernelCache(device).get(new Tiles(scheduler));
      stream.launch(new Launch(kernel, Dim3.of(blocks), Dim3.of(1), 0, arguments));
      stream.download(out, 0, MemorySegment.ofArray(numbers));
    }
    var places = new ArrayList<Place>();
    for (int i = 0; i < numbers.length; i += NUMBERS) {
      places.add(new Place(numbers[i], numbers[i + 1], numbers[i + 2]));
    }
    return places;
  }

  @Test
  void rowsOfTilesFollowOneAnother() {
    assertThat(places(new TileScheduler(4, 2, Order.ROWS), 5, 3))
        .containsExactly(
            new Place(0, 0, 0),
            new Place(0, 0, 2),
            new Place(0, 4, 0),
            new Place(0, 4, 2),
            new Place(1, 0, 0),
            new Place(1, 0, 2),
            new Place(1, 4, 0),
            new Place(1, 4, 2));
  }

  @Test
  void theLastRowOfTilesMayComeFirst() {
    assertThat(places(new TileScheduler(4, 2, Order.LAST_ROW_FIRST), 5, 3))
        .startsWith(
            new Place(0, 4, 0),
            new Place(0, 4, 2),
            new Place(0, 0, 0),
            new Place(0, 0, 2),
            new Place(1, 4, 0));
    assertThat(places(TileScheduler.ofRows(4, Order.LAST_ROW_FIRST), 9, 1))
        .containsExactly(
            new Place(0, 8, 0),
            new Place(0, 4, 0),
            new Place(0, 0, 0),
            new Place(1, 8, 0),
            new Place(1, 4, 0),
            new Place(1, 0, 0));
  }

  @Test
  void aBandIsTakenColumnByColumn() {
    var expected = new ArrayList<Place>();
    for (int matrix = 0; matrix < MATRICES; matrix++) {
      for (int column = 0; column < 6; column += 2) {
        for (int row = 0; row < 8; row++) {
          expected.add(new Place(matrix, 4 * row, column));
        }
      }
      // the last band has two rows of tiles
      for (int column = 0; column < 6; column += 2) {
        expected.add(new Place(matrix, 32, column));
        expected.add(new Place(matrix, 36, column));
      }
    }
    assertThat(places(new TileScheduler(4, 2, Order.BANDS), 37, 5)).isEqualTo(expected);
  }
}
