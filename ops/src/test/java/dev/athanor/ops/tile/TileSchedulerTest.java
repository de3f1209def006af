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

/** Order of tiles of 4 rows and 2 columns. */
class TileSchedulerTest {

  private static final int MATRICES = 2;
  private static final int NUMBERS_PER_TILE = 3;

  /** A kernel that stores the position of the tile of each block. */
  private record StoreTiles(TileScheduler scheduler) implements Variant {
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
            var first = k.block().times(NUMBERS_PER_TILE);
            out.store(first, tile.matrix().value());
            out.store(first.plus(1), tile.row().value());
            out.store(first.plus(2), tile.column().value());
          });
    }
  }

  private record TilePosition(int matrix, int row, int column) {}

  private static List<TilePosition> positions(TileScheduler scheduler, int rows, int columns) {
    int blocks = (int) scheduler.tiles(rows, columns) * MATRICES;
    var numbers = new int[blocks * NUMBERS_PER_TILE];
    try (var device = new EmulatedDevice();
        var stream = device.openStream();
        var out = device.allocate(numbers.length * (long) Integer.BYTES)) {
      var arguments = new ArrayList<>(List.of(Argument.of(out), Argument.of(rows)));
      if (scheduler.n() > 1) {
        arguments.add(Argument.of(columns));
      }
      var kernel = new KernelCache(device).get(new StoreTiles(scheduler));
      stream.launch(new Launch(kernel, Dim3.of(blocks), Dim3.of(1), 0, arguments));
      stream.download(out, 0, MemorySegment.ofArray(numbers));
    }
    var positions = new ArrayList<TilePosition>();
    for (int i = 0; i < numbers.length; i += NUMBERS_PER_TILE) {
      positions.add(new TilePosition(numbers[i], numbers[i + 1], numbers[i + 2]));
    }
    return positions;
  }

  @Test
  void ordersTilesByRows() {
    assertThat(positions(new TileScheduler(4, 2, Order.ROWS), 5, 3))
        .containsExactly(
            new TilePosition(0, 0, 0),
            new TilePosition(0, 0, 2),
            new TilePosition(0, 4, 0),
            new TilePosition(0, 4, 2),
            new TilePosition(1, 0, 0),
            new TilePosition(1, 0, 2),
            new TilePosition(1, 4, 0),
            new TilePosition(1, 4, 2));
  }

  @Test
  void ordersTilesWithTheLastRowFirst() {
    assertThat(positions(new TileScheduler(4, 2, Order.LAST_ROW_FIRST), 5, 3))
        .startsWith(
            new TilePosition(0, 4, 0),
            new TilePosition(0, 4, 2),
            new TilePosition(0, 0, 0),
            new TilePosition(0, 0, 2),
            new TilePosition(1, 4, 0));
    assertThat(positions(TileScheduler.ofRows(4, Order.LAST_ROW_FIRST), 9, 1))
        .containsExactly(
            new TilePosition(0, 8, 0),
            new TilePosition(0, 4, 0),
            new TilePosition(0, 0, 0),
            new TilePosition(1, 8, 0),
            new TilePosition(1, 4, 0),
            new TilePosition(1, 0, 0));
  }

  @Test
  void ordersBandsColumnByColumn() {
    var expected = new ArrayList<TilePosition>();
    for (int matrix = 0; matrix < MATRICES; matrix++) {
      for (int column = 0; column < 6; column += 2) {
        for (int row = 0; row < 8; row++) {
          expected.add(new TilePosition(matrix, 4 * row, column));
        }
      }
      // the last band has two rows of tiles
      for (int column = 0; column < 6; column += 2) {
        expected.add(new TilePosition(matrix, 32, column));
        expected.add(new TilePosition(matrix, 36, column));
      }
    }
    assertThat(positions(new TileScheduler(4, 2, Order.BANDS), 37, 5)).isEqualTo(expected);
  }
}
