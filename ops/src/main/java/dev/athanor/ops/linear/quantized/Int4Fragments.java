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

/**
 * What a lane reads of a step of {@link Int4Gemv} in shared memory, as fragments of {@code
 * mma.m16n8k16}. The weights are its first matrix, with the columns of the product as its rows: a
 * lane has {@code columns / 8} of them. The left matrix is the second one.
 *
 * <p>Which weights along K are neighbors in a fragment does not matter as long as both matrices
 * agree. So a lane takes eight that lie together, for two instructions.
 *
 * @param element f16 or bf16
 */
record Int4Fragments(KernelBuilder k, SharedTile shared, Int4Slot slot, Type element) {

  private static final int[] LOW_HALVES = {0x5410, 0x7632};
  private static final int LANES_OF_K = 4;

  /** Columns of a lane that are neighbors in GPTQ. */
  private static final int NEIGHBORS = 4;

  /** Columns of the lanes of a warp, with as many neighbors each. */
  private static final int ACROSS = NEIGHBORS * KernelBuilder.WARP / LANES_OF_K;

  /** The position of this lane along the columns, from 0 to 7. */
  private Int across() {
    return k.lane().div(LANES_OF_K);
  }

  /** The position of this lane along K, from 0 to 3. */
  private Int along() {
    return k.lane().rem(LANES_OF_K);
  }

  /** Columns of a lane. */
  int columns() {
    return slot.columns() * LANES_OF_K / KernelBuilder.WARP;
  }

  /** The position of a column of this lane among those of the step. */
  Int column(int index) {
    if (slot.kPacked()) {
      return across().plus(index * KernelBuilder.WARP / LANES_OF_K);
    }
    return slot.awq()
        ? across().times(Int4Layout.WORD).plus(index)
        : across().times(NEIGHBORS).plus(index / NEIGHBORS * ACROSS + index % NEIGHBORS);
  }

  /**
   * The elements of a row of the left matrix that go with eight weights of this lane: two registers
   * for each of two instructions.
   *
   * @param word the number of the eight among those of this lane
   */
  List<Value> left(Int begin, int word) {
    int together = slot.wordsAtOnce();
    int others = word / together * together * LANES_OF_K + word % together;
    var chunk = along().times(together).plus(others);
    // instructions have eight rows; those beyond the last repeat others and are not stored
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
   * Reads words of this lane that lie together.
   *
   * @param word the number of the first, see {@link #left}
   * @return for each number a word of each column, or of AWQ of each of eight rows of K
   */
  List<List<Int>> words(Int begin, int word) {
    var tile = slot.weights(shared, begin, Type.U32);
    int together = slot.wordsAtOnce();
    var all = new ArrayList<List<Int>>();
    for (int i = 0; i < together; i++) {
      all.add(new ArrayList<>());
    }
    if (slot.kPacked()) {
      for (int c = 0; c < columns(); c++) {
        var along = along().times(together).plus(word * LANES_OF_K);
        var read = tile.load(together, column(c), along);
        for (int i = 0; i < together; i++) {
          all.get(i).add(read.get(i).integer());
        }
      }
      return all;
    }
    var row = along().plus(word * LANES_OF_K);
    if (slot.awq()) {
      for (int i = 0; i < Int4Layout.WORD; i++) {
        var at = across().plus(i * slot.columns() / Int4Layout.WORD);
        all.getFirst().add(tile.load(row, at).integer());
      }
    } else {
      for (int c = 0; c < columns(); c += NEIGHBORS) {
        tile.load(NEIGHBORS, row, column(c)).forEach(w -> all.getFirst().add(w.integer()));
      }
    }
    return all;
  }

  /**
   * The zero points of a group as {@link #weights} takes them: for each column of this lane, but of
   * AWQ for the even and the odd ones.
   */
  List<List<Value>> zeros(Int begin, int group) {
    var nibbles = nibbles();
    int all = slot.awq() ? 2 : columns();
    if (!(slot.packing() instanceof Packing.AlongN along) || !along.zeros()) {
      return Collections.nCopies(all, nibbles.zeros(k.integer(Int4Layout.MIDDLE)));
    }
    var tile = slot.zeros(shared, begin, Type.U32);
    int added = along.lessOne() ? 1 : 0;
    var zeros = new ArrayList<List<Value>>();
    if (slot.awq()) {
      var word = tile.load(k.integer(group), across()).integer();
      for (int selection : LOW_HALVES) {
        zeros.add(nibbles.unsigned(bytes(word.value(), word.value(), selection), added));
      }
      return zeros;
    }
    for (int c = 0; c < columns(); c += NEIGHBORS) {
      var column = column(c);
      var word = tile.load(k.integer(group), column.div(Int4Layout.WORD)).integer();
      var own = word.shr(column.rem(Int4Layout.WORD).times(4));
      for (int i = 0; i < NEIGHBORS; i++) {
        zeros.add(nibbles.zeros(own.bits(4 * i, 4).plus(added)));
      }
    }
    return zeros;
  }

  /** The scales of a group, for each column of this lane. */
  List<Real> scales(Int begin, int group) {
    var tile = slot.scales(shared, begin, Type.F16);
    int atOnce = slot.kPacked() ? 1 : slot.awq() ? Int4Layout.WORD : NEIGHBORS;
    var scales = new ArrayList<Real>();
    for (int c = 0; c < columns(); c += atOnce) {
      tile.load(atOnce, k.integer(group), column(c)).forEach(s -> scales.add(s.widen()));
    }
    return scales;
  }

  /**
   * Decodes eight weights of each column of this lane.
   *
   * @return for each of two instructions a fragment for each sixteen columns
   */
  List<List<MatrixFragment>> weights(List<Int> words, List<List<Value>> zeros) {
    var pairs = pairs(words, zeros);
    var halves = new ArrayList<List<MatrixFragment>>();
    for (int i = 0; i < 4; i += 2) {
      var fragments = new ArrayList<MatrixFragment>();
      for (int c = 0; c < columns(); c += 2) {
        var upper = pairs.get(c);
        var lower = pairs.get(c + 1);
        fragments.add(
            MatrixFragment.of(upper.get(i), lower.get(i), upper.get(i + 1), lower.get(i + 1)));
      }
      halves.add(fragments);
    }
    return halves;
  }

  /** Four pairs for each column, in the order of {@link #left}. */
  private List<List<Value>> pairs(List<Int> words, List<List<Value>> zeros) {
    var nibbles = nibbles();
    var pairs = new ArrayList<List<Value>>();
    if (!slot.awq()) {
      for (int c = 0; c < columns(); c++) {
        var based =
            slot.kPacked() ? nibbles.signed(words.get(c)) : nibbles.unsigned(words.get(c), 0);
        pairs.add(nibbles.quants(based, zeros.get(c)));
      }
      return pairs;
    }
    for (int c = 0; c < columns(); c++) {
      pairs.add(new ArrayList<>());
    }
    // the nibbles of two rows four apart, as those of two weights along K are in the other layouts
    for (int row = 0; row < Int4Layout.WORD; row += 2) {
      for (int odd = 0; odd < 2; odd++) {
        var both = bytes(words.get(row).value(), words.get(row + 1).value(), LOW_HALVES[odd]);
        var quants = nibbles.quants(nibbles.unsigned(both, 0), zeros.get(odd));
        for (int i = 0; i < quants.size(); i++) {
          pairs.get(2 * i + odd).add(quants.get(i));
        }
      }
    }
    return pairs;
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
