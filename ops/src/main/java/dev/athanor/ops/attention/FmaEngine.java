package dev.athanor.ops.attention;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.RegisterTile;
import dev.athanor.engine.author.RegisterTile.Layout;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An engine that uses FMA instructions of f32, to which 16-bit elements are converted. 16
 * consecutive lanes hold a group of rows. A lane holds every 16th column of scores, and groups of 4
 * columns, 64 apart, of sums. Lanes exchange weights of the same rows through shared memory.
 */
final class FmaEngine extends Engine {

  private static final int LANES = 16;
  private static final int GROUP = 4;

  /** The maximum bytes of a load from shared memory. */
  private static final int LOAD_BYTES = 16;

  /** The depth of one iteration of a device loop. */
  private static final int STEP = 16;

  private final Int lane;
  private final Int row;
  private final int rows;
  private @Nullable SharedTile weights;

  FmaEngine(KernelBuilder k, Tile tile, Type type) {
    super(k, tile, type);
    rows = tile.warpRows() / 2;
    lane = k.thread().rem(LANES);
    row = k.thread().div(LANES).times(rows);
  }

  static int weightBytes(Tile tile) {
    return tile.rows() * weightPitch(tile) * 4;
  }

  /** Returns a pitch with which the halves of a warp write rows in disjoint banks. */
  private static int weightPitch(Tile tile) {
    int pitch = tile.columns();
    while (tile.warpRows() / 2 * pitch % (2 * LANES) != LANES) {
      pitch += GROUP;
    }
    return pitch;
  }

  /**
   * Returns a pitch of whole groups of all lanes plus one load, which places the rows read by
   * neighboring lanes in different banks.
   */
  static int pitch(int columns, int elementBytes) {
    return Math.ceilDiv(columns, LANES * GROUP) * (LANES * GROUP) + LOAD_BYTES / elementBytes;
  }

  @Override
  public SharedTile tile(SharedTile shared, int offset, int tileRows, int columns) {
    int pitch = pitch(columns, type.bytes());
    return shared.at(k.integer(offset), type, tileRows, pitch - LOAD_BYTES / type.bytes(), pitch);
  }

  @Override
  public void useScratch(SharedTile shared, int offset) {
    weights =
        shared.at(k.integer(offset), Type.F32, tile.rows(), tile.columns(), weightPitch(tile));
  }

  @Override
  int neighbors() {
    return GROUP;
  }

  @Override
  public Left keep(SharedTile left, int columns, int most) {
    return new Left(left, columns, List.of());
  }

  private List<Integer> ownRows() {
    var all = new ArrayList<Integer>();
    for (int i = 0; i < rows; i++) {
      all.add(i);
    }
    return all;
  }

  @Override
  public RegisterTile scores(int columns) {
    var places = new ArrayList<Integer>();
    for (int column = 0; column < columns; column += LANES) {
      places.add(column);
    }
    return new RegisterTile(k, new Layout(row, ownRows(), lane, places, LANES));
  }

  @Override
  public RegisterTile sums(int columns) {
    var places = new ArrayList<Integer>();
    for (int column = 0; column < columns; column += LANES * GROUP) {
      for (int i = 0; i < GROUP; i++) {
        places.add(column + i);
      }
    }
    return new RegisterTile(k, new Layout(row, ownRows(), lane.times(GROUP), places, LANES));
  }

  private static List<Real> read(int count, SharedTile tile, Int row, Int column) {
    return tile.load(count, row, column).stream().map(Value::widen).toList();
  }

  @Override
  public void dot(RegisterTile scores, Left left, SharedTile right) {
    int atOnce = LOAD_BYTES / type.bytes();
    k.loop(
        k.integer(0),
        k.integer(left.columns()),
        STEP,
        depth -> {
          for (int at = 0; at < STEP; at += atOnce) {
            var column = depth.plus(at);
            var of =
                IntStream.range(0, scores.columns())
                    .mapToObj(c -> read(atOnce, right, scores.column(c), column))
                    .toList();
            for (int r = 0; r < rows; r++) {
              var own = read(atOnce, left.tile(), row.plus(r), column);
              for (int c = 0; c < of.size(); c++) {
                for (int i = 0; i < atOnce; i++) {
                  scores.get(r, c).addProduct(own.get(i), of.get(c).get(i));
                }
              }
            }
          }
        });
  }

  @Override
  int chunk() {
    return LANES * GROUP;
  }

  /** Returns the contribution of an element. */
  private static Real map(Real element, Mapping mapping) {
    if (mapping == Mapping.ALL) {
      return element;
    }
    var zero = element.constant(0);
    var finite = element.abs().lt(Double.POSITIVE_INFINITY);
    if (mapping == Mapping.FINITE) {
      return element.where(finite, zero);
    }
    var infinity =
        element.constant(INFINITY).where(element.gt(0), element.constant(MINUS_INFINITY));
    var code = element.constant(NAN).where(element.isNan(), infinity);
    return zero.where(finite, code);
  }

  @Override
  public void addWeighted(
      RegisterTile sums, RegisterTile given, SharedTile right, Int column, Mapping mapping) {
    var exchange = Objects.requireNonNull(weights);
    // the lanes of these rows have finished reading the previous weights
    k.warpBarrier();
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < given.columns(); c++) {
        exchange.store(row.plus(r), given.column(c), given.get(r, c));
      }
    }
    k.warpBarrier();
    k.loop(
        k.integer(0),
        k.integer(given.columns() * LANES),
        STEP,
        first -> {
          for (int at = 0; at < STEP; at += GROUP) {
            var from = first.plus(at);
            // one group of each row, in order
            var own = new ArrayList<Real>();
            for (int r = 0; r < rows; r++) {
              own.addAll(read(GROUP, exchange, row.plus(r), from));
            }
            for (int i = 0; i < GROUP; i++) {
              for (int c = 0; c < sums.columns(); c += GROUP) {
                var values =
                    read(GROUP, right, from.plus(i), column.plus(sums.column(c))).stream()
                        .map(value -> map(value, mapping))
                        .toList();
                for (int r = 0; r < rows; r++) {
                  for (int j = 0; j < GROUP; j++) {
                    sums.get(r, c + j).addProduct(own.get(r * GROUP + i), values.get(j));
                  }
                }
              }
            }
          }
        });
  }
}
