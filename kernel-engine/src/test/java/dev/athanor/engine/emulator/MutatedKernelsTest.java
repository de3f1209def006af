package dev.athanor.engine.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Execution;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Samples;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import dev.athanor.testing.TestTier;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Randomly mutated kernels run, fault, or are rejected; nothing else happens. */
class MutatedKernelsTest {

  private static final int KERNELS = TestTier.choose(10, 25, 1000);

  /** Timeout of a launch, which ends endless mutants; they count as faults. */
  private static final Duration LAUNCH_TIMEOUT = Duration.ofSeconds(2);

  private static final int BUFFER_BYTES = 64 << 10;
  private static final long MEMORY_BYTES = 64 << 20;

  private static final Pattern REGISTER = Pattern.compile("%([a-z]+)\\d+");
  private static final Pattern NUMBER = Pattern.compile("(?<![\\w.%])\\d+(?![\\w.])");
  private static final Pattern INSTRUCTION = Pattern.compile("(?m)^\\s+(?:@!?%p\\d+ )?[a-z].*;$");
  private static final Pattern TYPE = Pattern.compile("\\.[a-z](16|32|64)\\b");
  private static final String[] NUMBERS = {
    "0", "1", "2", "31", "32", "33", "127", "128", "4096", "65536", "1073741824", "2147483647"
  };

  /** The outcome of a mutant. */
  private enum End {
    REFUSED,
    FAULTED,
    RAN
  }

  @Test
  void mutantsRunFaultOrAreRejected() {
    long seed = TestTier.seed();
    System.out.println("MutatedKernelsTest seed " + seed);
    var random = new Random(seed);
    var names = Samples.names();
    var ends = new TreeMap<End, Integer>();
    for (int i = 0; i < KERNELS; i++) {
      var name = names.get(random.nextInt(names.size()));
      var text = mutant(Samples.text(name), random);
      var options =
          EmulatorOptions.DEFAULT
              .withTarget(Target.of("sm_90a"))
              .withMemoryBytes(MEMORY_BYTES)
              .withSeed(random.nextLong())
              .withTimeout(LAUNCH_TIMEOUT)
              .withOutput(_ -> {})
              .withExecution(one(Execution.values(), random))
              .withAsyncTiming(one(AsyncTiming.values(), random))
              .withSanitize(one(Sanitize.values(), random));
      try {
        ends.merge(run(text, options), 1, Integer::sum);
      } catch (RuntimeException | StackOverflowError | AssertionError e) {
        fail("seed %d, number %d, %s with %s:%n%s".formatted(seed, i, name, options, text), e);
      }
    }
    System.out.println("MutatedKernelsTest: " + ends);
    assertThat(ends.keySet())
        .as("ends of mutants, seed %d", seed)
        .contains(End.REFUSED, End.FAULTED);
  }

  private static <T> T one(T[] all, Random random) {
    return all[random.nextInt(all.length)];
  }

  private static End run(String text, EmulatorOptions options) {
    try (var device = new EmulatedDevice(options)) {
      var module = Parser.parse(text, "mutant.ptx");
      for (var kernel : module.kernels()) {
        var loaded = device.load(module, kernel.name());
        var arguments = new ArrayList<Argument>();
        for (var parameter : kernel.parameters()) {
          arguments.add(argument(device, parameter));
        }
        try (var stream = device.openStream()) {
          boolean dynamic = kernel.shared().stream().anyMatch(Kernel.SharedArray::isDynamic);
          stream.launch(
              new Launch(loaded, Dim3.of(2), Dim3.of(128), dynamic ? 16 << 10 : 0, arguments));
          stream.synchronize();
        }
      }
      return End.RAN;
    } catch (PtxSyntaxException | DeviceException.LoadFailed | IllegalArgumentException e) {
      assertThat(e.getMessage()).isNotBlank();
      return End.REFUSED;
    } catch (DeviceException e) {
      assertThat(e.getMessage()).isNotBlank();
      return End.FAULTED;
    }
  }

  private static Argument argument(EmulatedDevice device, Kernel.Parameter parameter) {
    if (parameter.count() > 0) {
      return new Argument.Bytes(MemorySegment.ofArray(new byte[parameter.bytes()]));
    }
    return parameter.type().bits() == Type.U64.bits() && parameter.type() != Type.F64
        ? Argument.of(device.allocate(BUFFER_BYTES))
        : new Argument.Scalar(parameter.type(), 64);
  }

  /** Returns the text with some registers, numbers, types and instructions changed. */
  private static String mutant(String sample, Random random) {
    var text = sample;
    for (int i = random.nextInt(4); i >= 0; i--) {
      text =
          switch (random.nextInt(6)) {
            case 0, 1 -> replaced(text, REGISTER, random);
            case 2 -> with(text, place(text, NUMBER, random), one(NUMBERS, random));
            case 3 -> replaced(text, TYPE, random);
            case 4 -> with(text, place(text, INSTRUCTION, random), "");
            default -> replaced(text, INSTRUCTION, random);
          };
    }
    return text;
  }

  /** Replaces a match by another with the same prefix, as registers of a class have. */
  private static String replaced(String text, Pattern pattern, Random random) {
    var place = place(text, pattern, random);
    for (int tries = 0; place != null && tries < 10; tries++) {
      var other = place(text, pattern, random);
      if (other != null && kind(other).equals(kind(place))) {
        return with(text, place, other.group());
      }
    }
    return text;
  }

  private static String kind(MatchResult match) {
    return match.groupCount() > 0 && match.group(1) != null ? match.group(1) : "";
  }

  private static @Nullable MatchResult place(String text, Pattern pattern, Random random) {
    var all = pattern.matcher(text).results().toList();
    return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
  }

  private static String with(String text, @Nullable MatchResult place, String replacement) {
    return place == null
        ? text
        : text.substring(0, place.start()) + replacement + text.substring(place.end());
  }
}
