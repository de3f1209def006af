package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.quant.PairedNibbles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Reads a step of {@link Int4Gemv} from shared memory as fragments of {@code mma.m16n8k16}. The
 * weights are the first matrix, with the columns of the product as its rows: a lane has {@code
 * columns / 8} of them. The left matrix is the second one.
 *
 * <p>The order of weights along K in a fragment is arbitrary as long as both matrices agree. A lane
 * therefore takes eight contiguous weights for two instructions.
 *
 * @param element f16 or bf16
 */
record Int4Fragments(KernelBuilder k, SharedTile shared, Int4Slot slot, Type element) {

  private static final int[] LOW_HALVES = {0x5410, 0x7632};
  private static final int LANES_OF_K = 4;

  /** The maximum bytes of a load. */
  private static final int MAX_BYTES = 16;

  /** Adjacent columns of a lane in GPTQ. */
  private static final int NEIGHBORS = 4;

  /** Columns of a warp with {@link #NEIGHBORS} columns per lane. */
  private static final int ACROSS = NEIGHBORS * KernelBuilder.WARP / LANES_OF_K;

  /** One word for each column of a lane, or, for AWQ, for each of eight rows of K. */
  record Words(List<Int> words) {}

  /** Returns the position of this lane along the columns, from 0 to 7. */
  private Int across() {
    return k.lane().div(LANES_OF_K);
  }

  /** Returns the position of this lane along K, from 0 to 3. */
  private Int along() {
    return k.lane().rem(LANES_OF_K);
  }

  /** Returns the columns per lane. */
  int columns() {
    return slot.columns() * LANES_OF_K / KernelBuilder.WARP;
  }

  /** Returns the position of a column of this lane in the step. */
  Int column(int index) {
    if (slot.kPacked()) {
      return across().plus(index * KernelBuilder.WARP / LANES_OF_K);
    }
    return slot.awq()
        ? across().times(Int4Layout.WORD).plus(index)
        : across().times(NEIGHBORS).plus(index / NEIGHBORS * ACROSS + index % NEIGHBORS);
  }

  /**
   * Returns the elements of a row of the left matrix for eight weights of this lane: two registers
   * for each of two instructions.
   *
   * @param word index of the eight weights in this lane
   */
  List<Value> left(Int begin, int word) {
    int together = slot.wordsAtOnce();
    int others = word / together * together * LANES_OF_K + word % together;
    var chunk = along().times(together).plus(others);
    // instructions have eight rows; rows beyond the last repeat others and are not stored
    var row = across().rem(slot.rows());
    var pairs =
        slot.left(shared, begin, Type.B32)
            .load(4, row, slot.leftColumn(chunk.times(2 * Int4Layout.WORD)).div(4));
    if (slot.awq()) {
      return pairs;
    }
    var apart = new ArrayList<Value>();
    for (int i = 0; i < 2; i++) {
      for (int selection : LOW_HALVES) {
        apart.add(bytes(pairs.get(i), pairs.get(i + 2), selection).value());
      }
    }
    return apart;
  }

  /**
   * Loads contiguous words of this lane.
   *
   * @param word index of the first word, see {@link #left}
   * @return the words of each index
   */
  List<Words> words(Int begin, int word) {
    var tile = slot.weights(shared, begin, Type.U32);
    var read = new ArrayList<Int>();
    if (slot.kPacked()) {
      int together = slot.wordsAtOnce();
      for (int c = 0; c < columns(); c++) {
        var along = along().times(together).plus(word * LANES_OF_K);
        tile.load(together, column(c), along).forEach(w -> read.add(w.integer()));
      }
      return IntStream.range(0, together)
          .mapToObj(i -> IntStream.range(0, columns()).mapToObj(c -> read.get(c * together + i)))
          .map(ofColumns -> new Words(ofColumns.toList()))
          .toList();
    }
    var row = along().plus(word * LANES_OF_K);
    if (slot.awq()) {
      for (int i = 0; i < Int4Layout.WORD; i++) {
        var at = across().plus(i * slot.columns() / Int4Layout.WORD);
        read.add(tile.load(row, at).integer());
      }
    } else {
      for (int c = 0; c < columns(); c += NEIGHBORS) {
        tile.load(NEIGHBORS, row, column(c)).forEach(w -> read.add(w.integer()));
      }
    }
    return List.of(new Words(read));
  }

  /**
   * Returns the zero points of a group for {@link #weights}: one fragment for each column of this
   * lane, or, for AWQ, one for the even and one for the odd columns.
   */
  List<MatrixFragment> zeros(Int begin, int group) {
    var nibbles = nibbles();
    int all = slot.awq() ? 2 : columns();
    if (!(slot.packing() instanceof Packing.AlongN along) || !along.zeros()) {
      var middle = new MatrixFragment(nibbles.zeros(k.integer(Int4Layout.MIDDLE)));
      return Collections.nCopies(all, middle);
    }
    var tile = slot.zeros(shared, begin, Type.U32);
    int added = along.lessOne() ? 1 : 0;
    var zeros = new ArrayList<MatrixFragment>();
    if (slot.awq()) {
      var word = tile.load(k.integer(group), across()).integer();
      for (int selection : LOW_HALVES) {
        var own = bytes(word.value(), word.value(), selection);
        zeros.add(new MatrixFragment(nibbles.unsigned(own, added)));
      }
      return zeros;
    }
    for (int c = 0; c < columns(); c += NEIGHBORS) {
      var column = column(c);
      var word = tile.load(k.integer(group), column.div(Int4Layout.WORD)).integer();
      var own = word.shr(column.rem(Int4Layout.WORD).times(4));
      for (int i = 0; i < NEIGHBORS; i++) {
        zeros.add(new MatrixFragment(nibbles.zeros(own.bits(4 * i, 4).plus(added))));
      }
    }
    return zeros;
  }

  /** Returns the scales of a group, for each column of this lane. */
  List<Real> scales(Int begin, int group) {
    var type = slot.packing().scale();
    var tile = slot.scales(shared, begin, type);
    int adjacent = slot.kPacked() ? 1 : slot.awq() ? Int4Layout.WORD : NEIGHBORS;
    int atOnce = Math.min(adjacent, MAX_BYTES / type.bytes());
    var scales = new ArrayList<Real>();
    for (int c = 0; c < columns(); c += atOnce) {
      tile.load(atOnce, k.integer(group), column(c)).forEach(s -> scales.add(s.widen()));
    }
    return scales;
  }

  /**
   * Decodes eight weights of each column of this lane.
   *
   * @return for every sixteen columns, the consecutive fragments of two instructions
   */
  List<MatrixFragment> weights(Words words, List<MatrixFragment> zeros) {
    var pairs = slot.awq() ? pairsOfRows(words, zeros) : pairsOfColumns(words, zeros);
    var fragments = new ArrayList<MatrixFragment>();
    for (int c = 0; c < columns(); c += 2) {
      var registers = new ArrayList<Value>();
      for (int pair = 0; pair < Int4Layout.WORD / 2; pair++) {
        registers.add(pairs.get(c).get(pair));
        registers.add(pairs.get(c + 1).get(pair));
      }
      fragments.add(new MatrixFragment(registers));
    }
    return fragments;
  }

  /** Returns four pairs for each column, in the order of {@link #left}. */
  private List<MatrixFragment> pairsOfColumns(Words words, List<MatrixFragment> zeros) {
    var nibbles = nibbles();
    var pairs = new ArrayList<MatrixFragment>();
    for (int c = 0; c < columns(); c++) {
      var word = words.words.get(c);
      var based = slot.kPacked() ? nibbles.signed(word) : nibbles.unsigned(word, 0);
      pairs.add(new MatrixFragment(nibbles.quants(based, zeros.get(c).registers())));
    }
    return pairs;
  }

  /**
   * Returns four pairs for each column from words of rows. The nibbles of two rows are combined
   * four apart, like two weights along K in the other layouts.
   */
  private List<MatrixFragment> pairsOfRows(Words words, List<MatrixFragment> zeros) {
    var nibbles = nibbles();
    var evenColumns = new ArrayList<MatrixFragment>();
    var oddColumns = new ArrayList<MatrixFragment>();
    for (int row = 0; row < Int4Layout.WORD; row += 2) {
      for (int odd = 0; odd < 2; odd++) {
        var low = words.words.get(row).value();
        var both = bytes(low, words.words.get(row + 1).value(), LOW_HALVES[odd]);
        var quants = nibbles.quants(nibbles.unsigned(both, 0), zeros.get(odd).registers());
        (odd == 0 ? evenColumns : oddColumns).add(new MatrixFragment(quants));
      }
    }
    return IntStream.range(0, columns())
        .mapToObj(
            c -> (c % 2 == 0 ? evenColumns : oddColumns).stream().map(quants -> quants.get(c / 2)))
        .map(pairs -> new MatrixFragment(pairs.toList()))
        .toList();
  }

  private PairedNibbles nibbles() {
    return new PairedNibbles(k, element, PairedNibbles.Order.FOUR_APART);
  }

  private Int bytes(Value low, Value high, int selection) {
    return k.compute(
            Type.B32, "prmt.b32", low.as(Type.B32), high.as(Type.B32), k.integer(selection).value())
        .integer();
  }
}
