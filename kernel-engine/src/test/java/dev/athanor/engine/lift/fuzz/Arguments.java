package dev.athanor.engine.lift.fuzz;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;

/** The parameters of random kernels, and random numbers for them, of which many are special. */
final class Arguments {

  /** The types of elements. For each there is an array to read and one for results. */
  static final List<String> WORDS =
      List.of("int", "long", "float", "double", "byte", "short", "char", "boolean");

  /** Types of which there is a second array to read. */
  static final List<String> OTHERS = List.of("int", "float", "byte");

  /** Elements that can be read in arrays, and in segments of 8 bytes each. */
  static final int READABLE = 64;

  /** Elements of the results of each type that a thread writes. */
  static final int RESULTS = 8;

  /** Length of the arrays that are read: odd, so that vectors do not fill them. */
  private static final int LENGTH = READABLE + 3;

  private static final int[] SPECIAL_INTS = {
    0, 1, -1, 2, 31, 32, Integer.MIN_VALUE, Integer.MAX_VALUE
  };
  private static final long[] SPECIAL_LONGS = {
    0, 1, -1, 2, 63, 1L << 32, Long.MIN_VALUE, Long.MAX_VALUE
  };
  private static final double[] SPECIAL_REALS = {
    0, -0.0, 1, -1, Double.NaN, Double.POSITIVE_INFINITY, 1e-40, 2147483648.0
  };

  private Arguments() {}

  /** Returns the declarations of the parameters. */
  static String declarations() {
    var declared = new ArrayList<String>();
    WORDS.forEach(word -> declared.add("%s[] %ss".formatted(word, word)));
    WORDS.forEach(word -> declared.add("%s[] %sResults".formatted(word, word)));
    OTHERS.forEach(word -> declared.add("%s[] %s".formatted(word, other(word))));
    declared.add("MemorySegment segment, MemorySegment slice, MemorySegment segmentResults");
    declared.add("int[] intSums, long[] longSums, int n, long m, float f, double d");
    return String.join(", ", declared);
  }

  /** Returns the name of the second array of a type. */
  static String other(String word) {
    return "other" + Character.toUpperCase(word.charAt(0)) + word.substring(1) + "s";
  }

  /** Returns arguments for a number of threads. */
  static Object[] of(int threads, long seed) {
    var random = new Random(seed);
    int results = threads * RESULTS;
    var values = new ArrayList<Object>();
    WORDS.forEach(word -> values.add(array(word, LENGTH, random)));
    WORDS.forEach(word -> values.add(array(word, results, random)));
    OTHERS.forEach(word -> values.add(array(word, LENGTH, random)));
    // the slice is aligned to 4 bytes only, and both end within an element
    values.add(segment(READABLE + 2, random).asSlice(Long.BYTES, READABLE * Long.BYTES + 3));
    values.add(segment(READABLE + 2, random).asSlice(Integer.BYTES, READABLE * Long.BYTES + 3));
    values.add(segment(results * Integer.BYTES / Long.BYTES, random));
    values.add(new int[RESULTS]);
    values.add(new long[RESULTS]);
    values.add(random.nextInt(10));
    values.add(random.nextLong());
    values.add((float) random.nextGaussian());
    values.add(random.nextGaussian());
    return values.toArray();
  }

  private static MemorySegment segment(int longs, Random random) {
    return MemorySegment.ofArray((long[]) array("long", longs, random));
  }

  private static Object array(String word, int length, Random random) {
    var type = Objects.requireNonNull(Class.forPrimitiveName(word), word);
    var array = Array.newInstance(type, length);
    for (int i = 0; i < length; i++) {
      boolean special = random.nextInt(4) == 0;
      int which = random.nextInt(8);
      switch (array) {
        case int[] ints -> ints[i] = special ? SPECIAL_INTS[which] : random.nextInt();
        case long[] longs -> longs[i] = special ? SPECIAL_LONGS[which] : random.nextLong();
        case float[] floats ->
            floats[i] = special ? (float) SPECIAL_REALS[which] : (float) random.nextGaussian() * 50;
        case double[] doubles ->
            doubles[i] = special ? SPECIAL_REALS[which] : random.nextGaussian() * 50;
        case byte[] bytes -> bytes[i] = (byte) random.nextInt();
        case short[] shorts -> shorts[i] = (short) random.nextInt();
        case char[] chars -> chars[i] = (char) random.nextInt();
        case boolean[] booleans -> booleans[i] = random.nextBoolean();
        default -> throw new IllegalArgumentException("no array of numbers: " + word);
      }
    }
    return array;
  }
}
