package dev.athanor.engine.lift.fuzz;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.lift.CheckFailedException;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.engine.lift.host.PlainJava;
import dev.athanor.engine.lift.refusal.LiftException;
import java.lang.reflect.Array;
import java.util.Optional;
import java.util.Random;

/** Runs a kernel in plain Java and lifted on a device, and compares all results bit for bit. */
record Comparison(Device device) {

  /**
   * What differs.
   *
   * @param kind a few words
   * @param text what one run says, or the values
   */
  record Difference(String kind, String text) {
    /** Returns the words without places and numbers: the same for differences of one cause. */
    String words() {
      return kind + text.replaceAll("\\(in \\w+\\)|\\w*\\d[\\w.]*|[^A-Za-z ]", "");
    }

    @Override
    public String toString() {
      return kind + ": " + text;
    }
  }

  /** Returns the difference between both runs, if there is one. */
  Optional<Difference> compare(Class<?> type, RandomKernel kernel, long seed) {
    var lifted = Kernels.of(type, RandomKernel.NAME);
    var expected = arguments(kernel, seed);
    RuntimeException inJava = null;
    try {
      PlainJava.run(lifted.method(), kernel.grid(), kernel.block(), 0, expected);
    } catch (DeviceException fault) {
      inJava = fault;
      if (!kernel.faults()) {
        return Optional.of(new Difference("only Java fails", fault.getMessage()));
      }
    }
    var failure = inJava;
    var difference =
        compare(lifted, kernel, seed, expected, inJava, true)
            .or(() -> compare(lifted.debugged(), kernel, seed, expected, failure, true));
    return difference.isPresent() || inJava != null
        ? difference
        : compare(lifted, kernel, seed, expected, null, false);
  }

  private Optional<Difference> compare(
      JavaKernel lifted,
      RandomKernel kernel,
      long seed,
      Object[] expected,
      @org.jspecify.annotations.Nullable RuntimeException inJava,
      boolean checked) {
    var actual = arguments(kernel, seed);
    try {
      lifted.on(device).checked(checked).block(kernel.block()).launch(kernel.grid(), actual);
    } catch (LiftException refused) {
      return Optional.of(new Difference("refused", String.valueOf(refused.getMessage())));
    } catch (CheckFailedException | DeviceException failed) {
      return inJava != null
          ? Optional.empty()
          : Optional.of(
              new Difference("only the device fails", String.valueOf(failed.getMessage())));
    } catch (RuntimeException | StackOverflowError | AssertionError wrong) {
      return Optional.of(
          new Difference("lifter fails with " + wrong.getClass().getSimpleName(), stack(wrong)));
    }
    if (inJava != null) {
      return Optional.of(new Difference("only Java fails", String.valueOf(inJava.getMessage())));
    }
    for (int i = 0; i < expected.length; i++) {
      if (expected[i].getClass().isArray()) {
        for (int k = 0; k < Array.getLength(expected[i]); k++) {
          var one = Array.get(expected[i], k);
          var other = Array.get(actual[i], k);
          if (!one.equals(other)) { // of boxes: NaN equals NaN, and 0 does not equal -0
            return Optional.of(
                new Difference(
                    "results differ",
                    "argument %d[%d] is %s in Java and %s on the device, %s"
                        .formatted(i, k, one, other, checked ? "with checks" : "without checks")));
          }
        }
      }
    }
    return Optional.empty();
  }

  private static String stack(Throwable wrong) {
    var text = new StringBuilder(wrong.toString());
    for (int i = 0; i < Math.min(6, wrong.getStackTrace().length); i++) {
      text.append("\n  at ").append(wrong.getStackTrace()[i]);
    }
    return text.toString();
  }

  /** Returns arguments with random numbers, of which many are special. */
  private static Object[] arguments(RandomKernel kernel, long seed) {
    var random = new Random(seed);
    int inputs = RandomKernel.INPUTS;
    int results = (int) (kernel.grid().count() * kernel.block().count() * RandomKernel.RESULTS);
    var chars = new char[inputs];
    for (int i = 0; i < inputs; i++) {
      chars[i] = (char) random.nextInt();
    }
    return new Object[] {
      fill(new int[inputs], random),
      fill(new long[inputs], random),
      fill(new float[inputs], random),
      fill(new double[inputs], random),
      fill(new byte[inputs], random),
      fill(new short[inputs], random),
      chars,
      new int[results],
      new long[results],
      new float[results],
      new double[results],
      new int[RandomKernel.RESULTS],
      new long[RandomKernel.RESULTS],
      random.nextInt(10),
      random.nextLong(),
      (float) random.nextGaussian(),
      random.nextGaussian()
    };
  }

  private static Object fill(Object array, Random random) {
    for (int i = 0; i < Array.getLength(array); i++) {
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
        default -> throw new IllegalArgumentException("no array of numbers: " + array);
      }
    }
    return array;
  }

  private static final int[] SPECIAL_INTS = {
    0, 1, -1, 2, 31, 32, Integer.MIN_VALUE, Integer.MAX_VALUE
  };
  private static final long[] SPECIAL_LONGS = {
    0, 1, -1, 2, 63, 1L << 32, Long.MIN_VALUE, Long.MAX_VALUE
  };
  private static final double[] SPECIAL_REALS = {
    0, -0.0, 1, -1, Double.NaN, Double.POSITIVE_INFINITY, 1e-40, 2147483648.0
  };
}
