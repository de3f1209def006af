package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import dev.athanor.testing.TestTier;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks ops on a Vulkan device, which rewrites and translates all their kernels. The thorough tier
 * leaves out ops whose kernels a CPU driver compiles for minutes, since they multiply matrices; the
 * sweep has all.
 */
class OpsTest {

  private static final List<String> SAMPLE = List.of("add", "cast", "gather", "geglu", "one-hot");

  private static final Set<String> SLOW =
      Set.of(
          "attention",
          "attention-backward",
          "attention-decode",
          "layer-norm-linear",
          "matmul",
          "matmul-backward",
          "matmul-fp4",
          "matmul-gguf",
          "matmul-int4",
          "qkv-project-int4",
          "qkv-project-int8");

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  static List<String> ops() {
    var all = Catalogue.load().all().stream().map(op -> op.description().name());
    return switch (TestTier.current()) {
      case QUICK -> SAMPLE;
      case THOROUGH -> all.filter(name -> !SLOW.contains(name)).toList();
      case SWEEP -> all.toList();
    };
  }

  @ParameterizedTest
  @MethodSource("ops")
  void passesQuickCases(String name) {
    var op = Catalogue.load().find(name).orElseThrow();
    try (var device = TestDevice.open()) {
      var verification = new Verification(device, List.of(op), true, 1, OptionalInt.empty());
      var failures = new ArrayList<String>();
      int done =
          verification.run(check ->
              check
                  .failure()
                  .map(Check.Failure::sentence)
                  .ifPresent(sentence ->
                      failures.add(
                          "case %d %s: %s".formatted(check.number(), check.kernel(), sentence))));
      assertThat(done).isEqualTo(verification.size());
      assertThat(done + verification.skipped().size()).isPositive();
      assertThat(verification.skipped())
          .as("cases that the device does not support, but for a lack of shared memory")
          .allMatch(skipped -> skipped.reason().contains("bytes of shared memory"));
      assertThat(failures).isEmpty();
      assertThat(device.memory().used()).as("leaked device memory").isZero();
    }
  }
}
