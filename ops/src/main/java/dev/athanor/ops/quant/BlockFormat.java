package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Blocks;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * Decodes blocks of GGML and NF4 to numbers in registers; {@link BlockEncoder} is the inverse. If a
 * byte holds the nibbles of two distant weights, both are decoded together, so that no byte is read
 * twice. A part of a block therefore consists of one or two runs of weights.
 */
public final class BlockFormat {

  public static final Set<DType> GGML =
      Collections.unmodifiableSet(EnumSet.range(DType.Q4_0, DType.MXFP4));

  private static final int NF4_ENTRIES = 16;

  private final KernelBuilder k;
  private final DType dtype;
  private final boolean raised;
  private final Optional<SharedTile> table;

  /**
   * Prepares the decoder of a format. All threads of the block must call it before they decode.
   *
   * @param raised whether quants of formats with an offset are 128 too large, which saves an
   *     instruction each; the offset compensates for it
   */
  public BlockFormat(KernelBuilder k, DType dtype, boolean raised) {
    this.k = k;
    this.dtype = dtype;
    this.raised = raised && hasOffset(dtype);
    this.table = dtype == DType.NF4 ? Optional.of(tableOfNf4(k)) : Optional.empty();
  }

  private static SharedTile tableOfNf4(KernelBuilder k) {
    var table = k.shared(Type.F32, 1, NF4_ENTRIES, NF4_ENTRIES);
    for (int i = 0; i < NF4_ENTRIES; i++) {
      int entry = i;
      k.when(
          k.thread().eq(i),
          () -> table.store(k.integer(0), k.thread(), k.real(Type.F32, Blocks.nf4(entry))));
    }
    k.barrier();
    return table;
  }

  /** Returns the alignment of every block in bytes if the first is aligned to 16. */
  public static int alignment(DType dtype) {
    return Math.min(16, Integer.lowestOneBit(dtype.bytes()));
  }

  /** Returns whether an offset is added to the scaled quants of a run. */
  public static boolean hasOffset(DType dtype) {
    return dtype == DType.Q4_1 || dtype == DType.Q4_K || dtype == DType.Q5_K;
  }

  /** Returns the number of runs of a part. */
  public static int runs(DType dtype) {
    return dtype == DType.Q8_0 || dtype == DType.NF4 ? 1 : 2;
  }

  /** Returns the distance in weights between the two runs of a part; 0 if there is one run. */
  public static int apart(DType dtype) {
    return switch (dtype) {
      case Q4_0, Q4_1, Q5_0, IQ4_NL, IQ4_XS, MXFP4 -> 16;
      case Q4_K, Q5_K -> 32;
      case Q6_K -> 64;
      default -> 0;
    };
  }

  /** Returns the maximum length of a run, which has one scale and takes one access. */
  public static int longestRun(DType dtype) {
    return runs(dtype) == 1 ? 32 : 16;
  }

  /** Returns the number of parts of a block. */
  public static int parts(DType dtype, int length) {
    return dtype.blockElements() / (length * runs(dtype));
  }

  /**
   * Returns the number of weights of a span: the consecutive parts that make up that many weights
   * cover a consecutive range.
   */
  public static int span(DType dtype) {
    return dtype == DType.Q6_K ? 128 : Math.max(32, 2 * apart(dtype));
  }

  /** Returns the number of consecutive parts whose first runs are adjacent. */
  private static int perGroup(DType dtype, int length) {
    int apart = apart(dtype);
    return (apart == 0 || dtype == DType.Q6_K ? 32 : apart) / length;
  }

  /** Returns the index of a part's first weight, in a block or in a row of blocks. */
  public static Int first(DType dtype, Int part, int length) {
    int apart = apart(dtype);
    var group = part.div(perGroup(dtype, length));
    var within = part.rem(perGroup(dtype, length)).times(length);
    return dtype == DType.Q6_K
        ? group.div(2).times(2 * apart).plus(group.rem(2).times(32)).plus(within)
        : group.times(apart == 0 ? 32 : 2 * apart).plus(within);
  }

  /**
   * Decodes a part of a block.
   *
   * @param part from 0 to {@link #parts}
   * @param length of a run: 4, 8, or up to {@link #longestRun}
   */
  public List<Run> decode(BlockBytes block, Int part, int length) {
    int apart = apart(dtype);
    var first = first(dtype, part, length);
    // consecutive parts cover the first runs of a group, then those of the next group
    var group = part.div(perGroup(dtype, length));
    var within = part.rem(perGroup(dtype, length)).times(length);
    return switch (dtype) {
      case Q4_0 -> {
        var quants = block.words(within, length, layout().quants(), length);
        var low = bytes(map(quants, Quants::low), 8);
        var high = bytes(map(quants, Quants::high), 8);
        yield pair(first, low, high, block.half(k.integer(0), 0), Optional.empty());
      }
      case Q4_1 -> {
        var quants = block.words(within, length, layout().quants(), length);
        var least = block.half(k.integer(0), layout().minimum());
        var scale = block.half(k.integer(0), 0);
        var low = bytes(map(quants, Quants::low), 0);
        var high = bytes(map(quants, Quants::high), 0);
        yield pair(first, low, high, scale, Optional.of(offset(scale, least)));
      }
      case Q5_0 -> {
        var high = block.words(k.integer(0), 16, layout().fifths(), 4).getFirst();
        var quants = block.words(within, length, layout().quants(), length);
        var fifthsOfFirst = high.shr(within);
        var fifthsOfSecond = high.shr(within.plus(16));
        var firsts = Quants.bytes(k, fives(quants, 0, fifthsOfFirst), 16);
        var seconds = Quants.bytes(k, fives(quants, 1, fifthsOfSecond), 16);
        yield pair(first, firsts, seconds, block.half(k.integer(0), 0), Optional.empty());
      }
      case Q8_0 -> {
        var quants = block.words(within, length, layout().quants(), length);
        // with the sign bit flipped, signed bytes are unsigned bytes with a bias of 128
        var turned = quants.stream().map(w -> w.xor(k.integer(0x80808080))).toList();
        yield List.of(
            new Run(
                first,
                Quants.bytes(k, turned, 128),
                block.half(k.integer(0), 0),
                Optional.empty()));
      }
      case Q4_K -> {
        var quants = block.words(group.times(32).plus(within), length, 16, length);
        yield superRuns(block, group, first, map(quants, Quants::low), map(quants, Quants::high));
      }
      case Q5_K -> {
        var quants = block.words(group.times(32).plus(within), length, 48, length);
        var fifths = block.words(within, length, 16, length);
        yield superRuns(
            block,
            group,
            first,
            fives(quants, 0, fifths, group.times(2)),
            fives(quants, 1, fifths, group.times(2)));
      }
      case Q6_K -> {
        var sixteens = group.div(2);
        var odd = group.rem(2);
        var low = block.words(group.times(32).plus(within), length, 0, length);
        var high = block.words(sixteens.times(32).plus(within), length, 128, length);
        var d = block.half(k.integer(0), 208);
        var runs = new ArrayList<Run>();
        for (int run = 0; run < 2; run++) {
          var words = new ArrayList<Int>();
          for (int i = 0; i < low.size(); i++) {
            var two = high.get(i).shr(odd.times(2).plus(4 * run)).and(0x03030303).shl(4);
            words.add(half(run).apply(low.get(i)).or(two));
          }
          var scale = sixteens.times(8).plus(odd.times(2)).plus(within.div(16));
          runs.add(
              new Run(
                  first.plus(run * apart),
                  Quants.bytes(k, words, 32),
                  d.times(block.signedByte(scale, 192 + 4 * run)),
                  Optional.empty()));
        }
        yield runs;
      }
      case IQ4_NL ->
          entries(
              first,
              block.words(within, length, layout().quants(), length),
              block.half(k.integer(0), 0));
      case IQ4_XS -> {
        var quants = block.words(group.times(16).plus(within), length, 8, length);
        var head = block.words(k.integer(0), 8, 0, 8);
        var low = head.get(1).shr(group.times(4)).and(15);
        var high = head.get(0).shr(group.times(2).plus(16)).and(3).shl(4);
        var scale = Quants.unsigned(k, low.or(high), 0).minus(32);
        yield entries(first, quants, block.half(k.integer(0), 0).times(scale));
      }
      case MXFP4 ->
          entries(
              first,
              block.words(within, length, layout().quants(), length),
              Quants.halvedPower(k, block.unsignedByte(k.integer(0), 0)));
      case NF4 -> {
        var entries = table.orElseThrow();
        var values = new ArrayList<Real>();
        for (var word : block.words(part.times(length / 2), length / 2, 4, length / 2)) {
          for (int i = 0; i < Math.min(8, length); i++) {
            // the high nibble of each byte comes first
            values.add(entries.load(k.integer(0), word.bits(4 * (i ^ 1), 4)).widen());
          }
        }
        yield List.of(new Run(first, values, block.single(k.integer(0), 0), Optional.empty()));
      }
      default -> throw new IllegalArgumentException(dtype.text() + " is not a block format");
    };
  }

  private BlockLayout layout() {
    return BlockLayout.of(dtype);
  }

  /**
   * Returns the function that extracts the nibbles of a run: low for the first, high for the
   * second.
   */
  private static UnaryOperator<Int> half(int run) {
    return run == 0 ? Quants::low : Quants::high;
  }

  private static List<Int> map(List<Int> words, UnaryOperator<Int> each) {
    return words.stream().map(each).toList();
  }

  /**
   * Numbers of five bits, as bytes.
   *
   * @param quants words whose nibbles are the low four bits
   * @param fifths the fifth bits of all quants, one after the other
   */
  private static List<Int> fives(List<Int> quants, int run, Int fifths) {
    var words = new ArrayList<Int>();
    for (int i = 0; i < quants.size(); i++) {
      words.add(half(run).apply(quants.get(i)).or(spread(fifths.shr(4 * i))));
    }
    return words;
  }

  /**
   * Numbers of five bits, as bytes.
   *
   * @param quants words whose nibbles are the low four bits
   * @param fifths words whose bytes have the fifth bit at {@code at + run}
   */
  private static List<Int> fives(List<Int> quants, int run, List<Int> fifths, Int at) {
    var words = new ArrayList<Int>();
    for (int i = 0; i < quants.size(); i++) {
      var bit = fifths.get(i).shr(at.plus(run)).and(0x01010101).shl(4);
      words.add(half(run).apply(quants.get(i)).or(bit));
    }
    return words;
  }

  private List<Real> bytes(List<Int> words, double bias) {
    return raised ? Quants.raised(k, words) : Quants.bytes(k, words, bias);
  }

  /** Returns the offset of a run whose minimum is {@code least}. */
  private Real offset(Real scale, Real least) {
    return raised ? scale.fma(k.real(Type.F32, -Quants.RAISED), least) : least;
  }

  /** Returns the runs of a part whose nibbles select entries of a table. */
  private List<Run> entries(Int first, List<Int> quants, Real scale) {
    var table = Blocks.table(dtype);
    var selected = quants.stream().flatMap(w -> Quants.select(k, w, table).stream()).toList();
    return pair(
        first,
        Quants.everySecond(k, selected, 0),
        Quants.everySecond(k, selected, 1),
        scale,
        Optional.empty());
  }

  /** Moves bits 0 to 3 of a word to bit 4 of each of its four bytes. */
  private static Int spread(Int bits) {
    // the product copies bit i to bit 4 + 8i; the mask removes all other copies
    return bits.and(15).times(0x02040810).and(0x10101010);
  }

  private List<Run> pair(
      Int first, List<Real> low, List<Real> high, Real scale, Optional<Real> offset) {
    return List.of(
        new Run(first, low, scale, offset), new Run(first.plus(apart(dtype)), high, scale, offset));
  }

  /**
   * Returns the runs of sub-blocks {@code 2·group} and {@code 2·group + 1} of a block of 256. Their
   * scales and minima have six bits. Those of the first four sub-blocks are stored in a byte each;
   * those of the last four have their low bits in nibbles of the third word and their high bits in
   * the two free bits of these bytes.
   */
  private List<Run> superRuns(
      BlockBytes block, Int group, Int first, List<Int> low, List<Int> high) {
    var head = block.words(k.integer(0), 16, 0, 16);
    var factors = head.get(0).value().as(Type.B32).halves(Type.F16);
    // selects the scales of both sub-blocks, then their minima
    var pair = group.rem(2).times(0x2222).plus(0x5410);
    var own = Quants.permute(k, head.get(1), head.get(2), pair);
    var third = Quants.permute(k, head.get(3), head.get(3).shr(4), pair);
    var early = group.lt(2);
    var six =
        own.shr(k.integer(0).where(early, k.integer(2)))
            .and(k.integer(0x3F3F3F3F).where(early, k.integer(0x30303030)))
            .or(third.and(k.integer(0).where(early, k.integer(0x0F0F0F0F))));
    var runs = new ArrayList<Run>();
    for (int run = 0; run < 2; run++) {
      var scale = factors.get(0).widen().times(Quants.unsigned(k, six, run));
      var least = factors.get(1).widen().times(Quants.negated(k, six, 2 + run));
      runs.add(
          new Run(
              first.plus(run * apart(dtype)),
              bytes(run == 0 ? low : high, 0),
              scale,
              Optional.of(offset(scale, least))));
    }
    return runs;
  }
}
