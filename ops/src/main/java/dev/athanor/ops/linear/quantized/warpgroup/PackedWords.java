package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.PairedNibbles;
import java.util.ArrayList;
import java.util.List;

/**
 * Words of 4-bit weights. The two columns of a lane are eight apart.
 *
 * <ul>
 *   <li>Words along K (k-packed, GPTQ): a pair is a byte, and the four lanes of a column read the
 *       same words.
 *   <li>Words along N (AWQ): a pair is a nibble of each of two rows of K, and the eight lanes of a
 *       row read the same words.
 * </ul>
 */
public record PackedWords(Int4Layout layout) implements StageWeights {

  /** Lanes that hold a column of c in a fragment. */
  private static final int LANES = 4;

  private static final int COLUMNS_APART = 8;

  private static final int WORDS_OF_DEPTH = WeightTile.DEPTH / Int4Layout.WORD;
  private static final int WORDS_OF_COLUMNS = WeightTile.COLUMNS / Int4Layout.WORD;

  /** Words per load of 16 bytes. */
  private static final int AT_ONCE = 4;

  @Override
  public int stageBytes() {
    return WeightTile.COLUMNS * WeightTile.DEPTH / 2;
  }

  @Override
  public int readers() {
    return LANES;
  }

  @Override
  public double instructions(Type element) {
    return 8;
  }

  /** Returns the words in a row of a stage. */
  private int across() {
    return switch (layout) {
      case K_PACKED -> WORDS_OF_DEPTH;
      case GPTQ -> WeightTile.COLUMNS;
      case AWQ -> WORDS_OF_COLUMNS;
    };
  }

  private int down() {
    return stageBytes() / Int4Layout.BYTES / across();
  }

  /** Returns the swizzle of a stage; without one, the rows of GPTQ are free of bank conflicts. */
  private SwizzleMode swizzle() {
    return switch (layout) {
      case K_PACKED -> SwizzleMode.BYTES_32;
      case GPTQ -> SwizzleMode.NONE;
      case AWQ -> SwizzleMode.BYTES_64;
    };
  }

  private LinearLayout swizzleOfRows() {
    return layout == Int4Layout.GPTQ ? Swizzle.NONE : Swizzle.of(across() * Int4Layout.BYTES);
  }

  @Override
  public TensorMap tensor(int k, int n) {
    long inner = rowWords(k, n);
    long outer =
        switch (layout) {
          case K_PACKED -> n;
          case GPTQ -> Math.ceilDiv(k, Int4Layout.WORD);
          case AWQ -> k;
        };
    return TensorMap.of(
            Element.U32,
            List.of(inner, outer),
            List.of(inner * Int4Layout.BYTES),
            List.of(across(), down()))
        .withSwizzle(swizzle());
  }

  private long rowWords(int k, int n) {
    return switch (layout) {
      case K_PACKED -> k / Int4Layout.WORD;
      case GPTQ -> n;
      case AWQ -> n / Int4Layout.WORD;
    };
  }

  @Override
  public long rowBytes(int k, int n) {
    return rowWords(k, n) * Int4Layout.BYTES;
  }

  @Override
  public List<Int> at(Int depth, Int column) {
    return switch (layout) {
      case K_PACKED -> List.of(depth.div(Int4Layout.WORD), column);
      case GPTQ -> List.of(column, depth.div(Int4Layout.WORD));
      case AWQ -> List.of(column.div(Int4Layout.WORD), depth);
    };
  }

  @Override
  public Lane lane(KernelBuilder k, Type element) {
    return new Lane(k, element);
  }

  /** The part of a lane. */
  final class Lane implements StageWeights.Lane {
    private final KernelBuilder k;
    private final PairedNibbles nibbles;
    private final Int lane;
    private final Int selection;
    private final Int shift;

    private Lane(KernelBuilder k, Type element) {
      this.k = k;
      boolean alongK = layout != Int4Layout.AWQ;
      nibbles =
          new PairedNibbles(
              k, element, alongK ? PairedNibbles.Order.NEIGHBORS : PairedNibbles.Order.FOUR_APART);
      lane = k.lane().rem(LANES);
      var columnOfLane = new LaneCoordinates(Fragments.C_16X8.layout(), k.lane()).row();
      selection = alongK ? nibbles.selection(lane) : k.integer(0);
      shift = layout.nibbleOfColumn(columnOfLane).times(4);
    }

    @Override
    public Int column() {
      return new LaneCoordinates(Fragments.D_64X8, k.thread().rem(WarpRole.GROUP)).row();
    }

    @Override
    public int apart() {
      return COLUMNS_APART;
    }

    /**
     * Returns the number to subtract for a zero point.
     *
     * @param word the zero points of eight columns
     * @param added to the zero point
     */
    Value zero(Int word, int added) {
      return nibbles.zero(word.shr(shift).and(0xF).plus(added));
    }

    /** Returns the number to subtract for the zero point of weights without stored ones. */
    Value middle() {
      return nibbles.zero(k.integer(Int4Layout.MIDDLE));
    }

    @Override
    public List<Decoder> load(SharedTile shared, Int offset, Int group, List<Value> zeros) {
      var words = shared.at(offset, Type.B32, down(), across(), swizzleOfRows());
      var first = group.times(WeightTile.OF_GROUP).plus(column());
      var perStep = WeightTile.DEPTH / STEP;
      var decoders = new ArrayList<Decoder>();
      if (layout == Int4Layout.AWQ) {
        for (int step = 0; step < perStep; step++) {
          decoders.add(alongN(words, first.div(Int4Layout.WORD), step * STEP, zeros));
        }
        return decoders;
      }
      var ofColumns = List.of(alongK(words, first), alongK(words, first.plus(COLUMNS_APART)));
      for (int step = 0; step < perStep; step++) {
        int word = 2 * step;
        decoders.add(() -> {
          var pairs = new ArrayList<Value>();
          for (int half = 0; half < 2; half++) {
            for (var ofColumn : ofColumns) {
              pairs.add(
                  nibbles.selected(
                      ofColumn.get(word + half).integer(),
                      selection,
                      layout == Int4Layout.K_PACKED));
            }
          }
          return quants(pairs, zeros);
        });
      }
      return decoders;
    }

    /** Loads the words of a column. */
    private List<Value> alongK(SharedTile words, Int column) {
      var loaded = new ArrayList<Value>();
      if (layout == Int4Layout.K_PACKED) {
        for (int word = 0; word < WORDS_OF_DEPTH; word += AT_ONCE) {
          loaded.addAll(words.load(AT_ONCE, column, k.integer(word)));
        }
      } else {
        for (int word = 0; word < WORDS_OF_DEPTH; word++) {
          loaded.add(words.load(k.integer(word), column));
        }
      }
      return loaded;
    }

    /** Loads the words of both columns in the four rows of K of a step. */
    private Decoder alongN(SharedTile words, Int word, int step, List<Value> zeros) {
      var rows = new ArrayList<List<Value>>();
      for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 2; i++) {
          rows.add(words.load(2, lane.times(2).plus(step + half * STEP / 2 + i), word));
        }
      }
      return () -> {
        var pairs = new ArrayList<Value>();
        for (int half = 0; half < rows.size(); half += 2) {
          for (int column = 0; column < 2; column++) {
            pairs.add(
                nibbles.lowest(
                    rows.get(half).get(column).integer().shr(shift),
                    rows.get(half + 1).get(column).integer().shr(shift)));
          }
        }
        return quants(pairs, zeros);
      };
    }

    private MatrixFragment quants(List<Value> pairs, List<Value> zeros) {
      var ofPairs = List.of(zeros.get(0), zeros.get(1), zeros.get(0), zeros.get(1));
      return new MatrixFragment(nibbles.quants(pairs, ofPairs));
    }
  }
}
