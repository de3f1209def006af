package dev.athanor.engine.lift.fuzz;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.lift.CheckFailedException;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import dev.athanor.engine.lift.refusal.LiftException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.util.Optional;

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
    var expected = Arguments.of(kernel.threads(), seed);
    RuntimeException inJava = null;
    try {
      PlainJava.run(
          lifted.method(),
          kernel.grid(),
          kernel.block(),
          RandomKernel.DYNAMIC_BYTES,
          GpuThread.STANDARD_OUTPUT,
          expected);
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
    var actual = Arguments.of(kernel.threads(), seed);
    try {
      lifted
          .on(device)
          .checked(checked)
          .block(kernel.block())
          .dynamicShared(RandomKernel.DYNAMIC_BYTES)
          .launch(kernel.grid(), actual);
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
      if (expected[i] instanceof MemorySegment segment) {
        long at = segment.mismatch((MemorySegment) actual[i]);
        if (at >= 0) {
          return Optional.of(
              new Difference(
                  "results differ",
                  "segment %d at byte %d, %s"
                      .formatted(i, at, checked ? "with checks" : "without checks")));
        }
      } else if (expected[i].getClass().isArray()) {
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
}
