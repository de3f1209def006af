package dev.athanor.engine.conformance;

import dev.athanor.engine.ptx.OperandSlot.Name;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * The sources of a probe's threads. Half of the threads combine edge cases, as far as the threads
 * suffice; the others use random values. A single source of 16 bits is tested exhaustively.
 */
final class OperandGenerator {

  /** Number of threads of a probe. */
  static final int THREADS = 4096;

  private static final int WARP = Warps.SIZE;
  private static final int HALFWORD = 1 << 16;
  private static final Map<Type, long[]> EDGES = edges();

  private final Probe probe;
  private final Random random;
  private final int threads;

  OperandGenerator(Probe probe, long seed) {
    this.probe = probe;
    random = new Random(seed ^ probe.name().hashCode());
    threads = isExhaustive() ? HALFWORD : THREADS;
  }

  private boolean isExhaustive() {
    return !probe.isWarpLevel()
        && probe.sources().size() == 1
        && probe.sources().getFirst().register().registerClass().bits() == 16;
  }

  int threads() {
    return threads;
  }

  /** Returns the sources of all threads, contiguous per thread. */
  long[] generate() {
    int count = probe.sources().size();
    var words = new long[threads * count];
    for (int thread = 0; thread < threads; thread++) {
      int mixed = thread; // its digits select the edge cases
      for (int i = 0; i < count; i++) {
        var value = probe.sources().get(i);
        long word;
        if (isExhaustive()) {
          word = thread;
        } else if (probe.isWarpLevel()) {
          word = warpOperand(value, thread / WARP);
        } else if (thread < threads / 2) {
          var edges = edges(value.type());
          word = edges[mixed % edges.length];
          mixed = mixed < edges.length && i > 0 ? random.nextInt(1 << 20) : mixed / edges.length;
        } else {
          word = word(value.type());
        }
        words[thread * count + i] = word & mask(value);
      }
    }
    return words;
  }

  private static long mask(Probe.Value value) {
    return value.type() == Type.PRED ? 1 : mask(value.register().registerClass().bits());
  }

  private static long mask(int bits) {
    return bits == 64 ? -1 : (1L << bits) - 1;
  }

  /**
   * Returns edge cases and arbitrary bits for some warps, and numbers with finite sums for the
   * others.
   */
  private long warpOperand(Probe.Value value, int warp) {
    if (value.operand() == Name.MEMBER_MASK) {
      return mask(32); // all lanes, because others would wait for a missing one
    }
    var element = element(value);
    int bits = value.register().registerClass().bits();
    return switch (warp % 8) {
      case 0 -> packed(element, bits, true);
      case 1 -> value.type() == Type.PRED ? random.nextInt(2) : random.nextLong();
      case 2 -> value.type() == Type.PRED ? 1 : value.operand() == Name.A ? 7 : random.nextInt(8);
      default -> packed(element, bits, false);
    };
  }

  /** Returns the element type of a matrix register; other values have their own type. */
  private Type element(Probe.Value value) {
    if (!probe.isMatrixProduct()) {
      return value.type().element();
    }
    var types = probe.instruction().modifiers().types();
    return switch (value.operand()) {
      case A -> types.size() == 2 ? Type.F16 : factor(types.get(1));
      case B -> types.size() == 2 ? Type.F16 : factor(types.get(2));
      case SCALE_A_DATA, SCALE_B_DATA -> types.getLast();
      default ->
          probe.isWarpgroupProduct() ? types.getFirst() : types.get(Math.min(3, types.size() - 1));
    };
  }

  /** Returns bytes for formats of 4 and 6 bits, which have neither infinities nor NaNs. */
  private static Type factor(Type type) {
    return switch (type) {
      case E3M2, E2M3, E2M1 -> Type.B8;
      default -> type;
    };
  }

  private long packed(Type element, int bits, boolean edges) {
    int width = Math.min(bits, element.bits());
    long word = 0;
    for (int at = 0; at < bits; at += width) {
      long one = edges ? anyOf(edges(element)) : moderate(element);
      word |= (one & mask(width)) << at;
    }
    return word;
  }

  private long anyOf(long[] values) {
    return values[random.nextInt(values.length)];
  }

  private long word(Type type) {
    int bits = type.element().bits();
    long word = 0;
    for (int at = 0; at < type.bits(); at += bits) {
      long one =
          switch (random.nextInt(4)) {
            case 0 -> anyOf(edges(type.element()));
            case 1 -> moderate(type.element());
            default -> random.nextLong();
          };
      word |= (one & mask(bits)) << at;
    }
    return word;
  }

  /** Returns a number of magnitude about 1 with a random significand, or a small integer. */
  private long moderate(Type type) {
    double number = random.nextGaussian() * Math.scalb(1.0, random.nextInt(9) - 4);
    return switch (type) {
      case F32, TF32 -> Float.floatToRawIntBits((float) number);
      case F64 -> Double.doubleToRawLongBits(number);
      case F16 -> Float.floatToFloat16((float) number);
      case BF16 -> Float.floatToRawIntBits((float) number) >>> 16;
      case E4M3 -> (random.nextInt(2) << 7) | ((4 + random.nextInt(6)) << 3) | random.nextInt(8);
      case E5M2 -> (random.nextInt(2) << 7) | ((12 + random.nextInt(6)) << 2) | random.nextInt(4);
      case UE4M3 -> random.nextInt(0x7F);
      case UE8M0 -> 120 + random.nextInt(16);
      case B1 -> random.nextInt(2);
      case PRED -> random.nextInt(8) == 0 ? 0 : 1;
      default -> random.nextBoolean() ? random.nextInt(256) - 128 : random.nextLong();
    };
  }

  private static long[] edges(Type type) {
    var edges = EDGES.get(type.element());
    return edges == null ? integers(Math.max(1, type.bits())) : edges;
  }

  private static Map<Type, long[]> edges() {
    var all = new HashMap<Type, long[]>();
    all.put(Type.F32, floats(8, 23));
    all.put(Type.TF32, floats(8, 23));
    all.put(Type.F64, floats(11, 52));
    all.put(Type.F16, floats(5, 10));
    all.put(Type.BF16, floats(8, 7));
    all.put(Type.PRED, new long[] {0, 1});
    for (var small : List.of(Type.E4M3, Type.E5M2, Type.S4, Type.U4)) {
      all.put(small, java.util.stream.LongStream.range(0, 1L << small.bits()).toArray());
    }
    return all;
  }

  private static long[] integers(int bits) {
    var all = new LinkedHashSet<Long>();
    for (long value : new long[] {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 255}) {
      all.add(value & mask(bits));
      all.add(-value & mask(bits));
    }
    for (int bit = 0; bit < bits; bit += Math.max(1, bits / 8)) {
      all.add(1L << bit);
    }
    all.add(1L << (bits - 1));
    all.add((1L << (bits - 1)) - 1);
    all.add(0x5555_5555_5555_5555L & mask(bits));
    return array(all);
  }

  /** Returns the edge cases of a format, each with both signs. */
  private static long[] floats(int exponentBits, int digits) {
    long one = mask(exponentBits - 1) << digits;
    long step = 1L << digits;
    long infinity = mask(exponentBits) << digits;
    long half = step >>> 1;
    var positive =
        new long[] {
          0,
          1, // smallest subnormal
          step - 1, // largest subnormal
          step, // smallest normal
          half,
          one,
          one + 1,
          one - 1,
          one + half, // 1.5
          one + step, // 2
          one - step, // 0.5
          one + step + (half >>> 1), // 2.5
          one + 5 * step + 3,
          one + (long) (digits + 1) * step, // precision limit of integers
          one - (long) (digits + 1) * step,
          Math.min(one + 31 * step, infinity - 2), // range of int
          Math.min(one + 31 * step - 1, infinity - 3),
          infinity - 1, // largest finite
          infinity,
          infinity + half, // quiet NaN
          infinity + 1, // signaling NaN
          infinity + step - 1
        };
    long sign = 1L << (exponentBits + digits);
    var all = new LinkedHashSet<Long>();
    for (long value : positive) {
      all.add(value);
      all.add(value | sign);
    }
    return array(all);
  }

  private static long[] array(Set<Long> values) {
    return values.stream().mapToLong(Long::longValue).toArray();
  }
}
