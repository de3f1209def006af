package dev.athanor.ops.quant;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Blocks;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * Turns blocks of GGML and NF4 into numbers in registers. Where a byte holds the nibbles of two
 * weights that lie apart, both are decoded together, so that no byte is read twice: a part of a
 * block is one run of weights, or two of them.
 */
public final class BlockFormat {

  public static final Set<DType> GGML =
      Set.of(DType.Q4_0, DType.Q4_1, DType.Q5_0, DType.Q8_0, DType.Q4_K, DType.Q5_K, DType.Q6_K);

  private static final int NF4_ENTRIES = 16;

  private final KernelBuilder k;
  private final DType dtype;
  private final boolean raised;
  private final Optional<SharedTile> table;

  /**
   * Prepares for a format; all threads of the block must come here, before they decode.
   *
   * @param raised whether quants of formats with an offset come 128 too large, which saves an
   *     instruction for each, and the offset makes up for it
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

  /** A power of two of which every block's address is a multiple where the first one's is of 16. */
  public static int alignment(DType dtype) {
    return Math.min(16, Integer.lowestOneBit(dtype.bytes()));
  }

  /** Whether weights are a multiple of the quants and a number for all of a run. */
  public static boolean hasOffset(DType dtype) {
    return dtype == DType.Q4_1 || dtype == DType.Q4_K || dtype == DType.Q5_K;
  }

  /** How many runs a part is. */
  public static int runs(DType dtype) {
    return dtype == DType.Q8_0 || dtype == DType.NF4 ? 1 : 2;
  }

  /** How many weights further the second run of a part begins; 0 where there is one run. */
  public static int apart(DType dtype) {
    return switch (dtype) {
      case Q4_0, Q4_1, Q5_0 -> 16;
      case Q4_K, Q5_K -> 32;
      case Q6_K -> 64;
      default -> 0;
    };
  }

  /** The longest run: those of one scale, of bytes that one access can read. */
  public static int longestRun(DType dtype) {
    return runs(dtype) == 1 ? 32 : 16;
  }

  /** How many parts a block has. */
  public static int parts(DType dtype, int length) {
    return dtype.blockElements() / (length * runs(dtype));
  }

  /**
   * How many consecutive weights some consecutive parts cover, when their number is this over the
   * weights of a part.
   */
  public static int span(DType dtype) {
    return dtype == DType.Q6_K ? 128 : Math.max(32, 2 * apart(dtype));
  }

  /** How many consecutive parts have their first runs side by side. */
  private static int perGroup(DType dtype, int length) {
    int apart = apart(dtype);
    return (apart == 0 || dtype == DType.Q6_K ? 32 : apart) / length;
  }

  /**
   * The first weight of a part, of a block or of a row of them; the first of a span at a part of 0.
   */
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
    // consecutive parts go through a group of first runs, then on to the next group
    var group = part.div(perGroup(dtype, length));
    var within = part.rem(perGroup(dtype, length)).times(length);
    return switch (dtype) {
      case Q4_0 -> {
        var quants = block.words(within, length, 2, length);
        var low = bytes(map(quants, Quants::low), 8);
        var high = bytes(map(quants, Quants::high), 8);
        yield pair(first, low, high, block.half(k.integer(0), 0), Optional.empty());
      }
      case Q4_1 -> {
        var quants = block.words(within, length, 4, length);
        var least = block.half(k.integer(0), 2);
        var scale = block.half(k.integer(0), 0);
        var low = bytes(map(quants, Quants::low), 0);
        var high = bytes(map(quants, Quants::high), 0);
        yield pair(first, low, high, scale, Optional.of(offset(scale, least)));
      }
      case Q5_0 -> {
        var high = block.words(k.integer(0), 16, 2, 4).getFirst();
        var quants = block.words(within, length, 6, length);
        var fifthsOfFirst = high.shr(within);
        var fifthsOfSecond = high.shr(within.plus(16));
        var firsts = Quants.bytes(k, fives(quants, 0, fifthsOfFirst), 16);
        var seconds = Quants.bytes(k, fives(quants, 1, fifthsOfSecond), 16);
        yield pair(first, firsts, seconds, block.half(k.integer(0), 0), Optional.empty());
      }
      case Q8_0 -> {
        var quants = block.words(within, length, 2, length);
        // of bytes whose sign bit is turned 0 is the least, and 128 stands for 0
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
      case NF4 -> {
        var entries = table.orElseThrow();
        var values = new ArrayList<Real>();
        for (var word : block.words(part.times(length / 2), length / 2, 4, length / 2)) {
          for (int i = 0; i < Math.min(8, length); i++) {
            // of each byte the high nibble comes first
            values.add(entries.load(k.integer(0), word.bits(4 * (i ^ 1), 4)).widen());
          }
        }
        yield List.of(new Run(first, values, block.single(k.integer(0), 0), Optional.empty()));
      }
      default -> throw new IllegalArgumentException(dtype.text() + " is no block format");
    };
  }

  /** The nibbles of one run of a part, of the low ones or the high ones. */
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
   * @param fifths the fifth bits of all words, one after the other
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
   * @param fifths of each word the bytes whose bit {@code at + run} is the fifth bit
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

  /** What is added for a run, of whose weights the least is {@code least}. */
  private Real offset(Real scale, Real least) {
    return raised ? scale.fma(k.real(Type.F32, -Quants.RAISED), least) : least;
  }

  /** Bits 0 to 3 of a word as bit 4 of each of four bytes. */
  private static Int spread(Int bits) {
    // the factor brings bit i to bit 4 + 8i, and every other copy is masked out
    return bits.and(15).times(0x02040810).and(0x10101010);
  }

  private List<Run> pair(
      Int first, List<Real> low, List<Real> high, Real scale, Optional<Real> offset) {
    return List.of(
        new Run(first, low, scale, offset), new Run(first.plus(apart(dtype)), high, scale, offset));
  }

  /**
   * Sub-blocks {@code 2·group} and {@code 2·group + 1} of a block of 256, whose scales and minima
   * have six bits: those of the first four lie whole in bytes of their own, of the others in
   * nibbles of the third word and in what the first four leave free.
   */
  private List<Run> superRuns(
      BlockBytes block, Int group, Int first, List<Int> low, List<Int> high) {
    var head = block.words(k.integer(0), 16, 0, 16);
    var factors = head.get(0).value().as(Type.B32).halves(Type.F16);
    // of both sub-blocks the bytes of the scales, then those of the minima
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
