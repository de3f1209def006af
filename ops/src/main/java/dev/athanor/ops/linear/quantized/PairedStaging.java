package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.PairedNibbles;
import dev.athanor.ops.tile.Producer;
import dev.athanor.ops.tile.Stage;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Loads stages of four-bit weights into shared memory, decoded by {@link PairedNibbles} to f16
 * weights or to integers for {@link ColumnScales}. Beyond the ends of the weights, a stage contains
 * repeated weights, which are multiplied by zeros or whose results are not stored.
 *
 * @param stage with K as the row index for AWQ, whose words run along N
 * @param firstColumn of the block
 * @param scaled whether scales are applied to weights rather than sums
 * @param words that a thread decodes with the same scales: adjacent words along K of a column, or
 *     rows of K for AWQ
 */
record PairedStaging(
    KernelBuilder k,
    SharedTile shared,
    Stage stage,
    ProjectionParameters problem,
    Int firstColumn,
    Packing packing,
    boolean scaled,
    int words,
    int threads)
    implements Producer {

  /** The decoded 32-bit words of a chunk of eight weights. */
  private static final int CHUNK = PairedNibbles.PAIRS;

  /** Returns whether weights of a packing are four-bit. */
  static boolean decodes(Packing packing) {
    return switch (packing) {
      case Packing.AlongK _ -> true;
      case Packing.AlongN(var format, _, _, _) -> format != ColumnWeights.Format.INT8;
      case Packing.Block _, Packing.Fp4 _ -> false;
    };
  }

  /**
   * Returns the number of words that a thread decodes with the same scales: its words of a stage,
   * but along K at most the smallest group, and one if rows do not consist of whole groups.
   */
  static int words(Packing packing, Stage stage, int threads, boolean wholeGroups) {
    int each = stage.extent() * stage.depth() / (Int4Layout.WORD * threads);
    return WeightStaging.kIsRow(packing) ? each : wholeGroups ? Math.min(4, each) : 1;
  }

  @Override
  public Runnable fill(Int offset, Int depth) {
    var to = stage.at(shared, offset, Type.B32);
    return switch (packing) {
      case Packing.AlongN(var format, var zeros, var lessOne, _)
          when format == ColumnWeights.Format.AWQ ->
          rows(to, nibbles(PairedNibbles.Order.FOUR_APART), depth, zeros, lessOne);
      default -> columns(to, nibbles(PairedNibbles.Order.NEIGHBORS), depth);
    };
  }

  private PairedNibbles nibbles(PairedNibbles.Order order) {
    return new PairedNibbles(k, stage.element(), order);
  }

  /** Loads the weights such that a thread takes the same eight columns of adjacent rows of K. */
  private Runnable rows(
      SharedTile to, PairedNibbles nibbles, Int depth, boolean zeros, boolean lessOne) {
    int across = stage.extent() / Int4Layout.WORD;
    var word = k.thread().rem(across);
    var row = k.thread().div(across).times(words);
    var wordsOfRow = problem.n.div(Int4Layout.WORD);
    var at = firstColumn.div(Int4Layout.WORD).plus(word).min(wordsOfRow.plus(-1));
    var from = depth.plus(row).min(problem.depth.plus(-words));
    var group = from.shr(problem.groupShift);
    var points =
        zeros
            ? nibbles.unsigned(
                problem.zeros().plus(at.wide()).row(group, wordsOfRow).load(k.integer(0)).integer(),
                lessOne ? 1 : 0)
            : nibbles.zeros(k.integer(Int4Layout.MIDDLE));
    var scales =
        scaled
            ? problem
                .scales()
                .plus(at.times(Int4Layout.WORD).wide())
                .row(group, problem.n)
                .as(Type.B32)
                .load(CHUNK, k.integer(0))
            : List.<Value>of();
    List<Runnable> stores = new ArrayList<>();
    var source = problem.weights.plus(at.wide()).row(from, wordsOfRow);
    for (int i = 0; i < words; i++) {
      var pairs = nibbles.unsigned(source.load(k.integer(0)).integer(), 0);
      source = source.plus(wordsOfRow.wide());
      int below = i;
      stores.add(() ->
          to.store(row.plus(below), word.times(CHUNK), decode(nibbles, pairs, points, scales)));
    }
    return () -> stores.forEach(Runnable::run);
  }

  /**
   * Loads the weights such that a thread takes adjacent words along K of one column, all of one
   * group.
   */
  private Runnable columns(SharedTile to, PairedNibbles nibbles, Int depth) {
    int length = words * Int4Layout.WORD;
    int parts = stage.depth() / length;
    boolean along = packing instanceof Packing.AlongN;
    var limit = problem.n.plus(-1);
    var lastPart = problem.depth.div(length).plus(-1);
    List<Runnable> stores = new ArrayList<>();
    for (int piece = 0; piece < stage.extent() * parts; piece += threads) {
      var index = k.thread().plus(piece);
      // lanes run along the contiguous dimension
      var column = along ? index.rem(stage.extent()) : index.div(parts);
      var part = along ? index.div(stage.extent()) : index.rem(parts);
      var inWeights = firstColumn.plus(column).min(limit);
      var from = depth.div(length).plus(part).min(lastPart);
      var group = from.times(length).shr(problem.groupShift);
      var scales =
          scaled
              ? problem.scales().plus(inWeights.wide()).row(group, problem.n).load(1, k.integer(0))
              : List.<Value>of();
      var loaded = words(inWeights, from.times(words));
      var points = zeros(nibbles, inWeights, group);
      stores.add(() -> {
        var pairsOfScales =
            scales.stream()
                .flatMap(s -> Collections.nCopies(CHUNK, k.pack(s, s)).stream())
                .toList();
        for (int i = 0; i < words; i++) {
          var word = loaded.get(i).integer();
          var pairs = along ? nibbles.unsigned(word, 0) : nibbles.signed(word);
          var weights = decode(nibbles, pairs, points, pairsOfScales);
          to.store(column, part.times(words).plus(i).times(CHUNK), weights);
        }
      });
    }
    return () -> stores.forEach(Runnable::run);
  }

  private List<Value> decode(
      PairedNibbles nibbles, List<Value> pairs, List<Value> zeros, List<Value> scales) {
    return scaled ? nibbles.weights(pairs, zeros, scales) : nibbles.quants(pairs, zeros);
  }

  private List<Value> words(Int column, Int first) {
    if (packing instanceof Packing.AlongK) {
      var ofColumn = problem.weights.row(column, problem.depth.div(Int4Layout.WORD));
      return ofColumn.plus(first.wide()).load(words, k.integer(0));
    }
    var values = new ArrayList<Value>();
    var source = problem.weights.plus(column.wide()).row(first, problem.n);
    for (int i = 0; i < words; i++) {
      values.add(source.load(k.integer(0)));
      source = source.plus(problem.n.wide());
    }
    return values;
  }

  private List<Value> zeros(PairedNibbles nibbles, Int column, Int group) {
    if (packing instanceof Packing.AlongN(_, var zeros, var lessOne, _) && zeros) {
      var word =
          problem
              .zeros()
              .plus(column.div(Int4Layout.WORD).wide())
              .row(group, problem.n.div(Int4Layout.WORD))
              .load(k.integer(0))
              .integer();
      var zero = word.shr(column.rem(Int4Layout.WORD).times(4)).and(0xF);
      return nibbles.zeros(zero.plus(lessOne ? 1 : 0));
    }
    return nibbles.zeros(k.integer(Int4Layout.MIDDLE));
  }
}
